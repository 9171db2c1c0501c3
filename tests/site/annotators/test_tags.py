"""Tags of annotators: put to many at once, taken away, read as cohorts, gone with the project."""

import csv
import io
import json

import pytest
from django.urls import reverse

from annotate.annotators.tags.actions import TooManyTags, tag_annotators, untag_annotators
from annotate.annotators.tags.queries import cohorts_by_tag, tag_names, tags_of
from annotate.models import MAX_ANNOTATOR_TAGS, Annotator, AnnotatorTag, Project
from annotate.projects.actions import delete_project
from tests.conftest import NOW, make_annotator
from tests.site.pages import signed_in


@pytest.fixture
def people(project):
    return [make_annotator(project, name) for name in ("Ada", "Ben", "Cem")]


def test_tags_make_cohorts(project, alice, people):
    ada, ben, cem = people
    elsewhere = Project.objects.create(name="Other", question="Which?")
    stranger = make_annotator(elsewhere, "Zoe")
    tag_annotators(project=elsewhere, actor=alice, pairs=[(stranger.pk, "expert")], now=NOW)
    pairs = [(ada.pk, "expert"), (ben.pk, "expert"), (ben.pk, "Berlin")]
    assert tag_annotators(project=project, actor=alice, pairs=pairs, now=NOW) == 3
    assert tag_annotators(project=project, actor=alice, pairs=pairs, now=NOW) == 0  # sent twice
    assert cohorts_by_tag(project) == {"expert": {ada.pk, ben.pk}, "Berlin": {ben.pk}}
    assert tag_names(project) == ["Berlin", "expert"]
    assert tags_of([ada.pk, ben.pk, cem.pk]) == {ada.pk: ["expert"], ben.pk: ["Berlin", "expert"]}
    assert project.events.filter(verb="annotators tagged").get().details["annotators"] == 2


def test_they_are_taken_away_from_those_named_alone(project, alice, people):
    ada, ben, cem = people
    tag_annotators(project=project, actor=alice, pairs=[(one.pk, "expert") for one in people], now=NOW)
    gone = untag_annotators(project=project, actor=alice, pairs=[(ada.pk, "expert"), (ben.pk, "novice")], now=NOW)
    assert gone == 1
    assert cohorts_by_tag(project) == {"expert": {ben.pk, cem.pk}}


def test_nobody_has_too_many(project, alice, people):
    many = [(people[0].pk, f"tag {i}") for i in range(MAX_ANNOTATOR_TAGS)]
    tag_annotators(project=project, actor=alice, pairs=many, now=NOW)
    with pytest.raises(TooManyTags, match="Ada would have 21 tags; the limit is 20"):
        tag_annotators(project=project, actor=alice, pairs=[(people[1].pk, "x"), (people[0].pk, "x")], now=NOW)
    assert AnnotatorTag.objects.count() == MAX_ANNOTATOR_TAGS


def test_they_go_with_the_project(project, alice, people):
    tag_annotators(project=project, actor=alice, pairs=[(people[0].pk, "expert")], now=NOW)
    delete_project(project=project)
    assert not AnnotatorTag.objects.exists()


def test_a_table_names_people_by_pseudonym_or_platform_id(project, alice, people):
    ada, ben, _cem = people
    Annotator.objects.filter(pk=ben.pk).update(platform_id="5f3c")
    client, url = signed_in(alice), reverse("annotator-tags", args=[project.pk])
    wrong = client.post(url, {"table": "annotator,tags\nAda,experts\nNobody,experts\nCem,\n"})
    assert wrong.status_code == 400
    assert "Nobody in this project has the name or platform id “Nobody”" in wrong.content.decode()
    assert not AnnotatorTag.objects.exists()
    client.post(url, {"table": "annotator,tags\nAda,experts|Berlin\n5f3c,experts\n"})
    assert cohorts_by_tag(project) == {"experts": {ada.pk, ben.pk}, "Berlin": {ada.pk}}


def test_those_ticked_are_tagged_and_found_by_it(project, alice, people):
    ada, ben, cem = people
    client, url = signed_in(alice), reverse("annotator-tags", args=[project.pk])
    nobody = client.post(url, {"action": "tag", "tags": "experts"})
    assert "Nobody is selected" in nobody.content.decode()
    client.post(url, {"action": "tag", "tags": "experts", "annotators": [ada.key, cem.key, "x"]})
    shown = client.get(url, {"tag": "experts"}).context["lines"]
    assert [(person, tags) for person, tags in shown] == [(ada, ["experts"]), (cem, ["experts"])]
    client.post(url, {"action": "untag", "tags": "experts", "annotators": [ada.key, ben.key]})
    assert cohorts_by_tag(project) == {"experts": {cem.pk}}


def test_tags_are_in_the_table_and_the_export(project, alice, people):
    tag_annotators(project=project, actor=alice, pairs=[(people[0].pk, "experts"), (people[0].pk, "Berlin")], now=NOW)
    client = signed_in(alice)
    assert "experts" in client.get(reverse("annotators", args=[project.pk])).content.decode()
    export = client.get(reverse("export", args=[project.pk, "annotators", "csv"]))
    lines = list(csv.DictReader(io.StringIO(b"".join(export.streaming_content).decode())))
    assert {line["annotator"]: json.loads(line["tags"]) for line in lines} == {
        "Ada": ["Berlin", "experts"],
        "Ben": [],
        "Cem": [],
    }
