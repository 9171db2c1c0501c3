"""The request that a view behind `login_required` gets, for type checkers: its user is an account."""

from django.http import HttpRequest

from annotate.models import User


class SignedInRequest(HttpRequest):
    user: User
