"""The roster: people expected, with a personal link each, and what they are never shown from the first question on."""

import csv
import io
from datetime import timedelta

import pytest
from django.core import mail
from django.db.models import F
from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, ConflictOfInterest, ExpectedPerson, Label, Tag
from annotate.participation.joining.expected import join_as_expected
from tests.conftest import NOW, answer_one, make_annotator, member
from tests.site.api_client import Api
from tests.site.gold_sets import answer_all, true_counts
from tests.site.labelling.test_eligibility import set_up
from tests.site.pages import page, signed_in

HEAD = "name,email,tags,conflicts,organisation\n"


@pytest.fixture
def owner(alice):
    return signed_in(alice)


def check(client, project, table: str, **more):
    return client.post(reverse("expected-people", args=[project.pk]), {"table": HEAD + table, **more})


def expect(project, name="Judge 01", **values) -> ExpectedPerson:
    return ExpectedPerson.objects.create(project=project, name=name, **values)


def hours_pass() -> None:
    """As if the messages so far had been sent two hours earlier."""
    ExpectedPerson.objects.exclude(invited_at=None).update(invited_at=F("invited_at") - timedelta(hours=2))


def tagged(project, name: str, *keys: str) -> Tag:
    tag = Tag.objects.create(project=project, name=name)
    for key in keys:
        project.items.get(key=key).tags.add(tag)
    return tag


def seen_by(annotator) -> set[str]:
    return {item.key for one in annotator.presentations.all() for item in one.items.all()}


def test_conflicts_hold_from_the_first_question_on(project, owner):
    tagged(project, "school-3", "item-1")
    tagged(project, "Domain:Example.COM", "item-2")
    tagged(project, "organisation:Guild", "item-3")
    set_up(project)
    row = "Judge 01,ann@example.com,finals; Berlin,item-0; tag:school-3,guild\n"
    shown = check(owner, project, row)
    assert "1 person can be added" in shown.content.decode()
    assert '<td data-label="Conflicts" class="number">2</td>' in shown.content.decode(), "an item and a tag"
    assert not ExpectedPerson.objects.exists(), "a preview writes nothing"
    assert check(owner, project, row, add="1").status_code == 302
    person = ExpectedPerson.objects.get()
    judge, link = Client(), reverse("personal", args=[person.token])
    assert "This link is for" in judge.get(link).content.decode()
    assert not Annotator.objects.exists(), "looking joins nobody"
    assert judge.post(link)["Location"] == reverse("label", args=[project.pk])
    annotator = Annotator.objects.get()
    assert (annotator.pseudonym, sorted(one.name for one in annotator.tags.all())) == ("Judge 01", ["Berlin", "finals"])
    assert seen_by(annotator) == {"item-4", "item-5"}
    assert judge.get(link)["Location"] == reverse("label", args=[project.pk])
    other_device = Client()
    assert "Continue as" in other_device.get(link).content.decode()
    assert other_device.post(link)["Location"] == reverse("label", args=[project.pk])
    assert Annotator.objects.count() == 1
    assert "item-0; tag:Domain:Example.COM; tag:organisation:Guild; tag:school-3" in page(
        owner, project, "expected-people"
    )


def test_wrong_rows_are_told_with_their_value_and_nothing_is_written(project, owner):
    make_annotator(project, "Otter")
    expect(project, "Vera", email="vera@example.org")
    wrong = (
        "Ann,nobody,,,\nAnn Two,,,nowhere,\nBen,,,tag:none,\n,x@example.org,,,\nOtter,,,,\nVERA,,,,\n"
        "Carl,carl@example.org,,,\nCARL,,,,\nDora,Carl@example.org,,,\n" + "x" * 41 + ",,,,\nEve,,,," + "y" * 81
    )
    refused = check(owner, project, wrong, add="1")
    told = " ".join(refused.content.decode().split())
    assert refused.status_code == 400
    for text in (
        "“nobody” is not an e-mail address",
        "no item with the key “nowhere”",
        "No item has the tag “none”",
        "has no letter or digit",
        "Somebody called “Otter” has joined already",
        "“VERA” is on the list already",
        "“CARL” is in row 8 already",
        "Carl@example.org is in row 8 already",
        "has 41 characters; the limit is 40",
        "has 81 characters; the limit is 80",
        "10 rows are wrong, so nobody was added",
    ):
        assert text in told, text
    assert ExpectedPerson.objects.count() == 1
    strange = owner.post(reverse("expected-people", args=[project.pk]), {"table": "who,mail\nAnn,"})
    assert "The first row must name the columns" in strange.content.decode()


