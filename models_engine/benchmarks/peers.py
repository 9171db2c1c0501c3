"""Comparison with other libraries on the same data: seconds, memory, held-out predictions, intervals."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.fits import map_in_processes, measure_fit
from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.peer_data import SIMULATED, HeldOutData, load_readability, simulate_data
from models_engine.benchmarks.peer_fits import PEERS
from models_engine.errors import InvalidSetting
from models_engine.estimators.table import ESTIMATORS

__all__ = ["PLANS", "PeerRow", "format_table", "main", "run"]

Floats = NDArray[np.float64]
ROOT = Path(__file__).parents[2]
READABILITY = "readability"
# For each data set: our estimators, and the peers compared with each.
ONE_RANKING = {
    "BradleyTerry": (
        "choix opt_pairwise",
        "choix ilsr_pairwise",
        "choix ep_pairwise",
        "crowd-kit BradleyTerry",
        "evalica bradley_terry",
    ),
    "CrowdBT": ("crowd-kit NoisyBradleyTerry",),
}
PLANS: dict[str, dict[str, tuple[str, ...]]] = {
    "small": ONE_RANKING,
    "site": ONE_RANKING,
    "large": ONE_RANKING,
    "rankings": {"PlackettLuce": ("choix opt_rankings", "choix ilsr_rankings")},
    "tastes": {"CollaborativeGP": (), "GPPL": ("botorch PairwiseGP",)},
    READABILITY: ONE_RANKING,
}
DEFAULT_PLANS = ("small", "site", "rankings", "tastes")


@dataclass(frozen=True)
class PeerRow:
    """One fit. beside: our estimator that it is compared with, None for ours.   loss, accuracy: on the held-out pairs,
    in nats.   note: why there are no figures."""

    data: str
    name: str
    beside: str | None
    intervals: bool
    wall_s: float | None = None
    cpu_s: float | None = None
    peak_mib: float | None = None
    loss: float | None = None
    accuracy: float | None = None
    note: str = ""


def load_held_out(name: str, folder: Path | None, seed: int) -> HeldOutData:
    """Load the data of a plan."""
    if name != READABILITY:
        return simulate_data(name, seed)
    if folder is None:
        raise InvalidSetting(f"{READABILITY} needs --data, the folder that holds readability_crowd.")
    return load_readability(folder, seed)


def measure_own(task: tuple[str, str, Path | None, int]) -> PeerRow:
    """Measure one fit of ours with default settings, in its own process."""
    data, name, folder, seed = task
    test = load_held_out(data, folder, seed)
    posterior, cost = measure_fit(ESTIMATORS[name].estimator(), test.train)
    probability = np.empty(len(test.left))
    for annotator in np.unique(test.annotator):
        rows = test.annotator == annotator
        probability[rows] = posterior.pairwise_probabilities(test.left[rows], test.right[rows], int(annotator))
    loss, accuracy = test.scores(probability)
    return PeerRow(data, name, None, True, cost.wall_s, cost.cpu_s, cost.peak_mib, loss, accuracy)


def measure_peer(python: Path, data: str, name: str, beside: str, test: HeldOutData, limit: int) -> PeerRow:
    """Measure one fit of a peer by its own Python, stopped by the system after `limit` seconds of CPU."""
    empty = PeerRow(data, name, beside, PEERS[name][2])
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "data.npz", Path(folder) / "found.npz"
        np.savez(source, **test.arrays())  # type: ignore[arg-type]
        ended = _peer(python, [name, str(source), str(target), str(limit)])
        if ended.returncode:
            lines = ended.stderr.strip().splitlines()
            stopped = ended.returncode < 0
            reason = f"stopped after {limit} s of CPU" if stopped else (lines[-1] if lines else "failed")
            return PeerRow(**asdict(empty) | {"note": reason[:120]})
        with np.load(target, allow_pickle=False) as file:
            loss, accuracy = test.scores(np.nan_to_num(file["probability"], nan=0.5))
    return PeerRow(**asdict(empty) | json.loads(ended.stdout.splitlines()[-1]) | {"loss": loss, "accuracy": accuracy})


def find_installed(python: Path) -> dict[str, str | None]:
    """Return the version of each peer in that Python's environment, None if not installed."""
    ended = _peer(python, [])
    if ended.returncode:
        raise InvalidSetting(f"{python} did not list its libraries: {ended.stderr.strip()[-200:]}")
    found: dict[str, str | None] = json.loads(ended.stdout)
    return found


