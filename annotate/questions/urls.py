"""Addresses of the pages and operations of given questions."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.questions import api, views

urlpatterns = [
    path("projects/<uuid:project_id>/given-questions/", views.questions, name="questions"),
    path("projects/<uuid:project_id>/given-questions/order/", views.order, name="questions-order"),
]

api_urlpatterns = [
    path(f"{PROJECT}given-questions/", api.Questions.as_view(), name="api-given-questions"),
    path(f"{PROJECT}given-questions/withdraw/", api.WithdrawQuestions.as_view(), name="api-given-questions-withdraw"),
    path(f"{PROJECT}given-questions/order/", api.QuestionsOrder.as_view(), name="api-given-questions-order"),
]
