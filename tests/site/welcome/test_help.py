"""Help: the documentation as pages, its links whole, found by words; the tour."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotate.core.folders import DOCS
from annotate.welcome.documentation import FILES, INDEX, PARTS, excerpt, marked, read_page, search
from tests.site.pages import signed_in

MAX_BYTES = 40_000
# Under which addresses sections were reached while all of "using" was one page.
OLD_ANCHORS = {
    "setting-up": ("setting-a-project-up", "items", "tasks"),
    "questions": ("overlap-and-the-plan", "quality-checks", "ideas-and-results"),
    "people": ("people", "machines", "what-annotators-meet"),
    "results": ("what-the-dashboard-says",),
    "demo": ("the-demo", "your-own-data-in-the-demo"),
}


def read(name: str, *args: str, query: str = "") -> str:
    response = Client().get(reverse(name, args=args) + query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("name", FILES)
def test_links_of_a_help_page_lead_to_help_pages_and_their_headings(name):
    for page, anchor in re.findall(r'href="/help/([\w-]+)/(?:#([\w-]+))?"', read_page(name).html):
        assert page in FILES
        assert not anchor or f'id="{anchor}"' in read_page(page).html, f"{name}: {page}#{anchor}"
    assert ".md" not in re.sub(r"<code>.*?</code>|>[^<]*<", "", read_page(name).html), "a link to a file"


@pytest.mark.slow
def test_every_page_has_one_title_and_is_declared_english(db):
    for name in FILES:
        page = read("help-page", name)
        assert len(re.findall("<h1", page)) == 1
        assert 'lang="en"' in page


def test_readers_of_another_language_are_told_that_the_help_is_in_english(db):
    html = Client(headers={"Accept-Language": "de"}).get(reverse("help-page", args=["glossary"])).content.decode()
    assert '<html lang="de"' in html
    assert '<div class="help-text" lang="en" dir="ltr">' in html
    assert html.count("This help is in English.") + html.count("Diese Hilfe ist auf Englisch.") == 1
    assert "This help is in English." not in read("help-page", "glossary")


def lines_of_the_index() -> list[tuple[str, str, str]]:
    """The anchor of each line of the index's lists, with the page and the anchor that it leads to."""
    return re.findall(r'<li id="([\w-]+)"><a href="/help/([\w-]+)/#([\w-]+)">', read_page(INDEX).html)


@pytest.mark.slow
def test_the_index_lists_every_section_of_every_part_in_order():
    sections = [one for name in PARTS for one in read_page(name).sections if one.level in (2, 3)]
    assert [(page, anchor) for _id, page, anchor in lines_of_the_index()] == [(s.page, s.anchor) for s in sections]
    ids = re.findall(r' id="([^"]+)"', read_page(INDEX).html)
    assert len(ids) == len(set(ids)) > len(sections)
    assert read_page(INDEX).contents == []


def test_addresses_from_when_all_was_one_page_lead_to_the_section():
    """A server never sees the anchor: the old address shows the line of the index that leads on."""
    lines = {anchor: (page, there) for anchor, page, there in lines_of_the_index()}
    for part, anchors in OLD_ANCHORS.items():
        titles = {one.anchor for one in read_page(part).sections}
        for anchor in anchors:
            assert anchor in titles
            assert f'<h2 id="{anchor}">' in read_page(INDEX).html or lines[anchor] == (part, anchor)


def test_a_page_begins_with_a_list_of_its_sections(db):
    page = read("help-page", "people")
    assert page.index('<h1 id="people-and-machines"') < page.index('class="help-contents"') < page.index("<h2")
    listed = re.findall(r'<a href="#([\w-]+)">', page.partition('class="help-contents"')[2].partition("</nav>")[0])
    assert listed == [one.anchor for one in read_page("people").sections[1:]]
    assert 'class="help-contents"' not in read("help-page", "using")


