"""Addresses of the webhooks pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.webhooks import api, views

urlpatterns = [
    path("projects/<uuid:project_id>/webhooks/", views.webhooks, name="webhooks"),
    path("projects/<uuid:project_id>/webhooks/<int:webhook_id>/", views.change, name="webhook-change"),
]

api_urlpatterns = [
    path(f"{PROJECT}webhooks/", api.Webhooks.as_view(), name="api-webhooks"),
    path(f"{PROJECT}webhooks/deliveries/", api.Deliveries.as_view(), name="api-webhook-deliveries"),
    path(f"{PROJECT}webhooks/<int:webhook_id>/", api.WebhookView.as_view(), name="api-webhook"),
    path(f"{PROJECT}webhooks/<int:webhook_id>/secret/", api.WebhookSecret.as_view(), name="api-webhook-secret"),
    path(f"{PROJECT}webhooks/<int:webhook_id>/test/", api.WebhookTest.as_view(), name="api-webhook-test"),
]
