"""Addresses of the accounts pages and operations."""

from django.urls import path

from annotate.accounts import invitation_views, oidc_views, views

urlpatterns = [
    path("sign-in/<slug:provider_id>/", oidc_views.start, name="openid_connect_login"),
    path("sign-in/<slug:provider_id>/callback/", oidc_views.callback, name="openid_connect_callback"),
    path("sign-in/service/cancelled/", oidc_views.cancelled, name="socialaccount_login_cancelled"),
    path("invited/<str:token>/", invitation_views.invited, name="invited"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke, name="token-revoke"),
]
