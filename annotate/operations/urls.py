"""Addresses of the operations pages and operations."""

from django.urls import path

from annotate.operations import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("metrics", views.metrics, name="metrics"),
    path("operations/", views.operations, name="operations"),
]
