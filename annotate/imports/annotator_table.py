"""Reading a table of features of annotators, as the engine's file is: pseudonyms, then a column for each feature."""

from collections.abc import Mapping
from typing import Any, TextIO

from django.core.files.base import ContentFile, File
from django.utils.translation import gettext as _

from annotate.files.cells import shortened
from annotate.files.limits import BadFile, Unusable
from annotate.files.sheets import SheetRow
from annotate.files.workbooks import decode_table
from annotate.imports.feature_table import FeatureTable, check_names, named_columns
from annotate.models import MAX_QUESTION_FIELDS, Annotator, Project, QuestionField
from annotate.participation.questionnaire.forms import MAX_NUMBER
from annotate.participation.questionnaire.imported import as_text, fields_called, given_answers

IMPORTED = Annotator.Source.IMPORT


def annotators_given(project: Project, file: File, sheet: str = "") -> tuple[File, dict[str, Any]]:
    """Return (file, mapping) for `start_import`. Raises BadFile, and NotAnImportedNumber of a column."""
    table = decode_table(file, sheet)
    mapping, columns = named_columns(table, file.name or "")
    check_columns(columns)
    fields_called(project, columns[1:])
    return ContentFile(table.encode()), mapping


def check_columns(columns: list[str]) -> None:
    """Raise BadFile."""
    names = columns[1:]
    if not 1 <= len(names) <= MAX_QUESTION_FIELDS:
        raise BadFile(
            _("The table has %(n)d columns of features. It needs the annotators first, and then 1 to %(limit)d.")
            % {"n": len(names), "limit": MAX_QUESTION_FIELDS}
        )
    check_names(names)


class AnnotatorTable(FeatureTable):
    """Rows of a table as numbers about the annotators that they name."""

    kind = "annotator"

    def __init__(self, text: TextIO, mapping: Mapping[str, Any], project: Project) -> None:
        people = Annotator.objects.filter(project=project)
        super().__init__(text, mapping, dict(people.values_list("pseudonym", "pk")))
        self.fields = fields_called(project, self.features)
        self.answers = given_answers(project, self.fields)
        joined = people.exclude(source=IMPORTED).exclude(consent_version=project.consent_version)
        self.without_consent = set(joined.values_list("pk", flat=True)) if project.consent_version else set()

    def check_columns(self, columns: list[str]) -> None:
        check_columns(columns)

    def read(self, row: SheetRow, seen: dict[str, int]) -> tuple[str | int, list[float]]:
        """Return the annotator's primary key and the values of one row. Raises Unusable."""
        name, values = super().read(row, seen)
        pk = self.known[str(name)]
        if pk in self.without_consent:
            raise Unusable(
                _(
                    "The annotator “%(name)s” has not agreed to the project's present consent text. Remove the row, or "
                    "import it once they have."
                )
                % {"name": shortened(str(name))}
            )
        for column, value in zip(self.features, values, strict=True):
            if column in self.fields:
                self.check(str(name), column, value)
        return pk, values

    def check(self, name: str, column: str, value: float) -> None:
        """Raise Unusable where a question that is asked does not take the value, or has been answered otherwise."""
        field = self.fields[column]
        least = -MAX_NUMBER if field.least is None else field.least
        most = MAX_NUMBER if field.most is None else field.most
        if field.kind == QuestionField.Kind.NUMBER and not (value.is_integer() and least <= value <= most):
            raise Unusable(
                _(
                    "“%(name)s” is a question that takes whole numbers from %(least)d to %(most)d; here it is "
                    "%(value)s. Correct it, or rename the column."
                )
                % {"name": shortened(column), "least": least, "most": most, "value": as_text(value)}
            )
        own = self.answers.get((self.known[name], field.pk), as_text(value))
        if own != as_text(value):
            raise Unusable(
                _(
                    "The annotator “%(annotator)s” already has %(own)s for the question “%(name)s”; here it is "
                    "%(value)s. Answers to questions are never overwritten: remove the row, or rename the column."
                )
                % {"annotator": shortened(name), "name": shortened(column), "own": own, "value": as_text(value)}
            )

    def unknown(self, key: str) -> str:
        return _(
            "There is no annotator called “%(name)s” in this project. Correct the name, or import their answers first."
        ) % {"name": shortened(key)}

    def repeated(self, key: str, place: int) -> str:
        return _("The annotator “%(name)s” is already in row %(row)d. Remove one of the two rows.") % {
            "name": shortened(key),
            "row": place,
        }
