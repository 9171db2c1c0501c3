"""Addresses of the dashboard pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.dashboard import api, detail, views
from annotate.dashboard.fits import api as fits_api
from annotate.dashboard.fits import views as fits_views
from annotate.dashboard.goal import api as goal_api
from annotate.dashboard.goal import views as goal_views
from annotate.dashboard.grades import api as grades_api
from annotate.dashboard.grades import views as grades_views
from annotate.dashboard.leaderboard import api as leaderboard_api
from annotate.dashboard.leaderboard import views as leaderboard_views
from annotate.dashboard.overall import api as overall_api
from annotate.dashboard.overall import views as overall_views
from annotate.dashboard.progress import api as progress_api
from annotate.dashboard.progress import views as progress_views
from annotate.dashboard.scale import api as scale_api
from annotate.dashboard.scale import views as scale_views
from annotate.dashboard.trust import api as trust_api

urlpatterns = [
    path("account/detail/", detail.set_detail, name="detail"),
    path("projects/<uuid:project_id>/", views.ranking, name="ranking"),
    path("projects/<uuid:project_id>/ranking/<int:item_id>/", views.item, name="item"),
    path("projects/<uuid:project_id>/overall/", overall_views.overall, name="overall"),
    path("projects/<uuid:project_id>/grades/", grades_views.grades, name="grades"),
    path("projects/<uuid:project_id>/leaderboard/", leaderboard_views.leaderboard, name="leaderboard"),
    path("projects/<uuid:project_id>/scale/", scale_views.scale, name="scale"),
    path("projects/<uuid:project_id>/scale/export/", scale_views.export, name="scale-export"),
    path("projects/<uuid:project_id>/trust/", views.trust, name="trust"),
    path("projects/<uuid:project_id>/progress/", progress_views.progress, name="progress"),
    path("projects/<uuid:project_id>/progress/goal/", goal_views.goal, name="goal"),
    path("projects/<uuid:project_id>/engine/", views.engine, name="engine"),
    path("projects/<uuid:project_id>/engine/compare/", fits_views.compare_fits, name="compare"),
    path("projects/<uuid:project_id>/engine/estimator/", fits_views.use, name="estimator-use"),
]

api_urlpatterns = [
    path(f"{PROJECT}goal/", goal_api.GoalView.as_view(), name="api-goal"),
    path(f"{PROJECT}grades/", grades_api.GradesView.as_view(), name="api-grades"),
    path(f"{PROJECT}items/<int:item_id>/figures/", trust_api.ItemFiguresView.as_view(), name="api-item-figures"),
    path(f"{PROJECT}overall/", overall_api.OverallView.as_view(), name="api-overall"),
    path(f"{PROJECT}leaderboard/", leaderboard_api.LeaderboardView.as_view(), name="api-leaderboard"),
    path(f"{PROJECT}ranking/", api.Ranking.as_view(), name="api-ranking"),
    path(f"{PROJECT}ranking/pair/", api.RankingPair.as_view(), name="api-ranking-pair"),
    path(f"{PROJECT}fits/", api.Fits.as_view(), name="api-fits"),
    path(f"{PROJECT}fits/compare/", fits_api.CompareView.as_view(), name="api-fits-compare"),
    path(f"{PROJECT}models/", fits_api.ModelsView.as_view(), name="api-models"),
    path(f"{PROJECT}scale/", scale_api.ScaleView.as_view(), name="api-scale"),
    path(f"{PROJECT}trust/", trust_api.TrustView.as_view(), name="api-trust"),
    path(f"{PROJECT}report/", trust_api.ReportView.as_view(), name="api-report"),
    path(f"{PROJECT}progress/", progress_api.ProgressView.as_view(), name="api-progress"),
]
