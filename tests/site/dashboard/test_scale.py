"""Scaled scores: a mean and a spread, an earlier project's scale, or anchors of known value; nothing is stored."""

import csv
import io
from math import sqrt
from statistics import fmean, stdev
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.dashboard.scale.queries import Scale, kept_scale, scaled_ranking
from annotate.models import Event, Item, Membership, Project
from models_engine.models import Fit
from tests.conftest import NOW, make_items
from tests.site.api_client import Api
from tests.site.factories import make_fit, spread_fit
from tests.site.pages import page, rows_shown, signed_in


def fitted(project: Project, **values) -> Fit:
    return spread_fit(project, list(project.items.order_by("pk")), sd=0.3, unit=1.0, **values)


def earlier(alice, n: int = 3, shift: float = 1.0) -> Project:
    """A project of Alice's that ranked items with the same first keys, `shift` logits higher."""
    other = Project.objects.create(name="Last year", question="Which?", created_at=NOW)
    Membership.objects.create(project=other, user=alice, role="owner")
    items = make_items(other, n)
    make_fit(other, [[(item, shift + 2 - 0.8 * place, 0.2, 20) for place, item in enumerate(items)]], unit=1.0)
    return other


def query_of(**values) -> str:
    return f"?{urlencode(values)}"


def lines(*rows: str) -> str:
    return "\n".join(rows)


def test_values_have_the_mean_and_spread_that_were_chosen(project):
    found = scaled_ranking(project, fitted(project), Scale(100, 10))
    values = [row.value for row in found.rows]
    assert fmean(values) == pytest.approx(100)
    assert stdev(values) == pytest.approx(10)
    assert values == sorted(values, reverse=True)
    first = found.rows[0]
    per_logit = 10 / stdev(row.estimate.utility for row in found.rows)
    assert (first.high - first.low) / 2 == pytest.approx(1.6448536 * 0.3 * per_logit)


def test_the_page_opens_with_what_the_values_are(project, alice):
    found = scaled_ranking(project, fitted(project), Scale(100, 10))
    html = page(signed_in(alice), project, "scale", query_of(kind="spread", mean=100, deviation=10))
    lead = html.partition('class="lead">')[2].partition("</p>")[0]
    assert lead.startswith("The mean of the items is 100 and their standard deviation 10, as you chose.")
    assert lead.endswith(f"from {found.rows[-1].value:.1f} to {found.rows[0].value:.1f}.")


def test_two_anchors_set_zero_and_unit(project):
    """Fixed values of the best and the last: the line goes through both."""
    fit = fitted(project)
    keys = list(project.items.order_by("pk").values_list("key", flat=True))
    found = scaled_ranking(project, fit, Scale(anchors=((keys[0], 90.0, None), (keys[-1], 10.0, None))))
    assert found.slope == pytest.approx((90 - 10) / (2 - -2), rel=1e-6)
    assert [row.value for row in found.rows] == pytest.approx([90, 74, 58, 42, 26, 10], rel=1e-6)
    assert [row.is_anchor for row in found.rows] == [True, False, False, False, False, True]


def test_one_anchor_sets_the_zero_alone_and_its_error_widens_every_interval(project):
    fit = fitted(project)
    key = project.items.order_by("pk").first().key
    found = scaled_ranking(project, fit, Scale(anchors=((key, 62.0, 0.4),)))
    assert found.slope == 1
    assert [row.value for row in found.rows] == pytest.approx([62 - 0.8 * place for place in range(6)])
    reach = 1.6448536 * sqrt(0.3**2 + 0.3**2 + 0.4**2)  # the item's own, the anchor's now and its value's
    assert found.rows[3].high - found.rows[3].value == pytest.approx(reach, rel=1e-4)


