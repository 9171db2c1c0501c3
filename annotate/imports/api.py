"""Imports from files: handing one in, what the check of every row found, going on, stopping, the rows left out."""

import json
from typing import Any
from uuid import UUID

from django.core.files.base import ContentFile, File
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StoredMessageField,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_data,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.layout import read_sheet
from annotate.files.limits import BadFile
from annotate.files.workbooks import decode_table
from annotate.imports.actions import measure_pictures, measure_texts, resume_import, start_import, stop_import
from annotate.imports.annotator_table import annotators_given
from annotate.imports.comparisons.tables import FORMATS
from annotate.imports.counts.columns import Counting, check_count_columns, guess_counts
from annotate.imports.counts.columns import layout_of as layout_of_counts
from annotate.imports.feature_table import features_given
from annotate.imports.forms import TEXT_KINDS
from annotate.imports.guessing import check_votes, guess_items, guess_votes, sheet_of
from annotate.imports.left_out import has_left_out, left_out_file
from annotate.imports.matrix import FEATURES_PREFIX
from annotate.imports.media.archives import check_is_zip
from annotate.imports.questions.columns import FORMATS as QUESTION_FORMATS
from annotate.imports.questions.columns import Asking, check_columns, guess_questions, layout_of
from annotate.models import GivenOrder, ImportJob, Project
from annotate.participation.questionnaire.imported import NotAnImportedNumber

Kind = ImportJob.Kind


class NewImport(StrictSerializer):
    """The engine checks every row before it imports the first."""

    kind = serializers.ChoiceField(choices=[one for one in Kind.choices if one[0] not in ImportJob.MEASURED])
    file = serializers.FileField(
        allow_empty_file=True,  # which is told as what else can't be read
        help_text="items, comparisons, questions, counts: CSV, TSV, XLSX, JSON, JSON lines, Parquet, text, PrefLib; "
        "media: a .zip of media, PDF and DOCX; features: a table (the items' keys, then a column for each feature), or "
        "a .npy; annotators: a table (their pseudonyms, then a column for each feature).",
    )
    at_once = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Import as soon as every row is valid, without waiting for imports_go_on.",
    )
    leave_out = serializers.BooleanField(
        required=False, default=False, help_text="Import the valid rows even if other rows have errors."
    )
    columns = serializers.CharField(
        max_length=10_000,
        required=False,
        default="{}",
        help_text='Column names, where the guess is wrong, as a JSON object such as {"text": "essay", "key": '
        "null}. For items: text, title, key, kind, tags, context, competitor, link, and features (a list). For "
        "comparisons: annotator, left, right, answer, winner, loser, at, seconds. For questions: set, or item_1, "
        "item_2, ...; or prompt, answer_1, competitor_1, answer_2, competitor_2, ..., vote, annotator; "
        "or prompt, completions, models, scores, annotator; priority. For counts: annotator, item, count, exposure.",
    )
    text_kind = serializers.ChoiceField(
        choices=[kind for kind, _words in TEXT_KINDS],
        required=False,
        default="text",
        help_text="For items that name no kind.",
    )
    read_as = serializers.ChoiceField(
        choices=[*FORMATS, *QUESTION_FORMATS],
        required=False,
        help_text="For comparisons, and for questions (keys, answers, completions); guessed if left out.",
    )
    create_items = serializers.BooleanField(
        required=False, default=False, help_text="For comparisons and counts: create the items that they name."
    )
    numbers = serializers.ChoiceField(
        choices=["keys", "places"],
        required=False,
        default="keys",
        help_text="For comparisons read as indices: whether numbers are keys, or positions in the list of items "
        "from 0.",
    )
    before = serializers.CharField(
        max_length=40,
        required=False,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text="For comparisons and counts: a prefix for annotators' names.",
    )
    order = serializers.ChoiceField(
        choices=GivenOrder.choices, required=False, default="", help_text="For questions: how they are asked."
    )
    first_wins = serializers.BooleanField(
        required=False, help_text="For questions: whether the first answer of every row was preferred to the second."
    )
    score = serializers.CharField(
        max_length=100,
        required=False,
        default="",
        allow_blank=True,
        help_text="For questions read as completions: the field of a completion that is its score; empty: a usual one.",
    )
    sheet = serializers.CharField(
        max_length=100, required=False, default="", help_text="Of a workbook: the sheet's name; else the first."
    )
    keys = serializers.FileField(
        required=False,
        allow_empty_file=True,  # as above
        help_text="For features in a .npy: the items' keys, one per line; if left out, items in the order of import.",
    )
    called = serializers.RegexField(
        FEATURES_PREFIX,
        required=False,
        default="f",
        help_text="For features in a .npy: the name; f makes f1, f2, ...; a table names them itself.",
    )


