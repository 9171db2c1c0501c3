"""Builds estimators from settings, also given as text `name=value`, with checks of names and types."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from models_engine.arrays import MAX_NUMBER
from models_engine.errors import InvalidSetting

__all__ = ["build_estimator", "check_settings", "parse_settings"]

Settings = TypeVar("Settings")  # a frozen dataclass with a fit


def parse_settings(estimator: type[Settings], texts: Sequence[str]) -> tuple[Settings, dict[str, Any]]:
    """Build the estimator with settings like ["prior_sd=2", "ties=half"]; also return all settings. Raises
    InvalidSetting.
    """
    given: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidSetting(f"{text!r} is not NAME=VALUE; write for example prior_sd=2.")
        given[name.strip()] = _parse_value(value.strip())
    made = build_estimator(estimator, given)
    return made, asdict(made)  # type: ignore[call-overload]


def build_estimator(estimator: type[Settings], settings: Mapping[str, Any]) -> Settings:
    """Build the estimator with these settings, lists converted to tuples. Raises InvalidSetting naming what is
    allowed.
    """
    hints = get_type_hints(estimator)
    known = {one.name: one for one in fields(estimator)}  # type: ignore[arg-type]
    clean: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in known:
            raise InvalidSetting(f"{estimator.__name__} has no setting {name!r}; it has {', '.join(known)}.")
        clean[name] = _convert(value, hints[name], name)
    return estimator(**clean)


MIN_SD, MAX_SD = 1e-6, 1e6  # beyond, a prior's precision is lost to rounding beside that of labels
FROM_ZERO = {"delay", "item_sd", "log_scale_sd", "n_burn_in", "share"}
LEAST_WHOLE = {"n_burn_in": 0, "n_draws": 4}  # of draws, so that their convergence can be judged


def check_settings(estimator: Any) -> None:
    """Check types and ranges of an estimator's settings, the same for all. Raises InvalidSetting.

    Lists of numbers and what two settings mean together are for the estimator itself.
    """
    hints = get_type_hints(type(estimator))
    for one in fields(estimator):
        value = getattr(estimator, one.name)
        _convert(value, hints[one.name], one.name)
        if isinstance(value, Real) and not isinstance(value, bool):
            _check_range(one.name, value)


def _check_range(name: str, value: Any) -> None:
    """Raise InvalidSetting for a number that no estimator can use under this name."""
    low: float
    high: float
    if isinstance(value, Integral) and name in LEAST_WHOLE:
        low, high, rule = LEAST_WHOLE[name], MAX_NUMBER, f"a whole number of {LEAST_WHOLE[name]} or more"
    elif name == "share":
        low, high, rule = 0, 1, "a number between 0 and 1"
    elif name.endswith("_sd"):
        low, high, rule = MIN_SD, MAX_SD, f"a number from {MIN_SD:g} to {MAX_SD:g}"
    else:
        low, high, rule = 0, MAX_NUMBER if isinstance(value, Integral) else sys.float_info.max, "a number above 0"
    usable = low <= value <= high and (value > 0 or name in FROM_ZERO)
    if not usable and not (value == 0 and name in FROM_ZERO):
        also = " (or 0)" if name in FROM_ZERO and name.endswith("_sd") else ""
        raise InvalidSetting(f"{name}={value} is not allowed; give {rule}{also}.")


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _convert(value: Any, hint: Any, name: str) -> Any:
    """Convert the value to the type of the hint."""
    for option in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if get_origin(option) is Literal and isinstance(value, str) and value in get_args(option):
            return value
        if option is type(None) and value is None:
            return value
        if option is float and isinstance(value, Real) and not isinstance(value, bool):
            return _to_float(value)
        if option is int and isinstance(value, Integral) and not isinstance(value, bool):
            return int(value)
        if option in (bool, str) and isinstance(value, option):
            return value
        if get_origin(option) is tuple and isinstance(value, list | tuple):
            kinds = get_args(option)
            if kinds[-1] is Ellipsis or len(kinds) == len(value):
                return tuple(_convert(one, kinds[0], name) for one in value)
    raise InvalidSetting(f"{name}={value!r} is not allowed; it takes {_describe_type(hint)}.")


def _to_float(value: Any) -> float:
    """Convert a number, infinite where it is too large for a float."""
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def _describe_type(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(repr(one) for one in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_describe_type(one) for one in get_args(hint))
    return {float: "a number", int: "a whole number", bool: "true or false", type(None): "null"}.get(hint, str(hint))
