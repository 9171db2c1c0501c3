"""Addresses for learning platforms."""

from django.urls import path

from annotate.lti import teacher_views, views

urlpatterns = [
    path("lti/login/", views.login, name="lti-login"),
    path("lti/launch/", views.launch, name="lti-launch"),
    path("lti/enter/<str:token>/", views.enter, name="lti-enter"),
    path("lti/choose/<str:token>/", teacher_views.choose, name="lti-choose"),
    path("lti/place/<str:token>/", teacher_views.place, name="lti-place"),
    path("lti/course/<str:token>/", teacher_views.course, name="lti-course"),
    path("lti/jwks/", views.keys, name="lti-keys"),
]
