"""Answers a repeated request with the same Idempotency-Key as the first time, and creates nothing."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from annotate.api.base import ApiRequest, ApiView
from annotate.api.problems import Conflict
from annotate.api.renderers import Renderer
from annotate.models import StoredResponse

KEEP_FOR = timedelta(hours=24)
MAX_KEY_LENGTH = 200
PRINTABLE = re.compile(r"^[!-~]([ -~]*[!-~])?$")
HEADER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": PRINTABLE.pattern},
    OpenApiParameter.HEADER,
    description=(
        "Any text of your choosing, such as a UUID. If you repeat the same request with the same key within 24 hours, "
        "you get the first response again and nothing is done twice. A different request with the same key gets a 409."
    ),
)

Method = Callable[..., Response]


def idempotent(method: Method) -> Method:
    """Wrap a method that only accounts may use.

    The answer is stored in the transaction that did the work: both are there, or neither.
    """

    @wraps(method)
    def answer(view: ApiView, request: ApiRequest, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return method(view, request, *args, **kwargs)
        if len(key) > MAX_KEY_LENGTH or not PRINTABLE.fullmatch(key):
            raise ValidationError(
                {"Idempotency-Key": [_("Give 1 to %(limit)d printable characters.") % {"limit": MAX_KEY_LENGTH}]}
            )
        digest = sha256(
            b"\0".join([str(request.method).encode(), request.get_full_path().encode(), request.body])
        ).hexdigest()
        now = timezone.now()
        StoredResponse.objects.filter(created_at__lt=now - KEEP_FOR).delete()
        with transaction.atomic():
            stored, is_new = StoredResponse.objects.get_or_create(
                user=request.user,
                key=key,
                defaults={"digest": digest, "status": 0, "body": "", "created_at": now},
            )
            if not is_new:
                return replay_response(stored, digest)
            response = method(view, request, *args, **kwargs)
            stored.status, stored.body = response.status_code, Renderer().render(response.data).decode()
            stored.save(update_fields=["status", "body"])
        return response

    return answer


def replay_response(stored: StoredResponse, digest: str) -> Response:
    if stored.digest != digest:
        raise Conflict(
            _("The Idempotency-Key “%(key)s” was already used for another request. Use a new key.")
            % {"key": stored.key[:50]}
        )
    return Response(json.loads(stored.body), status=stored.status, headers={"Idempotency-Replayed": "true"})
