"""Front ends of one's own: joining, tasks, answers sent twice, undo, and what annotators must never learn."""

from io import BytesIO

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from PIL import Image

from annotate.models import Annotator, Item, Label, Membership, Project
from tests.conftest import answer_one, make_annotator, make_items, make_token
from tests.site.factories import spread_fit


def post(url: str, body=None, secret: str = "", scheme: str = "Annotator"):
    headers = {"Authorization": f"{scheme} {secret}"} if secret else {}
    return Client().post(url, body or {}, content_type="application/json", headers=headers)


@pytest.fixture
def joined(project) -> str:
    """The secret of an annotator who has joined by link."""
    answer = post(reverse("api-join", args=[project.join_token]), {"pseudonym": "Brave Newt"})
    assert (answer.status_code, answer.json()["pseudonym"]) == (201, "Brave Newt")
    return answer.json()["secret"]


def test_from_joining_to_an_answer_and_back(project, joined):
    following = reverse("api-next", args=[project.pk])
    step = post(following, secret=joined).json()
    assert post(following, secret=joined).json()["task"]["token"] == step["task"]["token"]
    assert [one["place"] for one in step["task"]["items"]] == [0, 1]
    url = reverse("api-answer", args=[step["task"]["token"]])
    first = post(url, {"outcome": "choice", "chosen": 1, "response_ms": 900}, joined)
    assert first.status_code == 200, first.json()
    again = post(url, {"outcome": "tie"}, joined).json()
    assert (again["outcome"], again["counts"], again["next"]["n_done"]) == ("choice", True, 1)
    assert again["next"]["task"]["token"] == first.json()["next"]["task"]["token"]
    label = Label.objects.get()
    assert (label.chosen.body, label.response_ms) == (step["task"]["items"][1]["text"], 900)
    back = post(reverse("api-undo", args=[project.pk]), {"token": step["task"]["token"]}, joined).json()
    assert [one["text"] for one in back["task"]["items"]] == [one["text"] for one in step["task"]["items"]]
    assert back["n_done"] == 0


def test_a_ranking_names_places_best_first(alice):
    project = Project.objects.create(name="R", question="Order?", state="open", task_type="ranking", k=3)
    make_items(project, 3)
    secret = post(reverse("api-join", args=[project.join_token])).json()["secret"]
    task = post(reverse("api-next", args=[project.pk]), secret=secret).json()["task"]
    assert (task["asked"], task["n_named"]) == ("ranking", 3)
    url = reverse("api-answer", args=[task["token"]])
    assert post(url, {"outcome": "ranking", "order": [2, 2, 0]}, secret).status_code == 422
    done = post(url, {"outcome": "ranking", "order": [2, 0, 1]}, secret).json()
    assert Label.objects.get().ranks == "120"
    assert (done["next"]["task"], done["next"]["stop"]["heading"]) == (None, "All done")


@pytest.mark.embedded
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"outcome": "choice"},
        {"outcome": "choice", "chosen": 2},
        {"outcome": "choice", "chosen": -1},
        {"outcome": "ranking", "order": [0, 1]},
        {"outcome": "choice", "chosen": 0, "grade": "clearly"},
        {"outcome": "choice", "chosen": 0, "comment": "not asked for"},
        {"outcome": "choice", "chosen": 0, "item": 5},
    ],
)
def test_answers_that_the_task_does_not_take(project, joined, answer):
    task = post(reverse("api-next", args=[project.pk]), secret=joined).json()["task"]
    refused = post(reverse("api-answer", args=[task["token"]]), answer, joined)
    assert refused.status_code in (400, 422)  # not as the document says, or against the task
    assert refused.json()["detail"]
    assert not Label.objects.exists()


def test_a_closed_project_and_an_excluded_annotator_are_told(project, joined):
    following = reverse("api-next", args=[project.pk])
    Project.objects.filter(pk=project.pk).update(state="closed")
    assert post(following, secret=joined).json()["stop"]["heading"] == "Closed"
    assert post(reverse("api-join", args=[project.join_token])).status_code == 409


