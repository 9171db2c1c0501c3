"""Every language is complete: each string translated with what it holds, compiled as written; pages come out whole."""

import ast
import gettext
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from django.utils import translation

from annotate.core.numbers import format_integer, format_number, format_probability
from annotate.models import Membership
from annotate.templatetags.figures import seconds
from tests.conftest import NOW, answer_one, make_annotator
from tests.paths import ROOT
from tests.site.factories import engine_is_up, spread_fit
from tests.site.labelling.test_labelling import as_annotator, task_of
from tests.site.pages import signed_in
from tests.site.test_query_counts import PAGES, address

pytestmark = pytest.mark.embedded

LANGUAGES = ["de", "es", "fr"]
LOCALE = ROOT / "annotate" / "locale"
PLACEHOLDER = re.compile(r"%\(\w+\)[.\d]*[a-zX]|\{\w*\}|</?\w+>|&\w+;")


@dataclass
class Entry:
    """One message of a .po file; texts: msgctxt, msgid, msgid_plural, msgstr, msgstr[0], ..."""

    fuzzy: bool = False
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> list[str]:
        return [self.texts[name] for name in ("msgid", "msgid_plural") if name in self.texts]

    @property
    def translations(self) -> list[str]:
        return [text for name, text in self.texts.items() if name.startswith("msgstr")]


@cache
def entries(path: Path) -> list[Entry]:
    """The messages of a .po file but its header."""
    found = []
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        entry, name = Entry(), ""
        for line in block.splitlines():
            if line.startswith("#"):
                entry.fuzzy |= line.startswith("#,") and "fuzzy" in line
            elif line.strip():
                start, _, text = line.partition('"')
                name = start.strip() or name
                entry.texts[name] = entry.texts.get(name, "") + ast.literal_eval('"' + text)
        found.append(entry)
    return [entry for entry in found if entry.texts.get("msgid")]


@pytest.fixture(scope="module", params=LANGUAGES)
def folder(request) -> Path:
    """The folder of one language's catalogue."""
    return LOCALE / request.param / "LC_MESSAGES"


@pytest.fixture(scope="module")
def catalogue(folder) -> list[Entry]:
    return entries(folder / "django.po")


def test_every_language_offered_has_a_catalogue():
    assert [code for code, _ in django_settings.LANGUAGES] == ["en", *LANGUAGES]


def test_every_string_is_translated_with_what_it_holds(catalogue):
    assert len(catalogue) > 1000
    assert len({(entry.texts.get("msgctxt"), entry.ids[0]) for entry in catalogue}) == len(catalogue)
    for entry in catalogue:
        assert not entry.fuzzy, f"fuzzy: {entry.ids[0]}"
        assert all(entry.translations), f"not translated: {entry.ids[0]}"
        assert len(entry.translations) == len(entry.ids)
        for before, after in zip(entry.ids, entry.translations, strict=True):
            assert sorted(PLACEHOLDER.findall(before)) == sorted(PLACEHOLDER.findall(after)), before
            assert before[-1:].isspace() == after[-1:].isspace(), before


def test_people_are_addressed_in_one_way():
    """“Du”, never “Sie” (but for “they”, at the start of a sentence or of a part of one)."""
    for entry in entries(LOCALE / "de" / "LC_MESSAGES" / "django.po"):
        for text in entry.translations:
            assert not re.search(r"\b(?:Ihnen|Ihre[mnrs]?)\b(?! (?:Plätze|Nutzwerte|Urteile))", text), text
            assert not re.search(r"(?<![.:;!?] )(?<!^)(?<![„\n])\bSie\b", text), text


def test_no_line_begins_with_a_mark_that_french_sets_off_or_with_percent(folder, catalogue):
    """French sets : ; ! ? and what stands in « » off by a narrow space, all three set off %: no line breaks there."""
    loose = r"\d %(?!\()" + (r"|[^\s:;!?] [:;!?](?:\s|$|\W)|« | »" if folder.parent.name == "fr" else "")
    for entry in catalogue:
        for text in entry.translations:
            assert not re.search(loose, text), text


