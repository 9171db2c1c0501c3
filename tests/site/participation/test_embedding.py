"""The vote and the results inside other sites' pages: who may show them, how people answer there, what stays shut."""

import re
from http.cookies import SimpleCookie

import pytest
from django.test import Client
from django.urls import reverse

from annotate.core.framing import is_of_site, is_site_origin
from annotate.models import Annotator, Event, Item, ItemTranslation, Label, Project, ResultsLink
from annotate.participation.embedding.middleware import Ticket
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import spread_fit
from tests.site.pages import signed_in

SITE = "https://www.example.org"


@pytest.fixture
def embedded(project) -> Project:
    Project.objects.filter(pk=project.pk).update(embed_origins=[SITE])
    project.refresh_from_db()
    return project


def ancestors(response) -> str:
    return re.search(r"frame-ancestors ([^;]+)", response["Content-Security-Policy"])[1]


def start(project: Project) -> str:
    return f"/embed/new/join/{project.join_token}/"


def joined(project: Project, client: Client, name: str = "Quiet Newt", query: str = "") -> str:
    """The prefix of whoever joins in a frame."""
    page = client.get(start(project) + query).content.decode()
    ticket = re.search(r'name="ticket" value="([^"]+)"', page)[1]
    response = client.post(start(project) + query, {"pseudonym": name, "ticket": ticket})
    assert response.status_code == 303, response.content.decode()
    assert re.fullmatch(r"/embed/[^/]+/projects/[^/]+/label/", response["Location"])
    return response["Location"].partition("projects/")[0]


def test_only_sites_of_the_list_may_show_the_vote_and_the_results(embedded):
    spread_fit(embedded, list(embedded.items.order_by("pk")))
    link = ResultsLink.objects.create(project=embedded, made_at=NOW)
    pages = [start(embedded), reverse("results", args=[link.token])]
    for page in pages:
        response = Client().get(page)
        assert ancestors(response) == SITE
        assert "X-Frame-Options" not in response
        assert "script-src 'self'" in response["Content-Security-Policy"]
    Project.objects.update(embed_origins=[])
    for page in pages:
        response = Client().get(page)
        assert ancestors(response) == "'none'"
        assert response["X-Frame-Options"] == "DENY"


@pytest.mark.embedded
def test_all_other_pages_refuse_frames_as_before(embedded, alice):
    owner = signed_in(alice)
    for name in ("ranking", "members", "embedding", "results-links"):
        response = owner.get(reverse(name, args=[embedded.pk]))
        assert (response.status_code, ancestors(response), response["X-Frame-Options"]) == (200, "'none'", "DENY")
    response = Client().get(reverse("join", args=[embedded.join_token]))
    assert (ancestors(response), response["X-Frame-Options"]) == ("'none'", "DENY")


def test_people_join_answer_and_undo_without_any_cookie(embedded):
    client = Client(enforce_csrf_checks=True)
    prefix = joined(embedded, client)
    label = f"{prefix}projects/{embedded.pk}/label/"
    for _ in range(2):
        html = client.get(label).content.decode()
        address = re.search(r'<form id="answer" method="post" action="([^"]+)"', html)[1]
        assert address.startswith(prefix)
        assert client.post(address, {"answer": "a"}).status_code == 303
    assert Label.objects.filter(annotator__pseudonym="Quiet Newt", voided_at=None).count() == 2
    assert len(set(Label.objects.values_list("session", flat=True))) == 1
    client.post(f"{label}undo/", {"token": Label.objects.latest("pk").presentation.token})
    assert Label.objects.filter(voided_at=None).count() == 1
    assert not client.cookies
    html = client.get(label).content.decode()
    person = Annotator.objects.get(pseudonym="Quiet Newt")
    assert f'value="http://testserver{reverse("resume", args=[person.resume_token])}"' in html


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["page", "fragment"])
def test_nobody_reads_the_ticket_of_somebody_else(embedded, headers):
    """What a process keeps of a page for others holds no address that is one person's own."""
    Project.objects.update(ideas_open=True, known_button=True)
    first, second = (joined(embedded, Client(), name) for name in ("Quiet Newt", "Loud Newt"))
    assert first != second
    seen = Client()
    seen.post(reverse("join", args=[embedded.join_token]), {"pseudonym": "Newt without a frame"})
    for prefix in (first, second, "/"):
        address = f"{prefix}projects/{embedded.pk}/label/"
        html = seen.get(address).content.decode()
        answer = re.search(r'<form id="answer" method="post" action="([^"]+)"', html)[1]
        html += seen.post(answer, {"answer": "a"}, follow=True, headers=headers).content.decode()
        assert f'href="{address}enough/"' in html
        assert set(re.findall(r"/embed/[^/]+/", html)) <= {prefix}, prefix


def test_a_ticket_opens_nothing_else(embedded, alice):
    client = signed_in(alice)
    prefix = joined(embedded, client)
    for name in ("ranking", "members", "items", "api-project"):
        assert client.get(prefix + reverse(name, args=[embedded.pk]).lstrip("/")).status_code == 404, name
    assert Annotator.objects.get(pseudonym="Quiet Newt").user_id is None
    assert client.get(reverse("ranking", args=[embedded.pk])).status_code == 200
    other = Project.objects.create(name="Other", question="?", state="open")
    response = client.get(f"{prefix}projects/{other.pk}/label/")
    assert response.status_code == 403


