"""The operators' admin: no list is filtered, ordered or searched by a column of passwords, tokens or secrets."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, Presentation
from tests.site.pages import signed_in

SECRET = ("password", "token", "secret")


@pytest.fixture
def operator(alice) -> Client:
    alice.is_staff = alice.is_superuser = True
    alice.save()
    return signed_in(alice)


def secret_lookups(model, prefix: str = "", depth: int = 2) -> list[str]:
    """Every way from a table to a secret column over at most so many relations, as a filter names it."""
    found = []
    for field in model._meta.get_fields():
        if any(word in field.name for word in SECRET) and not field.is_relation:
            found.append(prefix + field.name)
        elif field.is_relation and field.related_model and depth:
            found += secret_lookups(field.related_model, f"{prefix}{field.name}__", depth - 1)
    return found


def test_no_list_is_filtered_by_a_secret(operator, rf, alice):
    """By the admin's own rule, which its lists ask before they filter; one is asked by HTTP below."""
    request = rf.get("/")
    request.user = alice
    allowed, n = [], 0
    for model, site_admin in admin.site._registry.items():
        for lookup in secret_lookups(model):
            for ending in ("__startswith", "__regex", ""):
                n += 1
                if site_admin.lookup_allowed(lookup + ending, "a", request):
                    allowed.append(f"{model.__name__}: {lookup}{ending}")
    assert allowed == []
    assert n > 100


@pytest.mark.parametrize("query", ["annotator__resume_token__startswith=a", "project__join_token__gte=a"])
def test_such_a_filter_in_an_address_is_refused(operator, project, query):
    assert operator.get(f"{reverse('admin:annotate_label_changelist')}?{query}").status_code == 400


def test_no_secret_is_shown_or_searched(operator):
    for model, site_admin in admin.site._registry.items():
        used = [*site_admin.list_display, *site_admin.search_fields, *site_admin.list_filter]
        assert not [name for name in used if any(word in str(name) for word in SECRET)], model


def test_no_page_of_a_row_shows_its_secret(operator, presentation):
    annotator = Annotator.objects.get()
    for row, secret in ((annotator, annotator.resume_token), (Presentation.objects.get(), presentation.token)):
        html = operator.get(reverse(f"admin:annotate_{row._meta.model_name}_change", args=[row.pk])).content.decode()
        assert secret not in html


TRICKS = [
    *("?_to_field=password", "?o=-99", "?o=password", "?e=1", "?q=pbkdf2", "?_changelist_filters=password__gte%3Da"),
    *("?password__isnull=False", "?user__password__regex=.*", "?_facets=True", "?_popup=1&_to_field=resume_token"),
]


@pytest.mark.slow
@pytest.mark.parametrize("query", TRICKS)
def test_no_parameter_of_a_list_reaches_a_secret(operator, presentation, query, alice):
    """Refused, or answered with what the list shows anyway: no secret and no rows chosen by one."""
    secrets = [alice.password, Annotator.objects.get().resume_token, presentation.token]
    for model in admin.site._registry:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        response = operator.get(url + query)
        assert response.status_code in (200, 302, 400), url
        assert not [secret for secret in secrets if secret in response.content.decode()], url


@pytest.mark.parametrize("field", ["password", "resume_token", "user__password", "token"])
def test_the_search_for_a_person_does_not_complete_secrets(operator, field):
    asked = {"app_label": "annotate", "model_name": "membership", "field_name": field, "term": "a"}
    assert operator.get(reverse("admin:autocomplete"), asked).status_code in (403, 404)


def test_staff_do_not_raise_themselves(bob):
    """Somebody let into the admin to look at lists makes no operator of anybody."""
    bob.is_staff = True
    bob.save()
    bob.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client, page = signed_in(bob), reverse("admin:annotate_user_change", args=[bob.pk])
    for url in (page, reverse("admin:annotate_user_add"), reverse("admin:auth_user_password_change", args=[bob.pk])):
        assert client.post(url, {"is_superuser": "on", "is_staff": "on", "username": "bob"}).status_code == 403, url
    bob.refresh_from_db()
    assert (bob.is_staff, bob.is_superuser) == (True, False)
