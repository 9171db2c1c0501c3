"""Looking at, taking away and erasing one's own data on the site's pages, with an account and without."""

import csv
import io
import json
import zipfile

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from annotate.access import SESSION_KEY
from annotate.files.zip_stream import zip_chunks
from annotate.models import Annotator, Event, Label, Membership, Project, User
from annotate.privacy.own_data import export as person_export
from tests.conftest import answer_one, make_annotator
from tests.site.pages import signed_in
from tests.site.privacy.test_erasure import (
    COMMENT,
    EMAIL,
    FIRST,
    IP,
    OTHER_EMAIL,
    PERSON,
    PLATFORM_ID,
    PSEUDONYM,
    REASON,
    SAID,
    UNUSED,
    others,
    people_columns,
    person,
    project,
)

__all__ = ["others", "person", "project"]
PASSWORD = "correct horse battery"


def unzipped(response) -> dict[str, str]:
    assert response.status_code == 200
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def rows_in(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_an_account_takes_all_of_it_away(project, person):
    files = unzipped(signed_in(person).get(reverse("account-export")))
    whole = "\n".join(files.values())
    for said in (
        EMAIL,
        OTHER_EMAIL,
        FIRST,
        PSEUDONYM,
        PLATFORM_ID,
        COMMENT,
        IP,
        SAID,
        REASON,
        "Token of mine",
        "May we?",
    ):
        assert said in whole, said
    answers = rows_in(files["answers.csv"])
    assert sum(bool(row["outcome"]) for row in answers) == 5
    shown = Label.objects.filter(annotator=PERSON, voided_at=None).order_by("presentation").first()
    row = next(row for row in answers if row["counts"] == "true")
    bodies = list(shown.presentation.presented.order_by("position").values_list("item__body", flat=True))
    assert (json.loads(row["shown"]), row["chosen"]) == (bodies, '["B"]')
    assert [row["role"] for row in rows_in(files["memberships.csv"])] == ["annotator"]
    assert set(rows_in(files["sign_ins.csv"])[0]) == {"what", "at", "ip_address", "browser"}


def test_nothing_of_others_and_no_secret_is_in_it(project, person, others):
    files = unzipped(signed_in(person).get(reverse("account-export")))
    whole = "\n".join(files.values())
    assert "Otter" not in whole
    assert person.password not in whole
    assert "item-" not in whole  # the owner's keys, which annotators never see
    assert "alice" not in whole


def test_every_table_of_people_is_exported():
    """A new table of annotators or accounts has to be taken away too, or be named here with its reason."""
    told = [value for value in vars(person_export).values() if isinstance(value, type)]
    within = {"PresentedItem", "EmailConfirmation", "User_groups", "User_user_permissions"}  # of others that are told
    for model, column in people_columns():
        if (model._meta.db_table, column) not in UNUSED and model.__name__ not in within:
            assert model in told, f"{model._meta.label} is not in the export of a person's data"
    assert apps.get_model("annotate", "Annotator") in told


def test_a_guest_takes_it_away_and_erases_it_by_the_personal_link(project, others):
    guest = make_annotator(project, "Guest")
    answer_one(guest)
    url, client = reverse("own-data", args=[guest.resume_token]), Client()
    assert "1 answer" in client.get(url).content.decode()
    files = unzipped(client.get(reverse("own-export", args=[guest.resume_token])))
    assert "account.csv" not in files
    assert [row["pseudonym"] for row in rows_in(files["annotators.csv"])] == ["Guest"]
    assert len(rows_in(files["answers.csv"])) == 1

    refused = client.post(url)
    assert (refused.status_code, Annotator.objects.filter(pk=guest.pk).exists()) == (400, True)
    assert "Nothing was erased" in refused.content.decode()
    session = client.session
    session[SESSION_KEY] = {str(project.pk): str(guest.key)}
    session.save()
    done = client.post(url, {"sure": "on"})
    assert "including 1 answer" in done.content.decode()
    assert str(project.pk) not in client.session.get(SESSION_KEY, {})
    assert not Annotator.objects.filter(pk=guest.pk).exists()
    assert client.get(url).status_code == 404
    assert Event.objects.get(verb="annotator erased").details == {"labels": 1, "by": "themself"}


def test_a_personal_link_opens_nobody_with_an_account(project, bob):
    token = make_annotator(project, "Bob", user=bob, source="account").resume_token
    for name in ("own-data", "own-export"):
        assert Client().get(reverse(name, args=[token])).status_code == 404


def test_an_answer_on_its_way_meets_a_page_that_says_so(project, others, monkeypatch):
    guest = make_annotator(project, "Guest")
    answer_one(guest)
    client = Client()
    session = client.session
    session[SESSION_KEY] = {str(project.pk): str(guest.key)}
    session.save()
    client.post(reverse("label", args=[project.pk]))
    token = guest.presentations.get(state="open").token
    client.post(reverse("own-data", args=[guest.resume_token]), {"sure": "on"})
    assert client.post(reverse("submit", args=[token]), {"outcome": "tie"}).status_code == 404


def test_erasing_the_account_asks_for_the_password(project, person):
    client = signed_in(person)
    wrong = client.post(reverse("account-erase"), {"password": "wrong horse battery"})
    assert (wrong.status_code, User.objects.filter(pk=person.pk).exists()) == (400, True)
    assert "not your password" in wrong.content.decode()
    done = client.post(reverse("account-erase"), {"password": PASSWORD}, follow=True)
    assert "including 5 answers" in done.content.decode()
    assert not User.objects.filter(pk=person.pk).exists()
    assert client.get(reverse("account-data")).status_code == 302


def test_passwords_cannot_be_guessed_here(bob):
    client = signed_in(bob)
    codes = [client.post(reverse("account-erase"), {"password": "no"}).status_code for _ in range(12)]
    assert codes[0] == 400
    assert codes[-1] == 429


def test_an_only_owner_is_told_what_to_do_first(project, alice):
    page = signed_in(alice).get(reverse("account-erase")).content.decode()
    assert project.name in page
    assert reverse("members", args=[project.pk]) in page
    refused = signed_in(alice).post(reverse("account-erase"), {"password": PASSWORD})
    assert (refused.status_code, Project.objects.count()) == (400, 1)


def test_an_owner_erases_on_request(project, alice, manuel, others):
    url = reverse("annotator-erase", args=[project.pk, others[0].key])
    assert signed_in(manuel).post(url, {"sure": "on"}).status_code == 403
    client = signed_in(alice)
    assert "Otter 0" in client.get(url).content.decode()
    assert url in client.get(reverse("annotators", args=[project.pk])).content.decode()
    client.post(url, {"sure": "on"})
    assert not Annotator.objects.filter(pk=others[0].pk).exists()
    assert "Otter 0" not in client.get(reverse("annotators", args=[project.pk])).content.decode()
    assert "erased an annotator" in client.get(reverse("project-manage", args=[project.pk])).content.decode()
    assert Membership.objects.filter(project=project).count() == 2


@pytest.mark.parametrize("size", [10, 300_000])
def test_a_zip_comes_in_pieces(size):
    rng = [bytes([i % 251]) * 997 for i in range(size // 997 + 1)]
    chunks = list(zip_chunks([("a.bin", rng), ("b.txt", [b"end"])]))
    with zipfile.ZipFile(io.BytesIO(b"".join(chunks))) as archive:
        assert archive.read("a.bin") == b"".join(rng)
        assert archive.read("b.txt") == b"end"


def test_the_page_says_where_one_has_answered(project, person):
    page = signed_in(person).get(reverse("account-data")).content.decode()
    assert project.name in page
    assert PSEUDONYM in page
