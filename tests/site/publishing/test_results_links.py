"""Results links: anybody who has one sees the published ranking and nothing else, until it ends or is revoked."""

from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from rest_framework.throttling import SimpleRateThrottle

from annotate.models import Context, Event, Item, Label, ResultsLink, Tag
from annotate.models.results_links import signer
from annotate.publishing.results_links.actions import MAX_LINKS
from models_engine.models import Estimate
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import estimate_annotator, make_fit, make_labels, spread_fit
from tests.site.imports.test_archives import png
from tests.site.pages import signed_in


@pytest.fixture
def link(project) -> ResultsLink:
    return ResultsLink.objects.create(project=project, made_at=NOW)


def seen(link, query="", client=None):
    return (client or Client()).get(reverse("results", args=[link.token]) + query)


def test_the_owner_makes_one_a_stranger_looks_and_it_is_revoked(project, alice):
    spread_fit(project, list(project.items.order_by("pk")))
    owner, page = signed_in(alice), reverse("results-links", args=[project.pk])
    assert owner.post(page, {"lifetime": "soon"}).status_code == 400
    owner.post(page, {"lifetime": "7"})
    link = ResultsLink.objects.get()
    assert timedelta(days=6.9) < link.expires_at - timezone.now() < timedelta(days=7)
    assert f"http://testserver/results/{link.token}/" in owner.get(page).content.decode()
    assert seen(link).status_code == 200
    owner.post(reverse("results-link-revoke", args=[project.pk, link.pk]))
    assert seen(link).status_code == 410
    assert link.token not in owner.get(page).content.decode()
    made, revoked = Event.objects.filter(verb__startswith="results link").order_by("pk")
    assert (made.actor, made.verb, revoked.verb) == (alice, "results link made", "results link revoked")
    assert not [
        event for event in (made, revoked) if link.token in str(event.details) or link.pk.hex in str(event.details)
    ]


def test_what_is_shown_and_what_is_not(project, link):
    items = list(project.items.order_by("pk"))
    items[0].tags.add(Tag.objects.create(project=project, name="of the pilot"))
    ada = make_annotator(project, "Ada Lovelace")
    make_labels(project, [ada], 12)
    Label.objects.update(comment="The left one cheats")
    fit = spread_fit(project, items, n_labels=1234, n_annotators=56)
    estimate_annotator(fit, ada)
    response = seen(link, "?view=details")
    html = " ".join(response.content.decode().split())
    for told in (
        "Convincing arguments",
        "Which argument is more convincing?",
        "Text number 0",
        "90% interval",
        "1,234",
        "56",
    ):
        assert told in html
    hidden = ("Ada", "cheats", "item-0", "of the pilot", str(project.pk), str(ada.key), "Divisive", project.join_token)
    assert not [word for word in hidden if word in html]
    assert not response.cookies
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]
    assert 'name="robots" content="noindex' in html
    plot = seen(link, "?view=plot").content.decode()
    assert 'class="forest forest-wide"' in plot
    assert "Text number 5" in plot


def test_tied_is_not_too_little_data_and_parts_stay_apart(project, link):
    a, b, c, d, e, f = project.items.order_by("pk")
    make_fit(
        project,
        [[(a, 2, 0.01, 90), (b, 1.99, 0.01, 90), (c, 1.5, 2.0, 3), (d, -2, 0.1, 90)], [(e, 1, 1, 3), (f, 0, 1, 3)]],
    )
    html = " ".join(seen(link, "?view=details").content.decode().split())
    assert 'next-tied"><span class="next-words">tied' in html
    assert '<span class="visually-hidden">not enough data</span>' in html, (
        "said once in sight, and to screen readers here"
    )
    assert "of 4 pairs of neighbours there is not enough data to say which is ahead" in html
    assert "Part 2" in html
    assert "have fewer than 5 comparisons" in html


def test_links_that_lead_nowhere(project, link):
    now = timezone.now()
    ended = ResultsLink.objects.create(project=project, made_at=NOW, expires_at=now - timedelta(seconds=1))
    assert seen(ended).status_code == 410
    gone = ResultsLink(project=project)
    forged = [f"{link.pk.hex}.{'A' * 43}", link.pk.hex, signer.sign("x"), gone.token, link.token[:-1]]
    for token in forged:
        assert Client().get(reverse("results", args=[token])).status_code == 404, token
        assert Client().get(reverse("api-results", args=[token])).status_code == 404, token
    assert "No ranking yet" in seen(link).content.decode()


