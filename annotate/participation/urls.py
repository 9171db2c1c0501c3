"""Addresses of the participation pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.participation import api, settings_api, views
from annotate.participation.consent import views as consent_views
from annotate.participation.embedding import api as embedding_api
from annotate.participation.embedding import views as embedding_views
from annotate.participation.invitations import views as invitations_views
from annotate.participation.joining import api as joining_api
from annotate.participation.joining import platform_views, short_views, task_entry_views
from annotate.participation.joining import views as joining_views
from annotate.participation.participants import api as participants_api
from annotate.participation.participants import views as participants_views
from annotate.participation.questionnaire import views as questionnaire_views

urlpatterns = [
    path("join/<str:token>/", joining_views.join, name="join"),
    path("j/", short_views.type_code, name="short-address"),
    path("j/<str:code>/", short_views.short_join, name="short-join"),
    path("platform/<str:token>/", platform_views.arrive, name="platform"),
    path("join/again/<str:token>/", joining_views.resume, name="resume"),
    path("projects/<uuid:project_id>/label/", task_entry_views.label, name="label"),
    path("projects/<uuid:project_id>/label/consent/", consent_views.consent, name="consent"),
    path("projects/<uuid:project_id>/label/done/", consent_views.done, name="done"),
    path("projects/<uuid:project_id>/label/questions/", questionnaire_views.questionnaire, name="questionnaire"),
    path("projects/<uuid:project_id>/entry/", views.rules, name="entry"),
    path("projects/<uuid:project_id>/share/", invitations_views.share, name="share"),
    path("projects/<uuid:project_id>/share/join-link.svg", invitations_views.qr_code, name="qr-code"),
    path("projects/<uuid:project_id>/embedding/", embedding_views.embedding, name="embedding"),
    path("projects/<uuid:project_id>/entry/people/", participants_views.people, name="participants"),
    path("projects/<uuid:project_id>/entry/people.csv", participants_views.download, name="participants-csv"),
]

api_urlpatterns = [
    path(f"{PROJECT}entry/", settings_api.EntryView.as_view(), name="api-entry"),
    path(f"{PROJECT}entry/platform-link/", settings_api.PlatformLink.as_view(), name="api-platform-link"),
    path(f"{PROJECT}entry/join-link/", settings_api.JoinLink.as_view(), name="api-join-link"),
    path(f"{PROJECT}entry/short-address/", settings_api.ShortAddress.as_view(), name="api-short-address"),
    path(f"{PROJECT}entry/invitations/", settings_api.InvitationsView.as_view(), name="api-invitations"),
    path(f"{PROJECT}entry/participants/", participants_api.Participants.as_view(), name="api-participants"),
    path(f"{PROJECT}embedding/", embedding_api.Embedding.as_view(), name="api-embedding"),
    path(f"{PROJECT}entry/codes/", participants_api.Codes.as_view(), name="api-codes"),
    path(f"{PROJECT}questionnaire/", settings_api.QuestionnaireView.as_view(), name="api-questionnaire"),
    path("v1/join/<str:token>/", joining_api.Join.as_view(), name="api-join"),
    path("v1/join/<str:token>/send-link/", joining_api.SendLink.as_view(), name="api-send-link"),
    path(f"{PROJECT}annotator/", joining_api.Oneself.as_view(), name="api-oneself"),
    path(f"{PROJECT}consent/", api.Consent.as_view(), name="api-consent"),
    path(f"{PROJECT}questions/", api.OwnQuestions.as_view(), name="api-questions"),
    path(f"{PROJECT}answers/", api.OwnAnswers.as_view(), name="api-answers"),
    path(f"{PROJECT}finish/", api.End.as_view(), name="api-finish"),
]
