"""Addresses of the projects pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.projects import api, views
from annotate.projects.copies import api as copies_api
from annotate.projects.copies import views as copies_views
from annotate.projects.languages import api as languages_api
from annotate.projects.languages import views as languages_views
from annotate.projects.members import api as members_api
from annotate.projects.members import views as members_views
from annotate.projects.participant_settings import views as participant_settings_views
from annotate.projects.policy import api as policy_api
from annotate.projects.policy import views as policy_views
from annotate.projects.quality_settings import views as quality_settings_views
from annotate.projects.setup import views as setup_views

urlpatterns = [
    path("projects/new/", setup_views.create, name="project-create"),
    path("projects/<uuid:project_id>/setup/", setup_views.setup, name="setup"),
    *(
        path(f"projects/<uuid:project_id>/settings/{address}", views.edit_settings, {"section": section}, name=name)
        for section, name, address in (
            ("question", "project-settings", ""),
            ("answers", "settings-answers", "answers/"),
            ("amount", "settings-amount", "amount/"),
            ("ranking", "settings-ranking", "ranking/"),
        )
    ),
    path(
        "projects/<uuid:project_id>/settings/participants/",
        participant_settings_views.participants,
        name="settings-participants",
    ),
    path("projects/<uuid:project_id>/policy/", policy_views.policy, name="policy"),
    path("projects/<uuid:project_id>/manage/", views.manage, name="project-manage"),
    path("projects/<uuid:project_id>/languages/", languages_views.languages, name="languages"),
    path("projects/<uuid:project_id>/languages/<str:language>/", languages_views.translation, name="translation"),
    path("projects/<uuid:project_id>/quality/", quality_settings_views.quality, name="quality"),
    path("projects/<uuid:project_id>/state/", views.set_state, name="project-state"),
    path("projects/<uuid:project_id>/overlap/", views.raise_overlap, name="raise-overlap"),
    path("projects/<uuid:project_id>/archive/", copies_views.archive, name="project-archive"),
    path("projects/<uuid:project_id>/clone/", copies_views.clone, name="project-clone"),
    path("projects/<uuid:project_id>/delete/", views.delete, name="project-delete"),
    path("projects/<uuid:project_id>/members/", members_views.members, name="members"),
    path("projects/<uuid:project_id>/members/<int:membership_id>/", members_views.change_member, name="member-change"),
    path(
        "projects/<uuid:project_id>/invitations/<int:invitation_id>/withdraw/",
        members_views.withdraw,
        name="invitation-withdraw",
    ),
]

api_urlpatterns = [
    path("v1/projects/", api.Projects.as_view(), name="api-projects"),
    path(PROJECT, api.ProjectView.as_view(), name="api-project"),
    path(f"{PROJECT}state/", api.ProjectState.as_view(), name="api-project-state"),
    path(f"{PROJECT}policy/", policy_api.PolicyView.as_view(), name="api-policy"),
    path(f"{PROJECT}archive/", copies_api.Archive.as_view(), name="api-project-archive"),
    path(f"{PROJECT}clone/", copies_api.Clone.as_view(), name="api-project-clone"),
    path(f"{PROJECT}languages/", languages_api.Languages.as_view(), name="api-languages"),
    path(f"{PROJECT}languages/<str:language>/", languages_api.Translation.as_view(), name="api-translation"),
    path(f"{PROJECT}members/", members_api.Members.as_view(), name="api-members"),
    path(f"{PROJECT}invitations/", members_api.Invitations.as_view(), name="api-member-invitations"),
    path(
        f"{PROJECT}invitations/<int:invitation_id>/",
        members_api.InvitationView.as_view(),
        name="api-member-invitation",
    ),
    path(f"{PROJECT}members/<int:member_id>/", members_api.MemberView.as_view(), name="api-member"),
]
