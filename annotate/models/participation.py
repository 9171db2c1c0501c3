"""Who may take part and how it ends: the owner's rules, what people agreed to, and the codes they were given."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.annotators import Annotator
from annotate.models.projects import Project
from annotate.models.tokens import new_token

MAX_ID_LENGTH = 200  # of what a platform calls a participant, a study or a session


class ParticipationRules(models.Model):
    """A project's rules of entry; a project without this row has the open join link and nothing else."""

    class Codes(models.TextChoices):
        NONE = "none", _("No code")
        STUDY = "study", _("One code for all")
        INDIVIDUAL = "individual", _("A signed code for each person, valid once")

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="entry")
    open_link = models.BooleanField(_("join link"), default=True)
    # At most so many take part by links; a place that nobody used for so long goes to somebody else.
    places = models.PositiveIntegerField(_("maximum number of participants"), null=True, blank=True)
    place_minutes = models.PositiveIntegerField(_("minutes an unused place is kept"), null=True, blank=True)
    platform = models.BooleanField(_("platform link"), default=False)
    platform_token = models.CharField(max_length=40, unique=True, default=new_token)
    # What the platform's parameters are called; an empty one is not read.
    participant_parameter = models.CharField(_("participant's parameter"), max_length=50, default="PROLIFIC_PID")
    study_parameter = models.CharField(_("study's parameter"), max_length=50, default="STUDY_ID", blank=True)
    session_parameter = models.CharField(_("session's parameter"), max_length=50, default="SESSION_ID", blank=True)
    consent = models.TextField(_("consent text"), blank=True, max_length=50_000)
    thanks = models.TextField(_("thank-you message"), blank=True, max_length=5_000)
    codes = models.CharField(_("codes"), max_length=10, choices=Codes, default=Codes.NONE)
    complete_code = models.CharField(_("code for those who finish"), max_length=100, blank=True)
    screened_out_code = models.CharField(_("code for those screened out"), max_length=100, blank=True)
    quota_full_code = models.CharField(_("code when all places are taken"), max_length=100, blank=True)
    no_consent_code = models.CharField(_("code for those who do not agree"), max_length=100, blank=True)
    # Where people go back to: an https address of an allowed host, with {code} and {participant} filled in.
    return_url = models.CharField(_("address to return to"), max_length=500, blank=True)

    class Meta:
        db_table = "annotate_entry"

    def __str__(self) -> str:
        return str(self.project_id)


class ConsentText(models.Model):
    """A text that people were asked to agree to, as it was; `version` is its SHA-256."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.CharField(max_length=64)
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="one_row_per_consent_text")]

    def __str__(self) -> str:
        return self.version


class Consent(models.Model):
    """Somebody's agreement to one text; never changed."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="consents")
    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="consents")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["annotator", "text"], name="one_consent_per_text")]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.text}"


class Completion(models.Model):
    """How somebody's part ended and the code they were given; of those turned away only the platform's id is known."""

    class Kind(models.TextChoices):
        COMPLETE = "complete", _("Finished")
        SCREENED_OUT = "screened_out", _("Screened out")
        QUOTA_FULL = "quota_full", _("No place left")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="completions")
    annotator = models.OneToOneField(Annotator, on_delete=models.CASCADE, null=True, related_name="completion")
    platform_id = models.CharField(max_length=MAX_ID_LENGTH, blank=True)
    kind = models.CharField(max_length=15, choices=Kind)
    code = models.CharField(max_length=100, blank=True)
    # A signed code of its own, which can be used once.
    individual = models.BooleanField(default=False)
    at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "code"], condition=Q(individual=True), name="one_row_per_code"),
            models.UniqueConstraint(
                fields=["project", "platform_id"], condition=Q(annotator=None), name="turned_away_once"
            ),
            models.CheckConstraint(condition=Q(used_at=None) | Q(individual=True), name="only_own_codes_are_used_up"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.code}"
