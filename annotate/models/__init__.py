"""The site's tables and the constraints that keep labels true; writes go through the actions of each subject."""

from annotate.models.annotators import MAX_ANNOTATOR_TAGS, MAX_TAG_LENGTH, Annotator, AnnotatorTag
from annotate.models.api_tokens import ApiToken
from annotate.models.bulk_exclusions import BulkExclusion
from annotate.models.conflicts import ConflictOfInterest
from annotate.models.counts import MAX_COUNT, MAX_EXPOSURE, MIN_EXPOSURE, Count
from annotate.models.derived_rankings import OVERALL, DerivedRanking
from annotate.models.evaluation import Evaluation
from annotate.models.event_verbs import EventVerb
from annotate.models.events import Event
from annotate.models.fit_states import FitState, WorkerProcess
from annotate.models.forecasts import LabelForecast
from annotate.models.gold_sets import CHECKED_PURPOSES, GoldSet, GoldSetItem, Purpose
from annotate.models.ideas import IDEA_TAG, MAX_IDEAS, Idea
from annotate.models.idempotency import StoredResponse
from annotate.models.imports import FeatureNames, ImportJob, ItemFeatures
from annotate.models.item_comments import EntryLink, ItemComment
from annotate.models.items import MIN_APPEARANCES, Captions, Context, Item, ItemPage, ItemSet, Tag
from annotate.models.label_archives import LabelArchive
from annotate.models.labels import (
    IMPORTED_APP_VERSION,
    MAX_COMMENT_LENGTH,
    ORDERED,
    CriterionAnswer,
    Label,
    Presentation,
    PresentedItem,
)
from annotate.models.lti import LtiCourse, LtiLearner, LtiPlatform
from annotate.models.machines import MAX_MACHINES, Machine, MachineAnswer, MachineReport, MachineSet
from annotate.models.member_invitations import MemberInvitation
from annotate.models.participant_settings import ShowResult
from annotate.models.participation import MAX_ID_LENGTH, Completion, Consent, ConsentText, ParticipationRules
from annotate.models.policies import (
    MAX_CLASSES,
    MAX_SUGGESTED_SETS,
    USUAL_CONTROL,
    AskedBy,
    MeasuredSaving,
    Policy,
    SuggestedSet,
)
from annotate.models.predictions import PredictionGain
from annotate.models.preregistration import (
    MAX_DEVIATION_REASON,
    MAX_STATEMENT_LENGTH,
    Deviation,
    Preregistration,
)
from annotate.models.projects import (
    MAX_CRITERIA,
    MAX_ITEMS_SHOWN,
    MAX_PLANNED_SETS,
    GivenOrder,
    ItemsShownBy,
    MediaCaptions,
    Membership,
    Project,
)
from annotate.models.provisional import ProvisionalRanking
from annotate.models.quality import MAX_REASON_LENGTH, QualitySettings
from annotate.models.questionnaire import MAX_QUESTION_FIELDS, MAX_TEXT_LENGTH, QuestionAnswer, QuestionField
from annotate.models.request_counts import RequestCount
from annotate.models.results_links import ResultsLink
from annotate.models.retention import MAX_RETENTION_DAYS, Retention
from annotate.models.roster import MAX_EXPECTED_PEOPLE, ExpectedConflict, ExpectedPerson
from annotate.models.run_records import RunRecord, RunRecordPart
from annotate.models.tastes import AnnotatorTaste, CohortComparison, TasteMap
from annotate.models.tokens import new_token
from annotate.models.translations import ContextTranslation, ItemTranslation, ProjectTranslation
from annotate.models.users import User
from annotate.models.webhooks import ANSWER_EVENTS, AnswerNotice, Webhook, WebhookDelivery

__all__ = [
    "ANSWER_EVENTS",
    "CHECKED_PURPOSES",
    "IDEA_TAG",
    "IMPORTED_APP_VERSION",
    "MAX_ANNOTATOR_TAGS",
    "MAX_CLASSES",
    "MAX_COMMENT_LENGTH",
    "MAX_COUNT",
    "MAX_CRITERIA",
    "MAX_DEVIATION_REASON",
    "MAX_EXPECTED_PEOPLE",
    "MAX_EXPOSURE",
    "MAX_IDEAS",
    "MAX_ID_LENGTH",
    "MAX_ITEMS_SHOWN",
    "MAX_MACHINES",
    "MAX_PLANNED_SETS",
    "MAX_QUESTION_FIELDS",
    "MAX_REASON_LENGTH",
    "MAX_RETENTION_DAYS",
    "MAX_STATEMENT_LENGTH",
    "MAX_SUGGESTED_SETS",
    "MAX_TAG_LENGTH",
    "MAX_TEXT_LENGTH",
    "MIN_APPEARANCES",
    "MIN_EXPOSURE",
    "ORDERED",
    "OVERALL",
    "USUAL_CONTROL",
    "Annotator",
    "AnnotatorTag",
    "AnnotatorTaste",
    "AnswerNotice",
    "ApiToken",
    "AskedBy",
    "BulkExclusion",
    "Captions",
    "CohortComparison",
    "Completion",
    "ConflictOfInterest",
    "Consent",
    "ConsentText",
    "Context",
    "ContextTranslation",
    "Count",
    "CriterionAnswer",
    "DerivedRanking",
    "Deviation",
    "EntryLink",
    "Evaluation",
    "Event",
    "EventVerb",
    "ExpectedConflict",
    "ExpectedPerson",
    "FeatureNames",
    "FitState",
    "GivenOrder",
    "GoldSet",
    "GoldSetItem",
    "Idea",
    "ImportJob",
    "Item",
    "ItemComment",
    "ItemFeatures",
    "ItemPage",
    "ItemSet",
    "ItemTranslation",
    "ItemsShownBy",
    "Label",
    "LabelArchive",
    "LabelForecast",
    "LtiCourse",
    "LtiLearner",
    "LtiPlatform",
    "Machine",
    "MachineAnswer",
    "MachineReport",
    "MachineSet",
    "MeasuredSaving",
    "MediaCaptions",
    "MemberInvitation",
    "Membership",
    "ParticipationRules",
    "Policy",
    "PredictionGain",
    "Preregistration",
    "Presentation",
    "PresentedItem",
    "Project",
    "ProjectTranslation",
    "ProvisionalRanking",
    "Purpose",
    "QualitySettings",
    "QuestionAnswer",
    "QuestionField",
    "RequestCount",
    "ResultsLink",
    "Retention",
    "RunRecord",
    "RunRecordPart",
    "ShowResult",
    "StoredResponse",
    "SuggestedSet",
    "Tag",
    "TasteMap",
    "User",
    "Webhook",
    "WebhookDelivery",
    "WorkerProcess",
    "new_token",
]
