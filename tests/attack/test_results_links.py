"""Results links and entry links: forged ones open nothing, and a revoked or ended one opens nothing any more.

Generated from the URL tables of pages and API, so that a new page behind such a link is tried as well.
"""

from datetime import timedelta

import pytest
from django.core import signing
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.api_urls import urlpatterns
from annotate.models import EntryLink, Item, Project, ResultsLink
from tests.conftest import NOW
from tests.routes import ROUTES
from tests.site.factories import spread_fit
from tests.site.imports.test_archives import png

PAGES = {"results", "results-live", "results-card", "results-media", "results-methods"}
PROGRAMS = {"api-results", "api-results-methods"}
ENTRIES = {"entry-page", "api-entry-page"}
SECRETS = ("Convincing arguments", "Text number")


@pytest.fixture
def item(project, settings, tmp_path) -> Item:
    settings.MEDIA_ROOT = tmp_path
    item = Item(project=project, key="picture", kind="image", body="A picture")
    item.media.save("picture.png", ContentFile(png()), save=True)
    spread_fit(project, list(project.items.order_by("pk")))
    return item


@pytest.fixture
def link(project, item) -> ResultsLink:
    return ResultsLink.objects.create(project=project, made_at=NOW, shows_methods=True)


@pytest.fixture
def entry(project, item) -> EntryLink:
    return EntryLink.objects.create(project=project, item=item, made_at=NOW)


def test_every_address_behind_a_link_is_tried():
    behind = {
        route.name
        for route in [*ROUTES, *urlpatterns]
        if "token" in route.pattern.converters
        and str(route.pattern).startswith(("results", "entry", "v1/res", "v1/ent"))
    }
    assert behind == PAGES | PROGRAMS | ENTRIES


def addresses(names: set[str], token: str, item: Item) -> list[str]:
    return [reverse(name, args=[token, item.pk] if name == "results-media" else [token]) for name in sorted(names)]


def forgeries(link: ResultsLink, entry: EntryLink) -> list[str]:
    """Tokens that the site never gave, of ids that are there."""
    own, other = link.pk.hex, entry.pk.hex
    signature = link.token.partition(".")[2]
    return [
        own,
        f"{own}.",
        f"{own}.{'A' * 43}",
        f"{own}.{signature[:-1]}",
        f"{own}.{signature}A",
        f"{own}.{signature.swapcase()}",
        f"{own.upper()}.{signature}",
        f"{link.pk}.{signature}",
        f"{other}.{signature}",
        f"{own}.{entry.token.partition('.')[2]}",
        signing.Signer(sep=".", salt="annotate.entry-link").sign(own),
        signing.Signer(sep=".").sign(own),
        signing.Signer(key="guessed", sep=".", salt="annotate.results-link").sign(own),
        signing.Signer(sep=".", salt="annotate.results-link").sign("0" * 32),
        signing.Signer(sep=".", salt="annotate.results-link").sign("not an id"),
        signing.dumps(own, salt="annotate.results-link"),
        f"{own}.{signature}%00",
        "٣" * 32,
    ]


@pytest.mark.embedded
@pytest.mark.slow
def test_forged_tokens_open_nothing(link, entry, item):
    wrong = []
    for token in forgeries(link, entry):
        cache.clear()  # of so many tries the limits would soon refuse each
        for address in addresses(PAGES | PROGRAMS | ENTRIES, token, item):
            response = Client().get(address)
            if response.status_code != 404 or any(one in response.content.decode() for one in SECRETS):
                wrong.append(f"{address}: {response.status_code}")
    assert wrong == []


def test_a_link_of_one_kind_opens_no_page_of_the_other(link, entry, item):
    for address in addresses(ENTRIES, link.token, item) + addresses(PAGES | PROGRAMS, entry.token, item):
        assert Client().get(address).status_code == 404, address


def headers_that_ask_for_what_was_seen(response) -> list[dict[str, str]]:
    """As browsers, caches and htmx ask again for what they have had."""
    return [
        {},
        {"If-None-Match": response.get("ETag", '"x"')},
        {"If-None-Match": "*"},
        {"If-Modified-Since": "Wed, 01 Jan 2020 00:00:00 GMT"},
        {"Range": "bytes=0-10"},
        {"HX-Request": "true"},
        {"Accept": "application/json"},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["revoked", "ended", "its project deleted"])
def test_nothing_is_shown_after_the_end(link, entry, item, project, end):
    tried = addresses(PAGES | PROGRAMS, link.token, item)
    if end != "ended":  # entry links end by being revoked
        tried += addresses(ENTRIES, entry.token, item)
    browser, seen = Client(), {}
    for address in tried:
        seen[address] = browser.get(address)
        assert seen[address].status_code == 200, address
    if end == "revoked":
        ResultsLink.objects.update(revoked_at=NOW)
        EntryLink.objects.update(revoked_at=NOW)
    elif end == "ended":
        ResultsLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        Project.objects.get(pk=project.pk).delete()
    wrong = []
    for address in tried:
        for headers in headers_that_ask_for_what_was_seen(seen[address]):
            cache.clear()  # of so many tries the limits would soon refuse each
            for method, query in (("get", ""), ("head", ""), ("get", "?lang=de"), ("get", "?view=details&seen=x")):
                response = getattr(browser, method)(address + query, headers=headers)
                body = b"".join(response) if response.streaming else response.content
                # The API knows no such parameters.
                refusals = (400, 404, 410) if query and "/api/" in address else (404, 410)
                if response.status_code not in refusals or any(one.encode() in body for one in SECRETS):
                    wrong.append(f"{method} {address}{query} {headers}: {response.status_code}")
    assert wrong == []


@pytest.mark.embedded
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
def test_a_link_only_reads(link, entry, item, method):
    for address in addresses(PAGES | PROGRAMS | ENTRIES, link.token, item):
        assert getattr(Client(), method)(address).status_code in (200, 401, 403, 404, 405), address
    assert ResultsLink.objects.get().revoked_at is None


def test_no_cache_keeps_what_a_link_shows(link, entry, item):
    for address in addresses(PAGES, link.token, item) + addresses({"entry-page"}, entry.token, item):
        response = Client().get(address)
        assert "public" not in response.get("Cache-Control", ""), address
        assert response["Referrer-Policy"] == "no-referrer", address
