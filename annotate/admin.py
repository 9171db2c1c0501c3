"""The operators' plain admin: look at everything, change what no annotator's answer depends on."""

from allauth.socialaccount.models import SocialApp, SocialToken
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from annotate.models import (
    Annotator,
    Evaluation,
    Event,
    FitState,
    Item,
    Label,
    LabelForecast,
    LtiPlatform,
    Membership,
    Presentation,
    Project,
    RunRecord,
    User,
    WorkerProcess,
)
from models_engine.models import Fit

# Columns whose name holds one of these are never what a list is filtered by: it would tell them letter by letter.
SECRET_WORDS = ("password", "token", "secret")


class NoSecrets(admin.ModelAdmin):
    """Refuses lists filtered by a secret column, of the table itself or of one that it leads to."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return not any(word in lookup for word in SECRET_WORDS) and super().lookup_allowed(lookup, value, request)


class AccountAdmin(NoSecrets, UserAdmin):
    pass


class ReadOnly(NoSecrets):
    """Facts and derived rows: written by the site and the engine alone."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class MembershipInline(admin.TabularInline):
    model = Membership
    autocomplete_fields = ["user"]
    extra = 0


@admin.register(Project)
class ProjectAdmin(NoSecrets):
    list_display = ["name", "state", "simulated", "created_at"]
    list_filter = ["state", "simulated"]
    search_fields = ["name", "id"]
    readonly_fields = ["join_token", "join_code", "simulated", "created_at"]
    inlines = [MembershipInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(LtiPlatform)
class LtiPlatformAdmin(NoSecrets):
    list_display = ["name", "issuer", "client_id", "active"]


@admin.register(Item)
class ItemAdmin(ReadOnly):
    list_display = ["key", "title", "kind", "project", "n_taken"]
    list_select_related = ["project"]
    search_fields = ["key", "body"]


@admin.register(Annotator)
class AnnotatorAdmin(ReadOnly):
    list_display = ["pseudonym", "project", "source", "joined_at", "excluded_at"]
    list_select_related = ["project"]
    list_filter = ["source"]
    search_fields = ["pseudonym"]
    exclude = ["resume_token"]


@admin.register(Presentation)
class PresentationAdmin(ReadOnly):
    list_display = ["pk", "project", "annotator", "state", "created_at"]
    list_select_related = ["project", "annotator"]
    list_filter = ["state"]
    exclude = ["token"]


@admin.register(Label)
class LabelAdmin(ReadOnly):
    list_display = ["pk", "project", "annotator", "outcome", "created_at", "void_reason"]
    list_select_related = ["project", "annotator"]
    list_filter = ["outcome", "void_reason"]


@admin.register(Event)
class EventAdmin(ReadOnly):
    list_display = ["at", "project", "actor", "annotator", "verb"]
    list_select_related = ["project", "actor", "annotator"]
    list_filter = ["verb"]


@admin.register(FitState)
class EngineStateAdmin(ReadOnly):
    list_display = ["project", "wanted", "fitted", "published_fit", "owner", "error_at"]
    list_select_related = ["project"]


@admin.register(WorkerProcess)
class EngineProcessAdmin(ReadOnly):
    list_display = ["name", "started_at", "seen_at", "project"]
    list_select_related = ["project"]


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly):
    list_display = ["project", "criterion", "estimator", "n_labels", "fit_number", "made_at", "gave_way"]
    list_select_related = ["project"]


@admin.register(LabelForecast)
class LabelForecastAdmin(ReadOnly):
    list_display = ["project", "as_of", "at_risk", "crossings"]
    list_select_related = ["project"]


@admin.register(RunRecord)
class RunRecordAdmin(ReadOnly):
    list_display = ["pk", "project", "criterion", "status", "asked_by", "asked_at", "n_labels", "n_bytes"]
    list_select_related = ["project", "asked_by"]
    list_filter = ["status"]


@admin.register(Fit)
class FitAdmin(ReadOnly):
    list_display = [
        "project_id",
        "criterion",
        "number",
        "estimator",
        "status",
        "published",
        "n_labels",
        "seconds",
        "started_at",
    ]
    list_filter = ["status", "estimator"]
    exclude = ["arrays"]


admin.site.register(User, AccountAdmin)
# The service is in the settings and its tokens are not stored: their pages could only show secrets.
admin.site.unregister([SocialApp, SocialToken])
admin.site.site_header = admin.site.site_title = "Crowdrank"
