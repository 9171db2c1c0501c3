"""Preregistration: the plan is frozen once with its hash; every later change is listed, with a reason."""

import json
from datetime import timedelta
from hashlib import sha256

from django.urls import reverse

from annotate.items.actions import retire_item
from annotate.models import Deviation, Event, Item, Preregistration
from annotate.plan_values import canonical, plan_values
from annotate.projects.actions import change_project
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit
from tests.site.gold_sets import make_known
from tests.site.pages import page, signed_in
from tests.site.publishing.test_more_exports import lines


def freeze(project, owner, **statements):
    return owner.post(reverse("preregistration", args=[project.pk]), statements, follow=True)


def test_a_plan_is_frozen_once_with_the_hash_of_its_text(project, alice, vera):
    owner = signed_in(alice)
    assert "The plan as it is now" in page(owner, project, "preregistration")
    assert freeze(project, owner, stopping_rule="Stop after 600 answers.").status_code == 200
    frozen = Preregistration.objects.get()
    assert frozen.digest == sha256(frozen.document.encode()).hexdigest()
    document = json.loads(frozen.document)
    assert canonical(document) == frozen.document
    assert document["plan"]["question"] == project.question
    assert (document["plan"]["n_items"], document["statements"]["stopping_rule"]) == (6, "Stop after 600 answers.")
    assert "frozen already" in freeze(project, owner).content.decode()
    assert Preregistration.objects.get().digest == frozen.digest
    html = page(signed_in(vera), project, "preregistration")
    assert frozen.digest in html
    assert "None: everything is as it was frozen." in html
    assert (
        signed_in(vera).get(reverse("preregistration-document", args=[project.pk])).content == frozen.document.encode()
    )
    assert Event.objects.filter(verb="plan frozen", details__digest=frozen.digest).count() == 1


def test_every_change_is_a_deviation_that_asks_for_its_reason(project, alice, vera):
    owner = signed_in(alice)
    freeze(project, owner)
    make_labels(project, [make_annotator(project, "Otter")], 4)
    change_project(project=project, actor=alice, values={"cap": 30, "name": "Another name"}, now=NOW)
    retire_item(item=project.items.first(), actor=alice, now=NOW + timedelta(seconds=1))
    make_known(project, "attention", 1)
    found = {one.field: one for one in Deviation.objects.all()}
    assert set(found) == {"cap", "items", "n_items", "right_answers", "n_right_answers"}
    assert (found["cap"].before, found["cap"].after, found["cap"].actor, found["cap"].n_labels) == (None, 30, alice, 4)
    explain = reverse("deviation-explain", args=[project.pk, found["cap"].pk])
    assert explain in page(owner, project, "preregistration")
    assert explain not in page(signed_in(vera), project, "preregistration")
    owner.post(explain, {"reason": ""})
    owner.post(explain, {"reason": "The platform's limit"})
    assert "has its reason already" in owner.post(explain, {"reason": "Other"}, follow=True).content.decode()
    spread_fit(project, list(project.items.filter(retired_at=None).order_by("pk")))
    for name in ("methods", "report", "preregistration"):
        html = page(owner, project, name)
        assert "maximum answers per annotator</strong>" in html
        assert "The platform&#x27;s limit" in html
    [row] = [one for one in lines(owner, project, "deviations") if one["field"] == "cap"]
    assert (row["before"], row["after"], row["by"], row["reason"]) == ("null", "30", "owner", "The platform's limit")


def test_going_back_is_a_deviation_too_and_a_change_past_the_log_is_found(project, alice):
    freeze(project, signed_in(alice))
    for cap in (30, None):
        change_project(project=project, actor=alice, values={"cap": cap}, now=NOW)
    assert list(Deviation.objects.order_by("pk").values_list("after", flat=True)) == [30, None]
    assert canonical(plan_values(project)) == canonical(Preregistration.objects.get().current)
    Item.objects.filter(project=project, key="item-0").update(body="Another text")
    html = page(signed_in(alice), project, "preregistration")
    assert "The log does not say when or by whom." in html
    assert Deviation.objects.count() == 2, "looking writes nothing"


def test_without_a_frozen_plan_nothing_is_listed(project, alice):
    change_project(project=project, actor=alice, values={"cap": 30}, now=NOW)
    assert not Deviation.objects.exists()
    assert Api(alice, project)("get", "preregistration").status_code == 404


def test_programs_freeze_read_and_explain(project, alice):
    api = Api(alice, project)
    made = api("post", "preregistration", {"hypotheses": "A is first."})
    assert (made.status_code, made.json()["document"]["statements"]["hypotheses"]) == (201, "A is first.")
    assert api("post", "preregistration", {}).status_code == 409
    api("patch", "project", {"overlap": 4})
    [row] = api("get", "deviations").json()["results"]
    assert (row["field"], row["before"], row["after"], row["reason"]) == ("overlap", project.overlap, 4, "")
    assert api("patch", "deviation", {"reason": "More people"}, args=[row["id"]]).json()["reason"] == "More people"
    told = api("get", "preregistration").json()
    assert (told["n_deviations"], told["sha256"]) == (1, sha256(told["text"].encode()).hexdigest())
