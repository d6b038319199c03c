"""Configurations: read, laid over one another, and checked against their schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from snap.errors import SnapError, printable


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one configuration over another: mappings are merged, everything else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def read(paths: Sequence[Path]) -> dict[str, Any]:
    """Read configuration files, each laid over the ones before."""
    config: dict[str, Any] = {}
    for path in paths:
        try:
            found = yaml.safe_load(path.read_text()) or {}
        except (OSError, yaml.YAMLError) as error:
            raise SnapError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
        if not isinstance(found, dict):
            raise SnapError(f"{path} must hold keys and values")
        config = merge(config, found)
    return config


def complete(config: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with every default, or a SnapError that names the key at fault."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    config = _numbers(config, schema, schema)
    _refuse_non_finite(config, "")
    fault = best_match(Draft202012Validator(schema).iter_errors(config))
    if fault is not None:
        raise SnapError(_sentence(fault))
    filled = _with_defaults(config, schema, schema)
    return dict(filled)


def _sentence(fault: Any) -> str:
    key = ".".join(printable(str(part)) for part in fault.absolute_path)
    if fault.validator == "additionalProperties":
        known = set(fault.schema.get("properties", ()))
        unknown = ", ".join(printable(str(k)) for k in fault.instance if k not in known)
        where = f"{key}.{unknown}" if key else unknown
        return f"config key {where} is unknown: choose from {', '.join(sorted(known))}"
    if fault.validator == "required":
        missing = ", ".join(k for k in fault.validator_value if k not in fault.instance)
        return f"config key {f'{key}.{missing}' if key else missing} is missing"
    key = key or "(the whole file)"
    value, limit = printable(repr(fault.instance)), fault.validator_value
    return f"config key {key} {_says(fault, limit)}, got {value}"


def _says(fault: Any, limit: Any) -> str:
    """What would be right, by the rule of the schema that was broken."""
    match fault.validator:
        case "type":
            return f"must be {_words(limit)}"
        case "enum":
            return f"must be one of {', '.join(map(str, limit))}"
        case "const":
            return f"must be {limit}"
        case "minimum":
            return f"must be at least {limit}"
        case "maximum":
            return f"must be at most {limit}"
        case "exclusiveMinimum":
            return f"must be above {limit}"
        case "minItems" | "minProperties":
            return "must not be empty"
        case "uniqueItems":
            return "must not hold a value twice"
        case "pattern" if limit.startswith("^[A-Za-z]"):
            return "must start with a letter and hold only letters, digits, - and _"
        case "pattern":
            return "must be one line of text"
        case _:
            return f"is wrong: {printable(fault.message, 200)}"


def _words(kinds: Any) -> str:
    names = {
        "integer": "a whole number",
        "number": "a number",
        "string": "text",
        "array": "a list",
        "object": "a mapping of keys",
        "null": "null",
    }
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return " or ".join(names.get(kind, kind) for kind in kinds)


def _refuse_non_finite(value: Any, key: str) -> None:
    """JSON schema has no word for NaN and infinity; YAML does."""
    if isinstance(value, float) and not math.isfinite(value):
        raise SnapError(f"config key {key} must be a finite number, got {value}")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_non_finite(inner, f"{key}.{printable(str(name))}".removeprefix("."))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            _refuse_non_finite(inner, f"{key}.{n}")


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    target: Any = root
    for part in schema["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **{k: v for k, v in schema.items() if k != "$ref"}}


def _numbers(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Read texts as numbers where numbers belong: so they come from a command line's --config."""
    schema = _resolved(schema, root)
    if isinstance(value, Mapping):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties")
        rest = rest if isinstance(rest, Mapping) else {}
        return {name: _numbers(v, known.get(name, rest), root) for name, v in value.items()}
    if isinstance(value, list):
        return [_numbers(v, schema.get("items", {}), root) for v in value]
    kinds = schema.get("type", ())
    if isinstance(value, str) and {"number", "integer"} & set(
        [kinds] if isinstance(kinds, str) else kinds
    ):
        try:
            return int(value)
        except ValueError:
            try:
                return float(value)
            except ValueError:
                return value
    return value


def _with_defaults(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, root)
    if isinstance(value, Mapping):
        filled = dict(value)
        for name, inner in schema.get("properties", {}).items():
            if name in filled:
                filled[name] = _with_defaults(filled[name], inner, root)
            elif "default" in inner:
                filled[name] = _with_defaults(inner["default"], inner, root)
        return filled
    return value
