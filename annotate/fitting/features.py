"""What is known of items and of annotators as the engine takes it: matrices of features."""

import numpy as np
from numpy.typing import NDArray

from annotate.models import FeatureNames, ItemFeatures, Project, QuestionField
from annotate.participation.questionnaire.queries import active_questions, answers_of

Floats = NDArray[np.float64]
Kind = QuestionField.Kind


def annotator_features(project: Project, annotator_ids: NDArray[np.int64]) -> Floats | None:
    """Return (n_annotators, n_features), or None where there are none.

    A number, asked or imported, is a column, yes or no one of 1 and 0, a list one for each text but the first; words
    make none. Who gave no answer stands at the mean of those who did. Retired fields, and those that nobody answered,
    are left out.
    """
    if not (project.fields_before or project.fields_after or project.fields_imported):
        return None
    asked = [field for field in active_questions(project) if field.kind != Kind.TEXT]
    people = [int(pk) for pk in annotator_ids]
    answers = answers_of(people, asked) if people else {}
    columns = [
        column for field in asked for column in encode_field(field, [answers.get((pk, field.pk), "") for pk in people])
    ]
    return np.stack(columns, axis=1) if columns else None


def item_features(project: Project, item_ids: NDArray[np.int64]) -> Floats | None:
    """Return (n_items, n_features) in the order of `item_ids`, which ascend, or None where there are none.

    What is not known of an item stands at the mean of the others. Features known of no item are left out.
    """
    names = FeatureNames.objects.filter(project=project).values_list("names", flat=True).first()
    if not names or not len(item_ids):
        return None
    matrix: Floats = np.full((len(item_ids), len(names)), np.nan)
    rows = ItemFeatures.objects.filter(item__project=project).values_list("item_id", "values")
    for item, values in rows.iterator(2000):
        place = int(np.searchsorted(item_ids, item))
        if place < len(item_ids) and item_ids[place] == item:
            known = np.frombuffer(bytes(values), dtype="<f8")
            matrix[place, : len(known)] = known
    matrix = matrix[:, np.isfinite(matrix).any(axis=0)]
    return np.where(np.isfinite(matrix), matrix, np.nanmean(matrix, axis=0)) if matrix.shape[1] else None


def known_items(project: Project, item_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (n_items,) which items have features of their own."""
    with_them = ItemFeatures.objects.filter(item__project=project).values_list("item_id", flat=True)
    return np.isin(item_ids, np.fromiter(with_them.iterator(2000), dtype=np.int64))


def encode_field(field: QuestionField, values: list[str]) -> list[Floats]:
    known = np.array([bool(value) for value in values])
    if not known.any():
        return []
    levels = {Kind.YES_NO: ["yes"], Kind.CHOICE: field.choices[1:]}.get(Kind(field.kind))
    if levels is None:
        return [fill_missing(np.array([float(value or 0) for value in values]), known)]
    return [fill_missing(np.array([float(value == level) for value in values]), known) for level in levels]


def fill_missing(column: Floats, known: NDArray[np.bool_]) -> Floats:
    return np.where(known, column, column[known].mean())
