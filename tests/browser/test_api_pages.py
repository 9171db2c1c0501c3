"""The pages about the API in a real browser: access tokens, the reference, webhooks; accessible in light and dark."""

from playwright.sync_api import expect

from annotate.webhooks.actions import add_webhook, send_test
from tests.conftest import NOW, make_token

# Every operation of the reference is drawn like the others: each eighth of 175 stays.
SHORTEN = 'document.querySelectorAll("details.operation").forEach((one, place) => { if (place % 8) one.remove(); })'
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


def test_every_page_about_the_api_is_accessible(live_site, open_page, sign_in, axe, alice, project):
    make_token(alice)
    make_token(alice, "read", name="A very long name of a token for the nightly export", project=project)
    hook = add_webhook(project=project, actor=alice, url="https://example.org/a/b", events=["fit.published"], now=NOW)
    send_test(webhook=hook, now=NOW)
    page = open_page(viewport=PHONE)
    sign_in(alice, page=page)
    for path in ("/account/tokens/", f"/projects/{project.pk}/webhooks/", "/api/"):
        page.goto(live_site + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        if path == "/api/":
            axe(page, as_drawn=False)
            page.evaluate(SHORTEN)
            assert page.locator("details.operation").count() > 20
        axe(page, in_dark=True)
