"""Projects of every task type, and what their forms send, for tests."""

from annotate.models import Label, Project

# (task type, k, m) of every kind of task, the smallest and the largest set too.
TASKS = [
    ("pair", 2, None),
    ("graded", 2, None),
    ("best", 2, None),
    ("best", 4, None),
    ("best", 10, None),
    ("best_worst", 3, None),
    ("best_worst", 5, None),
    ("ranking", 2, None),
    ("ranking", 4, None),
    ("ranking", 10, None),
    ("top", 3, 2),
    ("top", 10, 4),
]
LETTERS = "abcdefghij"


def set_task(project: Project, task_type: str, k: int, m: int | None = None, **values) -> Project:
    """The project, of this type from now on."""
    Project.objects.filter(pk=project.pk).update(task_type=task_type, k=k, m=m, **values)
    project.refresh_from_db()
    return project


def form_of(project: Project, order: list[int], grade: str = "slightly") -> dict[str, str]:
    """What the page sends when these places are named, best first."""
    letters = [LETTERS[place] for place in order]
    if project.task_type == "graded":
        return {"answer": f"{letters[0]}_{grade}"}
    if project.task_type in ("pair", "best"):
        return {"answer": letters[0]}
    if project.task_type == "best_worst":
        return {"answer": "best_worst", "best": letters[0], "worst": letters[1]}
    ranks = {f"rank_{letter}": "" for letter in LETTERS[: project.k]}
    return {"answer": project.task_type, **ranks, **{f"rank_{letter}": str(i) for i, letter in enumerate(letters, 1)}}


def expected_ranks(project: Project, order: list[int]) -> list[int]:
    """By hand: the rank of each place shown, as Comparisons has them."""
    ranks = [len(order)] * project.k
    if project.task_type == "best_worst":
        ranks = [1] * project.k
        ranks[order[1]] = 2
        order = order[:1]
    for rank, place in enumerate(order):
        ranks[place] = rank
    return ranks


def shown_keys(label: Label) -> list[str]:
    return list(label.presentation.presented.order_by("position").values_list("item__key", flat=True))
