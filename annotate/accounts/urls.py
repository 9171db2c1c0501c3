"""Addresses of the accounts pages and operations."""

from django.urls import path

from annotate.accounts import invitation_views, views

urlpatterns = [
    path("invited/<str:token>/", invitation_views.invited, name="invited"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke, name="token-revoke"),
]
