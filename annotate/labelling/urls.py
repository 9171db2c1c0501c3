"""Addresses of the labelling pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.labelling import api, known_views, views
from annotate.labelling.keys import views as keys_views
from annotate.labelling.own_answers import views as own_answers_views
from annotate.labelling.preview import api as preview_api
from annotate.labelling.preview import views as preview_views

urlpatterns = [
    path("label/<str:token>/", views.submit, name="submit"),
    path("label/<str:token>/known/", known_views.known, name="known"),
    path("projects/<uuid:project_id>/label/ahead/", views.ahead, name="ahead"),
    path("projects/<uuid:project_id>/label/undo/", views.undo, name="undo"),
    path("projects/<uuid:project_id>/label/shortcuts/", keys_views.shortcuts, name="shortcuts"),
    path("projects/<uuid:project_id>/label/keys/", keys_views.keys, name="keys"),
    path("projects/<uuid:project_id>/label/answers/", own_answers_views.own_answers, name="own-answers"),
    path("projects/<uuid:project_id>/preview/", preview_views.preview, name="preview"),
]

api_urlpatterns = [
    path(f"{PROJECT}preview/", preview_api.Preview.as_view(), name="api-preview"),
    path(f"{PROJECT}next/", api.Next.as_view(), name="api-next"),
    path(f"{PROJECT}undo/", api.UndoAnswer.as_view(), name="api-undo"),
    path("v1/tasks/<str:token>/answer/", api.AnswerTask.as_view(), name="api-answer"),
    path("v1/tasks/<str:token>/known/", api.DeclareKnown.as_view(), name="api-known"),
]
