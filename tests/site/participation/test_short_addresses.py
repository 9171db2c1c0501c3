"""Short addresses: off until switched on, typed in any way, gone with the join link, hard to guess."""

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from rest_framework.throttling import SimpleRateThrottle

from annotate.models import Event, Project, ResultsLink
from annotate.participation.actions import replace_join_link
from annotate.participation.joining.short_addresses import LENGTH, LETTERS, normalize_code, switch_short_address
from tests.conftest import NOW
from tests.site.api_client import Api


@pytest.fixture
def owner(project, alice) -> Client:
    client = Client()
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    return client


@pytest.fixture
def code(project, alice) -> str:
    switch_short_address(project=project, actor=alice, on=True, now=NOW)
    return code_of(project)


def code_of(project) -> str:
    return Project.objects.values_list("join_code", flat=True).get(pk=project.pk)


def follow(code: str, **headers):
    return Client(**headers).get(f"/j/{code}/")


def test_a_project_has_none_until_its_owner_switches_it_on(owner, project):
    assert code_of(project) is None
    share = reverse("share", args=[project.pk])
    owner.post(share, {"short-address": "on"})
    owner.post(share, {"short-address": "on"})
    code = code_of(project)
    assert len(code) == LENGTH
    assert set(code) <= set(LETTERS)
    assert f'value="http://testserver/j/{code}/"' in owner.get(share).content.decode()
    owner.post(share, {"short-address": "off"})
    assert code_of(project) is None
    assert follow(code).status_code == 404
    assert list(Event.objects.values_list("verb", flat=True)) == ["short address on", "short address off"]


def test_it_leads_to_the_join_page_however_it_is_typed(project, code):
    join = reverse("join", args=[project.join_token])
    for typed in (code, code.upper(), f"{code[:3]}-{code[3:]}", f" {code[:4]} {code[4:]} "):
        response = Client().get(reverse("short-address"), {"code": typed})
        assert (response.status_code, response.url) == (302, join), typed
    assert follow(code.upper()).url == join


@pytest.mark.parametrize("typed", ["", "abcdef", "abcdefgh", "abcdef0", "äbcdefg", "abc\0efg"])
def test_what_can_be_no_code_is_none(typed):
    assert normalize_code(typed) == ""


def test_a_wrong_code_gets_a_page_with_a_form_and_is_told_back_escaped(project, code):
    response = Client().get(reverse("short-address"), {"code": '"><b>x'})
    assert response.status_code == 404
    page = response.content.decode()
    assert "There is no such address" in page
    assert 'name="code"' in page
    assert "<b>x" not in page


def test_a_new_join_link_brings_a_new_short_address_and_none_where_there_was_none(project, alice, code):
    replace_join_link(project=project, actor=alice, now=NOW)
    new = code_of(project)
    assert new not in (None, code)
    assert follow(code).status_code == 404
    switch_short_address(project=project, actor=alice, on=False, now=NOW)
    replace_join_link(project=project, actor=alice, now=NOW)
    assert code_of(project) is None


def limit(monkeypatch, **rates):
    for scope, rate in rates.items():
        monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, scope, rate)
    cache.clear()


def test_after_too_many_wrong_codes_from_one_address_right_ones_are_refused_there(project, code, monkeypatch):
    limit(monkeypatch, **{"short-address": "2/min"})
    for _ in range(20):
        assert follow(code).status_code == 302, "right codes are not counted"
    assert [follow("aaaaaaa").status_code for _ in range(3)] == [404, 404, 429]
    assert follow(code).status_code == 429
    assert follow(code, REMOTE_ADDR="192.0.2.9").status_code == 302


def test_wrong_codes_from_many_addresses_are_limited_together(project, code, monkeypatch):
    limit(monkeypatch, **{"short-addresses": "3/min"})
    tried = [follow("aaaaaaa", REMOTE_ADDR=f"192.0.2.{n}").status_code for n in range(4)]
    assert tried == [404, 404, 404, 429]
    assert follow(code, REMOTE_ADDR="192.0.2.99").status_code == 429


def test_programs_switch_it_and_read_it(project, alice):
    api = Api(alice, project)
    assert api("get", "entry").json()["short_address"] == ""
    told = api("post", "short-address").json()["short_address"]
    assert told == f"http://testserver/j/{code_of(project)}/"
    assert api("delete", "short-address").json()["short_address"] == ""


def test_the_projector_shows_it_in_place_of_the_long_link(project, code):
    link = ResultsLink.objects.create(project=project, made_at=NOW, shows_join=True)
    page = Client().get(reverse("results-live", args=[link.token])).content.decode()
    assert f'testserver<wbr><span class="projector-address-end">/j/{code}/</span>' in page
    assert project.join_token not in page