def test_what_is_compiled_is_what_is_written(folder, catalogue):
    with (folder / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for entry in catalogue:
        if len(entry.ids) == 2:
            both = [compiled.ngettext(*entry.ids, n) for n in (1, 2)]
        elif "msgctxt" in entry.texts:
            both = [compiled.pgettext(entry.texts["msgctxt"], entry.ids[0])]
        else:
            both = [compiled.gettext(entry.ids[0])]
        assert both == entry.translations, "run `make messages`"


def test_plurals_follow_the_language():
    """French counts 0 as one; German and Spanish don't."""
    for language, of_zero in (("de", "0 Tage"), ("es", "0 días"), ("fr", "0 jour")):
        with translation.override(language):
            assert translation.ngettext("%(n)d day", "%(n)d days", 0) % {"n": 0} == of_zero


@pytest.mark.process
@pytest.mark.skipif(shutil.which("xgettext") is None, reason="xgettext is missing; on Debian: apt-get install gettext")
def test_every_catalogue_has_every_string_of_the_code(tmp_path):
    for folder in ("annotate", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
    shutil.copy(ROOT / "manage.py", tmp_path)
    command = [sys.executable, "manage.py", "makemessages", "--locale", "de", "--no-obsolete", "--no-wrap"]
    env = {"PATH": "/usr/bin:/bin", "DEBUG": "true", "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
    inside = {tuple(entry.ids) for entry in entries(tmp_path / "annotate/locale/de/LC_MESSAGES/django.po")}
    for language in LANGUAGES:
        known = {tuple(entry.ids) for entry in entries(LOCALE / language / "LC_MESSAGES" / "django.po")}
        assert inside <= known, f"run `make messages` and translate to {language}: {sorted(inside - known)[:20]}"


# --- Pages ------------------------------------------------------------------------------------------------------------

IN_GERMAN = {"Accept-Language": "de-CH,de;q=0.9,en;q=0.5"}
DRAWN = re.compile(r"<(?:svg|line|circle|rect|path|polyline|text|g|progress)\b[^>]*>")
SHAPED = re.compile(r"(?:x|y|cx|cy|r|[xy][12]|width|height|viewBox|transform|value|max)=\"[^\"]*\d,\d")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_translated_and_its_drawings_keep_their_numbers(project, alice, language):
    annotator = make_annotator(project, "Alice", user=alice, source="account")
    for seed in range(6):
        answer_one(annotator, seed=seed, chosen=seed % 2)
    items = list(project.items.all())
    spread_fit(project, items, sd=0.31)
    engine_is_up()
    browser = signed_in(alice)
    n_pages = 0
    for name in PAGES:
        for query in ("", "?view=plot") if name == "ranking" else ("",):
            response = browser.get(address(name, project, annotator) + query, headers={"Accept-Language": language})
            if response.status_code != 200 or not response["Content-Type"].startswith("text/html"):
                continue
            page, n_pages = response.content.decode(), n_pages + 1
            assert f'<html lang="{language}"' in page, name
            for tag in DRAWN.findall(page):
                assert not SHAPED.search(tag), f"{name}: {tag}"
    assert n_pages > 15


def test_an_annotator_is_spoken_to_in_german(project):
    project.cap = 40
    project.save()
    browser = as_annotator(make_annotator(project, "Quiet Otter"))
    browser.post(task_of(project))
    page = browser.get(task_of(project), headers=IN_GERMAN).content.decode()
    for words in ("0 von 40", "Gleich", "Weiß ich nicht", "Hilfe", "Noch nicht gesendet"):
        assert words in page
    assert 'data-said="Du hast A gewählt."' in page
    token = re.search(r"/label/([\w-]{32})/", page)[1]
    refused = browser.post(
        reverse("submit", args=[token]), {"answer": "x" * 9}, headers={**IN_GERMAN, "HX-Request": "true"}
    )
    assert "Deine Antwort wurde nicht gezählt." in refused.content.decode()
    project.state = "paused"
    project.save()
    assert "Dieses Projekt pausiert." in browser.get(task_of(project), headers=IN_GERMAN).content.decode()


def test_a_choice_of_language_lasts_and_beats_the_browsers_wish(client, project, alice):
    home = reverse("home")
    assert '<html lang="en"' in client.get(home).content.decode()
    page = client.get(home).content.decode()
    for language, name in (("de", "Deutsch"), ("es", "Español"), ("fr", "Français")):
        assert re.search(rf'<button[^>]*value="{language}" lang="{language}">{name}</button>', page)
    assert client.post(reverse("set_language"), {"language": "de", "next": home})["Location"] == home
    page = client.get(home, headers={"Accept-Language": "en"}).content.decode()
    assert '<html lang="de"' in page
    assert 'value="de" lang="de" aria-current="true"' in page
    assert client.post(reverse("set_language"), {"language": "en", "next": "https://evil.example/"})["Location"] == "/"
    assert '<html lang="en"' in client.get(home, headers=IN_GERMAN).content.decode()


def test_times_are_told_in_german(project, alice):
    Membership.objects.get_or_create(project=project, user=alice, role="owner")
    answer_one(make_annotator(project, "Quiet Otter"), now=NOW)
    page = signed_in(alice).get(reverse("progress", args=[project.pk]), headers=IN_GERMAN).content.decode()
    assert re.search(r"vor \d+\s(?:s|min|Std\.|Tagen)", page)
    assert "20. Nov. 2026" in page


@pytest.mark.parametrize(("language", "written"), [("es", "20 nov 2026"), ("fr", "20 nov. 2026")])
def test_months_are_written_small_in_spanish_and_french(project, alice, language, written):
    Membership.objects.get_or_create(project=project, user=alice, role="owner")
    answer_one(make_annotator(project, "Quiet Otter"), now=NOW)
    url = reverse("progress", args=[project.pk])
    assert written in signed_in(alice).get(url, headers={"Accept-Language": language}).content.decode()


def test_unknown_languages_get_english(project):
    page = Client().get(reverse("home"), headers={"Accept-Language": "tlh"}).content.decode()
    assert '<html lang="en"' in page


@pytest.mark.slow
def test_figures_and_dates_are_written_as_germans_write_them(project, alice):
    """A comma before decimals, points between thousands, a point after the day; forms and drawings keep theirs."""
    project.closes_at = NOW + timedelta(days=365)
    project.goal, project.goal_width = "width", 0.5
    project.price, project.currency = Decimal("0.25"), "EUR"
    project.save()
    annotator = make_annotator(project, "Alice", user=alice, source="account")
    for seed in range(6):
        answer_one(annotator, seed=seed, chosen=seed % 2)
    spread_fit(project, list(project.items.all()), sd=0.31)
    alice.is_expert = True  # who sees figures with decimals
    alice.save()
    browser = signed_in(alice)

    def words(name: str) -> str:
        page = browser.get(address(name, project, annotator), headers=IN_GERMAN).content.decode()
        return " ".join(re.sub(r"<script.*?</script>|<[^>]+>", " ", page).split())

    for name in ("ranking", "item", "annotators", "progress", "engine", "trust", "label"):
        page = words(name)
        pointed = re.findall(r"(?<![\w./-])[−<>]?\d*\.\d+(?![\w./-]|\. [A-ZÄ])", page)
        assert [text for text in pointed if not re.fullmatch(r"\d{1,3}\.\d{3}", text)] == [], name
        assert not re.search(r"\b\d{1,2} (?:Nov|Dez|November)\b", page), name
    assert re.search(r"\d,\d\d", words("ranking"))
    assert "20. Nov. 2026" in words("progress")
    door = Client().get(reverse("join", args=[project.join_token]), headers=IN_GERMAN).content.decode()
    assert "20. November 2027, 12:00 UTC" in door
    settings = browser.get(reverse("goal", args=[project.pk]), headers=IN_GERMAN).content.decode()
    assert re.search(r'name="goal_width" value="0\.50*"', settings)
    assert 'value="0.25' in settings
    with translation.override("de"):
        told = [
            format_number(-1234.5, 1),
            format_integer(12728),
            format_probability(0.98),
            format_probability(0.001),
            format_probability(0.999),
            seconds(2430),
        ]
        assert told == ["−1234,5", "12.728", "0,98", "<0,01", ">0,99", "2,4 s"]
    with translation.override("en"):
        told = [
            format_number(-1234.5, 1),
            format_integer(12728),
            format_probability(0.98),
            format_probability(0.001),
            format_probability(0.999),
            seconds(2430),
        ]
        assert told == ["−1234.5", "12,728", ".98", "<.01", ">.99", "2.4 s"]
    for language in ("es", "fr"):
        with translation.override(language):
            told = [format_number(-1234.5, 1), format_integer(12728), format_probability(0.98)]
            assert told == ["−1234,5", "12\N{NO-BREAK SPACE}728", "0,98"]
    for table in ("ranking", "labels"):
        in_german, in_english = (
            b"".join(browser.get(reverse("export", args=[project.pk, table, "csv"]), headers=headers).streaming_content)
            for headers in (IN_GERMAN, {})
        )
        assert in_german == in_english, table
