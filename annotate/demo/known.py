"""Manifests of two public data sets, for folders that come without one; the data themselves are not ours to ship."""

from typing import Any

KNOWN: dict[str, dict[str, Any]] = {
    # Chen, Bennett, Collins-Thompson & Horvitz, "Pairwise ranking aggregation in a crowdsourced setting", WSDM 2013.
    "readability_crowd": {
        "name": "Reading difficulty (Chen et al. 2013)",
        "question": "Which text is harder to read?",
        "more_means": "harder to read",
        "items": {"text_format": "document {}"},
        "labels": {
            "file": "comparisons.csv.gz",
            "annotator": "worker",
            "annotator_format": "worker {}",
            "winner": "harder",
            "loser": "easier",
        },
    },
    # Habernal & Gurevych, "Which argument is more convincing?", ACL 2016. Only arguments of one topic are compared.
    "ukpconvarg1": {
        "name": "Convincing arguments (UKPConvArg1)",
        "question": "Which argument is more convincing?",
        "more_means": "more convincing",
        "items": {"file": "arguments.csv.gz", "key": "item", "text": "text", "tags": ["topic"]},
        "labels": {
            "file": "labels.csv.gz",
            "annotator": "worker",
            "annotator_format": "worker {}",
            "left": "item1",
            "right": "item2",
            "outcome": "label",
            "outcomes": {"a1": "left", "a2": "right", "equal": "tie"},
            "at": "submit_utc",
        },
    },
}
