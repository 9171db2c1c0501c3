"""Everything that the screens do, the API does: from the URL table, so that a new screen without operations fails."""

import pytest
from django.urls import reverse

from annotate.api.schema import METHODS, schema
from tests.conftest import make_annotator
from tests.routes import ROUTES
from tests.site.api_client import Api
from tests.site.factories import estimate_annotator, make_labels, spread_fit
from tests.site.pages import signed_in

SCREENS = {route.name for route in ROUTES}

pytestmark = pytest.mark.embedded

# By screen: the operations that do what it does, or in words why there is none.
COVERED = {
    "home": ["projects_list"],
    "help": "the documentation, which stands beside the API",
    "help-page": "as for help",
    "tour": "as for help",
    "make-example": "an example to look at on pages; projects_create makes real ones",
    "healthz": "not a screen: monitoring asks it without a token",
    "metrics": "not a screen: monitoring asks it with a token of its own",
    "operations": "the figures of /metrics, for whoever runs the site",
    "detail": "the API gives every figure; which of them pages show is one's own choice",
    "set_language": "the API answers in the language of Accept-Language",
    "join": ["annotating_join", "annotating_read_consent", "annotating_agree", "annotating_send_link"],
    "resume": "the secret that joining returned is the way back",
    "platform": "a platform sends people's browsers there",
    "tokens": "a token that makes tokens would outlive being revoked",
    "token-revoke": "as for tokens",
    "label": ["annotating_join_as_member", "annotating_next"],
    "ahead": "annotating_next leases one question at a time; only a page holds the one after it",
    "submit": ["annotating_answer"],
    "known": ["annotating_declare_known"],
    "undo": ["annotating_undo"],
    "consent": ["annotating_read_consent", "annotating_agree"],
    "questionnaire": ["annotating_read_questions", "annotating_answer_questions"],
    "done": ["annotating_finish"],
    "own-ideas": ["annotating_list_ideas", "annotating_add_idea", "annotating_find_similar"],
    "ideas": ["ideas_list", "ideas_approve_many"],
    "idea-decide": ["ideas_approve", "ideas_merge", "ideas_refuse"],
    "settings-participants": ["projects_read", "projects_update"],
    "enough": ["annotating_result"],
    "own-answers": ["annotating_list_answers"],
    "item-media": ["items_media"],
    "item-page": ["items_page"],
    "item-captions": ["items_captions"],
    "captions": ["items_captions", "items_set_captions", "items_remove_captions"],
    "shortcuts": "keys of the site's own task page",
    "keys": "keys of the site's own task page",
    "preview": ["projects_preview"],
    "project-create": ["projects_create"],
    "project-settings": ["projects_read", "projects_update"],
    "settings-answers": ["projects_read", "projects_update"],
    "settings-amount": ["projects_read", "projects_update"],
    "settings-ranking": ["projects_read", "projects_update"],
    "project-manage": ["projects_read", "log_list"],
    "raise-overlap": ["projects_update"],
    "project-state": ["projects_set_state"],
    "project-archive": ["projects_archive"],
    "project-clone": ["projects_clone"],
    "log": ["log_list"],
    "log-export": ["log_list"],
    "setup": "says which of the other pages is next; projects_read and items_list tell the same",
    "bulk-exclusion": ["annotators_exclude_many", "annotators_list_bulk_exclusions"],
    "annotator-tags": ["annotators_list_tags", "annotators_tag", "annotators_list"],
    "retention": ["retention_read", "retention_update"],
    "annotator-erase": ["annotators_erase"],
    "account-data": "one's own account is for its person, signed in; a token that leaks must not take it along",
    "account-export": "as for account-data",
    "account-erase": "as for account-data",
    "own-data": "the page that a personal link leads to; its answers are annotating_list_answers",
    "own-export": "as for own-data",
    "project-delete": ["projects_delete"],
    "quality": ["projects_read", "projects_update"],
    "questions": ["given_questions_list", "given_questions_change", "given_questions_withdraw", "given_questions_plan"],
    "questions-import": ["imports_create", "given_questions_create"],
    "questions-order": ["given_questions_order", "given_questions_withdraw"],
    "known-sets": ["known_sets_list", "known_sets_create"],
    "known-set-remove": ["known_sets_delete"],
    "known-set-new": ["known_sets_create"],
    "known-set-change": ["known_sets_delete", "known_sets_create"],
    "never-shown": ["never_shown_list", "never_shown_create"],
    "never-shown-remove": ["never_shown_delete"],
    "entry": ["entry_read", "entry_update", "entry_replace_platform_link", "questionnaire_replace"],
    "share": [
        "entry_read",
        "entry_invite",
        "entry_replace_join_link",
        "entry_short_address_on",
        "entry_short_address_off",
    ],
    "short-address": "asks for the code of a short address, which leads to `join`",
    "short-join": "leads to `join`",
    "personal": ["annotating_join_personally"],
    "expected-people": ["roster_list", "roster_create"],
    "expected-send": ["roster_invite"],
    "expected-links": ["roster_list"],
    "expected-conflicts": ["never_shown_create"],
    "expected-remove": ["roster_delete"],
    "expected-course": ["roster_courses_list", "roster_courses_bring_in", "roster_courses_delete"],
    "qr-code": "a picture of the join link, which entry_read tells",
    "participants": ["participants_list", "participants_check_code"],
    "participants-csv": ["participants_list"],
    "items": ["items_list", "items_update", "items_delete"],
    "items-import": ["items_create", "items_upload", "imports_create", "imports_list"],
    "comparisons-import": ["imports_create"],
    "counts-import": ["imports_create"],
    "features-measure": ["features_measure"],
    "features-import": ["imports_create"],
    "annotators-import": ["imports_create"],
    "import-job": ["imports_read", "imports_go_on", "imports_stop"],
    "import-left-out": ["imports_left_out"],
    "members": ["members_list", "members_create", "members_list_invitations"],
    "invitation-withdraw": ["members_withdraw_invitation"],
    "lti-login": "a learning platform's browser alone comes here",
    "lti-launch": "as lti-login",
    "lti-enter": "as lti-login",
    "lti-choose": "as lti-login",
    "lti-place": "as lti-login",
    "lti-course": "as lti-login",
    "lti-keys": "public keys, for learning platforms",
    "openid_connect_login": "signs a person in; programs have tokens",
    "openid_connect_callback": "as openid_connect_login",
    "socialaccount_login_cancelled": "as openid_connect_login",
    "invited": "makes one's own account, by the link in a message",
    "member-change": ["members_update", "members_delete"],
    "webhooks": ["webhooks_list", "webhooks_create", "webhooks_deliveries"],
    "webhook-change": ["webhooks_switch", "webhooks_replace_secret", "webhooks_test", "webhooks_delete"],
    "results": ["results_read"],
    "embedding": ["embedding_read", "embedding_update"],
    "languages": ["languages_read", "languages_update"],
    "translation": ["languages_translate", "items_update"],
    "results-card": "a picture for other sites of what results_read tells",
    "results-media": "pictures are seen on the page; results_read tells titles",
    "results-methods": ["results_read_methods"],
    "methods": ["methods_read"],
    "preregistration": ["preregistration_read", "preregistration_freeze", "deviations_list"],
    "preregistration-document": ["preregistration_read"],
    "deviation-explain": ["deviations_explain"],
    "comments": ["comments_list"],
    "comment-hide": ["comments_update"],
    "comments-release": ["comments_release"],
    "entry-links-make": ["entry_links_create"],
    "entry-links": ["entry_links_list"],
    "entry-link-revoke": ["entry_links_revoke"],
    "entry-link-print": "the entry's page for paper; entry_links_show tells the same",
    "entry-page": ["entry_links_show"],
    "results-links": ["results_links_list", "results_links_create"],
    "results-live": ["results_read"],
    "results-link-live": ["results_links_update", "results_read"],
    "results-link-revoke": ["results_links_revoke"],
    "ranking": ["ranking_read"],
    "item": ["items_figures"],
    "scale": ["scale_read", "scale_keep", "scale_forget"],
    "leaderboard": ["leaderboard_read", "leaderboard_update"],
    "scale-export": ["scale_read"],
    "overall": ["overall_read"],
    "grades": ["grades_read", "grades_update", "grades_remove"],
    "trust": ["trust_read"],
    "progress": ["progress_read", "goals_read"],
    "goal": ["goals_read", "goals_update", "goals_remove"],
    "policy": ["policies_read", "policies_update"],
    "engine": ["fits_list", "models_read"],
    "compare": ["fits_compare"],
    "estimator-use": ["projects_update", "models_keep"],
    "annotators": ["annotators_list", "annotators_read"],
    "annotator": ["annotators_read", "annotators_ranking"],
    "machines": ["machines_list", "machines_create", "machines_report"],
    "machines-count": ["machines_count"],
    "machines-report": ["machines_request_report", "machines_report"],
    "machine-change": ["machines_update", "machines_delete"],
    "tastes": ["tastes_read"],
    "cohorts": ["cohorts_list", "cohorts_read"],
    "cohorts-compare": ["cohorts_compare"],
    "see-as": "the site's own pages, looked at; projects_preview and annotators_read tell the rest",
    "annotator-exclude": ["annotators_exclude"],
    "bulk-exclusion-undo": ["annotators_undo_bulk_exclusion"],
    "annotator-readmit": ["annotators_readmit"],
    "annotator-let-in": ["annotators_let_in"],
    "exports": ["exports_list", "records_list", "records_read"],
    "export": ["exports_download"],
    "report": ["report_read", "ranking_read"],
    "record-ask": ["records_create"],
    "record": ["records_download"],
}


