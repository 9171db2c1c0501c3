"""Reads the table of people whom the owner expects and reports each invalid row with its line number."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from annotate.files import csv_reader
from annotate.files.cells import check_characters, shortened, tags_in
from annotate.files.limits import BadFile, Unusable
from annotate.files.row_errors import RowError
from annotate.files.sheets import Sheet
from annotate.models import MAX_ANNOTATOR_TAGS, Annotator, ExpectedPerson, Project
from annotate.models.roster import MAX_ORGANISATION_LENGTH
from annotate.participation.joining.pseudonyms import MAX_PSEUDONYM_LENGTH, normalize_name

COLUMNS = ["name", "email", "tags", "conflicts", "organisation"]
OTHER_NAMES = {
    "e-mail": "email",
    "mail": "email",
    "tag": "tags",
    "conflict": "conflicts",
    "organization": "organisation",
}
MAX_ROWS = 500
TAG = "tag:"  # before a conflict that is a tag of items, not an item's key


class NewPerson(NamedTuple):
    """One row that is right. items, item_tags: primary keys of what the person must not be shown."""

    name: str
    email: str
    organisation: str
    tags: tuple[str, ...]
    items: tuple[int, ...]
    item_tags: tuple[int, ...]

    @property
    def n_conflicts(self) -> int:
        return len(self.items) + len(self.item_tags)


@dataclass
class RosterCheck:
    """Checks rows against the project and against the rows before them. items, item_tags: primary keys by name."""

    items: Mapping[str, int]
    item_tags: Mapping[str, int]
    joined: set[str]
    names: dict[str, str] = field(default_factory=dict)  # where each name is already, in words
    addresses: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_project(cls, project: Project) -> "RosterCheck":
        expected = ExpectedPerson.objects.filter(project=project).values_list("name", "email")
        joined = Annotator.everyone.filter(project=project).values_list("pseudonym", flat=True)
        on_list, known = _("on the list"), list(expected)
        return cls(
            items=dict(project.items.values_list("key", "pk")),
            item_tags=dict(project.tags.values_list("name", "pk")),
            joined={name.casefold() for name in joined},
            names={name.casefold(): on_list for name, _email in known},
            addresses={email.casefold(): on_list for _name, email in known if email},
        )

    def check(self, place: int, cell: Mapping[str, str]) -> NewPerson:
        """Return the row's person. Raises Unusable, whose text names the value and what to do."""
        for value in cell.values():
            check_characters(value)
        name, email = self.checked_name(cell.get("name", "")), self.checked_address(cell.get("email", ""))
        organisation = cell.get("organisation", "").strip()
        if len(organisation) > MAX_ORGANISATION_LENGTH:
            raise Unusable(
                _("The organisation “%(value)s” has %(n)d characters; the limit is %(limit)d. Shorten it.")
                % {"value": shortened(organisation), "n": len(organisation), "limit": MAX_ORGANISATION_LENGTH}
            )
        tags = tags_in(cell.get("tags", ""))
        if len(tags) > MAX_ANNOTATOR_TAGS:
            raise Unusable(
                _("%(name)s has %(n)d tags; the limit is %(limit)d. Remove some.")
                % {"name": name, "n": len(tags), "limit": MAX_ANNOTATOR_TAGS}
            )
        items, item_tags = self.conflicts_in(cell.get("conflicts", ""))
        here = _("in row %(row)d") % {"row": place}
        self.names[name.casefold()] = here
        if email:
            self.addresses[email.casefold()] = here
        return NewPerson(name, email, organisation, tags, items, item_tags)

    def checked_name(self, value: str) -> str:
        name = normalize_name(value)
        if not any(character.isalnum() for character in name):
            raise Unusable(_("The name “%(value)s” has no letter or digit. Give a name.") % {"value": shortened(value)})
        if len(name) > MAX_PSEUDONYM_LENGTH:
            raise Unusable(
                _("The name “%(value)s” has %(n)d characters; the limit is %(limit)d. Shorten it.")
                % {"value": shortened(name), "n": len(name), "limit": MAX_PSEUDONYM_LENGTH}
            )
        if where := self.names.get(name.casefold()):
            raise Unusable(
                _("“%(name)s” is %(where)s already. Remove one of the two, or tell them apart by another name.")
                % {"name": name, "where": where}
            )
        if name.casefold() in self.joined:
            raise Unusable(
                _("Somebody called “%(name)s” has joined already. Remove this row, or give another name.")
                % {"name": name}
            )
        return name

    def checked_address(self, value: str) -> str:
        address = value.strip()
        if not address:
            return ""
        try:
            validate_email(address)
        except ValidationError:
            raise Unusable(
                _("“%(value)s” is not an e-mail address. Correct it or leave the cell empty.")
                % {"value": shortened(address)}
            ) from None
        if where := self.addresses.get(address.casefold()):
            raise Unusable(
                _("The address %(value)s is %(where)s already. Each person needs an address of their own, or none.")
                % {"value": address, "where": where}
            )
        return address

    def conflicts_in(self, cell: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the items and the tags that a cell names: keys, or `tag:` and a tag's name, divided by semicolons."""
        items: dict[int, None] = {}
        tags: dict[int, None] = {}
        for one in cell.replace("|", ";").replace("\n", ";").split(";"):
            named = one.strip()
            if not named:
                continue
            if named in self.items:
                items[self.items[named]] = None
            elif named.casefold().startswith(TAG):
                tags[self.tag_called(named[len(TAG) :].strip())] = None
            else:
                raise Unusable(
                    _("There is no item with the key “%(key)s”. Correct it; before a tag, write “tag:”.")
                    % {"key": shortened(named)}
                )
        return tuple(items), tuple(tags)

    def tag_called(self, name: str) -> int:
        if name not in self.item_tags:
            raise Unusable(_("No item has the tag “%(tag)s”. Correct it or remove it.") % {"tag": shortened(name)})
        return self.item_tags[name]


def read_roster(text: str, check: RosterCheck) -> tuple[list[NewPerson], list[RowError]]:
    """Return the people of a table and what is wrong with the other rows. Raises BadFile where it can't be read."""
    sheet = csv_reader.read(text, csv_reader.sniff_delimiter(text), header=True)
    return check_rows(cells_by_name(sheet), check)


def cells_by_name(sheet: Sheet) -> Iterable[tuple[int, dict[str, str], str]]:
    """Yield each row: its line, its cells by column, and why it can't be read, if so. Raises BadFile."""
    names = [OTHER_NAMES.get(name.strip().casefold(), name.strip().casefold()) for name in sheet.columns]
    unknown = [column for column, name in zip(sheet.columns, names, strict=True) if name not in COLUMNS]
    if "name" not in names or unknown or len(set(names)) < len(names):
        raise BadFile(
            _("The first row must name the columns: %(columns)s. Only name is needed. Yours names: %(names)s.")
            % {"columns": ", ".join(COLUMNS), "names": ", ".join(sheet.columns)[:200]}
        )
    for row in sheet.rows:
        yield row.place, {name: str(cell or "") for name, cell in zip(names, row.cells, strict=False)}, row.problem


def check_rows(
    rows: Iterable[tuple[int, dict[str, str], str]], check: RosterCheck
) -> tuple[list[NewPerson], list[RowError]]:
    found: list[NewPerson] = []
    problems: list[RowError] = []
    for n, (place, cell, problem) in enumerate(rows, 1):
        if n > MAX_ROWS:
            raise BadFile(_("The table has more than %(limit)d rows. Divide it.") % {"limit": MAX_ROWS})
        try:
            if problem:
                raise Unusable(problem)
            found.append(check.check(place, cell))
        except Unusable as error:
            problems.append(RowError(place, str(error)))
    return found, problems