def test_ideas_known_items_and_stopping_go_on_in_the_frame(embedded):
    Project.objects.update(ideas_open=True, known_button=True)
    client = Client(enforce_csrf_checks=True)
    label = f"{joined(embedded, client)}projects/{embedded.pk}/label/"
    html = client.get(label).content.decode()
    known = re.search(r'method="post" action="([^"]+/known/)"', html)[1]
    assert client.post(known, {"place": "1"}).status_code in (200, 303)
    assert Annotator.objects.get(pseudonym="Quiet Newt").never_shown.count() == 1
    assert client.get(f"{label}enough/").status_code == 200
    assert client.post(f"{label}ideas/", {"text": "Something else altogether"})["Location"] == f"{label}ideas/"


def test_forged_and_foreign_tickets_are_not_found(embedded):
    whole = str(Ticket(make_annotator(embedded, "Ada").key.hex))
    label = f"projects/{embedded.pk}/label/"
    assert Client().get(f"/embed/{whole}/{label}").status_code == 200
    for ticket in (whole[:-1], "x", whole.replace("-", "-fr", 1), whole.partition(".")[0]):
        assert Client().get(f"/embed/{ticket}/{label}").status_code == 404, ticket
    gone = str(Ticket("0" * 32))
    assert Client().get(f"/embed/{gone}/{label}").status_code == 404
    assert Client().get("/embed/new/accounts/login/").status_code == 404


def test_the_cookie_of_the_sites_partition_brings_people_back(embedded):
    client = Client()
    page = client.get(start(embedded), secure=True).content.decode()
    ticket = re.search(r'name="ticket" value="([^"]+)"', page)[1]
    response = client.post(start(embedded), {"pseudonym": "Newt", "ticket": ticket}, secure=True)
    given = response.headers["Set-Cookie"]
    for word in ("Secure", "HttpOnly", "SameSite=None", "Partitioned", f"Path={start(embedded)}"):
        assert word in given
    client.cookies = SimpleCookie(given.partition(";")[0])
    again = client.get(start(embedded), secure=True)
    assert again["Location"] == response["Location"]
    client.cookies = SimpleCookie("embedded_vote=forged")
    assert client.get(start(embedded)).status_code == 200


def test_the_language_goes_with_the_ticket(embedded):
    Project.objects.update(language="en", languages=["fr"])
    ItemTranslation.objects.bulk_create(
        ItemTranslation(item=item, language="fr", body="Texte") for item in Item.objects.filter(project=embedded)
    )
    client = Client()
    prefix = joined(embedded, client, query="?lang=fr")
    assert "Texte" in client.get(f"{prefix}projects/{embedded.pk}/label/").content.decode()
    response = client.get(f"{prefix}projects/{embedded.pk}/label/?lang=en", follow=True)
    assert "Text number" in response.content.decode()
    assert not client.cookies


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"Origin": "http://testserver"}, 303),
        ({"Origin": SITE}, 303),
        ({"Referer": f"{SITE}/vote?x"}, 303),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"{SITE}.evil.example"}, 403),
        ({"Origin": "https://evil.example", "Referer": SITE}, 403),
        ({"Referer": "https://evil.example/"}, 403),
        ({"Referer": "about:blank"}, 403),
    ],
)
def test_what_other_sites_send_is_refused_and_stores_nothing(embedded, headers, status):
    response = Client(headers=headers).post(start(embedded), {"pseudonym": "Quiet Newt"})
    assert response.status_code == status
    assert Annotator.objects.exists() == (status == 303)


@pytest.mark.parametrize(
    ("origin", "fits"),
    [
        ("https://www.example.org", True),
        ("https://a.b.example.org", True),
        ("https://example.org", False),
        ("http://www.example.org", False),
        ("https://evilexample.org", False),
        ("https://example.org.evil.example", False),
    ],
)
def test_a_star_stands_for_names_in_front(origin, fits):
    assert is_of_site(origin, ["https://*.example.org"]) == fits


@pytest.mark.parametrize(
    ("origin", "fits"),
    [
        ("https://example.org", True),
        ("https://*.example.org", True),
        ("https://example.org:8443", True),
        ("http://example.org", False),
        ("https://*", False),
        ("https://*.org", False),
        ("https://a.*.org", False),
        ("https://example.org/path", False),
        ("https://example.org; script-src *", False),
        ("https://user@example.org", False),
        ("https://localhost", False),
        ("'self'", False),
        ("*", False),
        ("https://example.org\n", False),
    ],
)
def test_sites_are_https_names_alone(origin, fits):
    assert is_site_origin(origin) == fits


def test_the_owner_sets_the_sites_and_gets_the_code(project, alice):
    owner, page = signed_in(alice), reverse("embedding", args=[project.pk])
    assert owner.post(page, {"origins": "https://ok.example\nhttp://bad.example"}).status_code == 400
    assert Project.objects.get(pk=project.pk).embed_origins == []
    owner.post(page, {"origins": "https://OK.example/\n\nhttps://*.example.org"})
    assert Project.objects.get(pk=project.pk).embed_origins == ["https://ok.example", "https://*.example.org"]
    assert Event.objects.filter(verb="embedding sites changed").count() == 1
    assert f"http://testserver{start(project)}" in owner.get(page).content.decode()
    api = Api(alice, project)
    assert api("put", "embedding", {"origins": ["https://*"]}).status_code == 422
    told = api("put", "embedding", {"origins": []}).json()
    assert told == {"origins": [], "vote_address": f"http://testserver{start(project)}"}
