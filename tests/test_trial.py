"""Trials: canonical text, round trips, fingerprints, and bad values."""

from __future__ import annotations

import ast
import dataclasses
import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snap import Configuration, Iid, Protocol, Sequential, SnapError, Trial
from snap import trial as trial_module
from snap.growth import FOCUSES, GROWTHS
from snap.learners import HEBBIAN, SGD
from snap.numbers import number_text, parse_number
from snap.protocol import CODE, REFERENCE, SWITCHES, TEXT

finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=1e-300, max_value=1e300)

configurations = st.builds(
    Configuration, st.sampled_from(GROWTHS), st.sampled_from(GROWTHS), st.sampled_from(FOCUSES)
)
protocols = st.builds(
    Protocol, **{name: st.sampled_from(switch.values) for name, switch in SWITCHES.items()}
)
sequences = st.builds(
    Sequential,
    tasks=st.permutations(range(10)).map(lambda c: (tuple(c[:2]), tuple(c[2:5]), (c[5],))),
    threshold=st.floats(min_value=1e-3, max_value=1),
    max_epochs=st.integers(1, 99),
    judged_on=st.sampled_from(("train", "test")),
    curve_every=st.integers(1, 10**6),
)
experiments = st.one_of(st.builds(Iid, st.integers(1, 99)), sequences)
limits = st.one_of(st.none(), st.integers(1, 10**6))
common = {
    "configuration": configurations,
    "alpha": positive,
    "dataset": st.sampled_from(("MNIST", "FashionMNIST", "Synthetic")),
    "protocol": protocols,
    "experiment": experiments,
    "hidden": st.integers(1, 10**4),
    "beta": positive,
    "seed": st.integers(0, 2**31),
    "split": st.sampled_from(("test", "validation")),
    "train_limit": limits,
    "test_limit": limits,
}
hebbian = st.builds(
    Trial,
    lateral_inhibition=positive,
    eta=st.floats(0, 1e300),
    learner=st.just("hebbian"),
    **common,
)
sgd = st.builds(Trial, learner=st.just("sgd"), **common)
trials = st.one_of(hebbian, sgd)


def example(**changes) -> Trial:
    values = {
        "configuration": "sigmoid-sigmoid-neuron",
        "alpha": 0.3,
        "lateral_inhibition": 16,
        "eta": 0.003,
    }
    return Trial(**{**values, **changes})


@given(finite)
def test_numbers_round_trip_exactly(value):
    text = number_text(value)
    assert parse_number(text, "it") == value
    assert number_text(float(text)) == text


@pytest.mark.parametrize(
    ("spellings", "text"),
    [
        (("0.5", ".5", "5e-1", "0.50"), "0.5"),
        (("16", "16.0", "1.6e1"), "16"),
        (("0.003", "3e-3", ".0030"), "0.003"),
        (("-0", "0.0", "0e5"), "0"),
        (("1e-7", "0.0000001"), "1e-7"),
        (("1e22", "1e+22"), "1e22"),
    ],
)
def test_all_spellings_of_a_number_give_the_same_text(spellings, text):
    assert {number_text(float(s)) for s in spellings} == {text}


@given(trials)
def test_trials_round_trip(trial):
    assert Trial.parse(trial.text) == trial
    assert Trial.parse(trial.text).text == trial.text


@given(trials, trials)
def test_different_trials_have_different_texts(one, other):
    assert (one.text == other.text) == (one == other)


def test_the_text_is_safe_in_a_path_and_a_shell():
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,=+-_")
    for protocol in (TEXT, REFERENCE, Protocol(output_rule="error-raw")):
        for experiment in (Iid(), Sequential()):
            assert set(example(protocol=protocol, experiment=experiment).text) <= allowed


def test_other_spellings_of_numbers_give_the_same_trial():
    text = example().text
    other = text.replace("lambda=16", "lambda=1.6e1").replace("alpha=0.3", "alpha=.3")
    assert other != text
    assert Trial.parse(other) == example()
    assert example(alpha=".3", eta="3e-3") == example()


def test_the_seven_configurations_and_the_four_of_sgd():
    assert len(set(HEBBIAN.paper_configurations)) == 7
    assert set(SGD.paper_configurations) < set(HEBBIAN.paper_configurations)
    for configuration in map(Configuration.parse, HEBBIAN.paper_configurations):
        assert Configuration.parse(configuration.name) == configuration
    assert Configuration("linear", "linear", "synapse").name == "linear-linear"
    assert Configuration.parse("exponential-sigmoid-synapse").hidden == "exponential"


@given(protocols)
def test_any_mixture_of_switches_is_a_protocol(protocol):
    assert Protocol.parse(protocol.text) == protocol


