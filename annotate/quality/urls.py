"""Addresses of the quality pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.quality.gold import api as gold_api
from annotate.quality.gold import set_views
from annotate.quality.gold import views as gold_views

urlpatterns = [
    path("projects/<uuid:project_id>/quality/known/", gold_views.gold_sets, name="known-sets"),
    path("projects/<uuid:project_id>/quality/known/new/", set_views.new, name="known-set-new"),
    path("projects/<uuid:project_id>/quality/known/<int:known_id>/", set_views.change, name="known-set-change"),
    path("projects/<uuid:project_id>/quality/known/<int:known_id>/remove/", gold_views.remove, name="known-set-remove"),
]

api_urlpatterns = [
    path(f"{PROJECT}known-sets/", gold_api.KnownSets.as_view(), name="api-known-sets"),
    path(f"{PROJECT}known-sets/<int:known_id>/", gold_api.KnownSetView.as_view(), name="api-known-set"),
]
