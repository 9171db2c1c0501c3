"""Collects the addresses of the API from the subjects."""

from django.urls import path, re_path

from annotate.annotators import urls as annotators
from annotate.api import schema
from annotate.audit_log import urls as audit_log
from annotate.dashboard import urls as dashboard
from annotate.ideas import urls as ideas
from annotate.imports import urls as imports
from annotate.items import urls as items
from annotate.labelling import urls as labelling
from annotate.participation import urls as participation
from annotate.privacy import urls as privacy
from annotate.projects import urls as projects
from annotate.publishing import urls as publishing
from annotate.quality import urls as quality
from annotate.questions import urls as questions
from annotate.webhooks import urls as webhooks

urlpatterns = [
    path("", schema.reference_page, name="api-reference"),
    path("schema/", schema.openapi_document, name="api-schema"),
    *projects.api_urlpatterns,
    *items.api_urlpatterns,
    *ideas.api_urlpatterns,
    *imports.api_urlpatterns,
    *questions.api_urlpatterns,
    *participation.api_urlpatterns,
    *labelling.api_urlpatterns,
    *quality.api_urlpatterns,
    *dashboard.api_urlpatterns,
    *annotators.api_urlpatterns,
    *publishing.api_urlpatterns,
    *privacy.api_urlpatterns,
    *audit_log.api_urlpatterns,
    *webhooks.api_urlpatterns,
    re_path("", schema.UnknownAddress.as_view(), name="api-nowhere"),  # last: it matches everything
]
