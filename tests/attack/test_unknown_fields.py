"""Fields that nobody offered: the API refuses them by name, forms do nothing with them."""

import pytest
from django.db import transaction
from django.test import Client

from annotate.models import Membership, Project, User
from tests.conftest import make_token
from tests.site.api.test_api_access import RULES, address, arguments, people  # noqa: F401  (fixtures)
from tests.site.pages import signed_in
from tests.site.test_access import RULES as PAGES

pytestmark = pytest.mark.embedded
UNASKED = {"is_staff": True, "owner": "mallory", "join_token": "A" * 22, "simulated": True, "id": 7, "role": "owner"}


@pytest.mark.slow
def test_the_api_names_an_unknown_field(people, arguments, project):  # noqa: F811
    secrets = {who: make_token(people[who])[1] for who in ("annotator", "owner")}
    taken, n = [], 0
    for name, methods in RULES.items():
        for method, (_scope, roles, body) in methods.items():
            if not body or name == "api-undo":  # what takes nothing reads nothing
                continue
            secret = secrets["annotator" if roles == {"annotator"} else "owner"]
            with transaction.atomic():
                response = getattr(Client(), method)(
                    address(name, arguments),
                    {**body, "unasked": 1},
                    content_type="application/json",
                    headers={"Authorization": f"Bearer {secret}"},
                )
                transaction.set_rollback(True)
            n += 1
            if response.status_code != 400 or "unasked" not in response.content.decode():
                taken.append(f"{method} {name}: {response.status_code}")
    assert taken == [], "\n".join(taken)
    assert n > 30


@pytest.mark.slow
def test_forms_set_nothing_that_they_do_not_show(project, alice):
    """Each form of the owner's, sent with names of columns that no form may set."""
    before = Project.objects.values("join_token", "simulated", "created_at").get()
    client = signed_in(alice)
    for name, (_, post) in PAGES.items():
        if post and name.startswith(("settings-", "project-settings", "quality", "entry", "goal", "retention")):
            url = f"/projects/{project.pk}/"
            route = {"project-settings": "settings/"}.get(name, name.replace("settings-", "settings/") + "/")
            client.post(url + route, UNASKED)
    assert Project.objects.values("join_token", "simulated", "created_at").get() == before
    assert not User.objects.filter(is_staff=True).exists()
    assert Membership.objects.filter(role="owner").count() == 1
