"""The controls of a run as one row per method, for its figure, its tables and its sentences."""

from __future__ import annotations

import pandas as pd

from snap.controls import KINDS
from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.pipeline.methods import CLASS_MEANS, IID, JOINT, PLAIN, SEQUENCE
from snap.pipeline.rows import CONTROLS
from snap.report.frames import Frame, Tables, at_best_lambda, only
from snap.trial import Configuration

__all__ = ["CLASS_MEANS", "IID", "JOINT", "PLAIN", "SEQUENCE"]

RANDOM_HIDDEN = "random-hidden"
SNAP = "sigmoid-sigmoid-neuron"
LINEAR = "linear-linear"
METHOD = ["control", "learner", "configuration", "size"]
SUMMARY = [
    *("dataset", *METHOD, "label", "keeps", "chosen", "lambda", "eta", "alpha", "amount"),
    *("accuracy", "accuracy_low", "accuracy_high", "forgetting", "forgetting_low"),
    *("forgetting_high", "weights", "stored", "seeds", "diverged"),
]
NO_CONTROLS = "Controls were not part of this run."
ALL_DIVERGED = "Every control diverged."


def control_rows(tables: Tables, name: str = "controls") -> Frame:
    """The table of the controls, or that of their search; without rows if the run has none."""
    # Results that were published before there were controls do not have the table.
    frame = tables.table(name) if name in tables.names else pd.DataFrame()
    if frame.empty:
        return pd.DataFrame(columns=["run", *CONTROLS, "size"])
    sized = [name for name, kind in KINDS.items() if kind.whole]
    sizes = frame["amount"].where(frame["control"].isin(sized))
    return frame.fillna({"learner": "", "chosen": ""}).assign(size=sizes)


def summary(tables: Tables) -> Frame:
    """One row for each dataset, method and way of choosing, over the seeds at the best λ."""
    rows = []
    by = ["dataset", *METHOD, "chosen"]
    for _, group in control_rows(tables).groupby(by, dropna=False, sort=False):
        best = at_best_lambda(group)
        if len(best):
            rows.append(_summarised(best))
    return pd.DataFrame(rows, columns=SUMMARY)


def lost(tables: Tables) -> dict[str, list[str]]:
    """The methods that diverged, with every rate or in all final runs, by dataset."""
    found = summary(tables)
    shown = set(zip(found["dataset"], found["label"], strict=True))
    # A method for which the search found nothing has no row of results.
    tried = pd.concat([control_rows(tables, name) for name in ("controls", "controls_search")])
    missing: dict[str, list[str]] = {}
    for row in tried.drop_duplicates(["dataset", *METHOD]).itertuples():
        dataset = str(row.dataset)
        words = label(row.control, row.learner, row.configuration, _whole(row.size))
        if (dataset, words) not in shown:
            missing.setdefault(dataset, []).append(words)
    return missing


def _summarised(rows: Frame) -> dict[str, object]:
    first = rows.iloc[0]
    found: dict[str, object] = {name: first[name] for name in SUMMARY if name in rows}
    found["label"] = label(
        first["control"], first["learner"], first["configuration"], _whole(first["size"])
    )
    found["keeps"] = keeps(first["control"], _whole(first["size"]))
    for name in ("accuracy", "forgetting"):
        found[name] = rows[name].mean()
        found[f"{name}_low"], found[f"{name}_high"] = rows[name].min(), rows[name].max()
    counts = {"seeds": rows["accuracy"].count(), "diverged": rows["accuracy"].isna().sum()}
    return found | {name: int(count) for name, count in counts.items()}


def _whole(size: float) -> int | None:
    return None if pd.isna(size) else int(size)