def test_every_switch_tells_two_readings_apart():
    assert (TEXT.text, REFERENCE.text, CODE.text) == ("text", "reference", "code")
    for name, switch in SWITCHES.items():
        assert getattr(TEXT, name) == switch.values[0]
        assert getattr(REFERENCE, name) == switch.reference
        assert {switch.values[0], switch.reference, switch.code} <= set(switch.values)
        assert len({switch.values[0], switch.reference, switch.code}) > 1
    assert {field.name for field in dataclasses.fields(Protocol)} == set(SWITCHES)


def test_hidden_width_follows_the_dataset():
    assert example().hidden == 64
    assert example(dataset="FashionMNIST").hidden == 96


def test_everything_that_can_change_the_result_changes_the_fingerprint(monkeypatch):
    base = example()
    changes = [
        {"configuration": "sigmoid-linear-neuron"},
        {"alpha": 0.1},
        {"lateral_inhibition": 8},
        {"eta": 0.1},
        {"dataset": "FashionMNIST", "hidden": 64},
        {"protocol": "text"},
        {"experiment": Iid(9)},
        {"experiment": Sequential()},
        {"experiment": Sequential(threshold=0.7)},
        {"hidden": 65},
        {"beta": 0.02},
        {"seed": 1},
        {"split": "validation"},
        {"train_limit": 100},
        {"test_limit": 100},
    ]
    prints = [base.fingerprint("data", "cpu")]
    prints += [example(**change).fingerprint("data", "cpu") for change in changes]
    prints += [base.fingerprint("other data", "cpu"), base.fingerprint("data", "torch")]
    monkeypatch.setattr("snap.trial.SEMANTICS", 10**9)
    prints.append(base.fingerprint("data", "cpu"))
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"alpha": float("nan")}, "alpha"),
        ({"alpha": 0}, "alpha"),
        ({"alpha": "fast"}, "alpha"),
        ({"lateral_inhibition": -1}, "lambda"),
        ({"lateral_inhibition": None}, "lambda"),
        ({"eta": -0.1}, "eta"),
        ({"eta": float("inf")}, "eta"),
        ({"hidden": 0}, "hidden"),
        ({"hidden": 2.5}, "hidden"),
        ({"seed": -1}, "seed"),
        ({"beta": 0}, "beta"),
        ({"learner": "backprop"}, "learner"),
        ({"learner": "sgd"}, "sgd"),
        ({"split": "train"}, "split"),
        ({"dataset": "../MNIST"}, "dataset"),
        ({"configuration": "cubic-linear-neuron"}, "configuration"),
        ({"configuration": "sigmoid"}, "configuration"),
        ({"protocol": "draft"}, "protocol"),
        ({"protocol": "reference+colour=red"}, "switch"),
        ({"protocol": "reference+output_rule=vote"}, "output_rule"),
        ({"train_limit": 0}, "train_limit"),
    ],
)
def test_bad_values_are_named(change, word):
    with pytest.raises(SnapError, match=word) as caught:
        example(**change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sequential(tasks=()),
        lambda: Sequential(tasks=((0, 1), ())),
        lambda: Sequential(tasks=((0, 1), (1, 2))),
        lambda: example(experiment=Sequential(tasks=((0, 10),))),
        lambda: Sequential(threshold=0),
        lambda: Sequential(threshold=1.1),
        lambda: Sequential(max_epochs=0),
        lambda: Sequential(judged_on="both"),
        lambda: Sequential(curve_every=0),
        lambda: Sequential.parse_tasks("0,1"),
        lambda: Iid(0),
        lambda: Trial.parse("nonsense"),
        lambda: Trial.parse("configuration=linear-linear,experiment=walk,alpha=1"),
    ],
)
def test_bad_experiments_are_rejected(make):
    with pytest.raises(SnapError):
        make()


def test_the_declared_arguments_of_a_trial_are_its_fields():
    """Type checkers see an `__init__` of its own, because a trial also accepts names."""
    source = ast.parse(inspect.getsource(trial_module))
    (declared,) = (
        node.args
        for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    fields = dataclasses.fields(Trial)
    assert [one.arg for one in declared.args] == ["self", *(field.name for field in fields)]
    required = [field for field in fields if field.default is dataclasses.MISSING]
    assert len(declared.args) - 1 - len(declared.defaults) == len(required)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"experiment": "sequential"}, "experiment must be an Iid"),
        ({"configuration": 3}, "configuration must be a name such as"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(given, message):
    with pytest.raises(SnapError, match=message):
        Trial(**{"configuration": "linear-linear", "alpha": 0.1, **given})


def test_tasks_of_the_wrong_shape_are_named():
    with pytest.raises(SnapError, match="tasks must look like"):
        Sequential(tasks=[0, 1])
