"""Addresses of the audit log pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.audit_log import api, views

urlpatterns = [
    path("projects/<uuid:project_id>/log/", views.log, name="log"),
    path("projects/<uuid:project_id>/log.<str:file_format>", views.download, name="log-export"),
]

api_urlpatterns = [
    path(f"{PROJECT}log/", api.Log.as_view(), name="api-log"),
]
