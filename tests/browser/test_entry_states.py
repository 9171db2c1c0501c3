"""The pages before the first task and after the last, clean by axe in light and dark, wide and narrow."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Annotator, ParticipationRules, Project
from tests.browser.annotating import look
from tests.conftest import NOW, make_annotator
from tests.site.participation_steps import SESSION, link, open_to_platform

BACK = "https://app.prolific.com/submissions/complete?cc={code}"


@pytest.fixture
def entry(project, alice) -> ParticipationRules:
    Project.objects.filter(pk=project.pk).update(cap=1)
    return open_to_platform(
        project,
        alice,
        consent="You may **stop** at any time.",
        codes="individual",
        return_url=BACK,
        thanks="*Well* done!",
    )


def test_the_way_of_a_platforms_participant(live_site, page, axe, project, alice, entry):
    page.goto(live_site + link(entry, "one", SESSION))
    look(page, axe, "arrive")
    page.get_by_role("button", name="I do not agree").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("That is fine")
    look(page, axe, "declined")
    page.goto(live_site + link(entry, "one", SESSION))
    page.get_by_role("button", name="I agree").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    task = page.url
    open_to_platform(project, alice, consent="Another text.")
    page.goto(task)
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you continue")
    look(page, axe, "consent-again")
    page.get_by_role("button", name="I agree").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("1")
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    expect(page.locator("main")).to_contain_text("You have given 1 answer,")
    look(page, axe, "last")
    page.get_by_role("button", name="Finish").click()
    expect(page.get_by_text("You have finished")).to_be_visible()
    look(page, axe, "complete")

    page.context.clear_cookies()
    page.goto(live_site + link(entry, "one", SESSION))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Continue as")
    look(page, axe, "come-back")
    for name, address in {
        "came-before": link(entry, "one", "another session"),
        "not-filled-in": link(entry, "{{%PROLIFIC_PID%}}"),
        "unknown-link": reverse("platform", args=["none"]),
    }.items():
        page.goto(live_site + address)
        look(page, axe, name)


def test_a_name_that_is_taken(live_site, page, axe, project):
    make_annotator(project, "Mrs Hill", joined_at=NOW)
    page.goto(live_site + reverse("join", args=[project.join_token]))
    page.get_by_label("Your name here").fill("Mrs Hill")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Are you “Mrs Hill”?")).to_be_visible()
    look(page, axe, "name-taken")


def test_those_who_can_not_take_part(live_site, page, axe, project, entry):
    ParticipationRules.objects.update(places=1, place_minutes=None)
    make_annotator(project, "First", platform_id="first", joined_at=NOW)
    page.goto(live_site + link(entry, "late"))
    expect(page.get_by_text("All places are taken")).to_be_visible()
    look(page, axe, "too-late")
    page.goto(live_site + reverse("join", args=[project.join_token]))
    expect(page.get_by_text("The only place is taken")).to_be_visible()
    look(page, axe, "join-full")
    ParticipationRules.objects.update(places=None, open_link=False)
    page.goto(live_site + reverse("join", args=[project.join_token]))
    expect(page.get_by_text("Nobody new can join")).to_be_visible()
    look(page, axe, "join-shut")

    page.goto(live_site + link(entry, "failed"))
    page.get_by_role("button", name="I agree").click()
    expect(page.locator("#answer")).to_be_visible()
    Annotator.objects.filter(platform_id="failed").update(screened_out_at=NOW)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you for trying")
    look(page, axe, "failed-practice")
    page.get_by_role("button", name="Finish").click()
    expect(page.get_by_text("is looking for other participants")).to_be_visible()
    look(page, axe, "screened-out")

    page.context.clear_cookies()
    for state in ("paused", "closed"):
        Project.objects.filter(pk=project.pk).update(state=state)
        page.goto(live_site + link(entry, "early"))
        look(page, axe, f"door-{state}")
