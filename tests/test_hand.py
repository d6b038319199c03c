"""One step of a 2-3-2 network, compared with values worked out by hand from the equations.

The numbers below were worked out with a pencil from the paper's equations, not with the package.
Each is written as the sum or product that gives it.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from snap import Protocol, Trial, train_from

# The tests in tests/interpreted run the triton engine through these functions too.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
ENGINES = ("triton",) if INTERPRETED else ("reference", "cpu", "torch")
ROOT = 2**0.5

# Rows of length 0.5, 1 and 0.5, so that norms divide evenly; V's rows have length 0.3 each.
W = np.array([[0.3, 0.4], [0.6, 0.8], [0.4, 0.3]])
V = np.array([[0.2, 0.1, 0.2], [0.1, 0.2, 0.2]])
X = np.array([[1.0, 0.0]])
LABEL = 1
ALPHA, ETA, LAMBDA = 0.1, 0.5, 2

# The text's reading. eq:activation: a = W x = (0.3, 0.6, 0.4). eq:lateral_inhibition: the ratios
# to the largest, (1/2, 1, 2/3), squared.
TEXT_H = (1 / 4, 1, 4 / 9)
# eq:sanger: the sum before neuron 1 is h0·W0 = (0.075, 0.1); before neuron 2, h1·W1 more: (0.675,
# 0.9). So r0 = h0·x; r1 = (1 - 0.5·0.075, -0.5·0.1); r2 = 4/9·(1 - 0.5·0.675, -0.5·0.9).
TEXT_R = ((0.25, 0.0), (0.9625, -0.05), (4 / 9 * 0.6625, -4 / 9 * 0.45))

# The reference reading. Unit rows (0.6, 0.8), (0.6, 0.8), (0.8, 0.6): a = (0.6, 0.6, 0.8), the
# ratios (3/4, 3/4, 1), squared.
REFERENCE_H = (9 / 16, 9 / 16, 1)
# The sum before neuron 1 is 9/16·(0.6, 0.8) = (0.3375, 0.45); before neuron 2 twice that. With
# η·‖W1‖ = 0.5 and η·‖W2‖ = 0.25: r1 = 9/16·(1 - 0.16875, -0.225), r2 = (1 - 0.16875, -0.225).
REFERENCE_R = ((9 / 16, 0.0), (9 / 16 * 0.83125, -9 / 16 * 0.225), (0.83125, -0.225))

# Table 1, the factor of every weight. Neuron-wise the strengths are 0.5, 1, 0.5 (text: L2 norm)
# and √2/4, √2/2, √2/4 (reference: over the root of the fan-in, √2).
FACTORS = {
    ("text", "linear", "neuron"): ((1, 1), (1, 1), (1, 1)),
    ("text", "sigmoid", "neuron"): ((0.25, 0.25), (0, 0), (0.25, 0.25)),
    ("text", "exponential", "neuron"): ((0.5, 0.5), (1, 1), (0.5, 0.5)),
    ("text", "sigmoid", "synapse"): ((0.21, 0.24), (0.24, 0.16), (0.24, 0.21)),
    ("text", "exponential", "synapse"): ((0.3, 0.4), (0.6, 0.8), (0.4, 0.3)),
    ("reference", "linear", "neuron"): ((1, 1), (1, 1), (1, 1)),
    ("reference", "sigmoid", "neuron"): (
        (ROOT / 4 - 1 / 8, ROOT / 4 - 1 / 8),
        (ROOT / 2 - 1 / 2, ROOT / 2 - 1 / 2),
        (ROOT / 4 - 1 / 8, ROOT / 4 - 1 / 8),
    ),
    ("reference", "exponential", "neuron"): ((1, 1), (1, 1), (1, 1)),  # unit rows, see below
    ("reference", "sigmoid", "synapse"): ((0.21, 0.24), (0.24, 0.16), (0.24, 0.21)),
    ("reference", "exponential", "synapse"): ((0.3, 0.4), (0.6, 0.8), (0.4, 0.3)),
}


def learn(engine, protocol, hidden, output, focus, weights=(W, V), **changes):
    trial = Trial(
        f"{hidden}-{output}-{focus}", ALPHA, LAMBDA, ETA, protocol=protocol, hidden=3, **changes
    )
    return train_from(*weights, X, [LABEL], [0], trial, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("protocol", "growth", "focus"), FACTORS)
def test_hidden_layer(engine, protocol, growth, focus):
    r = TEXT_R if protocol == "text" else REFERENCE_R
    expected = W + ALPHA * np.array(FACTORS[protocol, growth, focus]) * np.array(r)
    if (protocol, growth, focus) == ("reference", "exponential", "neuron"):
        # Each row is divided by its length: W + 0.1 r is (0.35625, 0.4), (0.6467578125, 0.78734375)
        # and (0.483125, 0.2775).
        squares = (
            0.35625**2 + 0.4**2,
            0.6467578125**2 + 0.78734375**2,
            0.483125**2 + 0.2775**2,
        )
        expected = expected / np.sqrt(squares)[:, None]
    new_W, _ = learn(engine, protocol, growth, "linear", focus)
    assert np.allclose(new_W, expected, rtol=0, atol=1e-9)


# Output layer. The label's row is (0.1, 0.2, 0.2), strength 0.3 (text) or 0.3/√3 = √3/10.
S = 3**0.5 / 10
OUTPUT_FACTORS = {
    ("text", "linear", "neuron"): (1, 1, 1),
    ("text", "sigmoid", "neuron"): (0.21, 0.21, 0.21),
    ("text", "exponential", "neuron"): (0.3, 0.3, 0.3),
    ("text", "sigmoid", "synapse"): (0.09, 0.16, 0.16),
    ("text", "exponential", "synapse"): (0.1, 0.2, 0.2),
    ("reference", "linear", "neuron"): (1, 1, 1),
    ("reference", "sigmoid", "neuron"): (S - 0.03, S - 0.03, S - 0.03),
    ("reference", "exponential", "neuron"): (S, S, S),
    ("reference", "sigmoid", "synapse"): (0.09, 0.16, 0.16),
    ("reference", "exponential", "synapse"): (0.1, 0.2, 0.2),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("protocol", "growth", "focus"), OUTPUT_FACTORS)
def test_output_row_of_the_label(engine, protocol, growth, focus):
    factor = np.array(OUTPUT_FACTORS[protocol, growth, focus])
    if protocol == "text":
        # V h = (0.05 + 0.1 + 4/45, 0.025 + 0.2 + 4/45): the label is ahead by 0.075, so its
        # softmax is 1/(1 + e^-0.075) and the error 1/(1 + e^0.075).
        error = 1 / (1 + 2.718281828459045**0.075)
        expected = V[1] + ALPHA * factor * error * np.array(TEXT_H)
    else:
        expected = V[1] + ALPHA * factor * np.array(REFERENCE_H)
        expected = expected / (expected**2).sum() ** 0.5
    _, new_V = learn(engine, protocol, "linear", growth, focus)
    assert np.allclose(new_V[1], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_other_output_rows(engine):
    """The label rule changes only their length; the error rule pushes them down."""
    _, new_V = learn(engine, "reference", "linear", "linear", "neuron")
    assert np.allclose(new_V[0], (2 / 3, 1 / 3, 2 / 3), atol=1e-9)
    _, new_V = learn(engine, "text", "linear", "linear", "neuron")
    error = 1 / (1 + 2.718281828459045**0.075)
    assert np.allclose(new_V[0], V[0] - ALPHA * error * np.array(TEXT_H), atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rule", "amounts"),
    [
        ("error-onehot", (0.0, 0.0)),  # the prediction is the label, so there is no error
        ("error-raw", (-0.36875, 1 - 0.36875)),  # the one-hot label minus the activations
    ],
)
def test_other_readings_of_the_error(engine, rule, amounts):
    # With h = (9/16, 9/16, 1), V h is 0.3·9/16 + 0.2 = 0.36875 for both classes. A tie goes to the
    # first class, so for the one-hot reading one weight of the second class is raised.
    weights = (W, V if rule == "error-raw" else V + np.array([[0, 0, 0], [0, 0, 0.1]]))
    protocol = Protocol(output_rule=rule, output_rows="free")
    _, new_V = learn(engine, protocol, "linear", "linear", "neuron", weights)
    expected = weights[1] + ALPHA * np.outer(amounts, REFERENCE_H)
    assert np.allclose(new_V, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_consolidated_rows_are_frozen_and_never_reversed(engine):
    """Above strength 1, the clamped sigmoid has plasticity 0, and the text's a negative one."""
    strong = 5 * W
    new_W, _ = learn(engine, "reference", "sigmoid", "linear", "neuron", (strong, V))
    assert np.array_equal(new_W, strong)
    new_W, _ = learn(engine, "text", "sigmoid", "linear", "neuron", (strong, V))
    assert new_W[0, 0] < strong[0, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_hidden_weights_stop_at_zero(engine):
    low = np.array([[0.3, 0.4], [0.6, 0.001], [0.4, 0.3]])
    new_W, _ = learn(engine, "reference", "linear", "linear", "neuron", (low, V))
    assert new_W[1, 1] == 0
    free = Protocol(hidden_sign="free")
    new_W, _ = learn(engine, free, "linear", "linear", "neuron", (low, V))
    assert new_W[1, 1] < 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("protocol", ["text", "reference"])
def test_a_black_image_does_not_change_the_hidden_layer(engine, protocol):
    """All activations 0 give h = 0, never NaN."""
    trial = Trial("linear-linear", ALPHA, LAMBDA, ETA, protocol=protocol, hidden=3)
    new_W, new_V = train_from(W, V, 0 * X, [LABEL], [0], trial, engine=engine)
    assert np.array_equal(new_W, W)
    assert np.isfinite(new_V).all()


# SGD. h = ReLU(W x) = (0.3, 0.6, 0.4); V h = (0.2, 0.23), so the label's softmax is
# p = 1/(1 + e^-0.03), and the error is (1 - p)·(+1, -1). Back through V, the gradient with
# respect to h is (1 - p)·(0.1, -0.1, 0).
SGD_ERROR = 1 / (1 + 2.718281828459045**0.03)
SGD_H = (0.3, 0.6, 0.4)
SGD_FACTORS = {
    ("linear", "neuron"): ((1, 1, 1), 1),
    ("sigmoid", "neuron"): ((ROOT / 4 - 1 / 8, ROOT / 2 - 1 / 2, ROOT / 4 - 1 / 8), S - 0.03),
    ("exponential", "neuron"): ((ROOT / 4, ROOT / 2, ROOT / 4), S),
    ("sigmoid", "synapse"): (
        (0.21, 0.24, 0.24),
        np.array([[0.16, 0.09, 0.16], [0.09, 0.16, 0.16]]),
    ),
    ("exponential", "synapse"): ((0.3, 0.6, 0.4), V),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("growth", "focus"), SGD_FACTORS)
def test_sgd(engine, growth, focus):
    hidden_factor, output_factor = SGD_FACTORS[growth, focus]
    descent = SGD_ERROR * np.outer((-0.1, 0.1, 0.0), X[0])
    expected_W = W + ALPHA * np.array(hidden_factor)[:, None] * descent
    expected_V = V + ALPHA * output_factor * SGD_ERROR * np.outer((-1, 1), SGD_H)
    if (growth, focus) == ("exponential", "neuron"):  # both layers keep unit rows
        expected_W = expected_W / np.linalg.norm(expected_W, axis=1, keepdims=True)
        expected_V = expected_V / np.linalg.norm(expected_V, axis=1, keepdims=True)
    trial = Trial(f"{growth}-{growth}-{focus}", ALPHA, learner="sgd", hidden=3)
    new_W, new_V = train_from(W, V, X, [LABEL], [0], trial, engine=engine)
    assert np.allclose(new_W, expected_W, rtol=0, atol=1e-9)
    assert np.allclose(new_V, expected_V, rtol=0, atol=1e-9)
