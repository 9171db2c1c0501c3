"""Addresses of the pages and operations of ideas."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.ideas import api, own_views, views

urlpatterns = [
    path("projects/<uuid:project_id>/label/ideas/", own_views.add_idea, name="own-ideas"),
    path("projects/<uuid:project_id>/ideas/", views.ideas, name="ideas"),
    path("projects/<uuid:project_id>/ideas/<int:idea_id>/", views.decide, name="idea-decide"),
]

api_urlpatterns = [
    path(f"{PROJECT}own-ideas/", api.OwnIdeas.as_view(), name="api-own-ideas"),
    path(f"{PROJECT}own-ideas/similar/", api.SimilarItems.as_view(), name="api-similar-items"),
    path(f"{PROJECT}ideas/", api.Ideas.as_view(), name="api-ideas"),
    path(f"{PROJECT}ideas/<int:idea_id>/approve/", api.ApproveIdea.as_view(), name="api-idea-approve"),
    path(f"{PROJECT}ideas/<int:idea_id>/merge/", api.MergeIdea.as_view(), name="api-idea-merge"),
    path(f"{PROJECT}ideas/<int:idea_id>/refuse/", api.RefuseIdea.as_view(), name="api-idea-refuse"),
]
