"""A teacher's list of essays: the pupil becomes the title, the class a tag, and nothing is dropped unsaid."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotate.files.column_guessing import Columns
from annotate.files.layout import guess_columns, guess_layout
from annotate.models import Item
from tests.site.api_client import Api
from tests.site.imports.test_jobs import work
from tests.site.imports.test_wizard import confirm, hidden_fields, send

PUPILS = ["Anna Berg", "Ben Cole", "Cem Demir", "Dora Egli", "Emil Fink", "Finn Gross"]


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    return client


def essays(header: str, delimiter: str = ",", pupils=PUPILS) -> bytes:
    rows = (
        delimiter.join([pupil, f"{7 + n % 2}b", f"In my holidays I went away and saw {n} things that I liked."])
        for n, pupil in enumerate(pupils)
    )
    return "\n".join([header, *rows]).encode()


def columns_of(content: bytes) -> Columns:
    text = content.decode()
    return guess_columns(text, guess_layout(text, "essays.csv"))[1]


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("Pupil,Class,Essay", ","),
        ("Schüler;Klasse;Aufsatz", ";"),
        ("Kind;Klasse;Text", ";"),
        ("Name des Kindes;Lerngruppe;Was geschrieben wurde", ";"),
    ],
)
def test_pupil_class_and_essay_are_title_tag_and_text(header, delimiter):
    assert columns_of(essays(header, delimiter)) == Columns(text=2, key=0, tags=1, title=0)


def test_a_column_of_names_that_repeat_is_a_title_but_no_key():
    assert columns_of(essays("Pupil,Class,Essay", pupils=[*PUPILS, "Anna Berg"])) == Columns(text=2, tags=1, title=0)


def test_a_column_called_title_is_the_title_however_often_one_comes():
    rows = "\n".join(f"{'On holidays' if n % 2 else 'On school'},Essay number {n} of many" for n in range(8))
    assert columns_of(f"title,essay\n{rows}".encode()) == Columns(text=1, title=0)


def test_numbers_are_neither_title_nor_tags():
    rows = "\n".join(f"{n},{n % 2},A text that is somewhat longer {n}" for n in range(6))
    assert columns_of(f"votes,stance,essay\n{rows}".encode()) == Columns(text=2)


def test_a_key_is_kept_beside_a_title():
    rows = "\n".join(f"k{n},{pupil},Essay number {n} of many" for n, pupil in enumerate(PUPILS))
    assert columns_of(f"id,pupil,essay\n{rows}".encode()) == Columns(text=2, key=0, title=1)


def test_the_first_try_imports_pupils_as_titles(owner, project):
    preview = send(owner, project, essays("Pupil,Class,Essay"), "essays.csv")
    page = preview.content.decode()
    assert "Every column is imported." in page
    assert page.index("Which column is which") < page.index("Import 6 items"), "the chooser stands above the button"
    assert page.index("<strong>Anna Berg</strong>") < page.index("In my holidays I went away and saw 0 things")
    confirm(owner, project, preview)
    item = project.items.get(key="Anna Berg")
    assert (item.name, item.title, item.body[:14]) == ("Anna Berg", "Anna Berg", "In my holidays")
    assert list(item.tags.values_list("name", flat=True)) == ["7b"]


def test_the_next_essays_of_the_same_pupils_come_in_under_new_keys(owner, project):
    for _round in range(2):
        confirm(owner, project, send(owner, project, essays("Pupil,Class,Essay"), "essays.csv"))
    assert project.items.filter(name="Anna Berg").count() == 2
    assert project.items.filter(key="Anna Berg").count() == 1


def test_the_owner_may_choose_no_title(owner, project):
    preview = send(owner, project, essays("Pupil,Class,Essay"), "essays.csv")
    fields = {name: value for name, value in hidden_fields(preview).items() if name not in ("title", "key")}
    chosen = owner.get(reverse("items-import", args=[project.pk]), fields)
    assert "<strong>Not imported:</strong> the column <span" in chosen.content.decode()
    confirm(owner, project, chosen)
    assert set(project.items.values_list("name", flat=True)) == {""}


def test_a_title_that_is_too_long_is_an_error_of_its_row(owner, project):
    content = f"title,text\n{'x' * 201},One\nShort,Two\n".encode()
    page = send(owner, project, content).content.decode()
    assert "has 201 characters; the limit is 200" in page


@pytest.mark.slow
def test_the_engine_imports_titles_of_a_long_table(owner, project):
    content = essays("Pupil,Class,Essay", pupils=[f"Pupil {n}" for n in range(2_500)])
    confirm(owner, project, send(owner, project, content, "essays.csv"))
    work()
    assert project.items.filter(name__startswith="Pupil ").count() == 2_500


def test_the_api_imports_titles_and_lets_another_column_be_said(alice, project):
    api = Api(alice, project)
    data = {"kind": "items", "at_once": "true", "columns": '{"title": "Class", "tags": null}'}
    data["file"] = SimpleUploadedFile("essays.csv", essays("Pupil,Class,Essay"))
    url = reverse("api-imports", args=[project.pk])
    assert api.client.post(url, data, headers={"Authorization": f"Bearer {api.secret}"}).status_code == 202
    work()
    assert Item.objects.get(key="Anna Berg").title == "7b"


def test_the_check_of_a_leaderboards_rows_says_that_it_joins_all_prompts(owner, project):
    rows = "".join(
        f"Prompt {p},{model},Answer of {model} to {p}\n" for p in (1, 2) for model in ("orca", "finch", "wren")
    )
    told = send(owner, project, f"prompt,model,answer\n{rows}".encode()).content.decode()
    assert "joins all contexts in one ranking, of the <strong>3 competitors</strong> named" in told
    assert "a ranking of its own" not in told
    plain = send(owner, project, b"prompt,text\nOne,First text\nOne,Second text\nTwo,Third text\n").content.decode()
    assert "so each context gets a ranking of its own" in plain
    assert "choose below which column names the competitor" in plain
