"""Simulates two camps of people who compare proposals for a square, for the picture of the taste map."""

import csv
import math
import random
from pathlib import Path

QUESTION = "What should the empty square become?"
N_PEOPLE, N_ANSWERS = 60, 40
# What all agree on, and how much more the quiet camp likes it than the lively one, both in logits.
PROPOSALS: list[tuple[str, float, float]] = [
    ("A small park with old trees", 1.0, 2.0),
    ("A wildflower meadow", 0.2, 1.8),
    ("A pond with benches around it", 0.6, 1.6),
    ("A reading garden beside the library", 0.3, 1.5),
    ("Garden plots for neighbours", 0.1, 1.3),
    ("A quiet courtyard with a fountain", 0.7, 1.1),
    ("A weekly market", 1.2, -0.1),
    ("A playground", 0.9, 0.0),
    ("Public toilets, clean and open", 0.4, 0.0),
    ("A sheltered bicycle park", 0.0, -0.2),
    ("Car parking", -1.4, -0.5),
    ("An open-air cinema", 0.7, -1.2),
    ("A stage for summer concerts", 0.6, -1.5),
    ("A skate park", -0.1, -1.6),
    ("Food stalls in the evening", 0.5, -1.7),
    ("A place for the yearly fair", 0.2, -1.8),
]


def write_answers(file: Path, seed: int = 1) -> None:
    """Writes one CSV row an answer: annotator, left, right, outcome. Two thirds belong to the quiet camp."""
    rng = random.Random(seed)
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["annotator", "left", "right", "outcome"])
        for number in range(1, N_PEOPLE + 1):
            camp = 1 if number % 3 else -1
            utilities = [agreed + camp * leaning + rng.gauss(0, 0.3) for _, agreed, leaning in PROPOSALS]
            for _ in range(N_ANSWERS):
                left, right = rng.sample(range(len(PROPOSALS)), 2)
                prefers_left = rng.random() < 1 / (1 + math.exp(utilities[right] - utilities[left]))
                writer.writerow([f"Simulated {number:02d}", key_of(left), key_of(right), int(prefers_left)])


def key_of(place: int) -> str:
    return f"proposal-{place + 1:02d}"
