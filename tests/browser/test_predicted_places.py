"""Places predicted from what items look like: where they are shown and switched on, by axe, on a phone."""

from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import PredictionGain, ResultsLink
from tests.browser.annotating import sideways
from tests.conftest import NOW, make_items
from tests.site.fitting.test_predictions import N, collect, fit_anew


def test_predicted_places_are_marked_on_a_phone(live_site, open_page, sign_in, axe, project, alice):
    project.items.all().delete()
    make_items(project, N)
    project.estimator, project.predict_unseen = "BradleyTerry", True
    project.save()
    best, *_ = collect(project, tells=True)
    figures = {"gain": 0.1, "error": 0.01, "n_items": N, "n_pairs": 870, "accuracy": 0.8, "accuracy_without": 0.7}
    PredictionGain.objects.create(project=project, figures=figures, made_at=NOW)
    fit_anew(project)
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page)

    def go(name: str, *args: object) -> None:
        page.goto(live_site + reverse(name, args=[project.pk, *args]))

    go("ranking")
    expect(page.get_by_text("2 items here have no comparison")).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
    go("item", best.pk)
    expect(page.get_by_text("That is predicted from its features, not measured.")).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
    go("features-import")
    expect(page.get_by_text("80 are predicted correctly with features and 70 without")).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
    go("methods")
    expect(page.get_by_role("heading", name="Predicted places")).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
    link = ResultsLink.objects.create(project=project, made_at=NOW)
    page.goto(live_site + reverse("results", args=[link.token]) + "?page=2")
    expect(page.get_by_role("heading", name="Predicted from what they look like")).to_be_visible()
    expect(page.get_by_text("Nobody has compared these 2 yet.")).to_be_visible()
    expect(page.get_by_text("1 more has not been compared yet.")).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
    go("features-import")
    page.get_by_role("button", name="Measure 33 texts").click()
    expect(page.get_by_role("heading", name="Waiting to be checked")).to_be_visible()
