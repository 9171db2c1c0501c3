"""What files people upload, as bytes: read rightly, or refused with the value, the limit and the next step."""

import gzip
import json

import pytest

import annotate.demo.manifest  # noqa: F401  (reads CSV too, and csv has one limit for the whole process)
from annotate.files import limits
from annotate.files.column_guessing import Columns, guess
from annotate.files.csv_reader import looks_like_header, sniff_delimiter
from annotate.files.decoding import decode
from annotate.files.layout import Layout, guess_columns, guess_layout, read_sheet
from annotate.files.limits import BadFile
from annotate.items.rows import check

TEXT = "key,text\na,Größe\nb,naïve\n"


def read(content: bytes, name: str = "items.csv", keys=(), kind="text"):
    """A file all the way: decoded, cut, mapped and checked as guessed."""
    text = decode(content, name).text
    layout = guess_layout(text, name)
    _, columns = guess_columns(text, layout)
    return check(read_sheet(text, layout), columns, kind=kind, keys=set(keys), known_text=lambda body: False)


def pairs(checked):
    return [(item.key, item.body) for item in checked.items]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), "UTF-8"),
        (TEXT.encode("utf-8-sig"), "UTF-8"),
        (TEXT.encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "UTF-16"),
        (TEXT.encode("utf-16-le"), "UTF-16"),
        (TEXT.encode("utf-16-be"), "UTF-16"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (TEXT.encode("cp1252"), "Windows-1252"),
    ],
)
def test_every_common_encoding_is_read(content, encoding):
    assert decode(content, "items.csv").encoding == encoding
    assert pairs(read(content)) == [("a", "Größe"), ("b", "naïve")]


@pytest.mark.parametrize(
    "text", ["key,text\nя,Съешь ещё этих мягких булок\n", "key,text\n一,直观\n", "key,text\nא,שלום\n"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_other_scripts_survive(text, encoding):
    assert decode(text.encode(encoding), "items.csv").text == text


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.csv", "is empty"),
        (b" \n\t\n", "a.csv", "is empty"),
        (b"\xef\xbb\xbf", "a.csv", "is empty"),
        (b"PK\x03\x04 and so on", "items.xlsx", "workbook"),
        (b"PK\x05\x06" + bytes(18), "items.zip", "zip file"),
        (TEXT.encode(), "items.zip", "called a zip file, but it is none"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "items.xls", "workbook"),
        (b"\x89PNG\r\n\x1a\n", "picture.csv", "is a picture"),
        (b"%PDF-1.7", "items.pdf", "not a text file"),
        (b"\x1f\x8b\x08", "items.csv.gz", "can't be unpacked (EOFError): it is damaged. Pack it again with gzip"),
        (gzip.compress(gzip.compress(TEXT.encode(), mtime=0), mtime=0), "items.csv.gz.gz", "not a text file"),
        (b"text\nbefore\0after\n", "a.csv", "NUL character in line 2"),
        (b"text\nfine\n\x81\x8d broken\n", "a.csv", "81 in line 3"),
        (b"\xff\xfea\x00b", "a.csv", "neither UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_by_name_and_reason(content, name, message):
    with pytest.raises(BadFile) as refusal:
        decode(content, name)
    assert name in str(refusal.value)
    assert message in str(refusal.value)


def test_a_file_over_the_limit_says_its_size_and_the_limit(monkeypatch):
    monkeypatch.setattr("annotate.files.decoding.MAX_FILE_BYTES", 2 * 2**20)
    with pytest.raises(BadFile, match=r"3\.0 MB; the limit is 2 MB\. Split it"):
        decode(b"x" * 3 * 2**20, "big.csv")


def test_a_packed_file_over_the_limit_says_so_and_is_read_no_further(monkeypatch):
    monkeypatch.setattr("annotate.files.decoding.MAX_FILE_BYTES", 2**20)
    with pytest.raises(BadFile, match=r"“a\.csv\.gz” unpacks to more than 1 MB, the limit\. Split it"):
        decode(gzip.compress(b"a" * 2**24), "a.csv.gz")


@pytest.mark.parametrize(
    ("text", "name", "format"),
    [
        (TEXT, "items.csv.gz", "table"),
        ('{"key": "a", "text": "Größe"}\n{"key": "b", "text": "naïve"}\n', "items.jsonl.gz", "jsonlines"),
        ("Größe\nnaïve\n", "items.txt.gz", "lines"),
    ],
)
def test_packed_files_are_read_as_what_they_hold(text, name, format):
    packed = gzip.compress(text.encode())
    assert guess_layout(decode(packed, name).text, name).format == format
    assert [body for _key, body in pairs(read(packed, name))] == ["Größe", "naïve"]
    twice = gzip.compress(text[:9].encode()) + gzip.compress(text[9:].encode())  # as logs are appended
    assert decode(twice, name).text == text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    text = "\n".join(delimiter.join(row) for row in [("key", "text", "tags"), ("a", "One", "x"), ("b", "Two", "y")])
    assert sniff_delimiter(text) == delimiter
    assert pairs(read(text.encode())) == [("a", "One"), ("b", "Two")]


def test_commas_in_texts_do_not_win_over_semicolons_between_columns():
    text = "key;text\na;One, two, three\nb;Four, five\nc;Six\n"
    assert sniff_delimiter(text) == ";"


def test_excels_own_first_line_names_the_delimiter():
    checked = read(b"sep=;\r\nkey;text\r\na;One\r\nb;\r\n")
    assert pairs(checked) == [("a", "One")]
    assert checked.errors[0].place == 4


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_quotes_hold_newlines_delimiters_and_quotes(newline):
    text = newline.join(["key,text", 'a,"Line one', 'line ""two"", with comma"', "b,Next", "c,", ""])
    checked = read(text.encode())
    assert pairs(checked) == [("a", 'Line one\nline "two", with comma'), ("b", "Next")]
    assert checked.errors[0].place == 5  # the line it starts in, however many lines rows take


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'key,text\na,"never closed\nb,Two\nc,Three\n', "opened in line 2 is never closed"),
        (b'key,text\na,One\nb,"closed" and more\n', "In line 3 text follows a closing quotation mark"),
    ],
)
def test_quotes_that_do_not_add_up_refuse_the_file_with_the_line(content, message):
    with pytest.raises(BadFile, match=message):
        read(content)


