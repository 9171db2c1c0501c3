"""Addresses of the accounts pages and operations."""

from django.urls import path

from annotate.accounts import views

urlpatterns = [
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke, name="token-revoke"),
]
