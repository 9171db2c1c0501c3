"""Teachers who come from a course: choosing what to place in it, connecting it, its people on the roster."""

import json
import time
from html import unescape

import jwt
import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.roster.actions import remove_person
from annotate.annotators.roster.courses import import_course
from annotate.lti import memberships
from annotate.lti.launches import CLAIM
from annotate.lti.memberships import CourseRefused, CourseTooLarge
from annotate.lti.messages import ROSTER, SETTINGS
from annotate.models import Annotator, Event, ExpectedPerson, LtiCourse, LtiLearner, Membership
from tests.conftest import make_user
from tests.site.api_client import Api
from tests.site.pages import page, signed_in
from tests.site.participation.lti_platform import CLIENT, DEPLOYMENT, begin, launch

INSTRUCTOR = "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"
SPEC = "https://purl.imsglobal.org/spec/lti-dl/claim/"


@pytest.fixture
def choosing(server, claims):
    """The claims of a deep linking request."""
    claims |= {
        f"{CLAIM}message_type": "LtiDeepLinkingRequest",
        f"{CLAIM}roles": [INSTRUCTOR],
        f"{CLAIM}context": {"id": "c-1", "title": "Year 7"},
        SETTINGS: {
            "deep_link_return_url": "https://moodle.example/return?x=1",
            "accept_types": ["ltiResourceLink"],
            "data": "csrf:1",
        },
        ROSTER: {"context_memberships_url": f"{server.url}/members?page=1"},
    }
    del claims[f"{CLAIM}custom"]
    return claims


@pytest.fixture
def teaching(server, claims):
    claims |= {f"{CLAIM}roles": [INSTRUCTOR], ROSTER: {"context_memberships_url": f"{server.url}/members?page=1"}}
    return claims


@pytest.fixture
def course(server, platform, project) -> LtiCourse:
    url = f"{server.url}/members?page=1"
    return LtiCourse.objects.create(project=project, platform=platform, title="Year 7", memberships_url=url)


def member(subject: str, name: str = "", role: str = "#Learner", **more) -> dict:
    return {"user_id": subject, "name": name, "roles": [f"http://purl.imsglobal.org/vocab/{role}"], **more}


def listed(server, *pages: list[dict]) -> None:
    for n, members in enumerate(pages, 1):
        more = {"Link": f'<{server.url}/members?page={n + 1}>; rel="next"'} if n < len(pages) else {}
        server.pages[f"/members?page={n}"] = (200, more, json.dumps({"id": "x", "members": members}).encode())


def signed_choice(html: str, server) -> dict:
    key = jwt.PyJWK(server.tool_keys[0])
    token = html.partition('name="JWT" value="')[2].partition('"')[0]
    return jwt.decode(token, key, algorithms=["RS256"], audience=server.url, issuer=CLIENT)


def test_a_teacher_chooses_in_a_window_and_the_frame_takes_it_back_once(server, choosing, project, alice):
    frame = Client()
    there = launch(frame, server)
    assert there.status_code == 303
    waiting = frame.get(there["Location"])
    assert "frame-ancestors https://moodle.example" in waiting["Content-Security-Policy"]
    assert there["Location"] + "?window=1" in waiting.content.decode()
    place = there["Location"].replace("/choose/", "/place/")
    assert "Nothing is chosen yet" in frame.post(place).content.decode()
    window = signed_in(alice)
    assert "Year 7" in window.get(there["Location"] + "?window=1").content.decode()
    kept = window.post(there["Location"] + "?window=1", {"project": [project.pk], "grades": "1"})
    assert "press “Continue”" in kept.content.decode()
    back = frame.post(place)
    html = back.content.decode()
    assert "form-action 'self' https://moodle.example" in back["Content-Security-Policy"]
    assert 'action="https://moodle.example/return?x=1"' in unescape(html)
    said = signed_choice(html, server)
    assert said[f"{CLAIM}message_type"] == "LtiDeepLinkingResponse"
    assert (said[f"{CLAIM}deployment_id"], said[f"{SPEC}data"]) == (DEPLOYMENT, "csrf:1")
    (item,) = said[f"{SPEC}content_items"]
    assert (item["type"], item["url"]) == ("ltiResourceLink", "http://testserver/lti/launch/")
    assert item["custom"] == {"project": project.join_token}
    assert item["lineItem"]["scoreMaximum"] == 1
    assert frame.post(place).status_code == 404
    assert LtiCourse.objects.get().title == "Year 7"
    assert Event.objects.latest("pk").verb == "course connected"


def test_in_a_window_of_the_platform_whoever_is_signed_in_chooses_at_once(server, choosing, project, alice):
    client = signed_in(alice)
    there = launch(client, server)["Location"]
    html = client.post(there, {"project": [project.pk]}).content.decode()
    assert "lineItem" not in signed_choice(html, server)[f"{SPEC}content_items"][0]
    assert client.post(there, {"project": [project.pk]}).status_code == 404


