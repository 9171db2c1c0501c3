"""An example for newcomers: made once, marked as simulated, their own."""

import pytest
from django.urls import reverse

from annotate.models import Project
from tests.site.pages import signed_in


@pytest.mark.embedded
@pytest.mark.slow
def test_a_newcomer_makes_an_example_once(alice):
    browser = signed_in(alice)
    assert "Make an example" in browser.get(reverse("home")).content.decode()
    first = browser.post(reverse("make-example"))
    project = Project.objects.get()
    assert first["Location"] == reverse("ranking", args=[project.pk])
    assert (project.simulated, project.state, project.items.count()) == (True, "open", 40)
    assert project.labels.count() == 250
    assert project.memberships.get().user == alice
    assert browser.post(reverse("make-example"))["Location"] == first["Location"]
    assert Project.objects.count() == 1
    assert "A program" in browser.get(reverse("home")).content.decode()


@pytest.mark.slow
def test_making_examples_is_limited(alice):
    browser = signed_in(alice)
    answers = [browser.post(reverse("make-example")).status_code for _ in range(6)]
    assert answers == [302] * 5 + [429]
