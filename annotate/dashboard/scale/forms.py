"""Form of a scale: a mean and a spread, an earlier project's, or anchors of known value."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import access
from annotate.core.numbers import format_integer
from annotate.criteria import Criterion
from annotate.dashboard.scale.queries import MAX_ANCHORS, Scale, kept_scale, read_number, values_to_carry
from annotate.models import Project, User

SPREAD, SOURCE, ANCHORS, KEPT = "spread", "source", "anchors", "kept"
KINDS = {
    KEPT: gettext_lazy("The scale kept for this project"),
    SPREAD: gettext_lazy("Values with a mean and a spread that you choose"),
    SOURCE: gettext_lazy("The scale of an earlier project, carried on by items with the same keys"),
    ANCHORS: gettext_lazy("The scale of anchors: items whose values you write below"),
}
MAX_VALUE = 1e6
MAX_TEXT = 10_000
SEPARATORS = re.compile(r"[;\t]")


class AnchorsFileForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("Anchors from a file"),
        help_text=gettext_lazy(
            "The CSV file of another project's scale, or any table with the columns item and value and, if known, "
            "deviation. Items that this project lacks are left out."
        ),
    )


class ScaleForm(forms.Form):
    """The address of the page holds the choice; a scale is stored only to be kept."""

    kind = forms.ChoiceField(
        label=gettext_lazy("Values are"), choices=list(KINDS.items()), widget=forms.RadioSelect, initial=SPREAD
    )
    mean = forms.FloatField(
        label=gettext_lazy("Mean of the items"),
        min_value=-MAX_VALUE,
        max_value=MAX_VALUE,
        required=False,
        initial=50,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    deviation = forms.FloatField(
        label=gettext_lazy("Spread (standard deviation)"),
        min_value=0.001,
        max_value=MAX_VALUE,
        required=False,
        initial=15,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    source = forms.ModelChoiceField(
        Project.objects.none(), label=gettext_lazy("Earlier project"), required=False, empty_label="-"
    )
    anchors = forms.CharField(
        label=gettext_lazy("Anchors"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "One a line: the item's key; its value; if you know it, its standard deviation. For example: E20; 62; 3"
        ),
    )

    def __init__(self, criterion: Criterion, user: User, data: Any = None) -> None:
        self.project = project = criterion.project
        self.kept = kept_scale(criterion)
        super().__init__(data)
        if self.kept is None:
            kinds = [(name, words) for name, words in KINDS.items() if name != KEPT]
            self.fields["kind"].choices = kinds  # type: ignore[attr-defined]
        else:
            self.fields["kind"].initial = KEPT
        seen = user.memberships.filter(role__in=access.SEE).values("project")
        others = Project.objects.filter(pk__in=seen).exclude(pk=project.pk).order_by("-created_at", "pk")
        self.fields["source"].queryset = others  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        kind = values.get("kind")
        if kind == SPREAD:
            for name in ("mean", "deviation"):
                if values.get(name) is None and name not in self.errors:
                    self.add_error(name, _("Write a number; 50 and 15 are common."))
        if kind == SOURCE and "source" not in self.errors:
            self.clean_source_anchors(values.get("source"))
        if kind == ANCHORS and "anchors" not in self.errors:
            self.rows, problems = read_anchors(self.project, values["anchors"])
            for problem in problems:
                self.add_error("anchors", problem)
        return values

    def clean_source_anchors(self, source: Project | None) -> None:
        """Take the values of the items that both projects have."""
        self.rows = [list(row) for row in values_to_carry(self.project, source)] if source else []
        if source is None:
            self.add_error("source", _("Choose the project whose scale is carried on."))
        elif not self.rows:
            text = _("“%(name)s” has no ranked item with a key of this project. Choose another, or write anchors.")
            self.add_error("source", text % {"name": source.name})

    def scale(self) -> Scale:
        """Return the choice, after is_valid; the usual scale of a form without data."""
        if not self.is_bound:
            return self.kept or Scale()
        if self.cleaned_data["kind"] == KEPT and self.kept:
            return self.kept
        if self.cleaned_data["kind"] == SPREAD:
            return Scale(self.cleaned_data["mean"], self.cleaned_data["deviation"])
        return Scale(anchors=tuple((key, value, deviation) for key, value, deviation in self.rows))


def read_anchors(project: Project, text: str) -> tuple[list[list[Any]], list[str]]:
    """Return rows of (key, value, deviation or None), and what is wrong with the lines."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        return [], [_("There is no anchor. Write one a line, or choose an earlier project.")]
    if len(lines) > MAX_ANCHORS:
        problem = _("There are %(n)s anchors; the limit is %(limit)s. Leave some out.")
        return [], [problem % {"n": format_integer(len(lines)), "limit": format_integer(MAX_ANCHORS)}]
    rows, problems = [], []
    for number, line in lines:
        row, problem = read_anchor(line)
        if problem:
            problems.append(_("Line %(n)d: %(problem)s") % {"n": number, "problem": problem})
        rows.append(row)
    return rows, problems or find_unknown_keys(project, [row[0] for row in rows], [number for number, _line in lines])


def read_anchor(line: str) -> tuple[list[Any], str]:
    cells = [cell.strip() for cell in SEPARATORS.split(line)]
    if len(cells) not in (2, 3):
        return [], _("“%(line)s” has %(n)d cells. Write key; value, or key; value; deviation.") % {
            "line": line[:60],
            "n": len(cells),
        }
    numbers = [read_number(cell) for cell in cells[1:]]
    for cell, number in zip(cells[1:], numbers, strict=True):
        if number is None or abs(number) > MAX_VALUE:
            return [], _("“%(cell)s” is no number. Write one such as 62 or 4.5.") % {"cell": cell[:40]}
    if len(numbers) == 2 and (numbers[1] or 0) < 0:
        return [], _("the deviation is %(cell)s. Write 0 or more.") % {"cell": cells[2]}
    return [cells[0], numbers[0], numbers[1] if len(numbers) == 2 else None], ""


def find_unknown_keys(project: Project, keys: list[str], lines: list[int]) -> list[str]:
    known = set(project.items.filter(key__in=keys).values_list("key", flat=True))
    problems = []
    for place, key in enumerate(keys):
        shown = {"n": lines[place], "key": key}
        if key not in known:
            problems.append(_("Line %(n)d: no item has the key “%(key)s”. The page Items lists the keys.") % shown)
        elif key in keys[:place]:
            problems.append(_("Line %(n)d: “%(key)s” is there twice. Leave one out.") % shown)
    return problems