def _peer(python: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-W", "ignore", "-m", "models_engine.benchmarks.peer_fits", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 (our own script)


def run(plans: Sequence[str], python: Path | None, folder: Path | None, seed: int, limit: int) -> Iterator[PeerRow]:
    """Yield our fits first on each data set, then those of installed peers, one fit at a time."""
    versions = find_installed(python) if python else {}
    for data in plans:
        yield from map_in_processes(measure_own, [(data, name, folder, seed) for name in PLANS[data]])
        if python is None:
            continue
        test = load_held_out(data, folder, seed)
        for beside, peers in PLANS[data].items():
            for name in peers:
                if versions[PEERS[name][0]] is None:
                    yield PeerRow(data, name, beside, PEERS[name][2], note="not installed")
                else:
                    yield measure_peer(python, data, name, beside, test, limit)


def format_table(rows: Sequence[PeerRow]) -> str:
    """Format one block per data set and one line per fit, seconds and memory also as multiples of ours."""
    lines: list[str] = []
    for data in dict.fromkeys(row.data for row in rows):
        block = [row for row in rows if row.data == data]
        ours = {row.name: row for row in block if row.beside is None}
        block.sort(key=lambda row: (list(ours).index(row.beside or row.name), row.beside is not None))
        lines += ["", f"{data}: {describe_data(data)}"]
        lines.append(
            f"{'':<29}{'CPU s':>9}{'ratio':>8}{'peak MiB':>10}{'ratio':>8}{'log loss':>10}{'accuracy':>10}  intervals"
        )
        lines += [format_row(row, ours[row.beside] if row.beside else None) for row in block]
    return "\n".join(lines[1:])


def describe_data(data: str) -> str:
    if data == READABILITY:
        return "which of two texts is harder to read, one answer in five held out"
    size = SIMULATED[data]
    return f"{size.n_items:,} items, {size.n_annotators:,} annotators, {size.n_labels:,} {size.words}"


def format_row(row: PeerRow, ours: PeerRow | None) -> str:
    start = f"{row.name if row.beside is None else '  ' + row.name:<29}"
    if row.cpu_s is None or row.peak_mib is None or row.loss is None or row.accuracy is None:
        return f"{start}  {row.note}"
    slower = larger = ""
    if ours and ours.cpu_s and ours.peak_mib:
        slower, larger = f"{row.cpu_s / ours.cpu_s:.3g}x", f"{row.peak_mib / ours.peak_mib:.2g}x"
    figures = f"{row.cpu_s:>9.3f}{slower:>8}{row.peak_mib:>10.0f}{larger:>8}{row.loss:>10.4f}{row.accuracy:>10.4f}"
    return f"{start}{figures}  {'yes' if row.intervals else 'no'}"


def main(arguments: Sequence[str]) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks peers", description=__doc__)
    parser.add_argument(
        "--python", type=Path, help="Python of the peers' environment (make bench PEERS=1); default: ours only"
    )
    parser.add_argument("--data", type=Path, help="folder that contains readability_crowd, to add that data set")
    parser.add_argument("--plans", help=f"separated by commas: {', '.join(PLANS)} (default {','.join(DEFAULT_PLANS)})")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=120, help="seconds of CPU after which a peer is stopped")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    plans = options.plans.split(",") if options.plans else [*DEFAULT_PLANS, *([READABILITY] if options.data else [])]
    for name in plans:
        if name not in PLANS:
            raise InvalidSetting(f"there is no plan {name!r}; choose from {', '.join(PLANS)}.")
    python = options.python
    if python is not None and not python.is_file():
        raise InvalidSetting(f"{python} does not exist; `make bench PEERS=1` creates it, or leave out --python.")
    known: dict[str, Any] = {
        "measured": describe_machine(),
        "seed": options.seed,
        "peers": find_installed(python) if python else {},
    }
    print(known["measured"])
    print(
        "One fit at a time, each in its own process; our times include standard deviations, peers' times include what\n"
        "they return. A peer's ratio is to our estimator above it; memory is that of the whole process."
    )
    rows = []
    for row in run(plans, python, options.data, options.seed, options.limit):
        rows.append(row)
        print(f"{row.data}: {row.name}", file=sys.stderr, flush=True)
    print(versions_line(known["peers"]))
    print(format_table(rows))
    if options.json:
        found = [{key: _finite(value) for key, value in asdict(row).items()} for row in rows]
        options.json.write_text(json.dumps({"facts": known, "rows": found}, indent=1, allow_nan=False))
    return 0


def versions_line(versions: dict[str, str | None]) -> str:
    if not versions:
        return "Ours only: --python names no environment of other libraries (make bench PEERS=1 makes one)."
    return "Peers: " + ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())


def _finite(value: Any) -> Any:
    """Return None for infinity, which JSON lacks: a peer that gave an answer probability 0 has no log loss."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
