"""Addresses of the first page, help and the tour."""

from django.urls import path

from annotate.welcome import views

urlpatterns = [
    path("", views.home, name="home"),
    path("help/", views.help_index, name="help"),
    path("help/tour/", views.tour, name="tour"),
    path("help/<slug:name>/", views.help_page, name="help-page"),
    path("example/", views.make_example, name="make-example"),
]
