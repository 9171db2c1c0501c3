"""Asking the API in tests."""

import json

from django.test import Client
from django.urls import reverse

from tests.conftest import make_token


class Api:
    """Asks as one person, by a token."""

    def __init__(self, user, project, **token) -> None:
        self.project, self.secret, self.client = project, make_token(user, **token)[1], Client()

    def __call__(self, method, route, body=None, /, *, key="", args=(), raw=None, **query):
        whole = route in ("projects", "join", "answer")
        url = reverse(f"api-{route}", args=args if whole else [self.project.pk, *args])
        headers = {"Authorization": f"Bearer {self.secret}"} | ({"Idempotency-Key": key} if key else {})
        if method == "get":
            return self.client.get(url, query, headers=headers)
        sent = raw if raw is not None else json.dumps(body or {})
        if query:
            url += "?" + "&".join(f"{name}={value}" for name, value in query.items())
        return getattr(self.client, method)(url, sent, content_type="application/json", headers=headers)
