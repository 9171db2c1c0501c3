"""Pictures with noise: posterior means and modes under one Laplace prior, one for each level, or a tree of Laplaces.

With --missing, pictures of which that share of the pixels is missing, and next to no noise.
Drawn pictures, or with --folder pictures of your own, as grey PGM files (binary, P5): most programs write them, such
as ImageMagick's `convert PHOTO -colorspace Gray PHOTO.pgm`.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.haar import analyse, synthesise
from models_engine.benchmarks.denoising import DEPTH, Denoiser
from models_engine.benchmarks.inpainting import Inpainter, fill_by_mean, interpolate, take_nearest
from models_engine.benchmarks.machine import describe_machine
from models_engine.errors import InvalidData, InvalidSetting

__all__ = [
    "METHODS",
    "MISSING_SIGMA",
    "SIGMA",
    "ImageRow",
    "draw_picture",
    "fill",
    "main",
    "read_pictures",
    "run",
    "shrink",
    "signal_to_noise",
]

Floats = NDArray[np.float64]
SIGMA = 0.1
MISSING_SIGMA = 1e-5**0.5  # what the priors take for the noise of the pixels that are there; none is added
N_SHAPES = 14


def remove(method: Denoiser, image: Floats) -> Floats:
    return method.fit(image, SIGMA).picture


def complete(method: Inpainter, image: Floats, known: NDArray[np.bool_]) -> Floats:
    return method.fill(image, known, MISSING_SIGMA).picture


def leave(image: Floats) -> Floats:
    return image


def shrink(image: Floats, sigma: float) -> Floats:
    """Return the picture by BayesShrink: each band's coefficients drawn to 0 by sigma^2 over its signal's sd."""
    scaling, bands = analyse(image, DEPTH)
    found = []
    for band in bands:
        signal = np.sqrt(np.maximum((band**2).mean(axis=(1, 2), keepdims=True) - sigma**2, 1e-12))
        found.append(np.sign(band) * np.maximum(np.abs(band) - sigma**2 / signal, 0))
    return synthesise(scaling, found)


METHODS = {
    f"{kind}, {prior}": Denoiser(prior, kind == "mean")
    for kind in ("mean", "mode")
    for prior in ("one", "levels", "tree")
}


@dataclass(frozen=True)
class ImageRow:
    """psnr: peak signal-to-noise ratio, decibels, mean over pictures; error: of it. cpu_s: of one picture."""

    method: str
    psnr: float
    error: float
    cpu_s: float


def draw_picture(n: int, rng: np.random.Generator) -> Floats:
    """Return (n, n) brightness from 0 to 1: a slope with discs and bars upon it, some of them with waves."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    picture = rng.uniform(0.2, 0.8) + 0.2 * ((i / n - 0.5) * rng.normal() + (j / n - 0.5) * rng.normal())
    for _shape in range(N_SHAPES):
        x, y, radius = i - rng.uniform(0, n), j - rng.uniform(0, n), rng.uniform(n / 30, n / 4)
        turn, narrow = rng.uniform(0, np.pi), rng.uniform(0.2, 1)
        along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
        is_disc, has_waves = rng.random(2) < (0.5, 0.3)
        inside = x**2 + y**2 < radius**2 if is_disc else (np.abs(along) < radius) & (np.abs(across) < radius * narrow)
        waves = 0.15 * np.sin(0.3 * (i * rng.normal() + j * rng.normal()))
        picture = np.where(inside, rng.uniform() + has_waves * waves, picture)
    return np.clip(picture, 0, 1)


def signal_to_noise(found: Floats, true: Floats) -> float:
    return float(-10 * np.log10(np.mean((np.clip(found, 0, 1) - true) ** 2)))


def read_pgm(path: Path) -> Floats:
    """Return the brightness, from 0 to 1, of a binary grey PGM file (P5). Raises InvalidData for any other."""
    content = path.read_bytes()
    comments = rb"(?:#[^\n]*\n\s*)*"
    head = re.match(rb"P5\s+%b(\d+)\s+%b(\d+)\s+%b(\d+)\s" % ((comments,) * 3), content)
    if head is None:
        raise InvalidData(f"{path} is no binary grey PGM file (P5); convert it to one.")
    width, height, most = map(int, head.groups())
    kind = np.dtype(">u2" if most > 255 else "u1")
    if not 0 < most < 2**16 or len(content) - head.end() < width * height * kind.itemsize:
        raise InvalidData(f"{path} ends before its {width} x {height} pixels do; write it anew.")
    pixels = np.frombuffer(content, kind, width * height, head.end())
    return pixels.reshape(height, width) / most


