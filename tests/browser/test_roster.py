"""The roster in a browser: the owner's page by axe on a phone, a judge by the personal link, “I know this one”."""

from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import ConflictOfInterest, ExpectedPerson
from tests.browser.annotating import PHONE, expect_done, long_enough, sideways, snap


def test_people_are_listed_and_one_comes_on_a_phone(live_site, page, open_page, sign_in, axe, project, alice):
    long_enough(project, known_button=True)
    sign_in(alice)
    page.set_viewport_size(PHONE["viewport"])
    page.goto(live_site + reverse("expected-people", args=[project.pk]))
    page.locator("textarea[name=table]").fill("name,email,conflicts\nJudge 01,ann@example.org,item-0\nJudge 02,,\n")
    page.get_by_role("button", name="Check the table").click()
    expect(page.get_by_text("2 people can be added")).to_be_visible()
    axe(page)
    assert not sideways(page)
    page.get_by_role("button", name="Add 2 people").click()
    expect(page.get_by_label("Personal link of Judge 01")).to_be_visible()
    axe(page, in_dark=True)
    assert not sideways(page)
    snap(page, "roster")

    link = reverse("personal", args=[ExpectedPerson.objects.get(name="Judge 01").token])
    judge = open_page(**PHONE)
    judge.goto(live_site + link)
    expect(judge.get_by_text("This link is for")).to_contain_text("Judge 01")
    axe(judge)
    judge.get_by_role("button", name="Start").tap()
    expect(judge.locator("#answer")).to_be_visible()
    judge.wait_for_load_state()  # the scripts have run
    known = judge.locator("button[form=known-b]")
    axe(judge)
    assert not sideways(judge)
    snap(judge, "known")
    known.focus()
    judge.keyboard.press("Enter")
    undo = judge.get_by_role("button", name="Undo")
    expect(undo).to_contain_text("you know B")
    assert ConflictOfInterest.objects.filter(declared_at__isnull=False).count() == 1
    undo.tap()
    expect(undo).to_have_count(0)
    assert ConflictOfInterest.objects.filter(declared_at__isnull=False).count() == 0
    judge.get_by_role("button", name="A is", exact=False).tap()
    expect_done(judge, 1)

    plain = open_page(**PHONE, java_script_enabled=False)
    plain.goto(live_site + reverse("personal", args=[ExpectedPerson.objects.get(name="Judge 02").token]))
    plain.get_by_role("button", name="Start").click()
    plain.locator("button[form=known-a]").click()
    expect(plain.get_by_role("button", name="Undo")).to_contain_text("you know A")
