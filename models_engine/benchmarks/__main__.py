"""python -m models_engine.benchmarks NAME ...: the list of benchmarks."""

import sys
from collections.abc import Callable, Sequence

from models_engine.benchmarks import (
    active,
    angle,
    angle_constant,
    apa,
    careless,
    classes,
    cluster,
    competitors,
    counts,
    coverage,
    crowd_gppl,
    expected,
    forecast,
    grades,
    images,
    large,
    newcomers,
    peers,
    personal,
    plackett_luce,
    plan,
    plays,
    readability,
    reliability,
    scaling,
    sequences,
    speed,
    stopping,
    sushi,
    ukp,
    ukp_pairs,
    undecided,
    unseen,
    weak_orders,
)
from models_engine.errors import EngineError

__all__ = ["COMMANDS", "main"]

COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "active": (active.main, "which questions to ask: labels each rule needs, on simulated collections"),
    "angle": (angle.main, "rankings of ten sushi in East and West Japan (angle-based models, Table 2)"),
    "angle-constant": (angle_constant.main, "error of the angle-based model's approximate constant (Table 1)"),
    "apa": (apa.main, "groups among the ballots of an election: held-out log likelihood, DIC"),
    "careless": (careless.main, "tastes and carelessness together, on simulated crowds"),
    "classes": (classes.main, "classes of a ranking: are their items alike, is their order the true one?"),
    "cluster": (cluster.main, "EP on a cluster and in process: speed-up, bytes, a projection to 100 workers"),
    "competitors": (competitors.main, "systems and models ranked over many contexts: new contexts, halves, seconds"),
    "counts": (counts.main, "rates of rare events by three links, as a thesis's table: held-out log loss"),
    "coverage": (coverage.main, "coverage of intervals in simulated crowds"),
    "crowd-gppl": (crowd_gppl.main, "simulated tastes on a grid: consensus, people, components found, GPPL's seconds"),
    "expected": (expected.main, "quality by number of answers before the start, balanced and chosen"),
    "forecast": (forecast.main, "labels within the next hours, on crowds with times: error, coverage, seconds"),
    "grades": (grades.main, "how much better as evidence: held-out log loss, width and coverage of intervals"),
    "images": (images.main, "noise taken out of drawn pictures: means and modes, one prior and trees"),
    "large": (large.main, "tastes over thousands of items: seconds, memory, coverage, held-out log loss"),
    "newcomers": (newcomers.main, "new people predicted from what they say of themselves: held-out log loss"),
    "peers": (peers.main, "other libraries and ours on the same data: seconds, memory, predictions, intervals"),
    "plan": (plan.main, "the planner's forecasts beside full simulations"),
    "plays": (plays.main, "rankings from counts: intervals on simulated crowds, plays of artists held out"),
    "personal": (personal.main, "people's own intervals, what surely differs, groups, on simulated crowds"),
    "plackett-luce": (plackett_luce.main, "rankings explained by item features: AUC, top-K, bound against eta"),
    "readability": (readability.main, "reading difficulty ranked by a crowd: AUC and Spearman against grade levels"),
    "reliability": (reliability.main, "reliability said by half of a real crowd, against what the other half answers"),
    "scaling": (scaling.main, "how CPU seconds of cold fits grow: three doublings of the data and the exponent"),
    "sequences": (sequences.main, "what annotators do next and who comes back: held-out log loss"),
    "speed": (speed.main, "seconds and memory of cold and warm fits"),
    "stopping": (stopping.main, "when to say done: how often falsely, on simulated projects looked at repeatedly"),
    "sushi": (sushi.main, "personal preferences on the Sushi data (crowd_gppl, Table 2)"),
    "ukp": (ukp.main, "convincing arguments on held-out topics, from their texts: accuracy and log loss"),
    "ukp-pairs": (ukp_pairs.main, "convincing arguments by a crowd: held-out log loss of win, tie and loss"),
    "undecided": (undecided.main, "who is undecided on what: ties by annotator and item, held-out cells"),
    "unseen": (unseen.main, "arguments without answers, predicted from their texts: log loss with and without"),
    "weak-orders": (
        weak_orders.main,
        "rankings with ties: held-out log loss and intervals, ties kept or by lot",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmark with the remaining arguments."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or given[0] not in COMMANDS:
        lines = [f"  {name:<16}{what}" for name, (_, what) in sorted(COMMANDS.items())]
        print("usage: python -m models_engine.benchmarks NAME [--help] ...", *lines, sep="\n", file=sys.stderr)
        return 2
    try:
        return COMMANDS[given[0]][0](given[1:])
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
