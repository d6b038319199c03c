"""The compiled inner loops of the cpu engine.

The weights are read and written once per sample: the pass that updates a row with sample t also
takes its product with sample t + 1 and its new norm. The sum over earlier neurons in eq:sanger is
carried along as a running vector, so a sample costs O(H·D). Rows go two at a time, which halves
the traffic of that vector; the last pair may hold a spare row of zeros.

Where rows are kept at unit length, the division is deferred: a row is stored unscaled, together
with its factor, and the next pass applies the factor.

A Hebbian hidden layer learns independently of the output layer. Trials that differ only in how
their output layer grows share one hidden layer, and V holds an output layer for each: V[trial,
class, neuron]. Output layers do not influence one another, so sharing changes no number.

A trial runs on one thread from start to end, so its result does not depend on the thread count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit

from snap import growth
from snap.engines.compiling import compiled
from snap.engines.rule import ERROR_ONEHOT, ERROR_SOFTMAX, LABEL

plasticity = njit(inline="always")(growth.plasticity)


@compiled
def _read(images, sample, full, x):
    """Read one image into x, scaled to 0…1."""
    for j in range(x.size):
        x[j] = images[sample, j] / full


@compiled
def _inhibit(h, rule):
    """eq:lateral_inhibition, in place: h holds the activations a."""
    zero = h.dtype.type(0)
    top = zero
    for i in range(h.size):
        if not h[i] <= top:  # NaN propagates
            top = h[i]
    if top == zero:
        return
    for i in range(h.size):
        ratio = h[i] / top
        if rule.squarings >= 0:
            for _ in range(rule.squarings):
                ratio *= ratio
        else:
            ratio = ratio**rule.lateral_inhibition
        h[i] = zero if ratio < rule.tiny else ratio


@compiled
def _hebbian_factors(dot, square, scale, rule, h, gain, pull, share):
    """Per row: h, and the factors by which the pass adds x, subtracts the sum and extends it."""
    zero, one = h.dtype.type(0), h.dtype.type(1)
    for i in range(h.size):
        a = dot[i] * scale[i]
        if rule.normalized:
            norm = math.sqrt(square[i]) * scale[i]
            a = a / norm if norm != zero else zero
        a += rule.hidden_bias[i]
        h[i] = zero if a < zero else a
    _inhibit(h, rule)
    for i in range(h.size):
        norm = math.sqrt(square[i]) * scale[i]
        strength = norm / rule.hidden_fan
        factor = plasticity(rule.hidden_growth, strength, min(strength, rule.cap), one)
        gain[i] = rule.alpha * factor * h[i]
        if rule.norm_ratio:
            pull[i] = gain[i] * rule.eta * norm
            # Adding an epsilon of 0 would change how the division is compiled, and so its rounding.
            if rule.epsilon == zero:
                share[i] = h[i] / norm if norm != zero else zero
            else:
                share[i] = h[i] / (norm + rule.epsilon)
        else:
            pull[i] = gain[i] * rule.eta
            share[i] = h[i]


@compiled
def _outputs(V, h, bias, y):
    for c in range(V.shape[0]):
        total = y.dtype.type(0)
        for i in range(h.size):
            total += V[c, i] * h[i]
        y[c] = total + bias[c]


@compiled
def _softmax(y):
    top = y.max()
    total = y.dtype.type(0)
    for c in range(y.size):
        y[c] = math.exp(y[c] - top)
        total += y[c]
    for c in range(y.size):
        y[c] /= total


@compiled
def _norm(row):
    total = row.dtype.type(0)
    for i in range(row.size):
        total += row[i] * row[i]
    return math.sqrt(total)


@compiled
def _update_output_row(row, h, amount, rule, layer):
    """Move one row of an output layer by α · plasticity · amount · h."""
    one = h.dtype.type(1)
    step = rule.alpha * amount
    kind = rule.output_growth[layer]
    if rule.output_synapse[layer]:
        for i in range(h.size):
            strength = abs(row[i])
            factor = plasticity(kind, strength, min(strength, rule.cap), one)
            row[i] += step * factor * h[i]
    else:
        # In two branches: as one division by an array's element it would round differently.
        strength = _norm(row) if rule.output_plain[layer] else _norm(row) / rule.output_fan
        step *= plasticity(kind, strength, min(strength, rule.cap), one)
        for i in range(h.size):
            row[i] += step * h[i]


@compiled
def _to_unit(row):
    norm = _norm(row)
    if norm != row.dtype.type(0):
        for i in range(row.size):
            row[i] /= norm


@compiled
def _hebbian_output(V, h, label, rule, layer, y, first):
    """eq:original_class; y is a buffer for the outputs."""
    if rule.output_rule == LABEL:
        _update_output_row(V[label], h, h.dtype.type(1), rule, layer)
        if rule.output_unit and not first:
            _to_unit(V[label])  # the other rows are at unit length and have not moved
    else:
        _outputs(V, h, rule.output_bias, y)
        if rule.output_rule == ERROR_SOFTMAX:
            _softmax(y)
        elif rule.output_rule == ERROR_ONEHOT:
            predicted = np.argmax(y)
            y[:] = h.dtype.type(0)
            y[predicted] = h.dtype.type(1)
        for c in range(y.size):
            target = h.dtype.type(1) if c == label else h.dtype.type(0)
            _update_output_row(V[c], h, target - y[c], rule, layer)
    if rule.output_unit and (first or rule.output_rule != LABEL):
        for c in range(y.size):
            _to_unit(V[c])


@compiled
def _sgd_factors(dot, square, scale, V, label, rule, h, y, back, gain):
    """Forward and backward through the output layer, which also learns here."""
    zero, one = h.dtype.type(0), h.dtype.type(1)
    for i in range(h.size):
        a = dot[i] * scale[i]
        h[i] = zero if a < zero else a
    _outputs(V, h, rule.output_bias, y)
    _softmax(y)
    y[label] -= one
    back[:] = zero
    for c in range(y.size):
        for i in range(h.size):
            back[i] += V[c, i] * y[c]
    for i in range(h.size):
        strength = math.sqrt(square[i]) * scale[i] / rule.hidden_fan
        factor = plasticity(rule.hidden_growth, strength, min(strength, rule.cap), one)
        gain[i] = zero if h[i] == zero else -rule.alpha * factor * back[i]
    for c in range(y.size):
        _update_output_row(V[c], h, -y[c], rule, 0)
        if rule.output_unit:
            _to_unit(V[c])


@compiled
def _all_finite(row):
    total = row.dtype.type(0)
    for i in range(row.size):
        total += row[i] * row.dtype.type(0)  # 0, but NaN for infinity and NaN
    return total == row.dtype.type(0)


@cache
def trainer(hebbian: bool, synapse: int, unit: bool) -> Callable[..., None]:
    """Compile the training loop for a learner, a synapse-wise growth (or LINEAR) and unit rows.

    The three are constants of the compiled loop, so that the pass over W has no branches.
    """

    def train(W, V, images, full, labels, order, rule, diverged):
        """Train W (H rows and a spare one) and the output layers in V in place.

        `diverged` starts as zeros. For each output layer it receives the sample (from 1) at which
        that layer or W stopped being finite.
        """
        rows, width = W.shape[0] - 1, W.shape[1]
        zero, one = W.dtype.type(0), W.dtype.type(1)
        x, following = np.empty(width, W.dtype), np.empty(width, W.dtype)
        earlier = np.empty(width, W.dtype)  # Σ_{k<i} h_k w_k
        dot, square = np.empty(rows, W.dtype), np.empty(rows, W.dtype)
        scale = np.ones(rows + 1, W.dtype)
        h, y = np.empty(rows, W.dtype), np.empty(V.shape[1], W.dtype)
        back = np.empty(rows, W.dtype)
        gain, pull = np.zeros(rows + 1, W.dtype), np.zeros(rows + 1, W.dtype)
        share = np.zeros(rows + 1, W.dtype)
        active = np.empty(rows + 1, np.int64)
        _read(images, order[0], full, x)
        for i in range(rows):
            d = q = zero
            for j in range(width):
                d += W[i, j] * x[j]
                q += W[i, j] * W[i, j]
            dot[i], square[i] = d, q
        for t in range(order.size):
            label = labels[order[t]]
            if t + 1 < order.size:
                _read(images, order[t + 1], full, following)
            else:
                following[:] = zero
            if hebbian:
                _hebbian_factors(dot, square, scale, rule, h, gain, pull, share)
                for layer in range(V.shape[0]):
                    if not diverged[layer]:
                        _hebbian_output(V[layer], h, label, rule, layer, y, t == 0)
            else:
                _sgd_factors(dot, square, scale, V[0], label, rule, h, y, back, gain)
            count = 0
            for i in range(rows):
                # A row that neither moves nor extends the sum needs only its next product. The
                # first pass updates every row, because given weights may be negative.
                if gain[i] != zero or share[i] != zero or t == 0:
                    active[count] = i
                    count += 1
                else:
                    d = zero
                    for j in range(width):
                        d += W[i, j] * following[j]
                    dot[i] = d
            active[count] = rows
            earlier[:] = zero
            for pair in range(0, count, 2):
                i, k = active[pair], active[pair + 1]
                row_i, row_k = W[i], W[k]
                gain_i, gain_k, pull_i, pull_k = gain[i], gain[k], pull[i], pull[k]
                share_i, share_k, scale_i, scale_k = share[i], share[k], scale[i], scale[k]
                dot_i = dot_k = square_i = square_k = zero
                for j in range(width):
                    u, v = row_i[j], row_k[j]
                    if unit:
                        u, v = u * scale_i, v * scale_k
                    factor_i = factor_k = one
                    if synapse != growth.LINEAR:
                        s_i, s_k = abs(u), abs(v)
                        factor_i = plasticity(synapse, s_i, min(s_i, rule.cap), one)
                        factor_k = plasticity(synapse, s_k, min(s_k, rule.cap), one)
                    # Written from left to right, each product is fused with an addition.
                    if hebbian:
                        before_i = earlier[j]
                        before_k = before_i + share_i * u
                        earlier[j] = before_k + share_k * v
                        u = u + factor_i * gain_i * x[j] - factor_i * pull_i * before_i
                        v = v + factor_k * gain_k * x[j] - factor_k * pull_k * before_k
                        u = zero if u < rule.least else u
                        v = zero if v < rule.least else v
                    else:
                        u, v = u + factor_i * gain_i * x[j], v + factor_k * gain_k * x[j]
                    row_i[j], row_k[j] = u, v
                    dot_i += u * following[j]
                    dot_k += v * following[j]
                    square_i += u * u
                    square_k += v * v
                dot[i], square[i] = dot_i, square_i
                if k < rows:
                    dot[k], square[k] = dot_k, square_k
            if unit:
                for i in range(rows):
                    scale[i] = one / math.sqrt(square[i]) if square[i] != zero else one
            # A weight that is not finite makes every product of its row not finite: 0 · ∞ is NaN.
            lost = False
            for i in range(rows):
                if not math.isfinite(dot[i]) and not _all_finite(W[i]):
                    lost = True
            learning = 0
            for layer in range(V.shape[0]):
                if not diverged[layer]:
                    if lost or not _all_finite(V[layer].ravel()):
                        diverged[layer] = t + 1
                    else:
                        learning += 1
            if learning == 0:
                break
            x, following = following, x
        if unit:
            for i in range(rows):
                W[i] *= scale[i]

    loop: Callable[..., None] = compiled(train)
    return loop


@compiled
def outputs(W, rows, inverse, V, images, full, rule, hebbian, out):
    """The outputs of every output layer for each image; `inverse` scales activations.

    Four rows of W (padded to a multiple of four) are multiplied by two images at a time, so that
    the sums stay in registers.
    """
    width = W.shape[1]
    zero = W.dtype.type(0)
    x, other = np.empty(width, W.dtype), np.empty(width, W.dtype)
    z = np.empty((2, W.shape[0]), W.dtype)
    for n in range(0, images.shape[0], 2):
        pair = min(2, images.shape[0] - n)
        _read(images, n, full, x)
        _read(images, n + pair - 1, full, other)
        for i in range(0, W.shape[0], 4):
            a, b, c, d = W[i], W[i + 1], W[i + 2], W[i + 3]
            a0 = b0 = c0 = d0 = a1 = b1 = c1 = d1 = zero
            for j in range(width):
                u, v = x[j], other[j]
                a0 += a[j] * u
                b0 += b[j] * u
                c0 += c[j] * u
                d0 += d[j] * u
                a1 += a[j] * v
                b1 += b[j] * v
                c1 += c[j] * v
                d1 += d[j] * v
            z[0, i], z[0, i + 1], z[0, i + 2], z[0, i + 3] = a0, b0, c0, d0
            z[1, i], z[1, i + 1], z[1, i + 2], z[1, i + 3] = a1, b1, c1, d1
        for k in range(pair):
            h = z[k, :rows]
            for i in range(rows):
                activation = h[i] * inverse[i] + rule.hidden_bias[i]
                h[i] = zero if activation < zero else activation
            if hebbian:
                _inhibit(h, rule)
            for layer in range(V.shape[0]):
                _outputs(V[layer], h, rule.output_bias, out[layer, n + k])