def test_nobody_answers_for_another(project, joined, presentation, bob):
    url = reverse("api-answer", args=[presentation.token])
    body = {"outcome": "choice", "chosen": 0}
    assert post(url, body, joined).status_code == 404
    assert post(url, body, make_token(bob)[1], "Bearer").status_code == 404
    other = Project.objects.create(name="Other", question="Which?", state="open")
    assert post(reverse("api-next", args=[other.pk]), secret=joined).status_code == 404
    assert not Label.objects.exists()


def test_a_member_joins_once_and_answers_with_a_token(project, bob):
    secret = make_token(bob, "annotate")[1]
    following, oneself = (reverse(f"api-{name}", args=[project.pk]) for name in ("next", "oneself"))
    assert "annotator" in post(following, secret=secret, scheme="Bearer").json()["detail"]
    names = [post(oneself, secret=secret, scheme="Bearer").json()["pseudonym"] for _ in range(2)]
    assert names[0] == names[1]
    assert Annotator.objects.get().user == bob
    task = post(following, secret=secret, scheme="Bearer").json()["task"]
    done = post(reverse("api-answer", args=[task["token"]]), {"outcome": "skip"}, secret, "Bearer").json()
    assert done["outcome"] == "skip"


def test_annotators_learn_nothing_of_others(project, joined, bob):
    """Neither keys nor results nor names, from any address that they may use."""
    other = make_annotator(project, "Secret Stoat")
    answer_one(other, outcome="tie", chosen=None)
    spread_fit(project, list(project.items.order_by("pk")))
    said = [post(reverse("api-next", args=[project.pk]), secret=joined)]
    token = said[0].json()["task"]["token"]
    said.append(post(reverse("api-answer", args=[token]), {"outcome": "choice", "chosen": 0}, joined))
    said.append(post(reverse("api-undo", args=[project.pk]), {"token": token}, joined))
    text = " ".join(one.content.decode() for one in said)
    for hidden in ("item-0", "Secret Stoat", str(other.key), "utility", "gold", project.join_token, joined):
        assert hidden not in text
    for name in ("project", "items", "labels", "ranking", "annotators", "progress", "fits", "exports"):
        url = reverse(f"api-{name}", args=[project.pk])
        for scheme, secret in (("Annotator", joined), ("Bearer", make_token(bob)[1])):
            answer = Client().get(url, headers={"Authorization": f"{scheme} {secret}"})
            assert answer.status_code in (401, 403)


def test_media_are_for_those_who_were_shown_them(project, joined, alice, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    picture = BytesIO()
    Image.new("RGB", (8, 8), "teal").save(picture, "PNG")
    project.items.all().delete()
    items = []
    for name in "ab":
        item = Item(project=project, key=name, kind=Item.Kind.IMAGE, body=f"Square {name}")
        item.media.save(f"{name}.png", ContentFile(picture.getvalue()), save=True)
        items.append(item)

    def status(secret: str, scheme: str) -> int:
        url = reverse("api-item-media", args=[project.pk, items[0].pk])
        return Client().get(url, headers={"Authorization": f"{scheme} {secret}"} if secret else {}).status_code

    assert status(joined, "Annotator") == 404
    task = post(reverse("api-next", args=[project.pk]), secret=joined).json()["task"]
    image = Client().get(task["items"][0]["media"], headers={"Authorization": f"Annotator {joined}"})
    assert (image.status_code, image["Content-Type"]) == (200, "image/png")
    assert status("", "") == 401
    gone = reverse("api-item-media", args=[project.pk, 0])
    assert Client().get(gone).status_code == 401  # not even whether it is there
    assert Client().get(reverse("api-item-captions", args=[project.pk, items[0].pk])).status_code == 401
    assert status(make_token(alice)[1], "Bearer") == 200
    Membership.objects.all().delete()
    assert status(make_token(alice)[1], "Bearer") == 404