def test_rows_of_the_wrong_width_are_errors_of_their_own():
    checked = read(b"key,text\na,One\nb,Two, and more\nc\nd,Four,,\n")
    assert pairs(checked) == [("a", "One"), ("d", "Four")]
    assert [error.place for error in checked.errors] == [3, 4]
    assert "The row has 3 columns, the first row has 2" in checked.errors[0].message
    assert "The row has 1 column, the first row has 2" in checked.errors[1].message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"item-1,Text,,", "The key “item-1” is already used by an item of this project"),
        (b"a,Text,,", "The key “a” is already used in row 2"),
        (b"k" * 201 + b",Text,,", "has 201 characters; the limit is 200"),
        (b"b,,,", "The text is missing"),
        (b'b,"  \n ",,', "The text is missing"),
        (b"b," + b"x" * 100_001 + b",,", "The text has 100001 characters; the limit is 100000"),
        (b"b," + b"x" * 10 * 2**20 + b",,", "The text has 10485760 characters; the limit is 100000"),
        (b"b,Text,poem,", "The kind “poem” is unknown"),
        (b"b,Text,audio,", "Images, sound and video come as files"),
        (b"b,<script>x</script>,html,", "The HTML contains no text that can be shown"),
        (b"b,Text,image,", "Images, sound and video come as files"),
        (b'b,Text,,"' + b"t" * 101 + b'"', "has 101 characters; the limit is 100"),
        (b'b,Text,,"' + b",".join(b"%d" % i for i in range(21)) + b'"', "The row has 21 tags; the limit is 20"),
    ],
)
def test_a_bad_row_says_what_to_correct_and_spares_the_others(row, message):
    content = b"key,text,kind,tags\na,First,,\n" + row + b"\nz,Last,,\n"
    checked = read(content, keys={"item-1"})
    assert pairs(checked) == [("a", "First"), ("z", "Last")]
    assert [error.place for error in checked.errors] == [3]
    assert message in checked.errors[0].message


def test_the_longest_text_and_key_that_are_allowed_are_taken():
    key, text = "k" * limits.MAX_KEY, "x" * limits.MAX_TEXT
    assert pairs(read(f"key,text\n{key},{text}\n".encode())) == [(key, text)]


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr("annotate.items.rows.MAX_ROWS", 3)
    assert len(read(b"text\n1\n2\n3\n").items) == 3
    with pytest.raises(BadFile, match=r"more than 3 rows\. Split the file"):
        read(b"text\n1\n2\n3\n4\n")


def test_items_without_a_key_are_numbered_past_those_there_are():
    checked = read(b"text\nOne\nTwo\n", keys={"item-2", "other"})
    assert [item.key for item in checked.items] == ["item-3", "item-4"]
    checked = read(b"key,text\n,One\nitem-1,Two\n,Three\n")
    assert checked.items[0].key == "item-1"  # given before the row that names it, which is told
    assert "item-1" in checked.errors[0].message


