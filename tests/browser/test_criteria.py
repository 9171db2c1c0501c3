"""Several criteria on one page: by keys, by touch and without JavaScript, clean by axe; and the dashboard's switch."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.labelling.outcomes import decode_ranks
from annotate.models import Annotator, CriterionAnswer
from tests.browser.annotating import PHONE, come_in, expect_done, long_enough, sideways, snap
from tests.browser.layout import layout_faults
from tests.browser.test_items import picture, with_files
from tests.site.factories import spread_fit
from tests.site.task_types import set_task


@pytest.fixture
def project(project):
    project.criteria = [
        {"name": "Clarity", "question": "Which is clearer?"},
        {"name": "Correctness", "question": "Which is more correct?"},
    ]
    project.overlap, project.cap = 9, 40
    project.save()
    return project


def said(annotator: Annotator) -> list[list[int | str]]:
    """By each criterion, the places that the last label names, or its outcome."""
    label = annotator.labels.filter(voided_at=None).latest("pk")
    places = list(label.presentation.presented.order_by("position").values_list("item", flat=True))
    return [
        decode_ranks(one.outcome, one.ranks)
        if one.ranks
        else [places.index(one.chosen_id) if one.chosen_id else one.outcome]
        for one in (label, *CriterionAnswer.objects.filter(label=label).order_by("criterion"))
    ]


def test_keys_answer_one_criterion_after_the_other(live_site, page, axe, project):
    annotator = come_in(page, live_site, project)
    axe(page)
    snap(page, "criteria-pair")
    current = page.locator(".criterion.is-current legend")
    expect(current).to_contain_text("Clarity")
    page.keyboard.press("2")
    expect(current).to_contain_text("Correctness")
    page.keyboard.press("t")
    expect_done(page, 1)
    assert said(annotator) == [[1], ["tie"]]
    # By the mouse, and back to the keys.
    page.locator(".criterion").nth(1).get_by_text("A is", exact=False).click()
    expect(current).to_contain_text("Clarity")
    page.keyboard.press("1")
    expect_done(page, 2)
    assert said(annotator) == [[0], [0]]
    # Arrows only move the mark: nothing is sent before Done.
    page.locator("input[name=answer_1]").first.focus()
    page.keyboard.press("ArrowRight")
    page.locator("input[name=answer_2]").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".answer-count")).to_have_text("2 of 2")
    expect_done(page, 2)
    page.get_by_role("button", name="Done").click()
    expect_done(page, 3)
    assert said(annotator) == [[1], [1]]
    page.keyboard.press("s")
    expect_done(page, 4)
    assert said(annotator) == [["skip"], ["skip"]]
    page.keyboard.press("u")
    expect_done(page, 3)


@pytest.mark.parametrize(
    ("task", "keys", "expected"),
    [(("best_worst", 4, None), "3121", [[2, 0], [1, 0]]), (("top", 4, 2), "4213", [[3, 1], [0, 2]])],
)
def test_orders_are_given_by_keys(live_site, open_page, axe, project, task, keys, expected):
    set_task(project, *task)
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    annotator = come_in(page, live_site, project)
    axe(page)
    snap(page, f"criteria-{task[0]}")
    assert not sideways(page)
    for key in keys:
        page.keyboard.press(key)
    expect_done(page, 1)
    assert said(annotator) == expected


def test_a_phone_ranks_by_one_criterion_after_the_other(live_site, open_page, axe, project):
    set_task(project, "ranking", 4)
    page = open_page(**PHONE)
    annotator = come_in(page, live_site, project)
    steps = page.locator(".criterion-steps:visible")
    expect(steps).to_contain_text("Criterion 1 of 2")
    expect(page.locator("#answer select:visible")).to_have_count(0)
    axe(page)
    assert not sideways(page)
    for letter in "cab":  # the last one has but one place left
        page.locator(f"#option-{letter} .item-body").tap()
    expect(steps).to_contain_text("Criterion 2 of 2")
    page.get_by_role("button", name="Rank D next").tap()
    page.get_by_role("button", name="Rank A next").tap()
    snap(page, "criteria-phone")
    page.get_by_role("button", name="Previous criterion").tap()
    expect(page.locator("#option-c [data-place]")).to_have_text("1")
    page.get_by_role("button", name="Next criterion").tap()
    page.get_by_role("button", name="Take A out").tap()
    for letter in "ba":
        page.locator(f"#option-{letter} .item-body").tap()
    expect(page.locator(".answer-count")).to_have_text("2 of 2")
    expect_done(page, 0)  # the last tap sends nothing
    page.get_by_role("button", name="Done").tap()
    expect_done(page, 1)
    assert said(annotator) == [[2, 0, 1, 3], [3, 1, 0, 2]]
    expect(steps).to_contain_text("Criterion 1 of 2")


def test_without_javascript_all_is_sent_at_once(live_site, open_page, project):
    set_task(project, "ranking", 3)
    page = open_page(**PHONE, java_script_enabled=False)
    annotator = come_in(page, live_site, project)
    for criterion, order in ((1, "bca"), (2, "acb")):
        for rank, letter in enumerate(order, start=1):
            page.locator(f"select[name=rank_{letter}_{criterion}]").select_option(str(rank))
    page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    assert said(annotator) == [[1, 2, 0], [0, 2, 1]]


def test_the_owner_chooses_a_criterion(live_site, page, sign_in, axe, project, alice):
    items = list(project.items.order_by("pk"))
    spread_fit(project, items)
    sign_in(alice)
    page.goto(live_site + reverse("ranking", args=[project.pk]))
    switch = page.get_by_role("list", name="Criterion")
    expect(switch.get_by_role("link", name="Clarity")).to_have_attribute("aria-current", "true")
    axe(page)
    snap(page, "criteria-ranking")
    switch.get_by_role("link", name="Correctness").click()
    page.get_by_role("navigation", name="Project").get_by_role("link", name="More").click()
    expect(switch.get_by_role("link", name="Correctness")).to_have_attribute("aria-current", "true")
    page.goto(live_site + reverse("project-settings", args=[project.pk]))
    expect(page.get_by_label("Question of criterion 2")).to_have_value("Which is more correct?")
    axe(page)
    snap(page, "criteria-settings")


@pytest.mark.parametrize("window", [PHONE, {"viewport": {"width": 320, "height": 700}}], ids=["phone", "narrow"])
def test_an_item_that_one_knows_is_said_beside_its_letter(live_site, open_page, project, window):
    with_files(project, "image", *[picture((60, 80))] * 4)
    long_enough(project, known_button=True)
    set_task(project, "ranking", 4)
    page = open_page(**window)
    come_in(page, live_site, project)
    expect(page.get_by_role("button", name="I know this one")).to_have_count(4)
    assert layout_faults(page) == []
