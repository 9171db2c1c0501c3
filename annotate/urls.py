"""Collects the addresses of the site from the subjects: http, websocket, streams."""

from django.contrib import admin
from django.urls import include, path
from django.views.i18n import set_language

from annotate.live import consumers
from annotate.publishing.results_links import stream

urlpatterns = [
    path("api/", include("annotate.api_urls")),  # first: no program's request is compared with the address of each page
    path("", include("annotate.labelling.urls")),  # then what annotators ask for with each answer
    path("", include("annotate.welcome.urls")),
    path("", include("annotate.projects.urls")),
    path("", include("annotate.items.urls")),
    path("", include("annotate.ideas.urls")),
    path("", include("annotate.imports.urls")),
    path("", include("annotate.questions.urls")),
    path("", include("annotate.participation.urls")),
    path("", include("annotate.lti.urls")),
    path("", include("annotate.quality.urls")),
    path("", include("annotate.dashboard.urls")),
    path("", include("annotate.annotators.urls")),
    path("", include("annotate.publishing.urls")),
    path("", include("annotate.privacy.urls")),
    path("", include("annotate.audit_log.urls")),
    path("", include("annotate.webhooks.urls")),
    path("", include("annotate.accounts.urls")),
    path("", include("annotate.operations.urls")),
    path("language/", set_language, name="set_language"),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
]

handler500 = "annotate.core.error_pages.server_error_page"

websocket_urlpatterns = [
    path("ws/projects/<uuid:project_id>/", consumers.ProjectConsumer.as_asgi(), name="ws-project"),
]
stream_urlpatterns = [
    path("results/<str:token>/live/stream/", stream.ResultsStream.as_asgi()),
]