def test_only_own_projects_can_be_chosen_and_only_by_the_browser_where_it_began(server, choosing, project, alice):
    frame = Client()
    there = launch(frame, server)["Location"]
    stranger = signed_in(make_user("stranger"))
    assert stranger.post(there + "?window=1", {"project": [project.pk]}).status_code == 400
    assert project.name not in stranger.get(there + "?window=1").content.decode()
    owner = signed_in(alice)
    owner.post(there + "?window=1", {"project": [project.pk]})
    assert "cookie of this launch" in Client().post(there.replace("choose", "place")).content.decode()
    assert Client().get(there + "?window=1").status_code == 302
    assert Client().get("/lti/choose/forged/").status_code == 404


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({f"{CLAIM}roles": []}, "Only teachers"),
        ({SETTINGS: "rubbish"}, "does not say where"),
        ({SETTINGS: {"accept_types": ["file"], "deep_link_return_url": "https://moodle.example/"}}, "takes no links"),
        (
            {SETTINGS: {"accept_types": ["ltiResourceLink"], "deep_link_return_url": "https://evil.example/"}},
            "another site",
        ),
        ({SETTINGS: {"accept_types": ["ltiResourceLink"], "deep_link_return_url": "javascript:x"}}, "another site"),
        (
            {
                SETTINGS: {
                    "accept_types": ["ltiResourceLink"],
                    "deep_link_return_url": "https://moodle.example/",
                    "data": "x" * 20_001,
                }
            },
            "20000 characters",
        ),
        ({f"{CLAIM}deployment_id": "d-2"}, "deployment is not registered"),
        ({"aud": "another tool"}, "was not accepted"),
        ({"exp": int(time.time()) - 3600}, "was not accepted"),
    ],
)
def test_a_request_that_cannot_be_answered_is_told_why(server, choosing, changed, message):
    choosing |= changed
    refused = launch(Client(), server)
    assert refused.status_code == 400
    assert message in refused.content.decode()


def test_a_request_sent_again_is_refused(server, choosing):
    client = Client()
    sent = begin(client, server)
    assert client.post("/lti/launch/", sent).status_code == 303
    assert "used already" in client.post("/lti/launch/", sent).content.decode()


def test_an_instructor_who_is_a_member_lands_on_the_ranking_and_connects_the_course_first(
    server, teaching, project, alice
):
    client = signed_in(alice)
    there = launch(client, server)["Location"]
    assert "Connect the course" in client.get(there).content.decode()
    assert client.post(there)["Location"] == reverse("expected-people", args=[project.pk])
    assert client.get(there)["Location"] == reverse("ranking", args=[project.pk])
    viewer = make_user("viewer")
    Membership.objects.create(project=project, user=viewer, role="viewer")
    assert signed_in(viewer).get(there)["Location"] == reverse("ranking", args=[project.pk])
    assert signed_in(viewer).post(there).status_code == 403
    stranger = signed_in(make_user("stranger")).get(there)
    assert stranger.status_code == 403
    assert "no member of this project" in stranger.content.decode()
    assert "accounts/login" in Client().get(there + "?window=1")["Location"]
    cache.clear()
    assert client.get(there).status_code == 404


def test_the_people_of_a_course_come_page_by_page_and_once(server, course, project, alice):
    ExpectedPerson.objects.create(project=project, name="Already There", email="there@uni.example")
    listed(
        server,
        [member("u-1", "Anna Müller", email="anna@uni.example"), member("u-2", "Anna Müller"), member("u-3")],
        [member("u-4", "Ms Frizzle", "#Instructor"), member("u-5", "Left Us", status="Inactive")],
        [member("u-6", "Somebody", email="There@uni.example")],
    )
    owner, page = signed_in(alice), reverse("expected-people", args=[project.pk])
    html = owner.post(reverse("expected-course", args=[project.pk, course.pk]), follow=True).content.decode()
    assert "3 people of the course are on the list now." in html
    assert "1 person was on the list already." in html
    assert "1 person was left out without a name." in html
    assert list(ExpectedPerson.objects.order_by("name").values_list("name", "tags", "subject", "email")) == [
        ("Already There", [], "u-6", "there@uni.example"),
        ("Anna Müller", ["learner"], "u-1", ""),
        ("Anna Müller 2", ["learner"], "u-2", ""),
        ("Ms Frizzle", ["teacher"], "u-4", ""),
    ]
    told = import_course(project=project, course=course, actor=alice, now=timezone.now())
    assert (told.n_added, told.n_known) == (0, 4)
    assert "Bring in its people" in owner.get(page).content.decode()


