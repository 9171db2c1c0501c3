"""What owners send to add sets with a right answer: a table, pasted or as a file, or one set with its answer."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotate.files.cells import unknown_item
from annotate.files.limits import MAX_FILE_BYTES, MAX_KEY
from annotate.labelling.outcomes import allowed_extra_outcomes
from annotate.labelling.special_tasks import by_place
from annotate.labelling.task_types.base import shared_in
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import GoldSet, Item, Label, Project
from annotate.quality.gold.table import MAX_WHY_LENGTH, PURPOSES, InvalidRow, NewGoldSet, checked_order

Outcome = Label.Outcome
KEYS_OFFERED = 300
ORDER = "order"


def only_for_checks() -> forms.BooleanField:
    return forms.BooleanField(
        label=_("Use these items for checks only"),
        required=False,
        help_text=_("The items are retired: ordinary tasks don't show them, and the ranking leaves them out."),
    )


class GoldTableForm(forms.Form):
    table = forms.CharField(
        label=_("Table"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto", "spellcheck": "false"}),
        help_text=_(
            "One set per row, with columns separated by commas, semicolons or tabs, as copied from a spreadsheet."
        ),
    )
    file = forms.FileField(label=_("Or a file"), required=False, help_text=_("CSV or TSV, in UTF-8."))
    only_for_checks = only_for_checks()

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        file = values.get("file")
        if file and file.size > MAX_FILE_BYTES:
            self.add_error("file", _("The file is larger than %(limit)d MiB.") % {"limit": MAX_FILE_BYTES // 2**20})
            return values
        if file:
            try:
                values["table"] = file.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", _("The file is not UTF-8 text. Save it as “CSV UTF-8” and send it again."))
        elif not (values.get("table") or "").strip():
            self.add_error("table", _("The table is empty. Paste a table or choose a file."))
        return values


class GoldSetForm(forms.Form):
    """One set: its items by their keys, the right answer, what is told after practice.

    `known` is the set to change, `chosen` the keys of items that were picked from the list of items.
    """

    purpose = forms.ChoiceField(label=_("Purpose"), choices=[(one.value, one.label) for one in PURPOSES.values()])
    why = forms.CharField(
        label=_("Why this is right"),
        required=False,
        max_length=MAX_WHY_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text=_("Shown only after a practice task."),
    )
    only_for_checks = only_for_checks()

    def __init__(
        self, *args: Any, project: Project, known: GoldSet | None = None, chosen: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        self.task_type = task_type_of(project)
        for n in range(1, project.k + 1):
            self.fields[f"item_{n}"] = item_field(n)
            if self.task_type.is_ordered:
                self.fields[f"place_{n}"] = self.place_field(n)
        self.fields["answer"] = forms.ChoiceField(label=_("Right answer"), choices=self.answers())
        self.initial.update(self.values_of(known) if known else {f"item_{n}": key for n, key in enumerate(chosen, 1)})
        self.order_fields(["purpose", *self.names("item"), *self.names("place"), "answer", "why"])
        for name in self.names("item"):
            self.fields[name].help_text = self.titles.get(self.key_in(name), "")

    def names(self, what: str) -> list[str]:
        return [f"{what}_{n}" for n in range(1, self.project.k + 1)]

    def place_field(self, n: int) -> forms.ChoiceField:
        marks = [words for _name, words in self.task_type.marks(self.project)]
        n_places = self.task_type.n_ranked(self.project)
        places = [(str(place), marks[place - 1] if marks else str(place)) for place in range(1, n_places + 1)]
        label = gettext("Place of item %(n)d") % {"n": n}
        return forms.ChoiceField(label=label, required=False, choices=[("", "–"), *places])

    def answers(self) -> list[tuple[str, str]]:
        items = [(str(n), gettext("Item %(n)d") % {"n": n}) for n in range(1, self.project.k + 1)]
        named = [(ORDER, gettext("The order given above"))] if self.task_type.is_ordered else items
        return [*named, *((other, str(Outcome(other).label)) for other in allowed_extra_outcomes(self.project))]

    def values_of(self, known: GoldSet) -> dict[str, Any]:
        """Return the set as the form shows it."""
        items = list(known.items.order_by("pk"))
        place = {item: place for place, items in enumerate(by_place(known.named, known.shared), 1) for item in items}
        values: dict[str, Any] = {"purpose": known.purpose, "why": known.why, "answer": known.outcome}
        for n, item in enumerate(items, 1):
            values[f"item_{n}"] = item.key
            values[f"place_{n}"] = str(place.get(item.pk, ""))
            if known.named and (self.task_type.is_ordered or item.pk == known.named[0]):
                values["answer"] = ORDER if self.task_type.is_ordered else str(n)
        return values

    def key_in(self, name: str) -> str:
        return str((self.data if self.is_bound else self.initial).get(name) or "").strip()

    @cached_property
    def found(self) -> dict[str, Item]:
        """Return the items that the fields name, by their keys."""
        keys = {self.key_in(name) for name in self.names("item")}
        return {item.key: item for item in Item.objects.filter(project=self.project, key__in=keys)}

    @property
    def titles(self) -> dict[str, str]:
        return {key: item.shown_as(self.project.items_shown_by) for key, item in self.found.items()}

    def keys_offered(self) -> list[tuple[str, str]]:
        """Return the keys of the first items, each with the item's name in results."""
        items = self.project.items.order_by("pk").only("project", "key", "name", "kind", "body")[:KEYS_OFFERED]
        return [(item.key, item.shown_as(self.project.items_shown_by)) for item in items]

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        keys = [values.get(name, "") for name in self.names("item")]
        for name, key in zip(self.names("item"), keys, strict=True):
            if key and key not in self.found:
                self.add_error(name, unknown_item(key))
            elif key and keys.count(key) > 1:
                self.add_error(name, _("An item is named twice. Name %(n)d different items.") % {"n": len(keys)})
        if not self.errors and len({self.found[key].context_id for key in keys}) > 1:
            words = _(
                "The items of this row have different contexts; only items of the same context are shown together."
            )
            self.add_error("item_1", words)
        if not self.errors:
            try:
                values["outcome"], values["named"], values["shared"] = self.right(values, keys)
            except InvalidRow as refusal:
                self.add_error("answer", str(refusal))
        return values

    def right(self, values: dict[str, Any], keys: list[str]) -> tuple[str, list[str], tuple[int, ...]]:
        """Return the outcome, the keys named, best first, and which of them share the place of the one before."""
        answer = values["answer"]
        if answer.isdecimal():
            return self.task_type.outcome.value, [keys[int(answer) - 1]], ()
        if answer != ORDER:
            return answer, [], ()
        given = [(values[place], key) for place, key in zip(self.names("place"), keys, strict=True) if values[place]]
        given.sort(key=position_of)
        shared = shared_in([place for place, _key in given])
        if shared and not self.task_type.shares_places(self.project):
            raise InvalidRow(gettext("Two items have the same place. Give each its own."))
        return self.task_type.outcome.value, checked_order(self.project, [key for _place, key in given]), shared

    def row(self) -> NewGoldSet:
        values = self.cleaned_data
        items = tuple(self.found[values[name]].pk for name in self.names("item"))
        named = tuple(self.found[key].pk for key in values["named"])
        return NewGoldSet(
            0, values["purpose"], items, values["outcome"], named, values["why"].strip(), values["shared"]
        )


def position_of(given: tuple[str, str]) -> int:
    return int(given[0])


def item_field(n: int) -> forms.CharField:
    return forms.CharField(
        label=gettext("Key of item %(n)d") % {"n": n},
        max_length=MAX_KEY,
        widget=forms.TextInput(attrs={"list": "keys", "dir": "auto", "autocomplete": "off"}),
    )
