"""How much each criterion of a project counts in the weighted total."""

from annotate.models import Project

MAX_WEIGHT = 1000.0


def weights_of(project: Project) -> list[float]:
    """Return each criterion's share of the total, summing to 1; the same for all where none are set."""
    n = len(project.criteria)
    given = [float(weight) for weight in project.weights]
    if len(given) != n or sum(given) <= 0:
        return [1 / n] * n if n else []
    return [weight / sum(given) for weight in given]


def carry_weights(before: list[dict[str, str]], after: list[dict[str, str]], weights: list[float]) -> list[float]:
    """Return weights for changed criteria: each keeps its own, by name, or else by place; a new one counts 1."""
    if len(weights) != len(before):
        return []
    own = {one["name"]: weight for one, weight in zip(before, weights, strict=True)}
    kept = {one["name"] for one in after}
    found = []
    for place, one in enumerate(after):
        renamed = place < len(before) and before[place]["name"] not in kept
        found.append(own.get(one["name"], weights[place] if renamed else 1.0))
    return found if any(found) else []
