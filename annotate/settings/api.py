"""The REST framework and the API's description; how often one client may do a thing."""

from annotate.settings.base import VERSION, env

REST_FRAMEWORK = {
    # What else a view of the API does by default is said in annotate/api/base.py.
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    # How many times one client may do a thing; annotate/core/rate_limits.py counts.
    "DEFAULT_THROTTLE_RATES": {
        "api": env.rate("RATE_LIMIT_API", default="600/min"),
        "join": env.rate("RATE_LIMIT_JOIN", default="300/min"),
        "short-address": env.rate("RATE_LIMIT_SHORT_ADDRESS", default="20/min"),
        "short-addresses": env.rate("RATE_LIMIT_SHORT_ADDRESSES", default="100/min"),
        "personal-link": env.rate("RATE_LIMIT_PERSONAL_LINK", default="3/hour"),
        "personal-links": env.rate("RATE_LIMIT_PERSONAL_LINKS", default="20/hour"),
        "answer": env.rate("RATE_LIMIT_ANSWER", default="240/min"),
        "export": env.rate("RATE_LIMIT_EXPORT", default="60/min"),
        "import": env.rate("RATE_LIMIT_IMPORT", default="60/min"),
        "password": env.rate("RATE_LIMIT_PASSWORD", default="10/min"),
        "invite": env.rate("RATE_LIMIT_INVITE", default="30/hour"),
        "invite-annotators": env.rate("RATE_LIMIT_INVITE_ANNOTATORS", default="200/hour"),
        "results": env.rate("RATE_LIMIT_RESULTS", default="120/min"),
        "results-live": env.rate("RATE_LIMIT_RESULTS_LIVE", default="2000/min"),
        "results-media": env.rate("RATE_LIMIT_RESULTS_MEDIA", default="2000/min"),
        "code": env.rate("RATE_LIMIT_CODE", default="60/min"),
        "example": env.rate("RATE_LIMIT_EXAMPLE", default="5/hour"),
        "idea": env.rate("RATE_LIMIT_IDEA", default="30/hour"),
        "project-ideas": env.rate("RATE_LIMIT_PROJECT_IDEAS", default="600/hour"),
    },
    "NUM_PROXIES": env.number("NUM_PROXIES", default=0),
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Crowdrank",
    "DESCRIPTION": (
        "Everything that the screens show and do. Lists are paged and keep their order; times are ISO 8601 in UTC; "
        "unknown parameters and fields are refused rather than ignored. Errors are problem details (RFC 9457)."
    ),
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "ENUM_NAME_OVERRIDES": {
        "ProjectStateEnum": "annotate.models.Project.State",
        "StateStepEnum": ["open", "paused", "closed"],
        "NextStateEnum": "models_engine.models.Estimate.NextState",
        "ItemStateEnum": ["active", "retired"],
        "OutcomeEnum": "annotate.models.Label.Outcome",
        "ExclusionByEnum": "annotate.models.BulkExclusion.By",
        "GradesByEnum": "annotate.models.grades.GradesBy",
        "FieldKindEnum": "annotate.models.QuestionField.Kind",
        "EndKindEnum": "annotate.models.Completion.Kind",
        "ImportKindEnum": "annotate.models.ImportJob.Kind",
        "ImportStateEnum": "annotate.models.ImportJob.State",
        "AskedStatusEnum": "annotate.models.RunRecord.Status",
        "IdeaStateEnum": "annotate.models.Idea.State",
        "ShowResultEnum": "annotate.models.ShowResult",
        "FitStatusEnum": "models_engine.models.Fit.Status",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotate.api.schema.add_problems",
    ],
}
