"""Addresses of the publishing pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.publishing.entries import api as entries_api
from annotate.publishing.entries import views as entries_views
from annotate.publishing.exports import api as exports_api
from annotate.publishing.exports import labels_api
from annotate.publishing.exports import views as exports_views
from annotate.publishing.methods import api as methods_api
from annotate.publishing.methods import views as methods_views
from annotate.publishing.preregistration import api as preregistration_api
from annotate.publishing.preregistration import views as preregistration_views
from annotate.publishing.results_links import api as results_links_api
from annotate.publishing.results_links import live_views
from annotate.publishing.results_links import views as results_links_views
from annotate.publishing.run_records import api as run_records_api
from annotate.publishing.run_records import views as run_records_views

urlpatterns = [
    path("results/<str:token>/", results_links_views.results, name="results"),
    path("results/<str:token>/live/", live_views.results_live, name="results-live"),
    path("results/<str:token>/card.png", results_links_views.results_card, name="results-card"),
    path("results/<str:token>/media/<int:item_id>/", results_links_views.results_media, name="results-media"),
    path("results/<str:token>/methods/", results_links_views.results_methods, name="results-methods"),
    path("projects/<uuid:project_id>/preregistration/", preregistration_views.preregistration, name="preregistration"),
    path(
        "projects/<uuid:project_id>/preregistration.json",
        preregistration_views.document,
        name="preregistration-document",
    ),
    path(
        "projects/<uuid:project_id>/preregistration/deviations/<int:deviation_id>/",
        preregistration_views.explain,
        name="deviation-explain",
    ),
    path("entry/<str:token>/", entries_views.entry_page, name="entry-page"),
    path("projects/<uuid:project_id>/comments/", entries_views.comments, name="comments"),
    path("projects/<uuid:project_id>/comments/release/", entries_views.release, name="comments-release"),
    path("projects/<uuid:project_id>/comments/<int:comment_id>/", entries_views.hide, name="comment-hide"),
    path("projects/<uuid:project_id>/comments/links/", entries_views.make, name="entry-links-make"),
    path("projects/<uuid:project_id>/comments/links.csv", entries_views.download, name="entry-links"),
    path(
        "projects/<uuid:project_id>/comments/links/<uuid:link_id>/revoke/",
        entries_views.revoke,
        name="entry-link-revoke",
    ),
    path(
        "projects/<uuid:project_id>/comments/links/<uuid:link_id>/print/", entries_views.sheet, name="entry-link-print"
    ),
    path("projects/<uuid:project_id>/methods/", methods_views.methods, name="methods"),
    path("projects/<uuid:project_id>/results-links/", results_links_views.results_links, name="results-links"),
    path(
        "projects/<uuid:project_id>/results-links/<uuid:link_id>/revoke/",
        results_links_views.revoke,
        name="results-link-revoke",
    ),
    path(
        "projects/<uuid:project_id>/results-links/<uuid:link_id>/live/",
        live_views.owner_live,
        name="results-link-live",
    ),
    path("projects/<uuid:project_id>/export/", exports_views.choose, name="exports"),
    path("projects/<uuid:project_id>/export/report/", exports_views.report_page, name="report"),
    path("projects/<uuid:project_id>/export/record/", run_records_views.request_run_record, name="record-ask"),
    path("projects/<uuid:project_id>/export/record/<int:record_id>.zip", run_records_views.download, name="record"),
    path("projects/<uuid:project_id>/export/<str:table>.<str:file_format>", exports_views.download, name="export"),
]

api_urlpatterns = [
    path(f"{PROJECT}labels/", labels_api.Labels.as_view(), name="api-labels"),
    path(f"{PROJECT}results-links/", results_links_api.ResultsLinks.as_view(), name="api-results-links"),
    path(
        f"{PROJECT}results-links/<uuid:link_id>/", results_links_api.ResultsLinkView.as_view(), name="api-results-link"
    ),
    path("v1/entries/<str:token>/", entries_api.Entry.as_view(), name="api-entry-page"),
    path(f"{PROJECT}comments/", entries_api.Comments.as_view(), name="api-comments"),
    path(f"{PROJECT}comments/release/", entries_api.Release.as_view(), name="api-comments-release"),
    path(f"{PROJECT}comments/<int:comment_id>/", entries_api.CommentView.as_view(), name="api-comment"),
    path(f"{PROJECT}entry-links/", entries_api.EntryLinks.as_view(), name="api-entry-links"),
    path(f"{PROJECT}entry-links/<uuid:link_id>/", entries_api.EntryLinkView.as_view(), name="api-entry-link"),
    path("v1/results/<str:token>/", results_links_api.Results.as_view(), name="api-results"),
    path("v1/results/<str:token>/methods/", methods_api.PublishedMethods.as_view(), name="api-results-methods"),
    path(f"{PROJECT}preregistration/", preregistration_api.PreregistrationView.as_view(), name="api-preregistration"),
    path(f"{PROJECT}deviations/", preregistration_api.Deviations.as_view(), name="api-deviations"),
    path(f"{PROJECT}deviations/<int:deviation_id>/", preregistration_api.DeviationView.as_view(), name="api-deviation"),
    path(f"{PROJECT}methods/", methods_api.MethodsView.as_view(), name="api-methods"),
    path(f"{PROJECT}exports/", exports_api.Exports.as_view(), name="api-exports"),
    path(f"{PROJECT}exports/<str:table>.<str:file_format>", exports_api.Export.as_view(), name="api-export"),
    path(f"{PROJECT}records/", run_records_api.Records.as_view(), name="api-records"),
    path(f"{PROJECT}records/<int:record_id>/", run_records_api.RecordView.as_view(), name="api-record"),
    path(
        f"{PROJECT}records/<int:record_id>/download/",
        run_records_api.RecordDownload.as_view(),
        name="api-record-download",
    ),
]
