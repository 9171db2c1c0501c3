"""Machines that judge pairs of items: what each is, what it answered, and what a report says of it.

A machine has a row of Annotator, which names it, and its answers have a table of their own: so whatever counts labels,
or people by `Annotator.objects`, counts people alone, and fits read machines only where they are told to.
"""

from django.db import models
from django.db.models import F, Q

from annotate.models.annotators import Annotator
from annotate.models.items import Item
from annotate.models.leased_jobs import RequestedJob
from annotate.models.projects import Project

MAX_MACHINES = 50  # in a project
MAX_PROMPT_LENGTH = 50_000
MAX_VERSION_LENGTH = 100
MAX_CURRENCY_LENGTH = 10


class Machine(models.Model):
    """What judges: a program or model with its prompt. Nothing of it changes: another prompt is another machine."""

    annotator = models.OneToOneField(Annotator, on_delete=models.CASCADE, primary_key=True, related_name="machine")
    program = models.CharField(max_length=200)
    version = models.CharField(max_length=MAX_VERSION_LENGTH, blank=True)
    prompt = models.TextField(blank=True, max_length=MAX_PROMPT_LENGTH)
    # SHA-256 of the prompt, in hexadecimal; of one that is not told, as its owner says.
    prompt_hash = models.CharField(max_length=64, blank=True)
    # Of one answer, where the answers do not say their own.
    price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    currency = models.CharField(max_length=MAX_CURRENCY_LENGTH, blank=True)

    def __str__(self) -> str:
        return f"{self.program} {self.version}".strip()


class MachineAnswer(models.Model):
    """What a machine said of two items in the order in which it was shown them: a fact, written once."""

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE, related_name="answers", db_index=False)
    criterion = models.PositiveSmallIntegerField(default=1)
    first = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    chosen = models.ForeignKey(Item, on_delete=models.CASCADE, null=True, blank=True, related_name="+")  # null: a tie
    prompt_version = models.CharField(max_length=MAX_VERSION_LENGTH, blank=True)
    # As its endpoint reports; empty where it reports none.
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["machine", "criterion", "first", "second"], name="one_machine_answer_per_order"
            ),
            models.CheckConstraint(condition=~Q(first=F("second")), name="a_machine_compares_two_items"),
            models.CheckConstraint(
                condition=Q(chosen=None) | Q(chosen=F("first")) | Q(chosen=F("second")),
                name="a_machine_chooses_what_it_was_shown",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.machine_id}: {self.first_id}-{self.second_id}"


class MachineReport(RequestedJob):
    """Machines beside people by one criterion: asked for by a person, computed by an engine process."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="machine_reports")
    criterion = models.PositiveSmallIntegerField(default=1)
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    estimator = models.CharField(max_length=50, blank=True)
    # What came of it: annotate.annotators.machines.job says what is in it.
    figures = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion"], name="one_machine_report_per_criterion")
        ]
        indexes = [
            models.Index(fields=["asked_at"], condition=Q(status__in=["asked", "running"]), name="machine_reports_owed")
        ]

    def __str__(self) -> str:
        return f"report on machines {self.pk}"