def test_programs_list_bring_in_and_disconnect_courses(server, course, project, alice):
    listed(server, [member("u-1", "Anna Müller")])
    api = Api(alice, project)
    (row,) = api("get", "roster-courses").json()["courses"]
    assert (row["title"], row["platform"]) == ("Year 7", "Moodle")
    assert api("post", "roster-course", args=[course.pk]).json()["n_added"] == 1
    assert api("delete", "roster-course", args=[course.pk]).status_code == 204
    assert not LtiCourse.objects.exists()
    assert ExpectedPerson.objects.count() == 1


def test_who_was_brought_in_is_told_the_name_joins_under_it_and_gets_the_grade(server, claims, course, project, alice):
    listed(server, [member("learner-7", "Anna Müller")])
    import_course(project=project, course=course, actor=alice, now=timezone.now())
    client = Client()
    asked = client.get(client.get(launch(client, server)["Location"])["Location"])
    assert "Anna Müller" in asked.content.decode()
    assert not Annotator.objects.exists()
    client.post(asked.request["PATH_INFO"])
    annotator = Annotator.objects.get()
    assert (annotator.pseudonym, annotator.tags.get().name) == ("Anna Müller", "learner")
    learner = LtiLearner.objects.get(annotator=annotator)
    assert (learner.subject, learner.lineitem) == ("learner-7", f"{server.url}/items/3?type=x")
    again = Client()
    there = again.get(launch(again, server)["Location"])["Location"]
    assert there == reverse("label", args=[project.pk])
    assert Annotator.objects.count() == 1


def test_who_came_before_keeps_the_pseudonym(server, claims, course, project, alice):
    client = Client()
    client.get(launch(client, server)["Location"])
    listed(server, [member("learner-7", "Anna Müller")])
    assert import_course(project=project, course=course, actor=alice, now=timezone.now()).n_came == 1
    assert not ExpectedPerson.objects.exists()


def test_where_the_join_link_is_replaced_it_is_said_that_courses_lead_by_it(server, platform, project, alice):
    words = "Place them in the courses again"
    assert words not in page(signed_in(alice), project, "share")
    LtiCourse.objects.create(project=project, platform=platform, memberships_url="/m")
    assert words in page(signed_in(alice), project, "share")


def test_who_is_taken_off_the_list_after_joining_comes_back_as_the_same(server, claims, course, project, alice):
    listed(server, [member("learner-7", "Ada Lovelace")])
    import_course(project=project, course=course, actor=alice, now=timezone.now())
    person, client = ExpectedPerson.objects.get(), Client()
    client.post(client.get(launch(client, server)["Location"])["Location"])
    remove_person(person=person, actor=alice, now=timezone.now())
    again = Client()
    assert again.get(launch(again, server)["Location"])["Location"] == reverse("label", args=[project.pk])
    assert Annotator.objects.get().pseudonym == "Ada Lovelace"
    assert LtiLearner.objects.count() == 1


def test_a_course_that_is_too_large_adds_nobody(server, course, project, alice, monkeypatch):
    monkeypatch.setattr(memberships, "MAX_EXPECTED_PEOPLE", 3)
    listed(server, [member(f"u-{n}", f"Person {n}") for n in range(4)])
    with pytest.raises(CourseTooLarge):
        import_course(project=project, course=course, actor=alice, now=timezone.now())
    loop = {"Link": f'<{server.url}/members?page=1>; rel="next"'}
    server.pages["/members?page=1"] = (200, loop, b'{"members": []}')
    with pytest.raises(CourseTooLarge):
        import_course(project=project, course=course, actor=alice, now=timezone.now())
    assert not ExpectedPerson.objects.exists()


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("status", "headers", "body", "why"),
    [
        (500, {}, b"", "HTTP 500"),
        (200, {}, b"<html>", "no JSON"),
        (200, {}, b"[" * 100_000, "no JSON"),
        (200, {}, b"[]", "no members"),
        (200, {}, b'{"members": {"a": 1}}', "no members"),
        (200, {}, b'{"members": [{"name": "No Id"}]}', "without a user_id"),
        (302, {"Location": "http://127.0.0.1:9/"}, b"", "HTTP 302"),
        (200, {"Link": "<http://127.0.0.1:9/>; rel=next"}, b'{"members": []}', "another site"),
    ],
)
def test_an_answer_that_is_no_list_adds_nobody(server, course, project, alice, status, headers, body, why):
    server.pages["/members?page=1"] = (status, headers, body)
    with pytest.raises(CourseRefused, match=why):
        import_course(project=project, course=course, actor=alice, now=timezone.now())
    assert not ExpectedPerson.objects.exists()


def test_a_course_in_our_own_network_is_never_asked(server, course, project, alice, settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    owner = signed_in(alice)
    html = owner.post(reverse("expected-course", args=[project.pk, course.pk]), follow=True).content.decode()
    assert "own network" in html
    assert not ExpectedPerson.objects.exists()
