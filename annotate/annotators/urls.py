"""Addresses of the annotators pages and operations."""

from django.urls import path

from annotate.annotators import api, view_as, views
from annotate.annotators.bulk import api as bulk_api
from annotate.annotators.bulk import views as bulk_views
from annotate.annotators.cohorts import api as cohorts_api
from annotate.annotators.cohorts import views as cohorts_views
from annotate.annotators.conflicts import api as conflicts_api
from annotate.annotators.conflicts import views as conflicts_views
from annotate.annotators.machines import api as machines_api
from annotate.annotators.machines import sets_api as machine_sets_api
from annotate.annotators.machines import views as machines_views
from annotate.annotators.own_result import api as own_result_api
from annotate.annotators.own_result import views as own_result_views
from annotate.annotators.page import views as page_views
from annotate.annotators.roster import api as roster_api
from annotate.annotators.roster import personal_views
from annotate.annotators.roster import views as roster_views
from annotate.annotators.tags import api as tags_api
from annotate.annotators.tags import views as tags_views
from annotate.annotators.tastes import api as tastes_api
from annotate.annotators.tastes import views as tastes_views
from annotate.api.routes import PROJECT

urlpatterns = [
    path("join/personally/<str:token>/", personal_views.personal, name="personal"),
    path("projects/<uuid:project_id>/share/people/", roster_views.expected_people, name="expected-people"),
    path("projects/<uuid:project_id>/share/people/send/", roster_views.send, name="expected-send"),
    path("projects/<uuid:project_id>/share/people/links.csv", roster_views.download, name="expected-links"),
    path(
        "projects/<uuid:project_id>/share/people/courses/<int:course_id>/",
        roster_views.course,
        name="expected-course",
    ),
    path(
        "projects/<uuid:project_id>/share/people/conflicts/",
        roster_views.add_missing_conflicts,
        name="expected-conflicts",
    ),
    path(
        "projects/<uuid:project_id>/share/people/<int:person_id>/remove/", roster_views.remove, name="expected-remove"
    ),
    path("projects/<uuid:project_id>/quality/never/", conflicts_views.never_shown, name="never-shown"),
    path(
        "projects/<uuid:project_id>/quality/never/<int:entry_id>/remove/",
        conflicts_views.remove,
        name="never-shown-remove",
    ),
    path("projects/<uuid:project_id>/label/enough/", own_result_views.enough, name="enough"),
    path("projects/<uuid:project_id>/annotators/", views.annotators, name="annotators"),
    path("projects/<uuid:project_id>/annotators/tags/", tags_views.annotator_tags, name="annotator-tags"),
    path("projects/<uuid:project_id>/annotators/exclude/", bulk_views.exclude_in_bulk, name="bulk-exclusion"),
    path(
        "projects/<uuid:project_id>/annotators/exclude/<int:exclusion_id>/undo/",
        bulk_views.undo,
        name="bulk-exclusion-undo",
    ),
    path("projects/<uuid:project_id>/annotators/<uuid:key>/", page_views.annotator, name="annotator"),
    path("projects/<uuid:project_id>/annotators/<uuid:key>/as/", view_as.view_as, name="see-as"),
    path("projects/<uuid:project_id>/annotators/<uuid:key>/exclude/", views.exclude, name="annotator-exclude"),
    path("projects/<uuid:project_id>/annotators/<uuid:key>/readmit/", views.readmit, name="annotator-readmit"),
    path("projects/<uuid:project_id>/annotators/<uuid:key>/let-in/", views.admit, name="annotator-let-in"),
    path("projects/<uuid:project_id>/machines/", machines_views.machines, name="machines"),
    path("projects/<uuid:project_id>/machines/count/", machines_views.count, name="machines-count"),
    path("projects/<uuid:project_id>/machines/report/", machines_views.report, name="machines-report"),
    path(
        "projects/<uuid:project_id>/machines/<uuid:machine_key>/change/", machines_views.change, name="machine-change"
    ),
    path("projects/<uuid:project_id>/tastes/", tastes_views.tastes, name="tastes"),
    path("projects/<uuid:project_id>/cohorts/", cohorts_views.cohorts, name="cohorts"),
    path("projects/<uuid:project_id>/cohorts/compare/", cohorts_views.compare_cohorts, name="cohorts-compare"),
]

