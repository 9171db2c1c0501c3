"""Addresses of the imports pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.imports import api, job_views, views
from annotate.imports.media import api as media_api

urlpatterns = [
    path("projects/<uuid:project_id>/items/import/", views.items, name="items-import"),
    path("projects/<uuid:project_id>/items/features/", views.features, name="features-import"),
    path("projects/<uuid:project_id>/items/features/measure/", views.measure, name="features-measure"),
    path("projects/<uuid:project_id>/annotators/features/", views.annotators, name="annotators-import"),
    path("projects/<uuid:project_id>/comparisons/import/", views.comparisons, name="comparisons-import"),
    path("projects/<uuid:project_id>/counts/import/", views.counts, name="counts-import"),
    path("projects/<uuid:project_id>/given-questions/import/", views.questions, name="questions-import"),
    path("projects/<uuid:project_id>/imports/<int:job_id>/", job_views.job, name="import-job"),
    path("projects/<uuid:project_id>/imports/<int:job_id>/left-out.csv", job_views.left_out, name="import-left-out"),
]

api_urlpatterns = [
    path(f"{PROJECT}items/files/", media_api.ItemFiles.as_view(), name="api-item-files"),
    path(f"{PROJECT}imports/", api.Imports.as_view(), name="api-imports"),
    path(f"{PROJECT}items/features/measure/", api.Measure.as_view(), name="api-features-measure"),
    path(f"{PROJECT}imports/<int:import_id>/", api.ImportView.as_view(), name="api-import"),
    path(f"{PROJECT}imports/<int:import_id>/go-on/", api.ImportGoOn.as_view(), name="api-import-go-on"),
    path(f"{PROJECT}imports/<int:import_id>/stop/", api.ImportStop.as_view(), name="api-import-stop"),
    path(f"{PROJECT}imports/<int:import_id>/left-out/", api.ImportLeftOut.as_view(), name="api-import-left-out"),
]