def label(control: str, learner: str, configuration: str, size: int | None = None) -> str:
    """A method in words."""
    if control == CLASS_MEANS:
        return f"class means by {configuration}"
    if control == RANDOM_HIDDEN:
        grown = Configuration.parse(configuration)
        focus = "" if grown.output == "linear" else f" {grown.focus}"
        return f"random hidden, {grown.output}{focus}"
    own = _plain(learner, configuration)
    words = {
        PLAIN: "",
        JOINT: ", all classes at once",
        "mask": ", masked",
        "replay": f" + replay {size}",
    }
    return own + words.get(control, f" + {control.upper()}")


def _plain(learner: str, configuration: str) -> str:
    if (learner, configuration) == (HEBBIAN.name, SNAP):
        return "SNAP"
    grown = Configuration.parse(configuration)
    if grown.name == LINEAR:
        return LEARNERS[learner].label + (", linear" if learner == HEBBIAN.name else "")
    same = f"{grown.hidden} {grown.focus}" if grown.hidden == grown.output else grown.name
    return f"{LEARNERS[learner].label}, {same}"


def keeps(control: str, size: int | None = None) -> str:
    """What a method keeps of earlier tasks, besides the weights of its network."""
    if size is not None:
        return f"{size} samples"
    return {
        CLASS_MEANS: "the mean of each class",
        "ewc": "Fisher information and old weights",
        "si": "importance, path and old weights",
        JOINT: "nothing (no sequence)",
    }.get(control, "nothing")


class Answers:
    """What the controls of a dataset say, with what was chosen as in the paper.

    A number is None if a method that it needs was not run or has no accuracy.
    """

    def __init__(self, found: Frame) -> None:
        self.found = found[found["chosen"] != SEQUENCE].dropna(subset=["accuracy"])

    def accuracy(self, control: str, learner: str = "", configuration: str = "") -> float | None:
        """The accuracy of a method; the highest of those that are left open."""
        rows = only(self.found, control=control)
        if learner:
            rows = only(rows, learner=learner)
        if configuration:
            rows = only(rows, configuration=configuration)
        return float(rows["accuracy"].max()) if len(rows) else None

    def snap(self) -> float | None:
        return self.accuracy(PLAIN, HEBBIAN.name, SNAP)

    def linear(self) -> float | None:
        return self.accuracy(PLAIN, HEBBIAN.name, LINEAR)

    def lead(self) -> float | None:
        return _minus(self.snap(), self.linear())

    def lead_random(self) -> float | None:
        with_snap = self.accuracy(RANDOM_HIDDEN, HEBBIAN.name, SNAP)
        return _minus(with_snap, self.accuracy(RANDOM_HIDDEN, HEBBIAN.name, LINEAR))

    def linear_share(self) -> float | None:
        return _share(self.linear(), self.accuracy(JOINT, HEBBIAN.name, LINEAR))

    def snap_share(self) -> float | None:
        return _share(self.snap(), self.accuracy(JOINT, HEBBIAN.name, SNAP))

    def ceiling(self) -> float | None:
        return self.accuracy(JOINT, SGD.name, LINEAR)

    def over_random(self) -> float | None:
        return _minus(self.snap(), self.accuracy(RANDOM_HIDDEN))

    def over_means(self) -> float | None:
        return _minus(self.snap(), self.accuracy(CLASS_MEANS))

    def over_sgd(self) -> float | None:
        return _minus(self.snap(), self.accuracy(PLAIN, SGD.name, LINEAR))


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def recruited(tables: Tables, dataset: str) -> Frame:
    """The networks of SNAP whose consolidated neurons were counted, by λ."""
    rows = only(control_rows(tables), dataset=dataset, control=PLAIN, configuration=SNAP)
    rows = only(rows, learner=HEBBIAN.name, chosen=IID)
    return rows.dropna(subset=["consolidated", "accuracy"]).sort_values("lambda", kind="stable")


def rank_correlation(frame: Frame) -> float:
    """How far accuracy follows the number of recruited neurons: Spearman's coefficient."""
    ranks = frame[["consolidated", "accuracy"]].rank()
    return float(ranks["consolidated"].corr(ranks["accuracy"]))
