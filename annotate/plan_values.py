"""What a preregistration fixes, read from a project as it stands, and what has changed since it was frozen."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from itertools import chain
from json import dumps
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.models import (
    ContextTranslation,
    Deviation,
    EventVerb,
    ItemTranslation,
    ParticipationRules,
    Preregistration,
    Project,
    ProjectTranslation,
    User,
)

# Columns of Project, in the order in which a preregistration lists them.
FIELDS = (
    *("question", "criteria", "more_means", "instructions", "task_type", "k", "m", "shared_places"),
    *("further_tasks", "outcomes"),
    *("shown_metadata", "marks_differences", "media_captions", "folds_long_texts"),
    *("comments", "item_comments", "comment_required", "known_button", "weights", "annotators_expected", "target"),
    *("best_words", "worst_words", "choice_words", "instruction_line"),
    *("slightly_words", "clearly_words", "tie_words", "both_good_words", "both_bad_words"),
    *("cant_judge_words", "skip_words"),
    *("overlap", "n_sets", "given_order", "cap"),
    *("policy", "class_shares", "control_percent"),
    *("estimator", "predict_unseen", "top_k", "tie_margin", "grades", "grades_by"),
    *("practice_pass", "practice_tries", "attention_every", "gold_every", "repeat_percent"),
    *("attention_fails", "gold_fails", "count_screened_out", "count_gold", "count_repeats", "count_machines"),
    *("min_seconds", "break_every", "sitting_cap", "question_ahead", "ask_why_skipped", "opens_at", "closes_at"),
    *("goal", "goal_width", "goal_comparisons", "goal_reliability", "goal_places", "pause_at_goal"),
)
# Of whom takes part.
RULES = ("open_link", "platform", "places")
OTHERS: dict[str, Promise] = {
    "n_items": _("number of items"),
    "items": _("items (hash of their texts and files)"),
    "n_questions": _("number of given questions"),
    "questions": _("given questions (hash)"),
    "right_answers": _("sets with a right answer (hash)"),
    "n_right_answers": _("number of sets with a right answer"),
    "questionnaire": _("questionnaire"),
    "consent": _("consent text (hash)"),
    "translations": _("translations (hash)"),
}
# After which logged events the plan may be another.
PLANNED = frozenset(
    {
        EventVerb.SETTINGS_CHANGED,
        EventVerb.ENTRY_CHANGED,
        EventVerb.FIELDS_CHANGED,
        EventVerb.ITEMS_IMPORTED,
        EventVerb.COMPARISONS_IMPORTED,
        EventVerb.ITEM_RETIRED,
        EventVerb.ITEM_TITLE_CHANGED,
        EventVerb.ITEM_BROUGHT_BACK,
        EventVerb.ITEM_DELETED,
        EventVerb.ITEMS_RETIRED,
        EventVerb.ITEMS_BROUGHT_BACK,
        EventVerb.QUESTIONS_ADDED,
        EventVerb.QUESTIONS_CHANGED,
        EventVerb.QUESTIONS_WITHDRAWN,
        EventVerb.QUESTIONS_ASKED_AGAIN,
        EventVerb.QUESTIONS_DROPPED,
        EventVerb.RIGHT_ANSWERS_ADDED,
        EventVerb.RIGHT_ANSWER_REMOVED,
        EventVerb.LANGUAGES_CHANGED,
        EventVerb.WORDS_TRANSLATED,
        EventVerb.ITEMS_TRANSLATED,
    }
)


def plan_values(project: Project) -> dict[str, Any]:
    """Return the values of the plan as JSON, read anew; ten queries however many items there are."""
    stored = Project.objects.get(pk=project.pk)
    rules = ParticipationRules.objects.filter(project=project).first() or ParticipationRules(project=project)
    n_items, items = digest_of_items(stored)
    n_known, known = digest_of_right_answers(project)
    n_questions, questions = digest_of_questions(project)
    fields = project.fields.filter(retired_at=None).order_by("position", "pk")
    return {
        **{name: as_json(getattr(stored, name)) for name in FIELDS},
        **{name: as_json(getattr(rules, name)) for name in RULES},
        "consent": stored.consent_version,
        "questionnaire": [f"{label} ({kind})" for label, kind in fields.values_list("label", "kind")],
        "n_items": n_items,
        "items": items,
        "n_questions": n_questions,
        "questions": questions,
        "n_right_answers": n_known,
        "right_answers": known,
        "translations": digest_of_translations(stored),
    }


def as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def canonical(document: Any) -> str:
    """Return JSON with sorted keys and no spaces, in UTF-8: the same text for the same content."""
    return dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def digest_of_items(project: Project) -> tuple[int, str]:
    """Return how many active items there are, and a hash of what people are shown of them, in order of their keys."""
    columns = ("key", "kind", "body", "link", "media", "context__digest", *(["name"] if project.shows_titles else []))
    rows = project.items.filter(retired_at=None).order_by("key").values_list(*columns)
    return _digest_of_rows(rows.iterator(2000))


def digest_of_right_answers(project: Project) -> tuple[int, str]:
    """Return how many sets have a right answer, and a hash of them: purpose, items and answer."""
    rows = project.known_sets.filter(retired_at=None).order_by("purpose", "item_set__key", "pk")
    columns = rows.values_list("purpose", "item_set__key", "outcome", "named", "shared").iterator(2000)
    # Without `shared` where nothing is, so that plans frozen before there was any stay the same.
    return _digest_of_rows((*row, shared) if shared else tuple(row) for *row, shared in columns)


def digest_of_questions(project: Project) -> tuple[int, str]:
    """Return how many questions the owner gave that are not withdrawn, and a hash of them: items and priority."""
    rows = project.item_sets.filter(number__isnull=False, withdrawn_at=None).order_by("number")
    return _digest_of_rows(rows.values_list("number", "key", "priority").iterator(2000))


def digest_of_translations(project: Project) -> str:
    """Return a hash of what is shown in other languages, "" where there are none."""
    names = ("language", *ProjectTranslation.WORDS, "criteria", "consent", "thanks", "questions")
    words = ProjectTranslation.objects.filter(project=project).order_by("language").values_list(*names)
    items = ItemTranslation.objects.filter(item__project=project, item__retired_at=None).order_by(
        "item__key", "language"
    )
    shown = ("item__key", "language", "body", *(["name"] if project.shows_titles else []))
    texts = items.values_list(*shown).iterator(2000)
    contexts = ContextTranslation.objects.filter(context__project=project).order_by("context__digest", "language")
    prompts = contexts.values_list("context__digest", "language", "body").iterator(2000)
    n, found = _digest_of_rows(chain(words, texts, prompts))
    return found if n else ""


def _digest_of_rows(rows: Iterable[tuple]) -> tuple[int, str]:
    found, n = sha256(), 0
    for row in rows:
        found.update(f"{canonical(row)}\n".encode())
        n += 1
    return n, found.hexdigest()


def name_of(field: str) -> str:
    """Return what a value of the plan is called on pages."""
    if field in OTHERS:
        return str(OTHERS[field])
    model = ParticipationRules if field in RULES else Project
    return str(getattr(model._meta.get_field(field), "verbose_name", field))


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (field, before, after) of what differs. Values that the frozen plan did not know yet are no deviation."""
    return [(name, value, after[name]) for name, value in before.items() if name in after and value != after[name]]


def record_deviations(project: Project, actor: User | None, now: datetime) -> None:
    """List what differs now from the frozen plan and was not listed before; nothing where no plan is frozen."""
    frozen = Preregistration.objects.filter(project=project).first()
    if frozen is None:
        return
    found = differences(frozen.current, plan_values(project))
    if found:
        n_labels = project.labels.filter(voided_at=None).count()
        Deviation.objects.bulk_create(
            Deviation(project=project, field=field, before=before, after=after, n_labels=n_labels, at=now, actor=actor)
            for field, before, after in found
        )
        frozen.current |= {field: after for field, _before, after in found}
        frozen.save(update_fields=["current"])
