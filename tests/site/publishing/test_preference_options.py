"""Preference pairs by majority, as messages, and split by prompt: on the page, in the API and by the client."""

import io
import re
from collections import Counter

import pytest
from django.urls import reverse

from annotate.models import Context
from tests.site.api_client import Api
from tests.site.pages import page
from tests.site.publishing.test_more_exports import body, crowd, facts, lines, owner, with_ties  # noqa: F401


def test_by_majority_no_pair_comes_both_ways_round(owner, project, crowd):  # noqa: F811
    with_ties(project, crowd)
    wins, n = Counter(), Counter()
    for shown, chosen in facts(project):
        n[frozenset(shown)] += 1
        if chosen is not None:
            wins[chosen, next(key for key in shown if key != chosen)] += 1
    expected = {pair: wins[pair] - wins[pair[::-1]] for pair in wins if wins[pair] > wins[pair[::-1]]}
    bodies = dict(project.items.values_list("key", "body"))
    rows = lines(owner, project, "preferences", lines="majority")
    assert {(row["chosen_item"], row["rejected_item"]) for row in rows} == expected.keys()
    assert len(rows) == len(expected) < sum(n.values())
    for row in rows:
        pair = row["chosen_item"], row["rejected_item"]
        assert (row["chosen"], row["rejected"], row["n"]) == (bodies[pair[0]], bodies[pair[1]], n[frozenset(pair)])
        assert row["share"] == pytest.approx(wins[pair] / row["n"])
        assert row["margin"] == pytest.approx(expected[pair] / row["n"])


def test_chat_messages_are_lists_with_roles(owner, project, crowd):  # noqa: F811
    with_ties(project, crowd)
    plain, chat = lines(owner, project, "preferences"), lines(owner, project, "preferences", form="chat")
    assert len(plain) == len(chat) == 40
    for text, said in zip(plain, chat, strict=True):
        assert said["prompt"] == [{"role": "user", "content": text["prompt"]}]
        assert said["chosen"] == [{"role": "assistant", "content": text["chosen"]}]
        assert said["rejected"] == [{"role": "assistant", "content": text["rejected"]}]


def test_parquet_holds_messages_with_their_types(owner, project, crowd):  # noqa: F811
    parquet = pytest.importorskip("pyarrow.parquet")
    with_ties(project, crowd)
    address = reverse("export", args=[project.pk, "preferences", "parquet"])
    content = b"".join(owner.get(address, {"form": "chat", "lines": "majority"}).streaming_content)
    rows = parquet.read_table(io.BytesIO(content)).to_pylist()
    assert rows == lines(owner, project, "preferences", form="chat", lines="majority")


def test_a_prompt_stays_on_its_side_of_the_split(owner, project, crowd):  # noqa: F811
    with_ties(project, crowd)
    for n, item in enumerate(project.items.all()):
        item.context = Context.objects.create(project=project, body=f"Prompt {n}", digest=f"{n:064d}")
        item.save()
    sides = {}
    for share in (20, 50):
        rows = lines(owner, project, "preferences", held_out=share)
        sides[share] = {row["prompt"]: row["split"] for row in rows}
        assert all(sides[share][row["prompt"]] == row["split"] for row in rows)
        parts = [lines(owner, project, "preferences", held_out=share, split=side) for side in ("train", "test")]
        assert [{row["split"] for row in part} <= {side} for part, side in zip(parts, ("train", "test"), strict=True)]
        assert sum(map(len, parts)) == len(rows)
    held_out = {share: {one for one, side in sides[share].items() if side == "test"} for share in sides}
    assert held_out[20] <= held_out[50]
    assert 0 < len(held_out[50]) < len(sides[50])


@pytest.mark.parametrize(
    ("table", "query", "said"),
    [
        ("preferences", {"held_out": 51}, "50"),
        ("preferences", {"split": "test"}, "held-out share"),
        ("preferences", {"lines": "both"}, "both"),
        ("labels", {"form": "chat"}, "preferences"),
    ],
)
def test_options_that_cannot_be_met_are_refused(owner, project, table, query, said, alice):  # noqa: F811
    response = owner.get(reverse("export", args=[project.pk, table, "csv"]), query)
    assert response.status_code == 400
    assert said in response.content.decode()
    answer = Api(alice, project)("get", "export", args=[table, "csv"], **query)
    assert answer.status_code in (400, 422)
    assert said in answer.content.decode()
    assert query.keys() == answer.json()["errors"].keys()


def test_the_page_offers_the_options(owner, project):  # noqa: F811
    html = page(owner, project, "exports")
    form = html[html.index('id="table-preferences"') :]
    form = form[: form.index("</form>")]
    assert set(re.findall(r'name="(\w+)"', form)) == {"lines", "form", "held_out", "split"}
    assert f'formaction="{reverse("export", args=[project.pk, "preferences", "csv"])}"' in form


def test_options_that_do_not_go_together_are_unprocessable(owner, project):  # noqa: F811
    """422, as the description of the API says of rules between fields; 400 is for what it does not allow."""
    address = reverse("api-export", args=[project.pk, "preferences", "csv"])
    assert owner.get(address, {"split": "test", "held_out": 0}).status_code == 422
    assert owner.get(address, {"split": "sideways"}).status_code == 400
