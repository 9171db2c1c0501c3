"""Defines the export tables of machines: who they are with the latest report, and every answer of theirs."""

from collections.abc import Iterator
from itertools import islice

from django.utils.translation import gettext_lazy as _

from annotate.annotators.machines.queries import machine_rows
from annotate.annotators.machines.report import FIGURES, report_view
from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind, Row
from annotate.fitting.published import published_fit
from annotate.labelling.asked_tasks import read_task
from annotate.labelling.item_sets import items_of_key
from annotate.models import Item, MachineAnswer, MachineReport

CHUNK = 900

COLUMNS = [
    Column("machine", _("Name of the machine.")),
    Column("program", _("Program or model.")),
    Column("version", _("Its version.")),
    Column("prompt", _("What it was told.")),
    Column("prompt_hash", _("SHA-256 of the prompt.")),
    Column("excluded", _("Whether it is excluded."), Kind.TRUTH),
    Column("n_answers", _("Number of its answers by all criteria."), Kind.INTEGER),
    Column("n_tokens", _("Tokens in and out, as its endpoint reported them."), Kind.INTEGER),
    Column("cost", _("What its answers cost."), Kind.NUMBER),
    Column("currency", _("Currency of the cost.")),
    Column("share_in_fit", _("Its share in the published fit; empty where it does not count."), Kind.NUMBER),
    *(
        Column(
            f"{name}{end}", _("From the latest report on machines; docs/statistics.md says what it is."), Kind.NUMBER
        )
        for name in FIGURES
        for end in ("", "_low", "_high")
    ),
]
ANSWER_COLUMNS = [
    Column("machine", _("Name of the machine.")),
    Column("criterion", _("Number of the criterion."), Kind.INTEGER),
    Column("task_type", _("pair, graded, best, best_worst, ranking or top (a ranking of the best few).")),
    Column("outcome", _("choice, best_worst, ranking, top or tie.")),
    Column("shown_order", _("Keys of the items in the order shown, a JSON list."), Kind.TEXTS),
    Column("chosen", _("Key of the item chosen; empty for every other outcome.")),
    Column("ranks", _("Place of each item in the order shown, 0 is best, separated by semicolons; else empty.")),
    Column("prompt_version", _("Version of the prompt, as the client said it.")),
    Column("tokens_in", _("Tokens of the request."), Kind.INTEGER),
    Column("tokens_out", _("Tokens of the reply."), Kind.INTEGER),
    Column("cost", _("Cost of the answer."), Kind.NUMBER),
    Column("seconds", _("How long the answer took."), Kind.NUMBER),
    Column("created_at", _("When it was stored, server time (UTC)."), Kind.MOMENT),
    Column("grade", _("How much better the chosen item is: slightly or clearly; empty if not asked.")),
]
VALUES = (
    *(
        "machine__annotator__pseudonym",
        "criterion",
        "task",
        "outcome",
        "item_set__key",
        "shown",
        "chosen__key",
        "ranks",
    ),
    *("prompt_version", "tokens_in", "tokens_out", "cost", "seconds", "created_at", "grade"),
)


def rows(criterion: Criterion) -> Iterator[Row]:
    report = MachineReport.objects.filter(project=criterion.project, criterion=criterion.number).first()
    view = report_view(criterion, report, most=0) if report else None
    reported = {one.name: one.figures for one in view.machines} if view else {}
    for row in machine_rows(criterion, published_fit(criterion)):
        machine = row.machine
        figures = reported.get(row.annotator.pseudonym, {})
        ends = [getattr(figures.get(name), end, None) for name in FIGURES for end in ("value", "low", "high")]
        yield [
            *(row.annotator.pseudonym, machine.program, machine.version, machine.prompt, machine.prompt_hash),
            *(row.annotator.excluded_at is not None, row.n_answers, row.n_tokens),
            None if row.cost is None else float(row.cost),
            machine.currency,
            row.in_fit["share"] if row.in_fit else None,
            *ends,
        ]


def answer_rows(criterion: Criterion) -> Iterator[Row]:
    """Yield every answer by every criterion, in order of arrival."""
    answers = MachineAnswer.objects.filter(machine__annotator__project=criterion.project).order_by("pk")
    rows = answers.values_list(*VALUES).iterator(CHUNK)
    while chunk := list(islice(rows, CHUNK)):
        wanted = {item for row in chunk for item in items_of_key(row[4])}
        keys = dict(Item.objects.filter(pk__in=wanted).values_list("pk", "key"))
        for name, number, task, outcome, item_set, shown, chosen, ranks, *more, cost, seconds, at, grade in chunk:
            items = items_of_key(item_set)
            order = [keys[items[int(place)]] for place in shown]
            answer = [read_task(task).task_type, outcome, order, chosen, ";".join(ranks)]
            yield [name, number, *answer, *more, None if cost is None else float(cost), seconds, at, grade]
