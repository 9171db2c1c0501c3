"""Importing comparisons made elsewhere: each becomes a presentation and its label, as if it had been given here."""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db.models import Max
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.files.cells import shortened, unknown_item
from annotate.imports.comparisons.rows import Checked, raise_overlap, write_labels
from annotate.labelling.asked_tasks import code_for, is_mixed, project_for_task
from annotate.labelling.outcomes import EXTRA_OUTCOMES, TIES, main_outcome, n_ranked
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import MAX_COMMENT_LENGTH, Annotator, Event, EventVerb, Label, Presentation, Project, User

# Labels written in one transaction: others' writes wait for it about a third of a second on SQLite.
CHUNK = 2000
SIDES = {"left": 0, "right": 1}
LONGEST_NAME = 100
MOST_REFUSALS = 1000  # kept in the history; the report has all of them


class Comparison(NamedTuple):
    """One answer given elsewhere. `row`: its place in the source, from 1.   shown: item keys in the order shown.

    outcome: one of `outcomes_of` the project.   at: when it was given, if that is known.
    grade: of a choice how much better it is, slightly or clearly, if that is known.
    order: the keys named, best first: the chosen one, the best and the worst, a ranking; () for left, right and others.
    shared: which of these, from 0, share the place of the one before.
    """

    row: int
    annotator: str
    shown: tuple[str, ...]
    outcome: str
    at: datetime | None = None
    response_ms: int | None = None
    order: tuple[str, ...] = ()
    grade: str = ""
    comment: str = ""
    shared: tuple[int, ...] = ()


class Refused(NamedTuple):
    row: int
    reason: str


@dataclass
class Report:
    """What became of the rows: n_rows = n_labels + len(refused)."""

    n_rows: int
    n_labels: int
    n_annotators: int
    refused: list[Refused] = field(default_factory=list)


class ImportedBefore(UserError):
    def __init__(self, n_rows: int) -> None:
        super().__init__(
            _("These %(n)d comparisons have already been imported into this project, so nothing was added.")
            % {"n": n_rows}
        )


def import_comparisons(
    *,
    project: Project,
    actor: User,
    comparisons: Sequence[Comparison],
    source: str,
    now: datetime,
    rng: random.Random,
    progress: Callable[[int, int], None] | None = None,
    annotators_are: str = Annotator.Source.IMPORT,
) -> Report:
    """Add a label for every row that can be one and report the others; `progress(done, of)` after each chunk.

    comparisons: by ascending `row`.   annotators_are: the source of those who are named.

    Written in chunks, each whole or not at all. Called again with the same rows it goes on behind the last chunk, and
    raises ImportedBefore once all are in. Overlap is raised to the most annotators that any set has.
    """
    digest = hashlib.sha256(repr([digested(row) for row in comparisons]).encode()).hexdigest()
    done = rows_stored(project, digest, len(comparisons))
    checked, refused = check(project, comparisons, annotators_are)
    annotators = ensure_annotators(project, checked, now, annotators_are)
    repeats = next_repeats(project, annotators_are)
    for start in range(0, len(checked), CHUNK):
        chunk = [row for row in checked[start : start + CHUNK] if row.row > done]
        if chunk:
            with write_transaction():
                write_labels(project, chunk, annotators, repeats, now, rng)
                record_event(project, actor, EventVerb.COMPARISONS_STORED, now, digest=digest, row=chunk[-1].row)
        if progress:
            progress(min(start + CHUNK, len(checked)), len(checked))
    report = Report(len(comparisons), len(checked), len(annotators), refused)
    with write_transaction():
        raise_overlap(project)
        record_event(
            project,
            actor,
            EventVerb.COMPARISONS_IMPORTED,
            now,
            source=source,
            rows=report.n_rows,
            labels=report.n_labels,
            refused=len(refused),
            refusals=[list(one) for one in refused[:MOST_REFUSALS]],
            digest=digest,
        )
    return report


def digested(row: Comparison) -> tuple[object, ...]:
    """Return what tells a row from others: without `shared` where nothing is, as before there was any."""
    return tuple(row) if row.shared else tuple(row)[:-1]


def rows_stored(project: Project, digest: str, n_rows: int) -> int:
    """Up to which row an earlier call with the same rows has come; raises ImportedBefore if it came to the end."""
    earlier = Event.objects.filter(project=project, details__digest=digest)
    if earlier.filter(verb=EventVerb.COMPARISONS_IMPORTED).exists():
        raise ImportedBefore(n_rows)
    return max((event.details["row"] for event in earlier.filter(verb=EventVerb.COMPARISONS_STORED)), default=0)


def check(
    project: Project, comparisons: Sequence[Comparison], annotators_are: str
) -> tuple[list[Checked], list[Refused]]:
    """Return rows that can become labels, with their items' primary keys, and the others with the reason."""
    items = dict(project.items.values_list("key", "pk"))
    people = Annotator.everyone.filter(project=project).exclude(source=annotators_are)
    taken = set(people.values_list("pseudonym", flat=True))
    checked, refused = [], []
    for row in comparisons:
        reason = next(problems(project, row, items, taken), "")
        if reason:
            refused.append(Refused(row.row, reason))
            continue
        checked.append(with_ids(row, items)._replace(task=task_for(project, row)))
    return checked, refused


