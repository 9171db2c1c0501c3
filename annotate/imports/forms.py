"""What owners say of an import: a file, a pasted text or pictures; then how to read it and what each picture is."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotate.core.languages import language_name
from annotate.core.numbers import format_integer
from annotate.files.column_guessing import Columns, metadata_columns, section_columns, translation_columns
from annotate.files.csv_reader import DELIMITERS
from annotate.files.layout import FORMATS, Layout, guess_columns, numeric_columns
from annotate.files.limits import MAX_KEY, MAX_TEXT, MAX_TITLE
from annotate.imports.matrix import FEATURES_PREFIX
from annotate.imports.media.files import longest_text
from annotate.models import MAX_QUESTION_FIELDS, Item

TEXT_KINDS = [(Item.Kind.TEXT.value, _("Plain text")), (Item.Kind.MARKDOWN.value, _("Markdown"))]
TEXT_KINDS.append((Item.Kind.HTML.value, _("HTML (words, structure and links are kept)")))
TEXT_KINDS.append((Item.Kind.SECTIONS.value, _("Several sections (a JSON list, each with kind and text)")))
TEXT_KINDS.append((Item.Kind.CHAT.value, _("Chat (a JSON list of turns, each with role and content)")))
MANY = ("features", "translations", "sections", "metadata")  # of Columns: those that hold several
TABLES = ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.xlsx,.parquet,.gz"
LONGEST_PASTE = 5_000_000


class PasteForm(forms.Form):
    text = forms.CharField(
        label=_("Items"),
        max_length=LONGEST_PASTE,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto", "spellcheck": "false"}),
    )
    written = forms.ChoiceField(
        label=_("Written as"),
        choices=[("lines", _("One item per line")), ("table", _("A table (copied from a spreadsheet, CSV) or JSON"))],
        widget=forms.RadioSelect,
        initial="lines",
    )


class FileForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,  # refused in our own words
        widget=forms.ClearableFileInput(attrs={"accept": TABLES}),
        help_text=_(
            "CSV, TSV, XLSX, plain text, JSON, JSON lines or Parquet; up to 50 MB and 100,000 items. Any encoding."
        ),
    )


class PicturesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class PicturesField(forms.FileField):
    widget = PicturesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        files = data if isinstance(data, list | tuple) and data else [None]
        return [super(PicturesField, self).clean(file, initial) for file in files]


ACCEPTED = "image/png,image/jpeg,image/webp,image/gif,audio/*,video/mp4,video/webm,.vtt"


class PicturesForm(forms.Form):
    pictures = PicturesField(
        label=_("Image, sound and video files"),
        allow_empty_file=True,
        widget=PicturesInput(attrs={"accept": ACCEPTED}),
        help_text=format_lazy(
            _(
                "PNG, JPEG, WebP, GIF (up to {image} MB each; stored without metadata such as place and camera), "
                "MP3, Ogg, WAV, FLAC, M4A, MP4 or WebM (up to {recording} MB each, stored as they are); "
                "up to 100 at a time."
            ),
            image=settings.MAX_IMAGE_MB,
            recording=settings.MAX_RECORDING_MB,
        ),
    )
    context = forms.CharField(
        label=_("Context for all files"),
        max_length=MAX_TEXT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
        help_text=_(
            "Such as the prompt that they answer. It is shown above them, and they are compared only "
            "with items of the same context."
        ),
    )


class ArchiveForm(forms.Form):
    archive = forms.FileField(
        label=_("Zip file"),
        allow_empty_file=True,
        widget=forms.ClearableFileInput(attrs={"accept": ".zip"}),
        help_text=_(
            "Media files, PDF and DOCX and, if you like, a manifest.csv or manifest.jsonl beside them with the "
            "columns file, key, title, text (or alt), sections, tags, context, competitor and feature_…; up to 500 MB "
            "and 10,000 files."
        ),
    )


class DocumentsForm(forms.Form):
    documents = PicturesField(
        label=_("PDF and DOCX files"),
        allow_empty_file=True,
        widget=PicturesInput(attrs={"accept": ".pdf,.docx"}),
        help_text=format_lazy(
            _(
                "Each file becomes one item: the pages of a PDF as pictures, a DOCX as text with its pictures. Up to "
                "{size} MB and {pages} pages each, {together} pages together. The file's name becomes the title, which "
                "annotators see only where you show titles under images. With a zip file and a manifest you choose "
                "titles, keys and tags yourself."
            ),
            size=settings.MAX_DOCUMENT_MB,
            pages=settings.MAX_DOCUMENT_PAGES,
            together=lazy(format_integer, str)(settings.MAX_IMPORT_PAGES),
        ),
    )


class FeaturesForm(forms.Form):
    file = forms.FileField(
        label=_("Table or matrix (.npy)"),
        allow_empty_file=True,
        widget=forms.ClearableFileInput(attrs={"accept": f"{TABLES},.npy"}),
        help_text=_(
            "A table (CSV, TSV, XLSX, JSON or Parquet, up to 50 MB): the items' keys in its first column, then a "
            "column for each feature, named in the first row. Or a matrix (.npy, up to 500 MB): a row for each item, a "
            "column for each feature. All finite numbers; features of the same name are replaced."
        ),
    )
    keys = forms.FileField(
        label=_("Keys of a matrix's rows"),
        required=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".txt,.csv"}),
        help_text=_(
            "A text file with one item's key per line. Without it, the rows are the items in the order of import."
        ),
    )
    called = forms.RegexField(
        FEATURES_PREFIX,
        label=_("Name of a matrix's features"),
        initial="f",
        help_text=_("“f” makes f1, f2, f3 …"),
    )


class AnnotatorsForm(forms.Form):
    file = forms.FileField(
        label=_("Table of annotators"),
        allow_empty_file=True,
        widget=forms.ClearableFileInput(attrs={"accept": TABLES}),
        help_text=format_lazy(
            _(
                "A table (CSV, TSV, XLSX, JSON or Parquet, up to 50 MB): the annotators' pseudonyms in its first "
                "column, then up to {limit} columns of numbers, named in the first row. All finite numbers; imported "
                "ones of the same name are replaced."
            ),
            limit=MAX_QUESTION_FIELDS,
        ),
    )


class LayoutForm(forms.Form):
    """How to cut a text into rows."""

    format = forms.ChoiceField(label=_("Read as"), choices=list(FORMATS.items()))
    delimiter = forms.ChoiceField(label=_("Columns are separated by a"), choices=list(DELIMITERS.items()))
    header = forms.BooleanField(label=_("The first row names the columns"), required=False)


class ColumnsForm(forms.Form):
    """Which column is which."""

    text = forms.TypedChoiceField(label=_("Text"), coerce=int)
    title = forms.TypedChoiceField(
        label=_("Title"),
        coerce=int,
        required=False,
        empty_value=None,
        help_text=_("The item's name in tables and results, such as a pupil's name. Annotators never see it."),
    )
    key = forms.TypedChoiceField(
        label=_("Key"),
        coerce=int,
        required=False,
        empty_value=None,
        help_text=_("Identifies the item in exports; different for each item. Annotators never see it."),
    )
    kind_column = forms.TypedChoiceField(label=_("Kind"), coerce=int, required=False, empty_value=None)
    tags = forms.TypedChoiceField(label=_("Tags"), coerce=int, required=False, empty_value=None)
    context = forms.TypedChoiceField(label=_("Context, such as a prompt"), coerce=int, required=False, empty_value=None)
    competitor = forms.TypedChoiceField(
        label=_("Competitor"),
        coerce=int,
        required=False,
        empty_value=None,
        help_text=_(
            "Who or what made the item: a model, a translator. The leaderboard ranks them. Annotators never see it."
        ),
    )
    link = forms.TypedChoiceField(label=_("Link"), coerce=int, required=False, empty_value=None)
    kind = forms.ChoiceField(label=_("The texts are"), choices=TEXT_KINDS)
    features = forms.TypedMultipleChoiceField(
        label=_("Features"),
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Columns of numbers that describe the items. Rankings by CollaborativeGP learn from them."),
    )

    metadata = forms.TypedMultipleChoiceField(
        label=_("Metadata"),
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Columns that are kept as they are. The project's settings say which of them annotators see."),
    )

    def __init__(self, names: Sequence[str], numeric: Sequence[int], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "id_column_%s", **kwargs})  # the pasted text is a field on the same page
        places = [(str(place), name[:60]) for place, name in enumerate(names)]
        self.choose("text", places)
        self.choose("title", [("", _("none: the first words of the text")), *places])
        self.choose("key", [("", _("none: number the items")), *places])
        self.choose("kind_column", [("", _("none: all the same")), *places])
        for field in ("tags", "context", "competitor", "link"):
            self.choose(field, [("", _("none")), *places])
        self.choose("metadata", places)
        if numeric:
            self.fields["features"].choices = [places[place] for place in numeric]  # type: ignore[attr-defined]
        else:
            del self.fields["features"]

    def choose(self, field: str, choices: list[tuple[str, Any]]) -> None:
        self.fields[field].choices = choices  # type: ignore[attr-defined]
        self.fields[field].required = field == "text"


@dataclass(frozen=True)
class Reading:
    """How an uploaded text is read: its cut, its columns, and the kind of rows that name none."""

    layout: Layout
    names: list[str]
    columns: Columns
    kind: str
    numeric: tuple[int, ...] = ()

    @property
    def layout_form(self) -> LayoutForm:
        return LayoutForm(initial=asdict(self.layout))

    @property
    def columns_form(self) -> ColumnsForm:
        return ColumnsForm(self.names, self.numeric, initial=self.column_values())

    def column_values(self) -> dict[str, Any]:
        columns = self.columns
        return {
            "text": columns.text,
            "title": columns.title,
            "key": columns.key,
            "kind_column": columns.kind,
            "tags": columns.tags,
            "context": columns.context,
            "competitor": columns.competitor,
            "link": columns.link,
            "kind": self.kind,
            "features": [place for place, _name in columns.features],
            "metadata": [place for place, _name in columns.metadata],
        }

    @property
    def languages(self) -> list[str]:
        """Return the languages of which there are translations, in their own words."""
        return [language_name(one) for one in dict.fromkeys(one[2] for one in self.columns.translations)]

    @property
    def unused(self) -> list[str]:
        """Return the columns that are not imported."""
        values = vars(self.columns)
        used = {values[name] for name in values if name not in MANY}
        used |= {place for place, _kind in (*self.columns.sections, *self.columns.metadata)}
        used |= {place for place, _name in self.columns.features}
        used |= {place for place, _what, _language in self.columns.translations}
        return [name for place, name in enumerate(self.names) if place not in used]

    @property
    def cut(self) -> str:
        """Return columns chosen for one cut of the text into rows mean nothing for another."""
        return cut_of(self.layout)

    def fields(self) -> list[tuple[str, str]]:
        """Return the same reading as fields of a form."""
        values = {**asdict(self.layout), **self.column_values(), "cut": self.cut}
        one = {name: value for name, value in values.items() if name not in MANY}
        many = [("features", str(place)) for place, _name in self.columns.features]
        many += [("metadata", str(place)) for place, _name in self.columns.metadata]
        return [(name, str(value)) for name, value in one.items() if value is not None and value is not False] + many


def cut_of(layout: Layout) -> str:
    return f"{layout.format} {layout.delimiter} {layout.header}"


def reading_of(text: str, guessed: Layout, data: Mapping[str, Any]) -> Reading:
    """Return what the owner chose as far as it is valid, else what was guessed; raises BadFile."""
    layout = layout_of(guessed, data)
    names, columns = guess_columns(text, layout)
    numeric = numeric_columns(text, layout)
    form = ColumnsForm(names, numeric, data)
    if data.get("cut") != cut_of(layout) or not form.is_valid():
        return Reading(layout, names, columns, Item.Kind.TEXT, numeric)
    chosen = form.cleaned_data
    features = {names[place]: place for place in chosen.get("features", [])}  # the last one of a name
    taken = {chosen[name] for name in ("text", "title", "key", "kind_column", "tags", "context", "link")}
    columns = Columns(
        sections=section_columns(names),
        metadata=chosen_metadata(names, chosen["metadata"], chosen["text"]),
        translations=translation_columns(names, taken={*taken, *features.values()}),
        **{name: chosen[name] for name in ("text", "title", "key", "tags", "context", "competitor", "link")},
        kind=chosen["kind_column"],
        features=tuple((place, name) for name, place in features.items()),
    )
    return Reading(layout, names, columns, chosen["kind"], numeric)


def chosen_metadata(names: Sequence[str], places: Sequence[int], text: int) -> tuple[tuple[int, str], ...]:
    """Return the columns ticked, with what each is called; they may be used for something else, too, but the text."""
    called = dict(metadata_columns(names))
    return tuple((place, called.get(place, names[place])) for place in places if place != text)


def layout_of(guessed: Layout, data: Mapping[str, Any]) -> Layout:
    form = LayoutForm(data)
    return Layout(**form.cleaned_data) if "format" in data and form.is_valid() else guessed


class PictureForm(forms.Form):
    """One file's key and what a picture shows or a recording says."""

    key = forms.CharField(label=_("Key"), max_length=MAX_KEY)
    title = forms.CharField(label=_("Title"), max_length=MAX_TITLE, required=False)
    description = forms.CharField(
        label=_("What it shows"),
        max_length=longest_text(Item.Kind.IMAGE),
    )
    leave_out = forms.BooleanField(label=_("Leave this one out"), required=False)

    def __init__(self, *args: Any, kind: str, shows_title: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["title"].help_text = (
            _("Annotators see it below the file.") if shows_title else _("For you; annotators never see it.")
        )
        if kind != Item.Kind.IMAGE:
            self.fields["description"] = forms.CharField(
                label=_("Transcript"),
                max_length=longest_text(kind),
                widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
                help_text=_("For people who can't hear or see it; shown on demand."),
            )
            self.order_fields(["key", "title", "description", "leave_out"])
