"""The reading `code`, against an independent implementation of the public code's formulas.

It shares nothing with the package but the initial weights, the biases and the order of samples:
NumPy, one sample at a time, float64.
"""

from __future__ import annotations

import numpy as np
import pytest

from snap import Trial, train_from
from snap.initial import biases, initial_weights
from snap.learners import HEBBIAN, SGD

SAMPLES, TOLERANCE = 300, 1e-8
ENGINES = ("reference", "cpu", "torch")


def norms(weights):
    return np.sqrt((weights**2).sum(axis=1, keepdims=True))


def hebbian(W, V, b, c, samples, growths, focus, inhibition, eta, alpha):
    hidden_growth, output_growth = growths
    for image, label in samples:
        n = norms(W)
        z = (W @ image) / n[:, 0] + b
        h = (np.maximum(z, 0) / z.max()) ** inhibition
        before = np.zeros_like(image)
        step = np.empty_like(W)
        for i in range(len(W)):
            step[i] = h[i] * (image - eta * n[i] * before)
            before = before + h[i] * W[i] / (n[i] + 1e-7)
        strength = n / np.sqrt(len(W))
        if hidden_growth == "sigmoid":
            s = np.abs(W) if focus == "synapse" else strength
            step = step * s * (1 - np.minimum(s, 1))
        W = np.maximum(W + alpha * step, 0)
        if hidden_growth == "exponential":
            W = W / norms(W)
        row = V[label]
        if output_growth == "sigmoid" and focus == "synapse":
            factor = row * (1 - row)
        elif output_growth == "sigmoid":
            s = np.sqrt((row**2).sum()) / np.sqrt(len(V))
            factor = s * (1 - min(s, 1))
        elif output_growth == "exponential":
            factor = np.sqrt((row**2).sum())
        else:
            factor = 1
        V = V.copy()
        V[label] = row + alpha * factor * h
        V = V / norms(V)
    return W, V


def sgd(W, V, samples, growth, focus, alpha):
    def moved(weights, gradient):
        strength = (
            np.abs(weights) if focus == "synapse" else norms(weights) / weights.shape[1] ** 0.5
        )
        factor = {
            "linear": 1,
            "sigmoid": strength * (1 - np.minimum(strength, 1)),
            "exponential": strength,
        }[growth]
        weights = weights - alpha * factor * gradient
        return weights / norms(weights) if growth == "exponential" else weights

    for image, label in samples:
        h = np.maximum(W @ image, 0)
        y = np.exp(V @ h - (V @ h).max())
        error = y / y.sum()
        error[label] -= 1
        back = (V.T @ error) * (h > 0)
        W, V = moved(W, np.outer(back, image)), moved(V, np.outer(error, h))
    return W, V


def stream(tiny_samples, count=SAMPLES):
    order = np.random.default_rng(0).permutation(len(tiny_samples))[:count]
    pixels = tiny_samples.images[order].astype(np.float64) / 255
    return order, list(zip(pixels, tiny_samples.labels[order], strict=True))


def compare(trial, tiny_samples, order, W, V, expected, engine):
    trained = train_from(W, V, tiny_samples.images, tiny_samples.labels, order, trial, engine)
    for ours, theirs in zip(trained, expected, strict=True):
        assert np.abs(ours - theirs).max() <= TOLERANCE * np.abs(theirs).max()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("inhibition", [2, 16, 32])
@pytest.mark.parametrize("name", HEBBIAN.paper_configurations)
def test_hebbian_learning_weight_for_weight(tiny_samples, name, inhibition, engine):
    trial = Trial(name, 0.1, inhibition, 0.3, protocol="code", hidden=24)
    assert trial.protocol_text == "code"
    W, V = initial_weights(trial, 784, np.float64)
    b, c = biases(trial, *V.shape[::-1], np.float64)
    assert b.min() > 0
    assert max(b.max(), c.max()) <= trial.beta
    order, samples = stream(tiny_samples)
    growths = trial.configuration.hidden, trial.configuration.output
    focus = trial.configuration.focus
    expected = hebbian(W, V, b, c, samples, growths, focus, inhibition, 0.3, 0.1)
    compare(trial, tiny_samples, order, W, V, expected, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SGD.paper_configurations)
def test_sgd_weight_for_weight(tiny_samples, name, engine):
    trial = Trial(name, 0.005, learner="sgd", protocol="code", hidden=24)
    assert trial.protocol_text == "code"
    W, V = initial_weights(trial, 784, np.float64)
    order, samples = stream(tiny_samples)
    configuration = trial.configuration
    expected = sgd(W, V, samples, configuration.hidden, configuration.focus, 0.005)
    compare(trial, tiny_samples, order, W, V, expected, engine)


def test_initial_weights_of_sgd():
    """Signed; strengths (RMS) log-uniform from β to 100 β, and tiny ones per synapse."""
    trial = Trial("linear-linear", 0.005, learner="sgd", protocol="code", hidden=4000)
    W, _ = initial_weights(trial, 100, np.float64)
    strength = np.sqrt((W**2).mean(axis=1))
    assert 0.01 <= strength.min() < 0.0101
    assert 0.99 < strength.max() <= 1
    assert np.mean(strength < 0.1) == pytest.approx(0.5, abs=0.03)
    assert np.mean(W < 0) == pytest.approx(0.5, abs=0.01)
    trial = Trial("sigmoid-sigmoid-synapse", 0.005, learner="sgd", protocol="code")
    W, V = initial_weights(trial, 784, np.float64)
    assert 0.00035 < np.abs(W).max() <= 0.01 / 28
    assert np.abs(V).max() <= 0.01 / 8


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bias_takes_part_in_evaluation(tiny_samples, engine):
    """Without weights, the class is that of the highest output bias."""
    from snap.engines import population_class

    trial = Trial("linear-linear", 0.1, 2, 0.3, protocol="code", hidden=4)
    weights = [(np.zeros((4, 784)), np.zeros((10, 4)))]
    population = population_class(engine)([trial], weights, tiny_samples)
    _, c = biases(trial, 4, 10, np.float64)
    few = tiny_samples.take(slice(5))
    assert np.allclose(population.outputs(0, few), c)
    assert set(population.predict(0, few)) == {c.argmax()}