def operations() -> set[str]:
    paths = schema()["paths"].values()
    return {methods[method]["operationId"] for methods in paths for method in METHODS if method in methods}


@pytest.mark.parametrize("screen", sorted({*SCREENS, *COVERED}))
def test_a_screen_has_its_operations_or_a_reason(screen):
    assert screen in SCREENS, f"{screen} is no screen any more"
    assert screen in COVERED, f"say which operations of the API do what the screen {screen} does, or why none does"
    if isinstance(COVERED[screen], list):
        assert set(COVERED[screen]) <= operations()


def test_screen_and_api_tell_the_same_of_annotators_and_of_trust(alice, project):
    people = [make_annotator(project, f"Otter {i}") for i in range(3)]
    make_labels(project, people, 30)
    make_labels(project, people[:1], 12, outcome="cant_judge", seed=3)
    fit = spread_fit(project, list(project.items.order_by("pk")))
    estimate_annotator(fit, people[0], reliability=0.87, agreement=0.83)
    api, client = Api(alice, project), signed_in(alice)

    page = client.get(reverse("annotators", args=[project.pk]))
    html, rows = page.content.decode(), api("get", "annotators").json()["results"]
    shown = {row.annotator.pseudonym: row for row in page.context["annotators"].rows}
    assert [row["pseudonym"] for row in rows] == list(shown)
    for row in rows:
        one = shown[row["pseudonym"]]
        assert (row["n_labels"], row["n_skips"]) == (one.n_labels, one.n_skips)
        assert row["median_seconds"] == (one.median_ms and one.median_ms / 1000)
        assert row["reliability"] == (one.estimate and one.estimate.reliability)
        assert row["checks"]["cant_judge"]["k"] == one.checked.cant_judge.k
    [flagged] = [row for row in rows if row["flags"]]
    assert (flagged["pseudonym"], [flag["name"] for flag in flagged["flags"]]) == ("Otter 0", ["cant_judge"])
    assert flagged["flags"][0]["words"] in html.replace("&#x27;", "'")
    assert f"{flagged['reliability']:.2f}".removeprefix("0") in html

    html = client.get(reverse("trust", args=[project.pk])).content.decode().replace("&#x27;", "'")
    told = api("get", "trust").json()
    assert told["fit"] == fit.number
    assert len(told["checks"]) == told["n_good"] + told["n_bad"] + told["n_unknown"] == 9
    for check in told["checks"]:
        assert check["sentence"] in html
        for fact in check["facts"]:
            assert fact["name"] in html.replace("&amp;", "&")
            assert fact["figure"] in html