api_urlpatterns = [
    path(f"{PROJECT}roster/", roster_api.Roster.as_view(), name="api-roster"),
    path(f"{PROJECT}roster/courses/", roster_api.RosterCourses.as_view(), name="api-roster-courses"),
    path(f"{PROJECT}roster/courses/<int:course_id>/", roster_api.RosterCourse.as_view(), name="api-roster-course"),
    path(f"{PROJECT}roster/<int:person_id>/", roster_api.RosterRow.as_view(), name="api-roster-row"),
    path(f"{PROJECT}roster/invitations/", roster_api.RosterInvitations.as_view(), name="api-roster-invitations"),
    path("v1/join/personally/<str:token>/", roster_api.JoinPersonally.as_view(), name="api-join-personally"),
    path(f"{PROJECT}never-shown/", conflicts_api.NeverShownList.as_view(), name="api-never-shown"),
    path(f"{PROJECT}never-shown/<int:entry_id>/", conflicts_api.NeverShownView.as_view(), name="api-never-shown-row"),
    path(f"{PROJECT}own-result/", own_result_api.OwnResultView.as_view(), name="api-own-result"),
    path(f"{PROJECT}annotators/", api.Annotators.as_view(), name="api-annotators"),
    path(f"{PROJECT}annotators/<uuid:key>/", api.AnnotatorView.as_view(), name="api-annotator"),
    path(f"{PROJECT}annotators/<uuid:key>/exclude/", api.Exclude.as_view(), name="api-annotator-exclude"),
    path(f"{PROJECT}annotators/<uuid:key>/readmit/", api.Readmit.as_view(), name="api-annotator-readmit"),
    path(f"{PROJECT}annotators/<uuid:key>/let-in/", api.LetIn.as_view(), name="api-annotator-let-in"),
    path(f"{PROJECT}annotators/<uuid:key>/ranking/", tastes_api.OwnRankingView.as_view(), name="api-annotator-ranking"),
    path(f"{PROJECT}annotators/exclusions/", bulk_api.BulkExclusions.as_view(), name="api-bulk-exclusions"),
    path(
        f"{PROJECT}annotators/exclusions/<int:exclusion_id>/undo/",
        bulk_api.BulkUndo.as_view(),
        name="api-bulk-exclusion-undo",
    ),
    path(f"{PROJECT}annotators/tags/", tags_api.AnnotatorTags.as_view(), name="api-annotator-tags"),
    path(f"{PROJECT}machines/", machines_api.Machines.as_view(), name="api-machines"),
    path(f"{PROJECT}machines/counting/", machines_api.MachinesCounting.as_view(), name="api-machines-counting"),
    path(f"{PROJECT}machines/report/", machines_api.MachinesReport.as_view(), name="api-machines-report"),
    path(f"{PROJECT}machines/<uuid:machine_key>/", machines_api.MachineView.as_view(), name="api-machine"),
    path(
        f"{PROJECT}machines/<uuid:machine_key>/sets/", machine_sets_api.MachineSets.as_view(), name="api-machine-sets"
    ),
    path(
        f"{PROJECT}machines/<uuid:machine_key>/answers/",
        machine_sets_api.MachineAnswersView.as_view(),
        name="api-machine-answers",
    ),
    path(f"{PROJECT}tastes/", tastes_api.TastesView.as_view(), name="api-tastes"),
    path(f"{PROJECT}cohorts/", cohorts_api.CohortsView.as_view(), name="api-cohorts"),
    path(f"{PROJECT}cohorts/<int:comparison_id>/", cohorts_api.CohortsRead.as_view(), name="api-cohorts-row"),
]