def task_for(project: Project, row: Comparison) -> str:
    """Return Presentation.task of a row: of several kinds of task the one that has such an answer."""
    if not is_mixed(project):
        return ""
    outcome = Label.Outcome.CHOICE.value if row.outcome in SIDES else row.outcome
    words = {"graded": bool(row.grade), "shared": bool(row.shared)}
    return code_for(project, outcome, len(row.shown), n_named=len(row.order), **words)


def with_ids(row: Comparison, items: Mapping[str, int]) -> Checked:
    """Return a row that has no problems, its items by primary key."""
    side = SIDES.get(row.outcome)
    order = tuple(row.shown.index(key) for key in row.order) if side is None else (side,)
    outcome = row.outcome if side is None else Label.Outcome.CHOICE
    shown = tuple(items[key] for key in row.shown)
    words = (row.grade, row.comment, row.shared)
    return Checked(row.row, row.annotator, shown, outcome, order, row.at, row.response_ms, *words)


def outcomes_of(project: Project) -> list[str]:
    """Return what may be said of a set of the project's: `left` and `right` name the chosen one of a pair."""
    asked = main_outcome(project)
    if project.k > 2:
        return [asked.value, *(outcome.value for outcome in EXTRA_OUTCOMES if outcome not in TIES)]
    return [
        *(SIDES if asked == Label.Outcome.CHOICE else [asked.value]),
        *(outcome.value for outcome in EXTRA_OUTCOMES),
    ]


def problems(project: Project, row: Comparison, items: dict[str, int], taken: set[str]) -> Iterator[str]:
    """Yield what keeps a row from becoming a label, in words; nothing if it can."""
    project = project_for_task(project, task_for(project, row))
    for key in row.shown:
        if key not in items:
            yield unknown_item(key)
    yield from problems_of_the_set(project, row)
    known = outcomes_of(project)
    if row.outcome not in known:
        values = {"outcome": shortened(row.outcome), "known": ", ".join(known)}
        yield _("The outcome “%(outcome)s” is unknown. Use one of: %(known)s.") % values
    else:
        yield from problems_of_the_order(project, row)
    if not row.annotator.strip() or len(row.annotator) > LONGEST_NAME:
        yield _("The annotator's name “%(name)s” has %(n)d characters; it needs 1 to %(limit)d.") % {
            "name": shortened(row.annotator),
            "n": len(row.annotator),
            "limit": LONGEST_NAME,
        }
    if row.annotator in taken:
        yield _("“%(name)s” already answers here in person. Give the imported annotator another name.") % {
            "name": row.annotator
        }


def problems_of_the_set(project: Project, row: Comparison) -> Iterator[str]:
    if len(row.shown) != project.k:
        yield _("The row shows %(n)d items; this project shows %(k)d at a time.") % {
            "n": len(row.shown),
            "k": project.k,
        }
    repeated = next((key for key in row.shown if row.shown.count(key) > 1), None)
    if repeated is not None:
        values = {"annotator": shortened(row.annotator), "key": shortened(repeated)}
        yield _("%(annotator)s compares item “%(key)s” with itself.") % values


def problems_of_the_order(project: Project, row: Comparison) -> Iterator[str]:
    asked = row.outcome == main_outcome(project)
    needed = n_ranked(project) if asked and row.outcome not in SIDES else 0
    if len(row.order) != needed:
        values = {"outcome": row.outcome, "n": len(row.order), "needed": needed}
        yield _("The answer “%(outcome)s” names %(n)d items but needs %(needed)d.") % values
    if row.grade and (row.outcome not in SIDES or row.grade not in Label.Grade.values):
        values = {"grade": shortened(row.grade), "known": ", ".join(Label.Grade.values)}
        yield _("The grade “%(grade)s” is unknown, or the answer is not a choice. Use one of: %(known)s.") % values
    if len(row.comment) > MAX_COMMENT_LENGTH:
        values = {"n": len(row.comment), "limit": MAX_COMMENT_LENGTH}
        yield _("The comment has %(n)d characters; the limit is %(limit)d. Shorten it.") % values
    if row.shared and not task_type_of(project).shares_places(project):
        yield _(
            "The answer gives several items the same place, which this project does not allow. Switch on “Places may "
            "be shared” in its settings before the first answer."
        )
    for place, key in enumerate(row.order):
        if key not in row.shown or key in row.order[:place]:
            yield _("The answer names “%(key)s”, which was not shown or already has a place.") % {"key": shortened(key)}


def ensure_annotators(project: Project, rows: Sequence[Checked], now: datetime, source: str) -> dict[str, int]:
    """Return the primary key of every annotator named, created where need be."""
    return annotators_called(project, dict.fromkeys(row.annotator for row in rows), now, source)


def annotators_called(project: Project, names: Iterable[str], now: datetime, source: str) -> dict[str, int]:
    found = project.annotators.filter(source=source)
    known = set(found.values_list("pseudonym", flat=True))
    new = [name for name in names if name not in known]
    Annotator.objects.bulk_create(
        (Annotator(project=project, pseudonym=name, source=source, joined_at=now) for name in new),
        batch_size=500,
    )
    return {name: pk for name, pk in found.values_list("pseudonym", "pk") if name in names}


def next_repeats(project: Project, source: str) -> dict[tuple[int, str], int]:
    """For annotators of this source and the sets they have had: how many times, so that the next is numbered behind."""
    rows = Presentation.objects.filter(project=project, annotator__source=source)
    counts = rows.order_by().values_list("annotator_id", "item_set__key").annotate(last=Max("repeat"))
    return {(annotator, key): last + 1 for annotator, key, last in counts}