def read_pictures(folder: Path, size: int) -> list[Floats]:
    """Return the middle (size, size) of every PGM file of a folder, by name. Raises InvalidData: none, or too small."""
    pictures = []
    for path in sorted(folder.glob("*.pgm")):
        picture = read_pgm(path)
        top, left = ((n - size) // 2 for n in picture.shape)
        if min(top, left) < 0:
            raise InvalidData(f"{path} is smaller than {size} x {size} pixels; give a smaller --size or leave it out.")
        pictures.append(picture[top : top + size, left : left + size])
    if not pictures:
        raise InvalidData(f"{folder} has no .pgm file; convert pictures to binary grey PGM (P5) first.")
    return pictures


def run(pictures: Sequence[Floats], rng: np.random.Generator) -> list[ImageRow]:
    """Take the noise out of pictures by every method, the same noise for all."""
    noisy = [picture + SIGMA * rng.normal(size=picture.shape) for picture in pictures]
    ways: dict[str, Callable[[Floats], Floats]] = {"as it is": leave, "BayesShrink": partial(shrink, sigma=SIGMA)}
    ways |= {name: partial(remove, method) for name, method in METHODS.items()}
    return measure(ways, noisy, pictures)


def fill(pictures: Sequence[Floats], missing: float, rng: np.random.Generator) -> list[ImageRow]:
    """Fill in this share of the pixels, the same of all pictures, by every method."""
    known = rng.random(pictures[0].shape) >= missing
    simple = {"mean pixel": fill_by_mean, "nearest": take_nearest, "linear": interpolate}
    ways: dict[str, Callable[[Floats], Floats]] = {name: partial(way, known=known) for name, way in simple.items()}
    for name, method in METHODS.items():
        ways[name] = partial(complete, Inpainter(method.prior, method.variational), known=known)
    return measure(ways, pictures, pictures)


def measure(
    ways: dict[str, Callable[[Floats], Floats]], given: Sequence[Floats], true: Sequence[Floats]
) -> list[ImageRow]:
    rows = []
    for name, way in ways.items():
        began = time.process_time()
        found = [signal_to_noise(way(one), picture) for one, picture in zip(given, true, strict=True)]
        used = (time.process_time() - began) / len(true)
        rows.append(ImageRow(name, float(np.mean(found)), float(np.std(found) / np.sqrt(len(true))), used))
        print(f"{name} ...", file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks images", description=__doc__)
    parser.add_argument("--pictures", type=int, default=10)
    parser.add_argument("--size", type=int, default=128, help="a multiple of 32")
    parser.add_argument("--folder", type=Path, help="of grey PGM files, instead of drawn pictures")
    parser.add_argument("--missing", type=float, help="share of the pixels that are missing, such as .75 of the thesis")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.missing is not None and not 0 < options.missing < 1:
        raise InvalidSetting(f"--missing {options.missing} is no share between 0 and 1.")
    if options.size < 2**DEPTH or options.size % 2**DEPTH:
        raise InvalidSetting(f"--size {options.size} is no multiple of {2**DEPTH}.")
    rng = np.random.default_rng(0)
    if options.folder:
        pictures = read_pictures(options.folder, options.size)
    else:
        pictures = [draw_picture(options.size, rng) for _one in range(options.pictures)]
    rows = run(pictures, rng) if options.missing is None else fill(pictures, options.missing, rng)
    if options.json:
        print(json.dumps({"machine": describe_machine(), "rows": [asdict(row) for row in rows]}, indent=2))
        return 0
    print(f"{'method':<16}{'PSNR, dB':>10}{'+-':>7}{'CPU s':>8}")
    for row in rows:
        print(f"{row.method:<16}{row.psnr:>10.2f}{row.error:>7.2f}{row.cpu_s:>8.2f}")
    return 0
