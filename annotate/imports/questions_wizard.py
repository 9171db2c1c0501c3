"""Questions that the owner gives: how the file is read and what its first rows give, then the import."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from itertools import islice
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotate.files.layout import read_sheet
from annotate.files.limits import SMALL, BadFile
from annotate.files.row_errors import RowError
from annotate.files.workbooks import decode_table
from annotate.imports import job as imports_job
from annotate.imports.guessing import first_rows
from annotate.imports.prepared import NothingToImport, Read
from annotate.imports.questions.columns import Asking, check_columns, guess_questions, layout_of
from annotate.imports.questions.forms import AskingForm, asking_of, hidden_fields, initial_of
from annotate.imports.questions.reader import GivenQuestions
from annotate.imports.uploads import Upload
from annotate.imports.wizard import Contents, Wizard
from annotate.models import ImportJob, Project


def questions_contents(file: UploadedFile | None, text: str) -> Contents:
    """Raise BadFile."""
    name = (file and file.name) or _("pasted text")
    text = decode_table(file) if file else text
    return Contents(name, {"mapping": guess_questions(text, file.name or "" if file else "")}, {"text": text.encode()})


def question_examples(project: Project) -> list[tuple[str, str]]:
    """Return what files look like, by the project's own number of items: a heading and its text."""
    keys = list(project.items.order_by("pk").values_list("key", flat=True)[: project.k])
    keys += [f"key-{n}" for n in range(len(keys) + 1, project.k + 1)]
    numbers = range(1, project.k + 1)
    answers = ",".join(f"answer_{n},model_{n}" for n in numbers)
    given = ",".join(_("An answer,model %(n)d") % {"n": n} for n in numbers)
    return [
        (_("Items that the project has"), f"{','.join(f'item_{n}' for n in numbers)},priority\n{','.join(keys)},0"),
        (_("New items, with their prompt"), f"prompt,{answers},vote\n{_('A prompt')},{given},1"),
    ]


@dataclass
class ParsedQuestions:
    """What the first rows give; `problem`: why they can't be read this way."""

    mapping: dict[str, Any]
    asking: Asking
    names: list[str] = field(default_factory=list)
    problem: str = ""
    n_rows: int = 0
    n_questions: int = 0
    n_items: int = 0
    n_votes: int = 0
    n_merged: int = 0
    errors: list[Read] = field(default_factory=list)
    is_whole: bool = True

    @property
    def n_good(self) -> int:
        return self.n_rows - len(self.errors)


class QuestionsWizard(Wizard[ParsedQuestions]):
    kind = "questions"
    template = "imports/questions_check.html"

    def parse(self, upload: Upload, data: Mapping[str, Any]) -> ParsedQuestions:
        text, mapping = upload.read("text").decode(), upload.details["mapping"]
        parsed = ParsedQuestions(mapping, Asking(**mapping["asking"]))
        try:
            parsed.names = read_sheet(text, layout_of(mapping)).columns
            parsed.asking = asking_of(parsed.names, parsed.asking, self.project.k, data)
            parsed.mapping = mapping | {"asking": asdict(parsed.asking)}
            check_columns(parsed.asking, self.project.k, parsed.names)
            self.count(text, upload, parsed)
        except BadFile as refusal:
            parsed.problem = str(refusal)
        return parsed

    def count(self, text: str, upload: Upload, parsed: ParsedQuestions) -> None:
        """Read the first rows. Raises BadFile."""
        source = GivenQuestions(StringIO(text, newline=""), self.project, parsed.mapping, seed=upload.id)
        rows = iter(source.sheet.rows)
        source.sheet = replace(source.sheet, rows=islice(rows, SMALL))
        for read in source.rows():
            parsed.n_rows += 1
            parsed.n_merged += read.n_merged
            kinds = [kind for kind, _values in read.lines]
            parsed.n_items += kinds.count("item")
            parsed.n_questions += kinds.count("question")
            parsed.n_votes += kinds.count("comparison")
            if read.problem:
                parsed.errors.append(read)
        parsed.is_whole = next(rows, None) is None
        if not parsed.n_rows:
            raise BadFile(_("The file contains no questions. Its first line names the columns; add rows below it."))

    def context(self, upload: Upload, parsed: ParsedQuestions) -> dict[str, Any]:
        form = AskingForm(parsed.names, parsed.asking.format, self.project.k, initial=initial_of(parsed.asking))
        sheet = read_sheet(upload.read("text").decode(), layout_of(parsed.mapping)) if parsed.names else None
        return {
            "parsed": parsed,
            "form": form,
            "errors": [RowError(read.place, read.problem) for read in parsed.errors],
            "first": first_rows(sheet) if sheet else [],
            "fields": hidden_fields(form, parsed.asking),
        }

    def store(self, upload: Upload, parsed: ParsedQuestions) -> HttpResponseBase:
        if parsed.problem:
            raise NothingToImport
        # Only who has seen how many rows are left out can have said so.
        leave_out = parsed.is_whole and self.request.POST.get("left_out") == str(len(parsed.errors))
        job = self.start_job(upload, ImportJob.Kind.QUESTIONS, parsed.mapping, leave_out)
        if parsed.is_whole:
            imports_job.import_now(job)
        return redirect("import-job", self.project.pk, job.pk)
