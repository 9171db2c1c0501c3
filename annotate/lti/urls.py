"""Addresses for learning platforms."""

from django.urls import path

from annotate.lti import views

urlpatterns = [
    path("lti/login/", views.login, name="lti-login"),
    path("lti/launch/", views.launch, name="lti-launch"),
    path("lti/enter/<str:token>/", views.enter, name="lti-enter"),
    path("lti/jwks/", views.keys, name="lti-keys"),
]
