"""What programs change through the API is in the log as well: from its URL table."""

import pytest
from django.db import transaction

from annotate.models import Event
from tests.conftest import make_token
from tests.site.api.test_api_access import RULES, arguments, asked, people  # noqa: F401  (fixtures)

pytestmark = pytest.mark.embedded

# What leaves no entry, and why.
UNLOGGED = {
    ("api-project", "delete"): "the log goes with the project; the server's own log tells of it",
    ("api-webhook-test", "post"): "only tries the way; the message stands among the deliveries",
    ("api-oneself", "post"): "an annotator's coming is a row of its own, with its moment",
    ("api-machine-answers", "post"): "answers are facts with their own moments",
    ("api-models", "post"): "only puts a hint away; the estimator stays as it is",
    ("api-next", "post"): "asks for a task",
    ("api-own-ideas", "post"): "each idea is a row of its own, with its moment",
    ("api-similar-items", "post"): "only looks for items",
    ("api-codes", "post"): "says whether a code is genuine",
    ("api-known", "post"): "noted as what the annotator said, and only they may say it: test_known_items.py",
    ("api-roster-invitations", "post"): "nobody here has an address; who is invited is noted: test_roster.py",
    ("api-scale", "delete"): "no scale is kept here to forget: test_scale.py",
    ("api-consent", "post"): "each agreement is a row of its own, with the text",
    ("api-given-questions", "patch"): "there is none here to change; noted where there is: test_questions.py",
    ("api-given-questions-order", "put"): "there is none here to order; noted where there is: test_questions.py",
    ("api-given-questions-withdraw", "post"): "there is none here to withdraw; noted where there is: test_questions.py",
    ("api-roster-course", "post"): "there is no platform here to ask; noted where there is: test_lti_teachers.py",
    ("api-short-address", "delete"): "there is none here to switch off; noted where there is: test_short_addresses.py",
    ("api-undo", "post"): "the voided label says who and when",
    ("api-answer", "post"): "labels are facts with their own moments",
}


@pytest.mark.slow
def test_every_change_and_export_is_noted(people, arguments, project):  # noqa: F811
    changing = {(name, method) for name, rules in RULES.items() for method in rules if method != "get"}
    assert changing >= UNLOGGED.keys()
    secret = make_token(people["owner"])[1]
    silent = []
    for name, method in sorted(changing - UNLOGGED.keys() | {("api-export", "get"), ("api-annotator-data", "get")}):
        with transaction.atomic():
            before = Event.objects.count()
            response = asked(name, method, arguments, secret=secret)
            if Event.objects.count() == before:
                silent.append((name, method, response.status_code, response.content[:200]))
            transaction.set_rollback(True)
    assert not silent