def test_tags_and_kinds():
    checked = read(b'key,text,kind,tags\na,One,MD,"x; y|x , z"\nb,Two,,\n')
    assert [item.kind for item in checked.items] == ["markdown", "text"]
    assert [item.tags for item in checked.items] == [("x", "y", "z"), ()]


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a.json", [{"id": "a", "text": "One", "tags": ["x", "y, z"]}, {"id": "b", "text": "Two"}]),
        ("a.json", {"items": [{"id": "a", "text": "One", "tags": ["x", "y, z"]}, {"id": "b", "text": "Two"}]}),
        ("a.json", [{"id": "a", "data": {"text": "One", "tags": ["x", "y, z"]}}, {"id": "b", "data": {"text": "Two"}}]),
    ],
)
def test_json_is_read(name, document):
    checked = read(json.dumps(document).encode(), name)
    assert pairs(checked) == [("a", "One"), ("b", "Two")]
    assert checked.items[0].tags == ("x", "y, z")


def test_json_texts_and_numbers():
    assert pairs(read(b'["One", "Two"]', "a.json")) == [("item-1", "One"), ("item-2", "Two")]
    assert pairs(read(b'[{"id": 7, "text": 3.5}]', "a.json")) == [("7", "3.5")]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", ""])
def test_json_lines_are_read_and_a_broken_line_is_an_error_of_its_own(name):
    content = (
        b'{"id": "a", "text": "One"}\n\n{"id": "b", "text": \n{"id": "c", "text": "Three", "more": {"x": 1}}\n[1]\n'
    )
    checked = read(content, name)
    assert pairs(checked) == [("a", "One"), ("c", "Three")]
    assert [error.place for error in checked.errors] == [3, 5]
    assert "The line is not valid JSON" in checked.errors[0].message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"text": "One"}, {"text": ]', "line 1, column 28"),
        (b'[{"text": NaN}]', "NaN is not a JSON value"),
        (b'[{"text": Infinity}]', "Infinity is not a JSON value"),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"text": %s}]' % (b"9" * 5000), "not valid JSON"),
    ],
)
def test_broken_json_is_refused_with_the_place(content, message):
    with pytest.raises(BadFile, match=message):
        read(content, "a.json")


@pytest.mark.parametrize(("content", "name"), [(b"[]", "a.json"), (b"key,text\n", "a.csv")])
def test_a_file_without_rows_is_told(content, name):
    with pytest.raises(BadFile, match="There are no rows"):
        read(content, name)


def test_an_empty_object_lacks_its_text():
    assert "The text is missing" in read(b"[{}]", "a.json").errors[0].message


def test_deep_json_lines_are_errors_of_their_rows():
    checked = read(b'{"text": "One"}\n' + b"[" * 100_000 + b"\n", "a.jsonl")
    assert pairs(checked) == [("item-1", "One")]
    assert "nested too deeply" in checked.errors[0].message


@pytest.mark.parametrize("escape", [rb"\u0000", rb"\ud800"])
def test_characters_that_no_database_holds_are_told(escape):
    checked = read(b'[{"id": "a", "text": "bad' + escape + b'"}, {"id": "b", "text": "good"}]', "a.json")
    assert pairs(checked) == [("b", "good")]
    assert "can't be stored" in checked.errors[0].message


def test_a_list_is_no_text():
    checked = read(b'[{"id": "a", "text": ["x", "y"]}]', "a.json")
    assert "The cell is a list of 2 values" in checked.errors[0].message


def test_a_text_file_is_one_item_per_line():
    assert pairs(read(b"One, with comma\n\nTwo; with semicolon\n", "a.txt")) == [
        ("item-1", "One, with comma"),
        ("item-2", "Two; with semicolon"),
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["id", "text"], Columns(text=1, key=0)),
        (["Text", "Topic", "ID"], Columns(text=0, key=2, tags=1)),
        (["argument id", "item", "topic", "stance", "votes_up", "text"], Columns(text=5, key=1, tags=2)),
        (["title", "body", "kind"], Columns(text=1, title=0, kind=2)),
        (["id"], Columns(text=0)),
    ],
)
def test_columns_are_guessed_by_their_names(names, expected):
    assert guess(names, []) == expected


def test_without_a_name_the_longest_column_is_the_text():
    text = "k;remark;what\n1;short;A much longer text\n2;short;Another long text\n"
    assert guess_columns(text, Layout("table", ";", True))[1].text == 2


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["id", "anything at all that is long"], True),
        (["text"], True),
        (["Apple"], False),
        (["name of it", "what"], True),
        (["17", "A text"], False),
        (["A", "A"], False),
        (["A whole sentence which is an item and no name of a column.", "x"], False),
    ],
)
def test_a_header_is_known_by_its_words(cells, expected):
    assert looks_like_header(cells) == expected