def test_one_may_read_on_from_part_to_part_and_back(db):
    read_on, address = [], reverse("help-page", args=[next(iter(PARTS))])
    while address:
        page = Client().get(address).content.decode()
        assert f'href="{reverse("help-page", args=[INDEX])}"' in page
        before = re.search(r'rel="prev" href="([^"]+)"', page)
        assert (before and before[1]) == (read_on[-1] if read_on else None)
        read_on.append(address)
        after = re.search(r'rel="next" href="([^"]+)"', page)
        address = after and after[1]
    assert read_on == [reverse("help-page", args=[name]) for name in PARTS]
    assert 'rel="next"' not in read("help-page", "glossary")


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
def test_help_pages_are_of_a_length_to_read(db, language):
    client = Client(headers={"Accept-Language": language})
    sizes = {name: len(client.get(reverse("help-page", args=[name])).content) for name in FILES}
    sizes.pop("statistics")  # a reference, asked by its anchors
    assert max(sizes.values()) <= MAX_BYTES, sizes


def test_an_unknown_page_is_not_found(db):
    assert Client().get("/help/../settings/").status_code == 404
    assert Client().get("/help/settings/").status_code == 404


def test_sections_are_found_by_all_words_headings_first():
    found = search("overlap plan")
    assert found[0].section.title == "Overlap and the plan"
    for one in found:
        text = f"{one.section.title} {one.section.text}".casefold()
        assert "overlap" in text
        assert "plan" in text
    assert search("nosuchword overlap") == search("") == []


@pytest.mark.parametrize("name", ["setting-up", "statistics"])
def test_words_stay_apart_where_the_file_breaks_the_line(name):
    file = (DOCS / FILES[name]).read_text(encoding="utf-8")
    found = set(" ".join(section.text for section in read_page(name).sections).split())
    broken = [one + other for one, other in re.findall(r"\b([a-z]{3,})\n([a-z]{3,})\b", file)]
    assert len(broken) > 20
    assert [word for word in broken if word in found and word not in file] == []


def test_an_excerpt_shows_the_word_asked_for():
    text = "word " * 100 + "needle " + "word " * 100
    assert "needle" in excerpt(text, ["needle"])
    assert len(excerpt(text, ["needle"])) < 200


def test_what_was_searched_is_marked_and_never_markup(db):
    page = read("help", query="?q=overlap")
    assert "<mark>Overlap</mark>" in page or "<mark>overlap</mark>" in page
    page = read("help", query="?q=%3Cscript%3Ealert(1)")
    assert "<script>alert" not in page
    assert "No section has all of these words" in page
    assert marked("a < b & overlap", "< overlap") == "a <mark>&lt;</mark> b &amp; <mark>overlap</mark>"


def test_the_tour_has_six_steps(db):
    assert read("tour").partition('class="tour"')[2].partition("</ol>")[0].count("<li>") == 6


@pytest.mark.embedded
@pytest.mark.parametrize(("role", "stops"), [("owner", 6), ("viewer", 4)])
def test_the_tour_leads_through_the_groups_that_one_may_see(project, alice, vera, role, stops):
    """From the tour page through each group by "Next", every page open to the person; it ends where one likes."""
    client = signed_in(alice if role == "owner" else vera)
    address = re.search(r'href="([^"]+tour=1)"', client.get(reverse("tour")).content.decode())[1]
    assert address == reverse("ranking", args=[project.pk]) + "?tour=1"
    titles = []
    while address:
        response = client.get(address)
        assert response.status_code == 200
        stop = response.content.decode().partition('class="tour-stop"')[2].partition("</aside>")[0]
        titles.append(re.search(r"<strong>([^<]+)</strong>", stop)[1])
        assert f"step {len(titles)} of {stops}" in stop
        following = re.search(r'href="([^"]+tour=1)"', stop)
        address = following and following[1]
    assert len(titles) == len(set(titles)) == stops
    assert 'class="tour-stop"' not in client.get(reverse("ranking", args=[project.pk])).content.decode()


def test_who_sees_no_results_is_led_through_no_project(project, bob):
    assert "tour=1" not in signed_in(bob).get(reverse("tour")).content.decode()
    assert "tour=1" not in read("tour")