class RowProblem(serializers.Serializer):
    row = serializers.IntegerField()
    problem = serializers.CharField()


class FirstRow(serializers.Serializer):
    row = serializers.IntegerField()
    cells = serializers.ListField(
        child=serializers.CharField(allow_blank=True), help_text="The cells; long ones are shortened."
    )


class ImportRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(choices=Kind.choices)
    state = serializers.ChoiceField(
        choices=ImportJob.State.choices,
        help_text="uploaded: being checked; checked: waiting for imports_go_on; running: being imported; failed "
        "and cancelled imports can be resumed by imports_go_on.",
    )
    source = serializers.CharField(help_text="The file's name.")  # type: ignore[assignment]
    message = StoredMessageField(allow_blank=True, help_text="Why it failed.")
    asked_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    n_rows = serializers.IntegerField(help_text="Rows read so far.")
    n_bad = serializers.IntegerField(help_text="Number of these with errors.")
    n_lines = serializers.IntegerField(
        help_text="Number of rows to import, once all are checked, and of items to create before them."
    )
    n_written = serializers.IntegerField(help_text="Number of these written so far.")
    n_new_items = serializers.IntegerField(help_text="Number of items that the rows name and the project did not have.")


class ImportDetail(ImportRow):
    problems = RowProblem(many=True, help_text="Errors of the first rows; imports_left_out has all of them.")
    columns = serializers.ListField(child=serializers.CharField(), help_text="Columns of the file, once it is checked.")
    first = FirstRow(many=True, help_text="The first valid rows.")
    n_weighted = serializers.IntegerField(
        help_text="For comparisons: rows with a weight other than 1. Weights are left aside: every answer counts once."
    )
    has_left_out = serializers.BooleanField(help_text="Whether imports_left_out has a file.")


def detail(job: ImportJob) -> dict[str, Any]:
    names, *first = job.first or [[]]
    return {
        **ImportRow(job).data,
        "problems": [{"row": place, "problem": problem} for place, problem in job.errors],
        "columns": names,
        "first": [{"row": place, "cells": cells} for place, cells in first],
        "n_weighted": job.mapping.get("weighted", 0),
        "has_left_out": has_left_out(job),
    }


