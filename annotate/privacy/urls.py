"""Addresses of the privacy pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.privacy import api
from annotate.privacy.erasure import views as erasure_views
from annotate.privacy.own_data import views as own_data_views
from annotate.privacy.retention import views as retention_views

urlpatterns = [
    path("account/data/", own_data_views.account_data, name="account-data"),
    path("account/data/download/", own_data_views.account_export, name="account-export"),
    path("account/erase/", own_data_views.account_erase, name="account-erase"),
    path("join/again/<str:token>/data/", own_data_views.own_data, name="own-data"),
    path("join/again/<str:token>/data/download/", own_data_views.own_export, name="own-export"),
    path("projects/<uuid:project_id>/annotators/<uuid:key>/erase/", erasure_views.erase, name="annotator-erase"),
    path("projects/<uuid:project_id>/retention/", retention_views.retention, name="retention"),
]

api_urlpatterns = [
    path(f"{PROJECT}retention/", api.RetentionView.as_view(), name="api-retention"),
    path(f"{PROJECT}annotators/<uuid:key>/erase/", api.EraseAnnotator.as_view(), name="api-annotator-erase"),
    path(f"{PROJECT}annotators/<uuid:key>/data/", api.AnnotatorData.as_view(), name="api-annotator-data"),
]
