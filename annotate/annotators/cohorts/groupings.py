"""Lists what annotators can be grouped by, the values of each grouping, and who has them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.criteria import Criterion
from annotate.models import Annotator, AnnotatorTag, AnnotatorTaste, QuestionAnswer, QuestionField, TasteMap

SOURCE, GROUP, TAG, FIELD = "source", "group", "tag", "field:"
MAX_VALUES = 50
UP_TO, ABOVE = "up to", "above"  # the middle of a number field
EVERYBODY_ELSE = gettext_lazy("Everybody else")


@dataclass(frozen=True)
class Value:
    """One value of a grouping and how many annotators have it."""

    key: str
    name: str
    n: int


@dataclass(frozen=True)
class Grouping:
    key: str
    name: str
    values: list[Value]

    def named(self, value: str) -> str:
        if not value:
            return str(EVERYBODY_ELSE)
        return next((one.name for one in self.values if one.key == value), value)


def groupings(criterion: Criterion) -> list[Grouping]:
    """Return those with two values or more (of tags, one), in as many queries however many annotators there are; groups
    are those by this criterion."""
    project = criterion.project
    sources = dict(Annotator.Source.choices)
    names = {GROUP: _("Group found"), TAG: _("Tag"), SOURCE: _("How they joined")}
    fields = {one.pk: one for one in project.fields.order_by("number")}
    values_by_key: dict[str, list[tuple[str, str]]] = {GROUP: [], TAG: [], SOURCE: []}
    came = Annotator.objects.filter(project=project, excluded_at=None).values_list("source", flat=True)
    values_by_key[SOURCE] = [(one, str(sources.get(one, one))) for one in came]
    values_by_key[GROUP] = [(str(one), group_name(one)) for one in groups_of(criterion).values()]
    tags = AnnotatorTag.objects.filter(annotator__project=project, annotator__excluded_at=None)
    values_by_key[TAG] = [(name, name) for name in tags.values_list("name", flat=True)]
    answers = QuestionAnswer.objects.filter(field__project=project, annotator__excluded_at=None)
    by_field: dict[int, list[str]] = {}
    for field, value in answers.values_list("field", "value"):
        by_field.setdefault(field, []).append(value)
    for pk, values in by_field.items():
        names[f"{FIELD}{pk}"] = fields[pk].label
        values_by_key[f"{FIELD}{pk}"] = [one for value in values if (one := describe_value(fields[pk], value, values))]
    found = (Grouping(key, names[key], count_values(values)) for key, values in values_by_key.items())
    return [one for one in found if len(one.values) > (0 if one.key == TAG else 1)]


def count_values(values: Iterable[tuple[str, str]]) -> list[Value]:
    """Return the most frequent values, most annotators first."""
    counts = Counter(values)
    ordered = sorted(counts, key=lambda one: (-counts[one], one[1]))
    return [Value(key, name, counts[key, name]) for key, name in ordered[:MAX_VALUES]]


def describe_value(field: QuestionField, value: str, values: list[str]) -> tuple[str, str] | None:
    """Return (key, name) of the cohort that an answer puts somebody in: of numbers, the lower or the upper
    half."""
    if field.kind == QuestionField.Kind.YES_NO:
        return value, _("Yes") if value == "yes" else _("No")
    if field.kind == QuestionField.Kind.NUMBER:
        middle = str(int(median(int(one) for one in values)))
    elif field.kind == QuestionField.Kind.IMPORTED:
        middle = sorted(values, key=float)[(len(values) - 1) // 2]
    else:
        return value, value
    if float(value) <= float(middle):
        return UP_TO, _("Up to %(n)s") % {"n": middle}
    return ABOVE, _("Above %(n)s") % {"n": middle}


def members(criterion: Criterion, by: str, value: str) -> set[int]:
    """Return primary keys of the annotators who have the value."""
    project = criterion.project
    if by == SOURCE:
        return set(Annotator.objects.filter(project=project, source=value).values_list("pk", flat=True))
    if by == GROUP:
        return {pk for pk, group in groups_of(criterion).items() if str(group) == value}
    if by == TAG:
        tagged = AnnotatorTag.objects.filter(annotator__project=project, name=value)
        return set(tagged.values_list("annotator", flat=True))
    field = project.fields.filter(pk=int(by.removeprefix(FIELD))).first()
    if field is None:
        return set()
    answers = dict(
        QuestionAnswer.objects.filter(field=field, annotator__excluded_at=None).values_list("annotator", "value")
    )
    values = list(answers.values())
    return {pk for pk, answer in answers.items() if (one := describe_value(field, answer, values)) and one[0] == value}


def groups_of(criterion: Criterion) -> dict[int, int]:
    """Return the group of each annotator by this taste map of the criterion; empty where no groups stand out."""
    project = criterion.project
    taste_map = (
        TasteMap.objects.filter(project=project, criterion=criterion.number, n_groups__gt=1).defer("arrays").first()
    )
    if taste_map is None or taste_map.fit_number is None:
        return {}
    rows = AnnotatorTaste.objects.filter(annotator__project=project, fit_number=taste_map.fit_number)
    return {pk: group for pk, group in rows.exclude(group=None).values_list("annotator", "group") if group is not None}


def group_name(number: int) -> str:
    return _("Group %(n)s") % {"n": number + 1}