class Imports(ApiView):
    parser_classes = [MultiPartParser]

    @extend_schema(operation_id="imports_list", parameters=[PageQuery], responses=page_serializer(ImportRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the imports of the project, latest first."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PageQuery)
        return paginated_response(
            request, project.imports.order_by("-pk"), query, lambda rows: list(ImportRow(rows, many=True).data)
        )

    @extend_schema(
        operation_id="imports_create", request={"multipart/form-data": NewImport}, responses={202: ImportDetail}
    )
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Uploads a file; the engine checks every row. Poll until `state` is `checked`, `done` or `failed`.

        It takes no Idempotency-Key: only one import runs at a time, and comparisons imported before are refused.
        """
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        given = validated_data(NewImport(data=request.data))
        try:
            job = started(request, project, given)
        except (BadFile, NotAnImportedNumber) as refusal:
            raise Unprocessable({"file": [str(refusal)]}) from None
        return Response(detail(job), status=202)


def started(request: ApiRequest, project: Project, given: dict[str, Any]) -> ImportJob:
    """Raises BadFile, NotAnImportedNumber, and what start_import raises."""
    file: UploadedFile = given["file"]
    if not file.size:
        raise BadFile(_("The file is empty. Upload it again."))
    content: File = file
    mapping: dict[str, Any] = {}
    keys = b""
    if given["kind"] == Kind.MEDIA:
        check_is_zip(file)
    elif given["kind"] == Kind.FEATURES:
        check_keys(given.get("keys"))
        content, mapping, keys = features_given(file, given.get("keys"), given["called"], given["sheet"])
    elif given["kind"] == Kind.ANNOTATORS:
        content, mapping = annotators_given(project, file, given["sheet"])
    else:
        text = decode_table(file, given["sheet"])
        content = ContentFile(text.encode())
        mapping = mapping_of(text, file.name or "", given, project)
    return start_import(
        project=project,
        actor=request.user,
        kind=given["kind"],
        source=file.name or given["kind"],
        file=content,
        mapping=mapping,
        now=timezone.now(),
        at_once=given["at_once"] or given["leave_out"],
        leave_out=given["leave_out"],
        keys=keys,
    )


def check_keys(file: UploadedFile | None) -> None:
    """Raises Unprocessable where a file of keys is empty."""
    if file is not None and not file.size:
        raise Unprocessable({"keys": [_("The file is empty. Upload it again.")]})


def mapping_of(text: str, name: str, given: dict[str, Any], project: Project) -> dict[str, Any]:
    """Return how a table is read: as guessed, but for what is said. Raises BadFile and Unprocessable."""
    try:
        columns = json.loads(given["columns"])
    except ValueError:
        columns = None
    if not isinstance(columns, dict):
        raise Unprocessable({"columns": [_('This is not a JSON object such as {"text": "essay"}.')]})
    if given["kind"] == Kind.ITEMS:
        return guess_items(text, name, columns=columns, kind=given["text_kind"])
    if given["kind"] == Kind.COUNTS:
        mapping = guess_counts(text, name, columns=columns, prefix=given["before"], create=given["create_items"])
        check_count_columns(Counting(**mapping["counting"]), read_sheet(text, layout_of_counts(mapping)).columns)
        return mapping
    if given["kind"] == Kind.QUESTIONS:
        return questions_mapping(text, name, columns, given, project)
    if given.get("read_as") in QUESTION_FORMATS:
        raise Unprocessable({"read_as": [_("Use one of: %(known)s.") % {"known": ", ".join(FORMATS)}]})
    mapping = guess_votes(text, name, columns=columns, format=given.get("read_as", ""))
    check_votes(mapping, sheet_of(text, mapping).columns)
    settings = {"prefix": given["before"], "create": given["create_items"], "numbers": given["numbers"]}
    return mapping | {"voting": mapping["voting"] | settings}


def questions_mapping(
    text: str, name: str, columns: dict[str, Any], given: dict[str, Any], project: Project
) -> dict[str, Any]:
    """Raises BadFile and Unprocessable."""
    if given.get("read_as", "keys") not in QUESTION_FORMATS:
        raise Unprocessable({"read_as": [_("Use one of: %(known)s.") % {"known": ", ".join(QUESTION_FORMATS)}]})
    settings = {name: given[name] for name in ("order", "first_wins", "score") if given.get(name, "") != ""}
    settings |= {"format": given["read_as"]} if "read_as" in given else {}
    mapping = guess_questions(text, name, columns=columns, prefix=given["before"], **settings)
    check_columns(Asking(**mapping["asking"]), project.k, read_sheet(text, layout_of(mapping)).columns)
    return mapping


def found(request: ApiRequest, project_id: UUID, import_id: int) -> ImportJob:
    project = access.project_for(request, project_id, access.MANAGE)
    validated_query(request, NoQuery)
    return get_object_or_404(ImportJob.objects.select_related("project"), project=project, pk=import_id)


class ImportView(ApiView):
    @extend_schema(operation_id="imports_read", responses=ImportDetail)
    def get(self, request: ApiRequest, project_id: UUID, import_id: int) -> Response:
        """Returns the progress of an import and the rows with errors."""
        return Response(detail(found(request, project_id, import_id)))


class Measuring(StrictSerializer):
    """What the engine measures."""

    what = serializers.ChoiceField(
        choices=["pictures", "texts"],
        default="pictures",
        help_text="pictures: 24 numbers of each (light, colour, edges, texture); texts: 51 of each (length, words).",
    )


class Measure(ApiView):
    @extend_schema(operation_id="features_measure", request=Measuring, responses={202: ImportDetail})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Measures every picture, or every text: numbers that become features of its item.

        It runs as an import, one at a time; poll imports_read until `state` is `done`.
        """
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        asked = validated_data(Measuring(data=request.data))
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        measure = measure_texts if asked["what"] == "texts" else measure_pictures
        return Response(detail(measure(project=project, actor=request.user, now=timezone.now())), status=202)


class ImportGoOn(ApiView):
    @extend_schema(operation_id="imports_go_on", request=None, responses=ImportDetail)
    def post(self, request: ApiRequest, project_id: UUID, import_id: int) -> Response:
        """Imports the valid rows and leaves out those with errors; or resumes an import that stopped or failed."""
        job = found(request, project_id, import_id)
        resume_import(job=job, actor=request.user, now=timezone.now())
        job.refresh_from_db()
        return Response(detail(job))


class ImportStop(ApiView):
    @extend_schema(operation_id="imports_stop", request=None, responses=ImportDetail)
    def post(self, request: ApiRequest, project_id: UUID, import_id: int) -> Response:
        """Stops the import; rows already imported stay. Nothing changes if it is not running."""
        job = found(request, project_id, import_id)
        stop_import(job=job, actor=request.user, now=timezone.now())
        job.refresh_from_db()
        return Response(detail(job))


class ImportLeftOut(ApiView):
    @extend_schema(operation_id="imports_left_out", responses={(200, "text/csv"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, project_id: UUID, import_id: int) -> HttpResponseBase:
        """Returns the rows that were not imported, each with the reason, as CSV."""
        job = found(request, project_id, import_id)
        plain: HttpRequest = request._request
        return left_out_file(plain, job)
