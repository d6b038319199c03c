"""Restore the trials of published results to the store of finished trials.

For a final run, the published tables contain everything that later steps need. For a search, they
contain only the accuracy of each pair after the last epoch. A search can use a trial restored from
them; a step that needs the trial's history trains it again. The ladder and the portraits are not
restored: they are trained again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from snap.data.datasets import checksum
from snap.errors import SnapError, printable
from snap.files import write_result
from snap.pipeline import readings
from snap.pipeline.plan import Plan
from snap.pipeline.provenance import RESTORED, read_restored
from snap.pipeline.published import MOST_JSON, PLAIN, damaged, read_json
from snap.pipeline.published_rows import Found, trials
from snap.pipeline.rows import Row
from snap.pipeline.trial_store import TrialStore
from snap.trial import SEMANTICS, Trial

WORKFLOW = Path(__file__).resolve().parents[3] / "workflow"  # in the project of this package
MOST_CONFIG = 50_000  # characters; that of the paper has 4,000
AMOUNT = {"type": "number", "minimum": 0, "maximum": 1e15}
STAGE = ("trials", "diverged", "trained", "reused", "core_seconds")
# What the account of a run must have, so that a later page can show it.
ACCOUNT: Mapping[str, Any] = {
    "type": "object",
    "required": ["run", "date", "git", "hardware", "costs"],
    "properties": {
        "run": {"type": "string", "maxLength": 200},
        "date": {"type": "string", "maxLength": 40},
        "git": {
            "type": ["object", "null"],
            "required": ["commit"],
            "properties": {"commit": {"type": "string", "maxLength": 64}},
        },
        "hardware": {
            "type": "object",
            "required": ["cpu", "cores"],
            "properties": {
                "cpu": {"type": ["string", "null"], "maxLength": 200},
                "cores": {"type": ["integer", "null"], "minimum": 1},
            },
        },
        "costs": {
            "type": ["object", "null"],
            "required": ["stages", "wall_seconds"],
            "properties": {
                "wall_seconds": AMOUNT,
                "stages": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "required": STAGE,
                        "properties": dict.fromkeys(STAGE, AMOUNT),
                    },
                },
            },
        },
    },
}


def restore(published: Path, results: Path, workflow: Path = WORKFLOW) -> dict[str, int]:
    """Put the trials of a published run into the store; return how many were missing, by engine.

    `workflow` is the folder with the schema of configurations. Everything is checked before the
    first file is written.
    """
    provenance = _provenance(published)
    plans = _plans(provenance.get("config"), published / "provenance.json", workflow)
    missing: dict[Path, tuple[TrialStore, Trial, Row]] = {}
    for trial, engine, values in _trials(plans, published):
        store = TrialStore(results / "trials", checksum(trial.dataset), engine)
        known = store.get(trial)
        fuller = known is None or not set(values) <= set(known)
        if fuller and store.path(trial) not in missing:
            result = {"trial": trial.text, "engine": engine, **values}
            missing[store.path(trial)] = store, trial, result
    if missing:
        _note(provenance, results / next(iter(plans)))
    for store, trial, values in missing.values():
        store.keep(trial, values)
    return dict(Counter(store.engine for store, _, _ in missing.values()))


def _trials(plans: Mapping[str, Plan], published: Path) -> Iterator[Found]:
    """Every trial of the run and of its other readings, those with a history first."""
    main = next(iter(plans))
    for place, plan in plans.items():
        yield from trials(plan, published / place.removeprefix(main).lstrip("/") / "tables")


def _note(provenance: Mapping[str, Any], folder: Path) -> None:
    """Record in a run's folder which published runs its trials come from, each run once."""
    own = {key: value for key, value in provenance.items() if key not in ("config", "restored")}
    earlier = [*read_restored(folder), *provenance.get("restored", []), own]
    content = list({part["date"]: part for part in earlier}.values())
    write_result(folder / RESTORED, json.dumps(content, indent=1, ensure_ascii=False).encode())


def _provenance(published: Path) -> dict[str, Any]:
    """The provenance of a publication whose files match their record."""
    path = published / "provenance.json"
    try:
        wrong = damaged(published)
        provenance = read_json(path, MOST_JSON)
    except OSError as error:
        raise SnapError(
            f"{published} is not a published run: {error.filename} cannot be read"
            f" ({error.strerror})"
        ) from None
    if wrong:
        names = printable(", ".join(wrong), 300)
        raise SnapError(f"{published}: files do not match the record: {names}")
    for account in (provenance, *_list(path, provenance.get("restored", []))):
        _check_account(path, account)
    semantics = provenance.get("semantics")
    if semantics != SEMANTICS or isinstance(semantics, bool):
        raise SnapError(
            f"{published} was trained by version {printable(repr(semantics))} of the training"
            f" rules, but this is version {SEMANTICS}: its trials cannot be used"
        )
    return provenance


def _list(path: Path, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SnapError(f"{path}: restored must be a list, got {printable(repr(value))}")
    return value


def _check_account(path: Path, account: Any) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    fault = best_match(Draft202012Validator(ACCOUNT).iter_errors(account))
    if fault is not None:
        place = ".".join(printable(str(part)) for part in fault.absolute_path)
        raise SnapError(
            f"{path} has no valid {place or 'account'}: {printable(fault.message, 200)}"
        )


def _plans(config: Any, path: Path, workflow: Path) -> dict[str, Plan]:
    """The plans of a published configuration, which is checked like any other."""
    if not isinstance(config, dict) or len(json.dumps(config)) > MOST_CONFIG:
        raise SnapError(f"{path}: config must be a configuration, of {MOST_CONFIG:,} characters")
    schema, paper = workflow / "schemas/config.schema.yaml", workflow / "paper.yaml"
    try:
        plans = readings.load_all(config, schema, paper)
    except SnapError as error:
        raise SnapError(f"{path}: {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError):
        raise SnapError(f"{path}: config is not a valid configuration") from None
    for place in plans:
        if not PLAIN.fullmatch(place):
            raise SnapError(f"{path}: {printable(repr(place))} cannot be the folder of a run")
    return plans
