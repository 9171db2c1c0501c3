"""What owners wrote in further languages: a project's words and its items' texts; read only where asked for."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.core.languages import MAX_LANGUAGE_LENGTH
from annotate.models.items import Context, Item
from annotate.models.projects import Project
from annotate.models.task_words import TaskWords


class ProjectTranslation(TaskWords):
    """A project's words in one of `Project.languages`; an empty one is shown in the project's own language."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="translations")
    language = models.CharField(max_length=MAX_LANGUAGE_LENGTH)
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    question = models.CharField(_("question"), max_length=500, blank=True, default="")
    instructions = models.TextField(_("instructions"), blank=True, default="", max_length=50_000)
    more_means = models.CharField(_("a higher place means"), max_length=100, blank=True, default="")
    # Of projects with several criteria, by their place: a list of {"name", "question"}, either may be empty.
    criteria = models.JSONField(_("criteria"), default=list, blank=True)

    consent = models.TextField(_("consent text"), blank=True, default="", max_length=50_000)
    # The version of the own consent text that this translates: shown for no other.
    consent_of = models.CharField(max_length=64, blank=True, default="")
    thanks = models.TextField(_("thank-you message"), blank=True, default="", max_length=5_000)
    # Of the questionnaire: a list of {"number", "label", "choices"}, whose choices are in the order of the field's own.
    questions = models.JSONField(default=list, blank=True)

    # What may be translated besides the criteria and what people read before and after the tasks.
    WORDS = (
        *("name", "question", "instructions", "more_means"),
        *("best_words", "worst_words", "choice_words", "slightly_words", "clearly_words", "instruction_line"),
        *("tie_words", "both_good_words", "both_bad_words", "cant_judge_words", "skip_words"),
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "language"], name="one_translation_per_language")]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.language}"


class ItemTranslation(models.Model):
    """An item's text, and its title in results, in one of `Project.languages`; an empty one is shown in the own."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="translations")
    language = models.CharField(max_length=MAX_LANGUAGE_LENGTH)
    body = models.TextField(blank=True, default="")
    name = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "language"], name="one_item_text_per_language")]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.language}"


class ContextTranslation(models.Model):
    """A context's text in one of `Project.languages`."""

    context = models.ForeignKey(Context, on_delete=models.CASCADE, related_name="translations")
    language = models.CharField(max_length=MAX_LANGUAGE_LENGTH)
    body = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["context", "language"], name="one_context_text_per_language")]

    def __str__(self) -> str:
        return f"{self.context_id}: {self.language}"
