"""The controls: what the paper's methods can be compared with. Not in the paper."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.pipeline.jobs import SEQUENCE as NEEDED
from snap.pipeline.jobs import Asking, identity, optimum, with_pair
from snap.pipeline.methods import CLASS_MEANS, IID, SEQUENCE, controlled, numbers, stored
from snap.pipeline.rows import (
    CONTROLS,
    CONTROLS_CURVE,
    CONTROLS_MATRIX,
    CONTROLS_SEARCH,
    SELECTED,
    Row,
    read_rows,
    write_rows,
)
from snap.pipeline.sequences import (
    curve_columns,
    curve_rows,
    matrix_rows,
    outcome,
    tasks_of,
    write_beside,
)
from snap.pipeline.training import Workplace, log, run_trials, train_missing, write_ledger
from snap.trial import Iid, Trial

Choice = tuple[str, Trial]  # the way in which it was chosen, and the trial
Found = tuple[Row, Trial, Row | None]  # who it is, and its sequence if it has one


class Trainer:
    """Trains what a job needs, in several steps, and keeps the account of all of them."""

    def __init__(self, engine: str, place: Workplace) -> None:
        self.engine, self.place = engine, place
        self.results: dict[Trial, Row] = {}
        self.trained: set[Trial] = set()
        self.recorded: list[Row] = []

    def answer(self, asking: Asking) -> Any:
        """Train what is asked for; return what is returned in the end."""
        results: dict[Trial, Row] | None = None
        while True:
            try:
                trials, needs = asking.send(results)
            except StopIteration as end:
                return end.value
            results = {}
            if wanted := list(dict.fromkeys(trials)):
                rows, new = train_missing(wanted, self.engine, self.place, needs)
                results = dict(zip(wanted, rows, strict=True))
                self.results |= results
                self.trained |= new

    def recruit(self, trials: Sequence[Trial]) -> dict[Trial, Row]:
        """How many hidden units have consolidated at the end of each trial.

        The store does not keep weights, so these trials are trained again.
        """
        from snap.engines import settle

        wanted = list(dict.fromkeys(trials))
        if not wanted:
            return {}
        engine, device = settle(self.engine, "auto", wanted, log, record=True)
        log(f"{len(wanted)} trials again with engine {engine} on {device}, for their weights")
        results = run_trials(wanted, len(wanted), engine, device, self.place, record=True)
        self.recorded += [vars(result) for result in results]
        return {
            result.trial: {
                name: result.history[-1]["weights"]["hidden"][name]
                for name in ("consolidated", "units")
            }
            for result in results
            if result.diverged is None
        }

    def write_ledger(self) -> None:
        if self.place.ledger is not None:
            new = [self.results[trial] for trial in self.trained]
            results = [*self.results.values(), *self.recorded]
            trained = [*new, *self.recorded]
            write_ledger(self.place.ledger, results, trained, self.place.in_advance)


def control(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Choose a method in both ways; write its search, and its outcomes, matrices and curves."""
    trainer = Trainer(spec["engine"], place)
    if spec["means"] is not None:
        _write(output, [], list(_class_means(spec["means"], place)))
        trainer.write_ledger()
        return
    searched, final = trainer.answer(chosen(spec, inputs))
    if spec["joint"] is not None:
        found = _joint(spec, final, trainer.results)
    else:
        found = [
            (_who(spec, way, trial, trainer.results[trial]), trial, trainer.results[trial])
            for way, trial in final
        ]
    watched = [t for way, t in final if way == IID and t.seed == spec["recruits"]]
    recruited = trainer.recruit(watched)
    found = [(who | recruited.get(trial, {}), trial, result) for who, trial, result in found]
    _write(output, searched, found)
    trainer.write_ledger()


def chosen(spec: Row, inputs: Sequence[Path]) -> Asking:
    """Ask for what a method needs; return its search, and its final trials with what was chosen."""
    if spec["means"] is not None:
        return [], []
    points = searched_trials(spec)
    results = yield [trial for _, trial in points], ()
    assert results is not None
    searched = [_searched(spec, way, trial, results[trial]) for way, trial in points]
    pairs = [row for path in inputs for row in read_rows(path, SELECTED)]
    final = final_trials(spec, pairs, searched)
    yield [trial for _, trial in final], NEEDED
    if spec["joint"] is not None:
        yield list(_joint_trials(spec, final).values()), ("history",)
    return searched, final


def searched_trials(spec: Row) -> list[Choice]:
    """The trials among which a method is chosen."""
    ways = {IID: spec["searched"] or (), SEQUENCE: spec["by_sequence"]}
    return [
        (way, controlled(with_pair(text, eta, alpha), spec["control"], amount))
        for way, cells in ways.items()
        for cell in cells
        for amount in (spec["amounts"][:1] if way == IID else spec["amounts"])
        for eta, alpha in cell["pairs"]
        for text in cell["trials"]
    ]


def final_trials(spec: Row, pairs: Sequence[Row], searched: Sequence[Row]) -> list[Choice]:
    """The trials with what was chosen: by i.i.d. data for every λ, by the sequence for one of them.

    `pairs` are those selected for the paper's cells, in the order of λ. I.i.d. data cannot choose
    the strength of a penalty: all are equally good there, and the smallest is taken.
    """
    trials: list[Choice] = []
    for place, texts in enumerate(spec["final"]):
        if spec["searched"] is None:
            pair = pairs[place]
        else:
            lambda_ = Trial.parse(texts[0]).lateral_inhibition
            pair = optimum(
                [
                    row
                    for row in searched
                    if row["chosen"] == IID and _number(row, "lambda") == lambda_
                ]
            )
        trials += _with(spec, IID, texts, pair, spec["amounts"][0])
    best = chosen_by_sequence([row for row in searched if row["chosen"] == SEQUENCE])
    if best is not None:
        for texts in spec["final"]:
            if Trial.parse(texts[0]).lateral_inhibition == _number(best, "lambda"):
                trials += _with(spec, SEQUENCE, texts, best, _number(best, "amount"))
    return trials


