"""The participants of a project."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from annotate.models.projects import Project
from annotate.models.tokens import new_token

MAX_TAG_LENGTH = 100
MAX_ANNOTATOR_TAGS = 20  # on one annotator


class PeopleManager(models.Manager):
    """Leaves machines out. It is the default, so that whatever lists, counts or finds annotators means people."""

    def get_queryset(self) -> models.QuerySet:
        return super().get_queryset().exclude(source=Annotator.Source.MACHINE)


class Annotator(models.Model):
    """A participant in one project, with or without an account; or, found by `everyone` alone, a machine."""

    class ScreeningRule(models.TextChoices):
        PRACTICE = "practice", _("Practice failed")
        ATTENTION = "attention", _("Attention checks failed")
        GOLD = "gold", _("Gold questions failed")

    class Source(models.TextChoices):
        ACCOUNT = "account", _("Account")
        LINK = "link", _("Join link")
        PLATFORM = "platform", _("Platform link")
        IMPORT = "import", _("Imported")
        SIMULATED = "simulated", _("Simulated")
        MACHINE = "machine", _("Machine")  # annotate.models.machines

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="annotators")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="annotators"
    )
    pseudonym = models.CharField(max_length=100)
    # Brings a pseudonymous annotator back on another device, and names the annotator in addresses seen by the owner.
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    resume_token = models.CharField(max_length=40, unique=True, default=new_token)
    source = models.CharField(max_length=10, choices=Source)
    # The keys of the task page: on or off, and those chosen instead of the usual ones (labelling.keys.bindings).
    shortcuts = models.BooleanField(default=True)
    keys = models.JSONField(default=dict, blank=True)
    joined_at = models.DateTimeField(db_default=Now())
    excluded_at = models.DateTimeField(null=True, blank=True)
    # How many labels of practice there are, when it was passed or found not to be needed, and when it was failed.
    practised = models.PositiveSmallIntegerField(default=0)
    practice_over_at = models.DateTimeField(null=True, blank=True)
    # Whether ConflictOfInterest has rows for them.
    has_never_shown = models.BooleanField(default=False)
    screened_out_at = models.DateTimeField(null=True, blank=True)
    screened_out_by = models.CharField(max_length=10, choices=ScreeningRule, blank=True)
    # What a platform calls the participant, the study and the session they came by; told to managers alone.
    platform_id = models.CharField(max_length=200, blank=True)
    platform_study = models.CharField(max_length=200, blank=True)
    platform_session = models.CharField(max_length=200, blank=True)
    # The text agreed to last (ConsentText.version), and how it ended.
    consent_version = models.CharField(max_length=64, blank=True)
    ended = models.CharField(max_length=15, blank=True)  # Completion.Kind
    # The newest Field that they were asked, before the first task and after the last.
    fields_before = models.PositiveBigIntegerField(default=0)
    fields_after = models.PositiveBigIntegerField(default=0)
    # The flags that webhooks were told of (annotate.quality.flags.notices) and that are still up.
    flagged = models.JSONField(default=list, blank=True)

    # Whether the step that has locked this one holds the project alone (annotate.locks); no column.
    alone = False

    objects = PeopleManager()
    everyone = models.Manager()  # noqa: DJ012  (the default comes first)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_annotator_per_user_and_project"),
            models.UniqueConstraint(fields=["project", "pseudonym"], name="one_annotator_per_pseudonym"),
            models.UniqueConstraint(
                fields=["project", "platform_id"],
                condition=models.Q(platform_id__gt=""),
                name="one_annotator_per_platform_id",
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym


class AnnotatorTag(models.Model):
    """A word that the owner puts to an annotator, such as a group; seen by members of the project alone."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=MAX_TAG_LENGTH)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["annotator", "name"], name="one_tag_per_annotator_and_name")]

    def __str__(self) -> str:
        return self.name
