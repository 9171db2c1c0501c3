"""The site's tables and the constraints that keep labels true; writes go through annotate.actions."""

from annotate.models.annotators import LONGEST_TAG, MOST_ANNOTATOR_TAGS, Annotator, AnnotatorTag
from annotate.models.api import ApiToken, StoredAnswer, Webhook, WebhookDelivery
from annotate.models.engine import EngineProcess, EngineState
from annotate.models.entry import LONGEST_ID, Completion, Consent, ConsentText, Entry
from annotate.models.evaluation import Evaluation
from annotate.models.events import Event
from annotate.models.imports import FeatureNames, ImportJob, ItemFeatures
from annotate.models.items import Captions, Context, Item, ItemSet, Tag
from annotate.models.known import WITH_RIGHT_ANSWER, KnownSet, Purpose
from annotate.models.labels import IMPORTED, LONGEST_COMMENT, ORDERED, FurtherAnswer, Label, Presentation, PresentedItem
from annotate.models.never_shown import NeverShown
from annotate.models.people import User
from annotate.models.portraits import AnnotatorPortrait, CohortComparison, Portrait
from annotate.models.projects import MOST_CRITERIA, MOST_PLANNED, MOST_SHOWN, Membership, Project
from annotate.models.quality import LONGEST_REASON, QualitySettings
from annotate.models.questionnaire import LONGEST_TEXT, MOST_FIELDS, Field, FieldAnswer
from annotate.models.records import RunRecord, RunRecordPart
from annotate.models.results_links import ResultsLink
from annotate.models.retention import LONGEST_RETENTION, Retention
from annotate.models.tokens import new_token

__all__ = [
    "IMPORTED",
    "LONGEST_COMMENT",
    "LONGEST_ID",
    "LONGEST_REASON",
    "LONGEST_RETENTION",
    "LONGEST_TAG",
    "LONGEST_TEXT",
    "MOST_ANNOTATOR_TAGS",
    "MOST_CRITERIA",
    "MOST_FIELDS",
    "MOST_PLANNED",
    "MOST_SHOWN",
    "ORDERED",
    "WITH_RIGHT_ANSWER",
    "Annotator",
    "AnnotatorPortrait",
    "AnnotatorTag",
    "ApiToken",
    "Captions",
    "CohortComparison",
    "Completion",
    "Consent",
    "ConsentText",
    "Context",
    "EngineProcess",
    "EngineState",
    "Entry",
    "Evaluation",
    "Event",
    "FeatureNames",
    "Field",
    "FieldAnswer",
    "FurtherAnswer",
    "ImportJob",
    "Item",
    "ItemFeatures",
    "ItemSet",
    "KnownSet",
    "Label",
    "Membership",
    "NeverShown",
    "Portrait",
    "Presentation",
    "PresentedItem",
    "Project",
    "Purpose",
    "QualitySettings",
    "ResultsLink",
    "Retention",
    "RunRecord",
    "RunRecordPart",
    "StoredAnswer",
    "Tag",
    "User",
    "Webhook",
    "WebhookDelivery",
    "new_token",
]