def chosen_by_sequence(points: Sequence[Row]) -> Row | None:
    """The point with the highest mean accuracy over the seeds; None if all diverged.

    Ties go to the smaller α, then to the smaller η, strength and λ.
    """
    order = ("alpha", "eta", "amount", "lambda")
    seeds: dict[tuple[float, ...], list[Row]] = {}
    for point in points:
        seeds.setdefault(tuple(_number(point, name) or 0.0 for name in order), []).append(point)
    means = {
        place: sum(float(row["accuracy"]) for row in rows) / len(rows)
        for place, rows in seeds.items()
        if not any(row["diverged"] not in ("", None) for row in rows)
    }
    if not means:
        return None
    return seeds[min(means, key=lambda place: (-means[place], place))][0]


def _with(
    spec: Row, way: str, texts: Sequence[str], pair: Row, amount: float | None
) -> list[Choice]:
    alpha = _number(pair, "alpha")
    if alpha is None:  # all diverged
        return []
    eta = _number(pair, "eta")
    return [
        (way, controlled(with_pair(text, eta, alpha), spec["control"], amount)) for text in texts
    ]


def _number(row: Mapping[str, Any], name: str) -> float | None:
    """A number of a row that may come from a file, where it is text."""
    value = row.get(name)
    return None if value in ("", None) else float(value)


def _searched(spec: Row, way: str, trial: Trial, result: Row) -> Row:
    outcome = {key: result[key] for key in ("accuracy", "diverged")}
    return _who(spec, way, trial, result) | {"split": trial.split} | outcome


def _who(spec: Row, way: str, trial: Trial, result: Row) -> Row:
    """The columns that identify a trial of a method, and how much the method keeps."""
    name, weights = spec["control"], numbers(trial)
    amount = trial.control.amount if trial.control is not None else None
    row = identity(trial, result["engine"])
    row |= {"control": name, "amount": amount, "chosen": way, "weights": weights}
    return row | {"stored": stored(trial.dataset, name, amount, weights)}


def _joint_trials(spec: Row, final: Sequence[Choice]) -> dict[Trial, Trial]:
    """The trial on all classes at once for each final trial."""
    return {trial: dataclasses.replace(trial, experiment=Iid(spec["joint"])) for _, trial in final}


def _joint(spec: Row, final: Sequence[Choice], results: Mapping[Trial, Row]) -> list[Found]:
    """All classes at once, for as many whole epochs as fit into the samples of the sequence."""
    alike = _joint_trials(spec, final)
    found: list[Found] = []
    for way, sequence in final:
        trial, seen = alike[sequence], results[sequence]["samples"]
        result = results[trial]
        row = _who(spec, way, trial, result) | {"diverged": result["diverged"]}
        points = result["history"]
        if result["diverged"] is None:
            fitting = [point for point in points if point["samples"] <= seen] or points[:1]
            row |= {key: fitting[-1][key] for key in ("accuracy", "samples")}
        found.append((row, trial, None))
    return found


def _class_means(means: Row, place: Workplace) -> Iterator[Found]:
    """The mean image per class, by angle and by distance."""
    from snap.class_means import matrices
    from snap.data.store import load

    trial = Trial.parse(means["trial"])
    view = load(trial.dataset, place.data).view(trial)
    tasks, classes = tasks_of(trial), trial.record.classes
    sizes = [len(view.of_classes(view.measure, task)) for task in tasks]
    learned = sum(len(view.of_classes(view.train, task)) for task in tasks)
    for nearest in means["nearest"]:
        found = matrices(view, tasks, classes, nearest)
        hits = sum(round(share * of) for share, of in zip(found["matrix"][-1], sizes, strict=True))
        who = {"control": CLASS_MEANS, "dataset": trial.dataset, "configuration": nearest}
        who |= {"weights": 0, "stored": stored(trial.dataset, CLASS_MEANS, None, 0)}
        result = {**found, "accuracy": hits / len(view.measure), "samples": learned}
        result |= {"diverged": None, "history": []}
        result |= {"epochs_per_task": [1] * len(tasks), "reached": [None] * len(tasks)}
        yield who, trial, result


def _write(output: Path, searched: Sequence[Row], found: Sequence[Found]) -> None:
    """Write the search, the outcomes, and the matrices and curves of the sequences."""
    sequences = [(who, trial, result) for who, trial, result in found if result is not None]
    outcomes = [who if result is None else outcome(who, result) for who, _, result in found]
    write_beside(output, "search", CONTROLS_SEARCH, searched)
    write_rows(output, CONTROLS, outcomes)
    cells = [row for who, trial, result in sequences for row in matrix_rows(who, trial, result)]
    write_beside(output, "matrix", CONTROLS_MATRIX, cells)
    columns = curve_columns(CONTROLS_CURVE, [trial for _, trial, _ in sequences])
    points = [row for who, _, result in sequences for row in curve_rows(who, result)]
    write_beside(output, "curve", columns, points)
