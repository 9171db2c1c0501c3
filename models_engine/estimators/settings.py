"""Builds estimators from settings, also given as text `name=value`, with checks of names and types."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from models_engine.errors import InvalidSetting

__all__ = ["build_estimator", "parse_settings"]

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


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _convert(value: Any, hint: Any, name: str) -> Any:
    """Convert the value to the type of the hint."""
    for option in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if get_origin(option) is Literal and value in get_args(option):
            return value
        if option is type(None) and value is None:
            return value
        if option is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if option is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if option in (bool, str) and isinstance(value, option):
            return value
        if get_origin(option) is tuple and isinstance(value, list | tuple):
            return tuple(_convert(one, get_args(option)[0], name) for one in value)
    raise InvalidSetting(f"{name}={value!r} is not allowed; it takes {_describe_type(hint)}.")


def _describe_type(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(repr(one) for one in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_describe_type(one) for one in get_args(hint))
    return {float: "a number", int: "a whole number", bool: "true or false", type(None): "null"}.get(hint, str(hint))
