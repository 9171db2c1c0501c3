"""What people type is text on every page that shows it: markup in every column, then each page from the URL table."""

from urllib.parse import urlencode

import pytest
from django.urls import reverse

from annotate.models import AnnotatorTag, Event, ImportJob, Item, Label, Project, QuestionField, ResultsLink, Tag
from tests.conftest import NOW, make_annotator
from tests.routes import ROUTES
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now
from tests.site.pages import signed_in

pytestmark = pytest.mark.embedded

BAD = '"><b class=planted>x</b>'
PLANTED = "<b class=planted>"


@pytest.fixture
def planted(project, alice) -> Project:
    people = [make_annotator(project, f"{n}{BAD}") for n in range(3)]
    make_labels(project, people, 12)
    Label.objects.update(comment=BAD)
    words = dict.fromkeys(["name", "question", "more_means", "instructions"], BAD)
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry", **words)
    tag = Tag.objects.create(project=project, name=BAD)
    for item in project.items.all():
        Item.objects.filter(pk=item.pk).update(key=f"{BAD}{item.pk}", body=f"{BAD}{item.pk}")
        item.tags.add(tag)
    AnnotatorTag.objects.bulk_create(AnnotatorTag(annotator=one, name=BAD) for one in people)
    QuestionField.objects.create(
        project=project,
        number=1,
        at_end=False,
        kind="choice",
        label=BAD,
        choices=[BAD, "b"],
        required=False,
        position=0,
    )
    refused = {"source": BAD, "rows": 1, "labels": 0, "refused": 1, "refusals": [[1, BAD]]}
    for verb, details in (
        ("settings changed", {"name": [BAD, "b"]}),
        ("comparisons imported", refused),
        ("annotator excluded", {"labels": 1, "reason": BAD}),
    ):
        Event.objects.create(project=project, actor=alice, verb=verb, details=details, at=NOW)
    ImportJob.objects.create(
        project=project,
        asked_by=alice,
        asked_at=NOW,
        kind="items",
        state="checked",
        source=BAD,
        n_rows=2,
        n_bad=1,
        n_lines=1,
        errors=[[1, BAD]],
        first=[[BAD], [2, [BAD]]],
    )
    ResultsLink.objects.create(project=project, made_at=NOW)
    project.refresh_from_db()
    fit_now(project)
    return project


def addresses(project: Project) -> list[str]:
    """Every page that has no more than these in its address, and some that take more by a query."""
    person, items = project.annotators.first(), list(project.items.values_list("pk", flat=True))
    known = {
        "project_id": project.pk,
        "item_id": items[0],
        "key": person.key,
        "job_id": project.imports.get().pk,
    }
    names = {route.name: route.pattern.converters for route in ROUTES}
    found = {
        name: reverse(name, kwargs={part: known[part] for part in parts})
        for name, parts in names.items()
        if parts.keys() <= known.keys()
    }
    more = [
        f"{found['known-set-new']}?{urlencode([('item', pk) for pk in items[:2]])}",
        f"{found['ranking']}?view=plot",
        f"{found['see-as']}?see=answers",
        f"{found['see-as']}?see=questionnaire",
        reverse("join", args=[project.join_token]),
        *(reverse(name, args=[person.resume_token]) for name in ("resume", "own-data")),
        reverse("results", args=[project.results_links.get().token]),
    ]
    return [*found.values(), *more]


@pytest.mark.slow
def test_it_is_text_on_every_page(planted, alice):
    owner, n_showing, bad = signed_in(alice), 0, []
    for address in addresses(planted):
        response = owner.get(address, follow=True)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            html = response.content.decode()
            n_showing += "class=planted" in html
            bad += [address] if PLANTED in html else []
    assert bad == []
    assert n_showing > 30