def test_an_anchor_that_has_moved_is_named(project, alice):
    fitted(project)
    keys = list(project.items.order_by("pk").values_list("key", flat=True))
    rows = [f"{key}; {50 - 8 * place}; 0.5" for place, key in enumerate(keys)]
    rows[2] = f"{keys[2]}; 80; 0.5"
    html = page(signed_in(alice), project, "scale", query_of(kind="anchors", anchors=lines(*rows)))
    assert "1 of them no longer fits" in html
    assert html.count("no: it has moved") == 1


def test_an_earlier_project_carries_its_scale_on_by_items_with_the_same_key(project, alice):
    fitted(project)
    other = earlier(alice)
    html = page(signed_in(alice), project, "scale", query_of(kind="source", source=other.pk))
    assert "3 anchors carry the scale." in html
    assert "A step of one logit, the unit of the engine, is worth 1.00." in html
    result = Api(alice, project)("get", "scale", kind="source", source=str(other.pk)).json()
    assert [row["is_anchor"] for row in result["results"]] == [True] * 3 + [False] * 3
    assert [row["value"] for row in result["results"]] == pytest.approx([3 - 0.8 * place for place in range(6)])
    assert [row["known"] for row in result["anchors"]] == pytest.approx([3.0, 2.2, 1.4])


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "anchors", "anchors": ""}, "There is no anchor. Write one a line"),
        ({"kind": "anchors", "anchors": "item-0"}, "“item-0” has 1 cells. Write key; value"),
        ({"kind": "anchors", "anchors": "item-0; good"}, "“good” is no number. Write one such as 62"),
        ({"kind": "anchors", "anchors": "item-0; 62; -1"}, "the deviation is -1. Write 0 or more."),
        ({"kind": "anchors", "anchors": "E99; 62"}, "Line 1: no item has the key “E99”."),
        ({"kind": "anchors", "anchors": "item-0; 62\nitem-0; 63"}, "Line 2: “item-0” is there twice."),
        ({"kind": "source", "source": ""}, "Choose the project whose scale is carried on."),
        ({"kind": "spread", "mean": "", "deviation": "15"}, "Write a number; 50 and 15 are common."),
        (
            {"kind": "anchors", "anchors": "item-0; 10\nitem-5; 90"},
            "must differ, and rise where scores rise",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_next_step(project, alice, values, said):
    fitted(project)
    html = page(signed_in(alice), project, "scale", query_of(**values))
    assert said in html
    assert rows_shown(html) == []


def test_a_project_of_others_cannot_be_chosen(project, alice, vera):
    fitted(project)
    other = earlier(alice)
    html = page(signed_in(vera), project, "scale", query_of(kind="source", source=other.pk))
    assert "Last year" not in html
    assert rows_shown(html) == []
    assert Api(vera, project)("get", "scale", kind="source", source=str(other.pk)).status_code == 404


def test_the_export_has_every_item_and_is_logged(project, alice):
    fit = fitted(project)
    client = signed_in(alice)
    address = reverse("scale-export", args=[project.pk])
    assert address in page(client, project, "scale")
    response = client.get(address + query_of(kind="spread", mean=100, deviation=10))
    found = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert len(found) == 6
    assert fmean(float(row["value"]) for row in found) == pytest.approx(100)
    assert {row["fit"] for row in found} == {str(fit.number)}
    assert Event.objects.filter(project=project, verb="export taken").exists()
    assert client.get(address + query_of(kind="anchors", anchors="")).status_code == 404


def test_before_a_fit_there_is_nothing_to_scale(project, alice):
    assert 'id="scale-caption"' not in page(signed_in(alice), project, "scale")
    assert signed_in(alice).get(reverse("scale-export", args=[project.pk])).status_code == 404
    assert Api(alice, project)("get", "scale").status_code == 404


def test_anchors_that_are_not_ranked_yet_are_told(project, alice):
    fit = fitted(project)
    Item.objects.create(project=project, key="new", body="Not compared yet")
    found = scaled_ranking(project, fit, Scale(anchors=(("new", 50.0, None),)))
    assert found.problem.startswith("None of the 1 anchors is in the ranking yet.")


def values_of(project: Project) -> dict[str, float]:
    """The values in the export of the ranking."""
    return {row["item"]: float(row["value"]) for row in csv.DictReader(io.StringIO(export_of(project)))}


def export_of(project: Project) -> str:
    owner = signed_in(project.members.get(username="alice"))
    response = owner.get(reverse("export", args=[project.pk, "ranking", "csv"]))
    return b"".join(response.streaming_content).decode("utf-8-sig")


def test_a_kept_scale_means_the_same_after_a_refit(project, alice):
    """The second fit has every item one logit higher and twice as far apart: anchors bring it back."""
    items = list(project.items.order_by("pk"))
    fitted(project)
    owner, url = signed_in(alice), reverse("scale", args=[project.pk])
    asked = {"kind": "spread", "mean": "50", "deviation": "15"}
    told = owner.post(f"{url}{query_of(**asked)}", {"action": "keep"}, follow=True)
    assert "The scale is kept by 6 anchors" in told.content.decode()
    before = values_of(Project.objects.get(pk=project.pk))
    assert fmean(before.values()) == pytest.approx(50)
    make_fit(project, [[(item, 5 - 1.6 * place, 0.3, 20) for place, item in enumerate(items)]], unit=1.0)
    assert values_of(Project.objects.get(pk=project.pk)) == pytest.approx(before, abs=0.5)
    assert "Values on the scale that is kept" in page(owner, project, "report")
    assert Event.objects.filter(verb="settings changed").latest("pk").details["anchors"] == [0, 6]
    owner.post(url, {"action": "forget"})
    assert "value" not in export_of(Project.objects.get(pk=project.pk)).splitlines()[0].split(",")
    assert "Values on the scale that is kept" not in page(owner, project, "report")


def test_a_scale_is_exported_and_taken_into_the_next_round(project, alice):
    owner, other = signed_in(alice), earlier(alice)
    query = query_of(kind="spread", mean=60, deviation=10)
    content = b"".join(owner.get(reverse("scale-export", args=[other.pk]) + query).streaming_content)
    fitted(project)
    file = SimpleUploadedFile("scale.csv", content)
    owner.post(reverse("scale", args=[project.pk]), {"action": "file", "file": file})
    project.refresh_from_db()
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    kept = {key: value for key, value, _deviation in project.anchors["1"]}
    assert kept == {row["item"]: pytest.approx(float(row["value"])) for row in rows}
    found = scaled_ranking(project, Fit.objects.get(project_id=project.pk), kept_scale(Criterion(project)))
    assert [row.is_anchor for row in found.rows] == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name,points\nx,3\n", "It needs “item” and “value”"),
        (b"item,value\nitem-0,many\n", "“many” and “” are no value and deviation"),
        (b"item,value\nelsewhere,3\n", "None of the 1 items of the file is an item of this project"),
    ],
)
def test_a_file_without_anchors_is_refused(project, alice, content, said):
    fitted(project)
    sent = {"action": "file", "file": SimpleUploadedFile("scale.csv", content)}
    response = signed_in(alice).post(reverse("scale", args=[project.pk]), sent)
    assert response.status_code == 400
    assert said in response.content.decode()
    project.refresh_from_db()
    assert project.anchors == {}


def test_the_api_keeps_and_forgets_a_scale_and_viewers_do_not(project, alice, vera):
    fitted(project)
    api = Api(alice, project)
    kept = api("put", "scale", kind="spread", mean=60, deviation=10)
    assert (kept.status_code, len(kept.json()["anchors"])) == (200, 6)
    assert fmean(row["value"] for row in api("get", "scale").json()["results"]) == pytest.approx(60, abs=0.1)
    assert Api(vera, project)("delete", "scale").status_code == 403
    assert api("delete", "scale").status_code == 204
    assert api("get", "scale").json()["anchors"] == []
