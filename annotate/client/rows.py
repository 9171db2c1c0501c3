"""The shapes of what the API answers, for type checkers: plain dictionaries, as they came."""

from typing import Any, TypedDict


class Project(TypedDict):
    """role: your role in the project. The other settings come with `Client.project`."""

    id: str
    name: str
    question: str
    state: str
    task_type: str
    k: int
    role: str


class NewItem(TypedDict, total=False):
    """text is required, except for links. title: the name in results. context: shown above, such as a prompt.
    competitor: who made it, such as a model. translations: by language code, each with text and title."""

    text: str
    key: str
    title: str
    kind: str
    tags: list[str]
    link: str
    context: str
    translations: dict[str, dict[str, str]]
    competitor: str


class Item(TypedDict):
    id: int
    key: str
    title: str
    kind: str
    text: str
    media: str | None
    link: str
    context: str | None
    competitor: str
    tags: list[str]
    translations: dict[str, dict[str, str]]
    retired_at: str | None
    created_at: str
    n_labels: int


class RankedItem(TypedDict):
    """Figures of the published fit. score: the chance, in per cent, to be preferred to an average item. low, high: the
    ends of 90% intervals. part: 0 is the largest. predicted: from what the item looks like, never compared."""

    item: str
    title: str
    tags: list[str]
    part: int
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    score: float | None
    score_low: float | None
    score_high: float | None
    utility: float | None
    sd: float | None
    low: float | None
    high: float | None
    p_top_k: float | None
    tier: int | None
    rank_class: int | None
    highest_class: int | None
    next_state: str
    n_comparisons: int
    divisiveness: float | None
    predicted: bool


class Label(TypedDict):
    """The most common columns; the other columns of the export are there, too."""

    label: int
    annotator: str
    outcome: str
    winner: str | None
    loser: str | None
    ranking: list[list[str]] | None
    shown_order: list[str]
    valid: bool
    created_at: str
    response_seconds: float | None


class Task(TypedDict):
    """items: each with place, kind, text, media and link, in the order to show them."""

    token: str
    question: str
    asked: str
    n_named: int
    others: list[str]
    context: str | None
    items: list[dict[str, Any]]
    wait_ms: int


class Step(TypedDict):
    """What an annotator is shown now. `task` is None in a break and with feedback on practice: ask for the next; and
    where nothing is left, as `stop` says."""

    pseudonym: str
    n_done: int
    target: int | None
    task: Task | None
    feedback: dict[str, Any] | None
    is_break: bool
    stop: dict[str, Any] | None


class Goal(TypedDict):
    """verdict: met, confirming, open (labels are `needed`), early, parts, few, far or waiting; None without a goal.

    far: not reachable this way; `reach` is the nearest value that is.
    """

    goal: str
    goal_width: float | None
    goal_comparisons: int | None
    goal_reliability: float | None
    goal_places: float | None
    goal_deadline: str | None
    pause_at_goal: bool
    price: str | None
    price_per: str
    currency: str
    sentence: str | None
    verdict: str | None
    stands: str | None
    rule: str | None
    needed: dict[str, int | None] | None
    reach: float | None
    likely: str | None
    by_deadline: float | None
    cost: dict[str, Any] | None


class TagRow(TypedDict):
    """annotator: the pseudonym or the platform's ID."""

    annotator: str
    tags: list[str]


class CohortComparison(TypedDict):
    """second: "" for everybody else. sizes: of both cohorts, once it is ready."""

    id: int
    criterion: int
    by: str
    first: str
    second: str
    status: str
    message: str
    fit_number: int | None
    sizes: list[dict[str, int]]


class Idea(TypedDict):
    """state: waiting, approved, merged or refused."""

    id: int
    text: str
    state: str
    reason: str
    created_at: str
    decided_at: str | None


class Captions(TypedDict):
    """text: a WebVTT file; language: a code such as en."""

    text: str
    language: str


class Import(TypedDict):
    """state: uploaded, checked (waiting for `go_on`), running, done, failed or cancelled."""

    id: int
    kind: str
    state: str
    source: str
    message: str
    n_rows: int
    n_bad: int
    n_lines: int
    n_written: int
    n_new_items: int
    problems: list[dict[str, Any]]
