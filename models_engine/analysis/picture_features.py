"""What a picture looks like in 24 plain numbers, as item features: light, colour, edges, shape, texture by scale."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.analysis.haar import analyse
from models_engine.arrays import read_floats, read_number
from models_engine.errors import InvalidData

__all__ = ["NAMES", "SIDE", "picture_features"]

Floats = NDArray[np.float64]
SIDE = 256  # pixels: pictures are measured at this size, so that their resolution does not count
LEVELS = 6  # of the wavelets
BANDS = ("across", "down", "diagonal")
LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
LEAST = 1e-4  # added before a logarithm: less is not seen in 8 bits
NAMES = (
    *("brightness", "contrast", "saturation", "colourfulness", "edges", "aspect"),
    *(f"texture_{2 ** (LEVELS - level)}_{band}" for level in range(LEVELS) for band in BANDS),
)


def picture_features(pixels: ArrayLike, aspect: float) -> Floats:
    """Return the features NAMES of a picture, (24,).

    pixels: (SIDE, SIDE, 3) red, green and blue from 0 to 255, the picture stretched to a square.   aspect: its width
    over its height before that.

    Brightness and contrast are mean and standard deviation of the luma (0 to 1); saturation the mean of (max - min)/max
    over the three colours; colourfulness that of Hasler & Suesstrunk (2003); edges the log of the luma's mean gradient;
    textures the log of the mean absolute Haar coefficient of 6 scales and three directions, named by the width of the
    scale's blocks in pixels. Raises InvalidData.
    """
    found = read_floats(pixels, "pixels")
    if found.shape != (SIDE, SIDE, 3):
        raise InvalidData(f"pixels have shape {found.shape}; give ({SIDE}, {SIDE}, 3).", value=found.shape)
    if not ((found >= 0) & (found <= 255)).all():
        raise InvalidData("pixels are numbers from 0 to 255.")
    shape = read_number(aspect, "aspect", above=0.0, below=np.inf)
    rgb = found / 255
    luma = rgb @ LUMA
    down, across = np.gradient(luma)
    most, least = rgb.max(axis=2), rgb.min(axis=2)
    saturation = np.divide(most - least, most, out=np.zeros_like(most), where=most > 0)
    _rest, bands = analyse(luma, LEVELS)
    return np.array(
        [
            luma.mean(),
            luma.std(),
            saturation.mean(),
            colourfulness(rgb),
            np.log(LEAST + np.hypot(down, across).mean()),
            np.log(shape),
            *(np.log(LEAST + np.abs(band).mean()) for level in bands for band in level),
        ]
    )


def colourfulness(rgb: Floats) -> float:
    """Return the colourfulness of colours from 0 to 1 (Hasler & Suesstrunk 2003)."""
    red_green = rgb[..., 0] - rgb[..., 1]
    yellow_blue = (rgb[..., 0] + rgb[..., 1]) / 2 - rgb[..., 2]
    spread = np.hypot(red_green.std(), yellow_blue.std())
    return float(spread + 0.3 * np.hypot(red_green.mean(), yellow_blue.mean()))
