"""Items that are links: a plain link, or a player in a frame for allowed hosts; imported with their errors."""

import pytest
from django.urls import reverse

from annotate.core.embeds import player_url
from annotate.files.column_guessing import Columns
from annotate.files.sheets import Sheet, SheetRow
from annotate.items.rows import check
from annotate.models import Item
from tests.site.pages import signed_in

YOUTUBE, VIMEO = "www.youtube-nocookie.com", "player.vimeo.com"


@pytest.mark.parametrize(
    ("link", "player"),
    [
        ("https://www.youtube.com/watch?v=abcdefghi_1&t=3", f"https://{YOUTUBE}/embed/abcdefghi_1"),
        ("https://youtu.be/abcdefghi_1?si=x", f"https://{YOUTUBE}/embed/abcdefghi_1"),
        ("https://vimeo.com/12345", f"https://{VIMEO}/video/12345?dnt=1"),
        (f"https://{VIMEO}/video/12345", f"https://{VIMEO}/video/12345"),
        (f"http://{VIMEO}/video/12345", ""),
        (f"https://{VIMEO}.evil.example/video/12345", ""),
        (f"https://{VIMEO}@evil.example/", ""),
        (f"https://evil.example/{VIMEO}", ""),
        (f"https://{VIMEO}:8443/", ""),
        ("https://www.youtube.com/watch?v=../../evil", ""),
        ("https://vimeo.com/12345/../x", ""),
        ("javascript:alert(1)", ""),
    ],
)
def test_only_allowed_hosts_have_a_player(settings, link, player):
    settings.EMBED_HOSTS = [YOUTUBE, VIMEO]
    assert player_url(link) == player
    settings.EMBED_HOSTS = []
    assert player_url(link) == ""


def read(text, kind, link):
    columns = Columns(text=0, kind=1, link=2)
    sheet = Sheet(["text", "kind", "link"], [SheetRow(2, [text, kind, link])])
    return check(sheet, columns, kind="markdown", keys=set(), known_text=lambda body: False)


@pytest.mark.parametrize(
    ("link", "kind", "message"),
    [
        ("javascript:alert(1)", "", "is not a web address"),
        ("data:text/html,x", "link", "is not a web address"),
        ("//evil.example", "", "is not a web address"),
        ("example.org", "", "is not a web address"),
        ("https://user:secret@example.org/", "", "is not a web address"),
        ("https://example.org/" + "x" * 2000, "", "has 2020 characters; the limit is 2000"),
        ("https://example.org/", "markdown", "its kind is “markdown”"),
        ("", "link", "the column for links is empty"),
    ],
)
def test_a_bad_address_says_what_to_correct(link, kind, message):
    checked = read("Words", kind, link)
    assert not checked.items
    assert message in checked.errors[0].message


def test_an_address_makes_a_row_a_link_and_stands_for_missing_words():
    (item,) = read("", "", "https://example.org/a?b=c&d").items
    assert (item.kind, item.body, item.link) == ("link", "https://example.org/a?b=c&d", "https://example.org/a?b=c&d")
    (item,) = read("Words", "", "").items
    assert (item.kind, item.link) == ("markdown", "")


def test_it_is_shown_as_a_link_and_where_allowed_in_a_frame_that_may_do_little(settings, project, alice):
    project.items.all().delete()
    for n in range(2):
        Item.objects.create(project=project, key=f"{n}", kind="link", body="A <b>film", link=f"https://vimeo.com/1{n}")
    owner, address = signed_in(alice), reverse("preview", args=[project.pk])
    page = owner.get(address).content.decode()
    assert "<iframe" not in page
    assert 'href="https://vimeo.com/11" target="_blank" rel="nofollow noopener noreferrer"' in page
    assert "A &lt;b&gt;film" in page
    settings.EMBED_HOSTS = [VIMEO]
    page = owner.get(address).content.decode()
    assert f'src="https://{VIMEO}/video/11?dnt=1"' in page
    assert 'sandbox="allow-scripts allow-same-origin allow-presentation"' in page
    assert 'referrerpolicy="strict-origin"' in page


def test_no_page_may_hold_frames_unless_hosts_are_named(project, alice):
    policy = signed_in(alice).get(reverse("items", args=[project.pk]))["Content-Security-Policy"]
    assert "frame-src 'none'" in policy
