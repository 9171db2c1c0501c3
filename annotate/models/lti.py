"""Learning platforms (LTI 1.3) that operators register, courses connected with projects, and who came from them."""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.annotators import Annotator
from annotate.models.projects import Project


def new_private_key() -> str:
    """Return a key as PEM; its public half is at /lti/jwks/."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


class LtiPlatform(models.Model):
    """What the platform's administrator says of it, and the key with which this site asks it for a token."""

    name = models.CharField(_("name"), max_length=100)
    issuer = models.CharField(_("issuer"), max_length=255)
    client_id = models.CharField(_("client id"), max_length=255)
    deployment_ids = models.TextField(_("deployment ids"), help_text=_("One per line."))
    auth_url = models.URLField(_("address to authenticate at"), max_length=500)
    token_url = models.URLField(_("address that gives access tokens"), max_length=500)
    keys_url = models.URLField(_("address of the platform's keys"), max_length=500)
    origin = models.CharField(
        _("origin"), max_length=255, help_text=_("Where its pages are, as in https://moodle.example. May frame tasks.")
    )
    active = models.BooleanField(_("active"), default=True)
    private_key = models.TextField(default=new_private_key, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "client_id"], name="one_platform_per_client")]

    def __str__(self) -> str:
        return self.name


class LtiCourse(models.Model):
    """A course that a manager of the project connected with it: whose people may be brought into the roster."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="courses")
    platform = models.ForeignKey(LtiPlatform, on_delete=models.CASCADE, related_name="courses")
    title = models.CharField(max_length=200, blank=True)
    memberships_url = models.CharField(max_length=1000)
    fetched_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "platform", "memberships_url"], name="one_connection_per_course")
        ]

    def __str__(self) -> str:
        return self.title or self.platform.name


class LtiLearner(models.Model):
    """An annotator who came from a platform, and the grade that it gets once they have finished."""

    annotator = models.OneToOneField(Annotator, on_delete=models.CASCADE, related_name="lti")
    platform = models.ForeignKey(LtiPlatform, on_delete=models.CASCADE, related_name="learners")
    subject = models.CharField(max_length=255)
    # Where the grade goes; empty where the platform takes none.
    lineitem = models.CharField(max_length=1000, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    # When the next try may start; while one is under way, when it counts as lost.
    not_before = models.DateTimeField(db_index=True)
    last_error = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(subject=""), name="a_learner_has_a_subject")]

    def __str__(self) -> str:
        return f"{self.subject} of {self.platform_id}"
