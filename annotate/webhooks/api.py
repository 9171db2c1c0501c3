"""Adds, switches, tests and removes a project's webhooks and lists their messages through the API."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StoredMessageField,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.core.rate_limits import check_rate_limit
from annotate.models import Webhook, WebhookDelivery
from annotate.webhooks import actions
from annotate.webhooks.forms import WebhookForm


class WebhookRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    active = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class WebhookMade(WebhookRow):
    secret = serializers.CharField(help_text="Signs the messages; shown only once.")


class NewWebhook(StrictSerializer):
    url = serializers.CharField(max_length=500)
    events = serializers.ListField(child=serializers.ChoiceField(choices=Webhook.Event.choices), min_length=1)


class WebhookChange(StrictSerializer):
    active = serializers.BooleanField()


class DeliveryRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    webhook = serializers.IntegerField(source="webhook_id")
    event = serializers.CharField()
    state = serializers.ChoiceField(choices=WebhookDelivery.State.choices)
    attempts = serializers.IntegerField()
    last_status = serializers.IntegerField(allow_null=True)
    last_error = StoredMessageField(allow_blank=True)
    created_at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True)


def found(request: ApiRequest, project_id: UUID, webhook_id: int) -> Webhook:
    project = access.project_for(request, project_id, access.MANAGE)
    validated_query(request, NoQuery)
    return get_object_or_404(project.webhooks.select_related("project"), pk=webhook_id)


class Webhooks(ApiView):
    @extend_schema(operation_id="webhooks_list", parameters=[PageQuery], responses=page_serializer(WebhookRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the project's webhooks, in the order added."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PageQuery)
        return paginated_response(
            request, project.webhooks.order_by("pk"), query, lambda rows: list(WebhookRow(rows, many=True).data)
        )

    @extend_schema(operation_id="webhooks_create", request=NewWebhook, responses={201: WebhookMade})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds a webhook. Takes no Idempotency-Key, because the response contains a secret that is not stored."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        form = WebhookForm(validated_body(request, NewWebhook))
        if not form.is_valid():
            raise Unprocessable({name: [str(text) for text in texts] for name, texts in form.errors.items()})
        values: dict[str, Any] = form.cleaned_data
        made = actions.add_webhook(project=project, actor=request.user, now=timezone.now(), **values)
        return Response(WebhookMade(made).data, status=201)


class WebhookView(ApiView):
    @extend_schema(operation_id="webhooks_switch", request=WebhookChange, responses=WebhookRow)
    def put(self, request: ApiRequest, project_id: UUID, webhook_id: int) -> Response:
        """Switches the webhook on or off; off, the messages that wait are dropped."""
        webhook = found(request, project_id, webhook_id)
        on = validated_body(request, WebhookChange)["active"]
        actions.switch_webhook(webhook=webhook, actor=request.user, on=on, now=timezone.now())
        webhook.active = on
        return Response(WebhookRow(webhook).data)

    @extend_schema(operation_id="webhooks_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, webhook_id: int) -> Response:
        """Removes the webhook and its messages."""
        webhook = found(request, project_id, webhook_id)
        actions.remove_webhook(webhook=webhook, actor=request.user, now=timezone.now())
        return Response(status=204)


class WebhookSecret(ApiView):
    @extend_schema(operation_id="webhooks_replace_secret", request=None, responses=WebhookMade)
    def post(self, request: ApiRequest, project_id: UUID, webhook_id: int) -> Response:
        """Replaces the signing secret; all messages are signed with the new one from now on."""
        webhook = found(request, project_id, webhook_id)
        webhook.secret = actions.replace_secret(webhook=webhook, actor=request.user, now=timezone.now())
        return Response(WebhookMade(webhook).data)


class WebhookTest(ApiView):
    @extend_schema(operation_id="webhooks_test", request=None, responses={202: DeliveryRow})
    def post(self, request: ApiRequest, project_id: UUID, webhook_id: int) -> Response:
        """Sends a test message."""
        webhook = found(request, project_id, webhook_id)
        check_rate_limit(request, "invite", who=f"webhook-{request.user.pk}")
        return Response(DeliveryRow(actions.send_test(webhook=webhook, now=timezone.now())).data, status=202)


class Deliveries(ApiView):
    @extend_schema(operation_id="webhooks_deliveries", parameters=[PageQuery], responses=page_serializer(DeliveryRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the messages of the last 30 days, newest first."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PageQuery)
        rows = WebhookDelivery.objects.filter(webhook__project=project).order_by("-created_at", "-pk")
        return paginated_response(request, rows, query, lambda page: list(DeliveryRow(page, many=True).data))
