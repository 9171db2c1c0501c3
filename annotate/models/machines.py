"""Machines that judge sets of items: what each is, what it answered, and what a report says of it.

A machine has a row of Annotator, which names it, and its answers have a table of their own: so whatever counts labels,
or people by `Annotator.objects`, counts people alone, and fits read machines only where they are told to.
"""

from django.db import models
from django.db.models import Q

from annotate.models.annotators import Annotator
from annotate.models.items import Item
from annotate.models.labels import ORDERED, Label
from annotate.models.leased_jobs import RequestedJob
from annotate.models.projects import MAX_ITEMS_SHOWN, Project

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


class MachineSet(models.Model):
    """A set of items that machines were asked about; apart from ItemSet, whose rows count what people take."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="machine_sets", db_index=False)
    # As ItemSet.key: the items' primary keys, ascending, joined by "-".
    key = models.CharField(max_length=220)
    items = models.ManyToManyField(Item, related_name="machine_sets")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="one_row_per_machine_set")]

    def __str__(self) -> str:
        return self.key


class MachineAnswer(models.Model):
    """What a machine said of a set of items in the order in which it was shown them: a fact, written once."""

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE, related_name="answers", db_index=False)
    criterion = models.PositiveSmallIntegerField(default=1)
    item_set = models.ForeignKey(MachineSet, on_delete=models.CASCADE, related_name="answers")
    # The order shown: the place in the set's key of each item, one digit each; a pair is "01" or "10".
    shown = models.CharField(max_length=MAX_ITEMS_SHOWN)
    task = models.CharField(max_length=24)  # what was asked (annotate.labelling.asked_tasks); never empty
    # As in Label.
    outcome = models.CharField(max_length=10, choices=Label.Outcome)
    chosen = models.ForeignKey(Item, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    ranks = models.CharField(max_length=MAX_ITEMS_SHOWN, blank=True)
    grade = models.CharField(max_length=10, choices=Label.Grade, blank=True, default="", db_default="")
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
                fields=["machine", "criterion", "item_set", "task", "shown"], name="one_machine_answer_per_order"
            ),
            models.CheckConstraint(
                condition=Q(outcome="choice", chosen__isnull=False) | (~Q(outcome="choice") & Q(chosen__isnull=True)),
                name="a_machines_choice_names_its_item",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=ORDERED) & ~Q(ranks="") | ~Q(outcome__in=ORDERED) & Q(ranks=""),
                name="a_machines_order_says_its_ranks",
            ),
            models.CheckConstraint(
                condition=Q(grade="") | Q(outcome="choice"), name="only_a_machines_choice_is_graded"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.machine_id}: {self.item_set_id} as {self.shown}"


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
