"""Comments on each item in a browser: the task on a phone with a reload, the page Comments, the entry page."""

from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import EntryLink, ItemComment
from tests.browser.annotating import PHONE, WITHOUT, come_in, expect_done, long_enough, sideways, snap


def test_comments_go_from_the_judge_to_the_entrant(live_site, open_page, sign_in, axe, project, alice):
    long_enough(project, item_comments=True, comment_required=True, entry_places=True)
    judge = open_page(**PHONE, color_scheme="dark")
    come_in(judge, live_site, project)
    judge.get_by_label("Comment on A").fill("Bold 1 idea")
    judge.reload()
    judge.wait_for_load_state()
    expect(judge.get_by_label("Comment on A")).to_have_value("Bold 1 idea")
    judge.get_by_label("Comment on B").fill("Weak demo")
    axe(judge)
    assert not sideways(judge)
    snap(judge, "item-comments")
    judge.get_by_role("button", name="B is", exact=False).tap()
    expect_done(judge, 1)
    assert sorted(ItemComment.objects.values_list("text", flat=True)) == ["Bold 1 idea", "Weak demo"]
    expect(judge.get_by_label("Comment on A")).to_have_value("")

    owner = open_page(**PHONE, color_scheme="dark")
    sign_in(alice, owner)
    owner.goto(live_site + reverse("comments", args=[project.pk]))
    owner.get_by_role("button", name="Release 2 comments").click()
    owner.get_by_role("button", name="Create missing entry links").click()
    expect(owner.get_by_label("Entry link").first).to_be_visible()
    axe(owner)
    assert not sideways(owner)
    snap(owner, "comments")

    entrant = open_page(**(PHONE | WITHOUT), color_scheme="dark")
    item = ItemComment.objects.get(text="Weak demo").item
    entrant.goto(live_site + reverse("entry-page", args=[EntryLink.objects.get(item=item).token]))
    expect(entrant.get_by_text("Weak demo")).to_be_visible()
    expect(entrant.get_by_text("Bold 1 idea")).to_have_count(0)
    assert not entrant.context.cookies()
    shown = open_page(**PHONE, color_scheme="dark")
    shown.goto(entrant.url)
    axe(shown)
    assert not sideways(shown)
    snap(shown, "entry")


def test_without_javascript_comments_go_along(live_site, open_page, project):
    long_enough(project, item_comments=True)
    page = open_page(**WITHOUT)
    annotator = come_in(page, live_site, project)
    page.get_by_text("Comment on each item").click()
    page.get_by_label("Comment on B").fill("Plain")
    page.get_by_role("button", name="B is better").click()
    expect_done(page, 1)
    assert [one.text for one in ItemComment.objects.filter(label__annotator=annotator)] == ["Plain"]
