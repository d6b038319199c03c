"""Read configuration files, merge them, and check them against their schema."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.errors import SnapError, printable
from snap.numbers import LARGEST
from snap.reading import read_mapping


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` overridden by `overlay`: mappings are merged, other values are replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def read(paths: Sequence[Path]) -> dict[str, Any]:
    """Read configuration files; each one overrides those before it."""
    config: dict[str, Any] = {}
    for path in paths:
        config = merge(config, read_mapping(path))
    return config


def complete(config: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with all defaults; raise a SnapError that names an invalid key."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    _check_values(config, "")
    config = _numbers(config, schema, schema)
    _check_values(config, "")
    validator = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": _pattern}
    )
    fault = best_match(validator(schema).iter_errors(config))
    if fault is not None:
        raise SnapError(_message(fault))
    filled = _with_defaults(config, schema, schema)
    return dict(filled)


def _message(fault: Any) -> str:
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
    return f"config key {key} {_requirement(fault, limit)}, got {value}"


def _requirement(fault: Any, limit: Any) -> str:
    """What the violated rule of the schema requires."""
    match fault.validator:
        case "type":
            return f"must be {_type_names(limit)}"
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
        case "maxItems" | "maxProperties":
            return f"must have at most {limit} entries"
        case "maxLength":
            return f"must have at most {limit} letters"
        case "uniqueItems":
            return "must not contain a value twice"
        case "pattern" if limit.startswith("^[A-Za-z]"):
            return "must start with a letter and contain only letters, digits, - and _"
        case "pattern":
            return "must be one line of text"
        case _:
            return f"is invalid: {printable(fault.message, 200)}"


def _type_names(kinds: Any) -> str:
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


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    """The rule `pattern` of JSON schema: $ is the very end, where Python allows a newline."""
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _check_values(value: Any, key: str) -> None:
    """Raise an error for values that YAML allows and JSON schema cannot exclude.

    They are NaN and infinity, whole numbers that few programs read exactly, and keys that are no
    text.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise SnapError(f"config key {key} must be a finite number, got {value}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise SnapError(f"config key {key} must be from -{LARGEST} to {LARGEST}")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            shown = printable(str(name))
            if not isinstance(name, str):
                raise SnapError(f"config key {f'{key}.{shown}'.removeprefix('.')} must be text")
            _check_values(inner, f"{key}.{shown}".removeprefix("."))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            _check_values(inner, f"{key}.{n}")


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    target: Any = root
    for part in schema["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **{k: v for k, v in schema.items() if k != "$ref"}}


def _numbers(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Convert strings to numbers where the schema has numbers: --config passes strings."""
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