def test_pictures_are_those_of_the_ranking_alone(project, link, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    shown, added = (picture(project, key) for key in ("shown", "added-since"))
    spread_fit(project, [shown, *project.items.filter(kind="text")])
    assert reverse("results-media", args=[link.token, shown.pk]) in seen(link).content.decode()
    statuses = [
        Client().get(reverse("results-media", args=[link.token, item.pk])).status_code for item in (shown, added)
    ]
    assert statuses == [200, 404]
    assert Client().get(reverse("item-media", args=[shown.pk])).status_code in (403, 404)
    ResultsLink.objects.update(revoked_at=NOW)
    assert Client().get(reverse("results-media", args=[link.token, shown.pk])).status_code == 410


def picture(project, key) -> Item:
    item = Item(project=project, key=key, kind="image", body=f"A picture, {key}")
    item.media.save(f"{key}.png", ContentFile(png()), save=True)
    return item


def test_each_criterion_has_links_of_its_own(project, alice):
    project.criteria = [
        {"name": "Clarity", "question": "Which is clearer?"},
        {"name": "Truth", "question": "Which is truer?"},
    ]
    project.save()
    items = list(project.items.order_by("pk"))
    first = spread_fit(project, items)
    spread_fit(project, items[::-1], criterion=2)
    type(first).objects.filter(pk=first.pk).update(published=True)
    signed_in(alice).post(reverse("results-links", args=[project.pk]), {"criterion": "2", "lifetime": ""})
    html = seen(ResultsLink.objects.get()).content.decode()
    assert "Truth: Which is truer?" in html
    assert html.index("Text number 5") < html.index("Text number 0")
    assert "Clarity" not in html


def test_it_asks_the_database_as_often_for_many_items(project, link):
    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            seen(link)
        return len(queries)

    items = list(project.items.order_by("pk"))
    spread_fit(project, items)
    few = n_queries()
    context = Context.objects.create(project=project, body="A prompt", digest="d" * 64)
    more = Item.objects.bulk_create(
        Item(project=project, key=f"m{i}", body=f"More {i}", context=context) for i in range(80)
    )
    spread_fit(project, items + more)
    assert n_queries() <= few + 1, "the contexts, once"


def test_it_is_limited(project, link, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"results": "2/min"})
    assert [seen(link).status_code for _ in range(3)] == [200, 200, 429]


def test_programs_make_read_and_revoke(project, alice):
    spread_fit(project, list(project.items.order_by("pk")))
    api = Api(alice, project)
    assert api("post", "results-links", {"criterion": 2}).status_code == 422
    made = api("post", "results-links", {}).json()
    read = reverse("api-results", args=[made["token"]])
    told = Client().get(read).json()
    assert (told["count"], told["question"]) == (6, "Which argument is more convincing?")
    first = told["results"][0]
    assert (first["title"], first["rank"], first["utility"]) == ("Text number 0", 1, 2.0)
    assert not {"item", "tags", "divisiveness"} & first.keys()
    assert Client().get(made["url"]).status_code == 200
    assert api("delete", "results-link", args=[made["id"]]).status_code == 204
    assert Client().get(read).status_code == 410
    assert Client().get(f"{read}?page=0").status_code == 400
    assert api("get", "results-links").json()["results"][0]["revoked_at"]


def test_there_are_not_too_many_and_the_archive_keeps_them(project, alice):
    for _ in range(MAX_LINKS):
        link = ResultsLink.objects.create(project=project, made_at=NOW)
    owner, page = signed_in(alice), reverse("results-links", args=[project.pk])
    response = owner.post(page, {"lifetime": ""})
    assert (response.status_code, ResultsLink.objects.count()) == (409, MAX_LINKS)
    owner.post(reverse("project-archive", args=[project.pk]), {"to": "archive"})
    assert seen(link).status_code == 200
    owner.post(reverse("results-link-revoke", args=[project.pk, link.pk]))
    assert seen(link).status_code == 410
    assert owner.get(page).status_code == 200


@pytest.mark.parametrize("n", [1, 12])
def test_predicted_items_are_said_to_be_predicted(project, link, n):
    """In the simple view and the table, in as many statements however many they are; others count as not compared."""
    old = list(project.items.order_by("pk"))
    new = [Item.objects.create(project=project, key=f"new {i}", body=f"Newcomer {i}") for i in range(n)]
    other = Item.objects.create(project=project, key="other", body="Without features")
    compared = [(item, 2.0 - place, 0.4, 20) for place, item in enumerate(old)]
    fit = make_fit(project, [compared, *([(one, 0.5, 0.9, 0)] for one in [*new, other])])
    told = {"predicted_in": 0, "rank": 2, "rank_low": 1, "rank_high": 5, "part": 1}
    Estimate.objects.filter(fit=fit, item_id__in=[one.pk for one in new]).update(**told)
    with CaptureQueriesContext(connection) as asked:
        html = " ".join(seen(link).content.decode().split())
    assert len(asked) <= 16, "whatever the number of items"
    assert html.count('class="badge badge-simulated">predicted<') == n
    assert "Newcomer 0" in html
    assert ("Nobody has compared this one yet." if n == 1 else f"Nobody has compared these {n} yet.") in html
    assert "true place very likely 1 to 5" in html
    assert "1 more has not been compared yet." in html
    assert "Predicted from what they look like" in seen(link, "?view=details").content.decode()