def test_a_file_is_read_as_a_pasted_table_is(project, owner):
    file = io.BytesIO("name;e-mail\nJürgen;j@example.org\n".encode("cp1252"))
    file.name = "judges.csv"
    shown = owner.post(reverse("expected-people", args=[project.pk]), {"file": file})
    assert [one.name for one in shown.context["preview"].people] == ["Jürgen"]


def test_links_are_sent_once_and_again_to_those_who_have_not_come(project, owner):
    set_up(project)
    come = join_as_expected(person=expect(project, "Come", email="come@example.org"), version="", now=NOW)
    answer_one(come)
    expect(project, "New", email="new@example.org")
    expect(project, "Silent")
    send = reverse("expected-send", args=[project.pk])
    told = owner.post(send, {"to": "new", "words": "It takes ten minutes."}).content.decode()
    assert told.count("</bdi>: on its way") == 1
    assert "1 joined, 1 answered" in told
    [message] = mail.outbox
    new = ExpectedPerson.objects.get(name="New")
    assert message.to == ["new@example.org"]
    assert all(text in message.body for text in ("Dear New,", new.token, "It takes ten minutes."))
    owner.post(send, {"to": "new"})
    assert len(mail.outbox) == 1, "nobody is written to twice by the first button"
    owner.post(send, {"to": "missing"})
    assert len(mail.outbox) == 1, "nor by any within an hour"
    hours_pass()
    owner.post(send, {"to": "missing"})
    owner.post(send, {"to": "missing"})
    assert [one.to for one in mail.outbox[1:]] == [["new@example.org"]]
    assert ExpectedPerson.objects.get(name="New").n_invitations == 2
    response = owner.get(reverse("expected-links", args=[project.pk]))
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert [(row["name"], row["n_labels"], bool(row["joined_at"])) for row in rows] == [
        ("Come", "1", True),
        ("New", "0", False),
        ("Silent", "0", False),
    ]
    assert rows[1]["link"].endswith(reverse("personal", args=[new.token]))


def test_a_conflict_added_after_answers_voids_them_only_if_told(project, owner):
    set_up(project)
    judge = join_as_expected(person=expect(project), version="", now=NOW)
    answer_all(judge, 15)  # every pair of six
    before, about = 15, 5
    url = reverse("never-shown", args=[project.pk])
    table = {"table": "annotator,item\nJudge 01,item-0\n"}
    told = owner.post(url, table, follow=True).content.decode()
    assert f"{about} answers given before about these items stay and count" in told
    assert judge.labels.filter(voided_at=None).count() == before
    told = owner.post(url, table | {"void": "on"}, follow=True).content.decode()
    assert f"{about} answers about these items were voided" in told
    voided = judge.labels.filter(void_reason=Label.VoidReason.CONFLICT)
    assert {label.presentation.items.filter(key="item-0").exists() for label in voided} == {True}
    assert (voided.count(), judge.labels.filter(voided_at=None).count()) == (about, before - about)
    true_counts(project)


