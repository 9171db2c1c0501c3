"""Every page asks the database as often for a large project as for a small one: from the URL table."""

import random

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.accounts.invitations import invitation_token, invite_address
from annotate.models import Annotator, ExpectedConflict, ExpectedPerson, Item, Membership, Project
from tests.conftest import NOW, make_annotator
from tests.routes import ROUTES
from tests.site.factories import make_labels
from tests.site.pages import BACKEND
from tests.site.test_access import RULES

pytestmark = pytest.mark.embedded

PAGES = sorted(name for name, (get, _) in RULES.items() if get is not None)


def grown(project: Project, n_items: int, n_annotators: int, n_labels: int) -> None:
    Item.objects.bulk_create(
        Item(project=project, key=f"grown-{n_items}-{i}", body=f"Text {i}", shuffle=random.Random(i).random())
        for i in range(n_items)
    )
    crowd = [make_annotator(project, f"Crowd {n_annotators}-{i}") for i in range(n_annotators)]
    people = [
        ExpectedPerson(project=project, name=one.pseudonym, annotator=one, email=f"{one.pk}@e.org") for one in crowd
    ]
    for person in ExpectedPerson.objects.bulk_create(people):
        ExpectedConflict.objects.create(person=person, item=project.items.first())
    make_labels(project, crowd, n_labels)


def invitation_to(project: Project) -> str:
    now = timezone.now()
    return invitation_token(invite_address(project=project, address="new@example.org", role="viewer", now=now))


def address(name: str, project: Project, annotator: Annotator) -> str:
    pattern = next(route for route in ROUTES if route.name == name).pattern
    link = project.results_links.get_or_create(made_at=NOW, shows_methods=True)[0]
    type(project).objects.filter(pk=project.pk).update(language="en", languages=["fr"])
    entry_link = project.entry_links.get_or_create(item=project.items.first(), made_at=NOW)[0]
    values = {
        "project_id": project.pk,
        "item_id": project.items.first().pk,
        "number": 1,
        "name": "using",
        "key": annotator.key,
        "table": "labels",
        "file_format": "csv",
        "record_id": 1,
        "job_id": 1,
        "language": "fr",
        "known_id": 0,
        "deviation_id": 0,
        "link_id": entry_link.pk if name.startswith("entry-link-") else link.pk,
        "provider_id": "oidc",
        "code": "abcdefg",
        "token": {
            "join": project.join_token,
            "resume": annotator.resume_token,
            "personal": (project.expected_people.first() or project.expected_people.create(name="Judge 01")).token,
            "own-data": annotator.resume_token,
            "own-export": annotator.resume_token,
            "platform": "none",
            "lti-enter": "none",
            "lti-choose": "none",
            "lti-place": "none",
            "lti-course": "none",
            "results": link.token,
            "results-live": link.token,
            "entry-page": entry_link.token,
            "results-card": link.token,
            "results-media": link.token,
            "results-methods": link.token,
        }.get(name)
        or (invitation_to(project) if name == "invited" else ""),
    }
    return reverse(name, kwargs={key: values[key] for key in pattern.converters})


def n_queries(client: Client, url: str) -> int:
    client.get(url)  # what is cached per process or per session is not the page's
    with CaptureQueriesContext(connection) as queries:
        response = client.get(url)
        if response.streaming:
            b"".join(response.streaming_content)
    assert response.status_code in (200, 302, 303, 404, 503), f"{url}: {response.status_code}"
    return len(queries)


@pytest.mark.slow
def test_queries_do_not_grow(project, alice):
    client = Client()
    client.force_login(alice, BACKEND)
    annotator = make_annotator(project, "Alice", user=alice, source=Annotator.Source.ACCOUNT)
    grown(project, 4, 3, 12)
    urls = {name: address(name, project, annotator) for name in PAGES}
    small = {name: n_queries(client, url) for name, url in urls.items()}
    grown(project, 120, 40, 200)
    for i in range(20):
        other = Project.objects.create(name=f"Other {i}", question="Which?")
        Membership.objects.create(project=other, user=alice, role="owner")
    large = {name: n_queries(client, url) for name, url in urls.items()}
    assert {name: (small[name], large[name]) for name in PAGES if large[name] > small[name]} == {}
