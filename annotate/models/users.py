"""Accounts."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person with an account."""

    # Whether results show utilities and figures of the fit beside places and scores.
    is_expert = models.BooleanField(default=False)
