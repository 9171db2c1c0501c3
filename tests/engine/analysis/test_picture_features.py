"""Features of pictures: each says what it is called after, against formulas by hand and pictures made for it."""

import colorsys

import numpy as np
import pytest

from models_engine.analysis.picture_features import NAMES, SIDE, picture_features
from models_engine.errors import InvalidData

NOISE = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3))


def of(pixels, aspect=1.0) -> dict[str, float]:
    return dict(zip(NAMES, picture_features(pixels, aspect).tolist(), strict=True))


def plain(*colour) -> np.ndarray:
    return np.broadcast_to(np.array(colour), (SIDE, SIDE, 3))


def test_there_are_24_with_names_of_their_own():
    assert len(NAMES) == len(set(NAMES)) == 24
    assert set(of(NOISE)) == set(NAMES)
    assert np.isfinite(list(of(NOISE).values())).all()


@pytest.mark.parametrize("colour", [(255, 0, 0), (10, 200, 90), (0, 0, 0), (255, 255, 255)])
def test_light_and_saturation_of_one_colour(colour):
    found = of(plain(*colour))
    red, green, blue = (value / 255 for value in colour)
    assert found["brightness"] == pytest.approx(0.299 * red + 0.587 * green + 0.114 * blue)
    assert found["contrast"] == pytest.approx(0, abs=1e-12)
    assert found["saturation"] == pytest.approx(colorsys.rgb_to_hsv(red, green, blue)[1])
    assert found["edges"] == pytest.approx(np.log(1e-4))


def test_colourfulness_is_that_of_its_paper():
    """Half red, half blue: rg is 1 and 0, yb .5 and -1, so that means and deviations are known."""
    pixels = np.zeros((SIDE, SIDE, 3))
    pixels[:, : SIDE // 2, 0] = pixels[:, SIDE // 2 :, 2] = 255
    expected = np.hypot(0.5, 0.75) + 0.3 * np.hypot(0.5, -0.25)
    assert of(pixels)["colourfulness"] == pytest.approx(expected)
    assert of(plain(7, 7, 7))["colourfulness"] == pytest.approx(0, abs=1e-12)


def test_stripes_are_texture_of_their_width_and_direction():
    across = np.broadcast_to((np.arange(SIDE) // 4 % 2 * 255)[None, :, None], (SIDE, SIDE, 3))
    for pixels, direction in ((across, "across"), (across.transpose(1, 0, 2), "down")):
        textures = {name: value for name, value in of(pixels).items() if name.startswith("texture_")}
        assert max(textures, key=textures.__getitem__) == f"texture_8_{direction}"


def test_a_blurred_picture_has_fewer_edges_and_less_fine_texture_but_the_same_light():
    small = NOISE.reshape(SIDE // 4, 4, SIDE // 4, 4, 3).mean(axis=(1, 3))
    blurred = small.repeat(4, axis=0).repeat(4, axis=1)
    sharp, soft = of(NOISE), of(blurred)
    assert soft["edges"] < sharp["edges"] - 1
    assert soft["texture_2_diagonal"] < sharp["texture_2_diagonal"] - 5
    assert soft["brightness"] == pytest.approx(sharp["brightness"])


def test_the_aspect_is_its_logarithm_and_what_is_no_picture_is_named():
    assert of(NOISE, aspect=2.0)["aspect"] == pytest.approx(np.log(2))
    with pytest.raises(InvalidData, match="shape"):
        picture_features(np.zeros((8, 8, 3)), 1.0)
    with pytest.raises(InvalidData, match="0 to 255"):
        picture_features(NOISE - 1.0, 1.0)
    with pytest.raises(InvalidData, match="aspect"):
        picture_features(NOISE, 0.0)