def test_a_conflict_may_be_added_before_and_a_tag_given_afterwards_is_told(project, owner):
    set_up(project)
    person = expect(project, organisation="Guild")
    owner.post(reverse("never-shown", args=[project.pk]), {"table": "annotator,item\nJudge 01,item-5\n"})
    judge = join_as_expected(person=person, version="", now=NOW)
    assert ConflictOfInterest.objects.get().item.key == "item-5"
    tagged(project, "organisation:Guild", "item-4")
    assert "1 conflict by organisation or domain is missing" in page(owner, project, "expected-people")
    owner.post(reverse("expected-conflicts", args=[project.pk]))
    answer_all(judge, 6)  # every pair of the other four
    assert not seen_by(judge) & {"item-4", "item-5"}
    assert "is missing" not in page(owner, project, "expected-people")


def test_a_name_on_the_list_is_kept_for_its_person(project, owner, client):
    set_up(project)
    person = expect(project, "Judge 01")
    response = client.post(reverse("join", args=[project.join_token]), {"pseudonym": "judge 01"})
    assert "is already taken" in response.content.decode()
    make_annotator(project, "Judge 01")  # imported, say
    assert join_as_expected(person=person, version="", now=NOW).pseudonym == "Judge 01 2"


def test_a_removed_person_has_no_link_and_one_who_joined_stays(project, owner):
    set_up(project)
    gone, come = expect(project, "Gone"), expect(project, "Come")
    join_as_expected(person=come, version="", now=NOW)
    for person in (gone, come):
        owner.post(reverse("expected-remove", args=[project.pk, person.pk]))
        assert Client().get(reverse("personal", args=[person.token])).status_code == 404
    assert Annotator.objects.get().pseudonym == "Come"


def test_a_link_waits_for_the_project_to_open_and_for_consent(project):
    person = expect(project)
    project.state = "draft"
    project.save()
    assert Client().post(reverse("personal", args=[person.token])).status_code == 409
    assert not Annotator.objects.exists()


def test_the_list_takes_the_same_number_of_queries_for_many(project, owner, django_assert_max_num_queries):
    for n in range(12):
        judge = join_as_expected(person=expect(project, f"Judge {n}"), version="", now=NOW)
        ConflictOfInterest.objects.create(annotator=judge, item=project.items.first())
    with django_assert_max_num_queries(30):
        page(owner, project, "expected-people")


def test_the_api_does_the_same(project, alice):
    set_up(project)
    api = Api(alice, project)
    row = {"name": "Judge 01", "email": "ann@example.org", "conflicts": ["item-0"], "tags": ["finals"]}
    refused = api("post", "roster", {"rows": [row, {"name": "judge 01"}]})
    assert (refused.status_code, ExpectedPerson.objects.count()) == (422, 0)
    assert api("post", "roster", {"rows": [row]}).json() == {"n_people": 1}
    [told] = api("get", "roster").json()["results"]
    assert (told["conflicts"], told["joined_at"], told["n_labels"]) == (["item-0"], None, 0)
    [sent] = api("post", "roster-invitations", {"words": "Hello"}).json()["results"]
    assert sent["is_sent"]
    token = told["link"].rstrip("/").rpartition("/")[2]
    joined = Client().post(reverse("api-join-personally", args=[token])).json()
    assert joined["secret"] == Annotator.objects.get().resume_token
    assert api("delete", "roster-row", args=[told["id"]]).status_code == 204


def test_managers_send_personal_links_and_do_not_see_them(project, owner):
    set_up(project)
    person = expect(project, "Judge 01", email="judge@example.org")
    manager = member(project, "manuel", "manager")
    browser = signed_in(manager)
    assert person.token in page(owner, project, "expected-people")
    shown = page(browser, project, "expected-people")
    assert person.token not in shown
    assert "Personal links are shown to owners alone" in shown
    assert browser.get(reverse("expected-links", args=[project.pk])).status_code == 403
    assert Api(manager, project)("get", "roster").json()["results"][0]["link"] == ""
    browser.post(reverse("expected-send", args=[project.pk]), {"to": "new", "words": ""})
    assert person.token in mail.outbox[0].body
