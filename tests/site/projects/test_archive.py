"""An archived project: read-only, out of the list, left alone by the engine, exported as ever; and back again."""

import random

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotate.core.errors import ProjectArchived, ProjectNotOpen
from annotate.fitting import scheduling
from annotate.imports.comparisons.actions import Comparison, import_comparisons
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import FitState, Item, Label, Project, Webhook, WebhookDelivery
from annotate.projects.actions import set_state
from annotate.projects.copies.archiving import archive_project, unarchive_project
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.factories import spread_fit
from tests.site.pages import signed_in


@pytest.fixture
def archived(project, alice):
    FitState.objects.create(project=project)
    answer_one(make_annotator(project, "Ada"))
    archive_project(project=project, actor=alice, now=NOW)
    project.refresh_from_db()
    return project


def test_it_is_closed_and_noted_and_told(project, alice):
    Webhook.objects.create(
        project=project, url="https://example.org/", events=["project.state_changed"], created_at=NOW
    )
    assert archive_project(project=project, actor=alice, now=NOW)
    assert not archive_project(project=project, actor=alice, now=NOW)  # sent twice
    project.refresh_from_db()
    assert (project.state, project.archived_at) == ("closed", NOW)
    assert project.events.get(verb="project archived").details == {
        "archived": [False, True],
        "state": ["open", "closed"],
    }
    assert WebhookDelivery.objects.count() == 1


def test_the_log_tells_no_change_of_state_where_there_is_none(project, alice):
    Project.objects.filter(pk=project.pk).update(state="closed")
    archive_project(project=project, actor=alice, now=NOW)
    assert project.events.get(verb="project archived").details == {"archived": [False, True]}


def test_no_label_gets_in(project, alice):
    ada = make_annotator(project, "Ada")
    presentation = assignment.next_presentation(annotator=ada, now=NOW, rng=random.Random(1))
    archive_project(project=project, actor=alice, now=NOW)
    with pytest.raises(ProjectNotOpen, match="closed"):
        record_label(presentation=presentation, answer=Answer(outcome="choice", chosen=0), now=NOW)
    row = Comparison(2, "Ben", ("item-0", "item-1"), "left")
    with pytest.raises(ProjectArchived):
        import_comparisons(project=project, actor=alice, comparisons=[row], source="x", now=NOW, rng=random.Random(1))
    with pytest.raises(ProjectArchived):
        set_state(project=project, actor=alice, state="open", now=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.filter(pk=project.pk).update(state="open")
    assert not Label.objects.exists()


def test_pages_show_it_and_refuse_changes(archived, alice):
    client = signed_in(alice)
    for name in ("ranking", "project-settings", "items", "exports"):
        assert "Archived." in client.get(reverse(name, args=[archived.pk])).content.decode()
    item = archived.items.first()
    answer = client.post(reverse("items", args=[archived.pk]), {"item": item.pk, "action": "retire"})
    assert answer.status_code == 409
    assert "bring it back first" in answer.content.decode()
    assert not Item.objects.filter(retired_at__isnull=False).exists()
    export = client.get(reverse("export", args=[archived.pk, "labels", "csv"]))
    assert b"Ada" in b"".join(export.streaming_content)
    spread_fit(archived, list(archived.items.all()))
    client.post(reverse("record-ask", args=[archived.pk]))
    assert archived.run_records.exists()


def test_the_list_leaves_it_out(archived, alice):
    client = signed_in(alice)
    page = client.get(reverse("home"))
    assert page.context["lines"] == []
    assert "Archive (1)" in page.content.decode()
    page = client.get(reverse("home"), {"archived": "1"})
    assert [line.project for line in page.context["lines"]] == [archived]


def test_annotators_are_told_kindly(archived):
    ada = archived.annotators.get()
    client = Client()
    client.get(reverse("resume", args=[ada.resume_token]))
    client.post(reverse("resume", args=[ada.resume_token]))
    page = client.get(reverse("label", args=[archived.pk]))
    assert "closed and takes no more answers. Thank you" in page.content.decode()


def test_the_engine_leaves_it_alone_until_it_is_back(archived, alice):
    assert FitState.objects.get().wanted > 0
    assert not scheduling.claimable_projects(NOW).exists()
    client = signed_in(alice)
    client.post(reverse("project-archive", args=[archived.pk]), {"to": "bring-back"})
    archived.refresh_from_db()
    assert (archived.archived_at, archived.state) == (None, "closed")
    assert scheduling.claimable_projects(NOW).exists()
    assert not unarchive_project(project=archived, actor=alice, now=NOW)
    assert archived.events.filter(verb="project brought back").count() == 1
