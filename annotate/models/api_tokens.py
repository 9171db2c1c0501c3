"""Access tokens of programs."""

import hashlib
import secrets

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.projects import Project

TOKEN_MARK = "crk_"  # noqa: S105  (what every token begins with, so that scanners of leaked secrets know one)
SHOWN = 12  # characters of a token that stay readable


def digest_of(secret: str) -> str:
    """Return the SHA-256: the secret has 256 random bits, so that nothing slower would protect it better."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_api_secret() -> str:
    return TOKEN_MARK + secrets.token_urlsafe(32)


class ApiToken(models.Model):
    """Lets a program act for its user, within its scopes, in all of the user's projects or in one."""

    class Scope(models.TextChoices):
        READ = "read", _("Read: what the dashboard and the exports show")
        WRITE = "write", _("Write: items, settings, annotators, members, webhooks")
        ANNOTATE = "annotate", _("Annotate: get tasks and answer them as yourself")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    # Null: every project of the user, also those to come.
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=SHOWN)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
