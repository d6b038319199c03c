"""The compiled loops of the controls, for the cpu engine: one sample at a time, in two passes.

They are loops of their own, so that the paper's loops stay as they are and round as they did.
"""

from __future__ import annotations

import numpy as np

from snap.engines.compiling import compiled
from snap.engines.kernels import (
    _all_finite,
    _hebbian_factors,
    _hebbian_output,
    _norm,
    _outputs,
    _read,
    _softmax,
    _to_unit,
    plasticity,
)


@compiled
def train_random_hidden(W, V, images, full, labels, order, rule, diverged):
    """Train the output layers in V (see `kernels.trainer`); W stays as it is."""
    rows, width = W.shape[0] - 1, W.shape[1]
    x = np.empty(width, W.dtype)
    dot, square = np.empty(rows, W.dtype), np.empty(rows, W.dtype)
    scale = np.ones(rows + 1, W.dtype)
    h, y = np.empty(rows, W.dtype), np.empty(V.shape[1], W.dtype)
    gain, pull = np.zeros(rows + 1, W.dtype), np.zeros(rows + 1, W.dtype)
    share = np.zeros(rows + 1, W.dtype)
    for i in range(rows):
        total = W.dtype.type(0)
        for j in range(width):
            total += W[i, j] * W[i, j]
        square[i] = total
    for t in range(order.size):
        label = labels[order[t]]
        _read(images, order[t], full, x)
        for i in range(rows):
            total = W.dtype.type(0)
            for j in range(width):
                total += W[i, j] * x[j]
            dot[i] = total
        _hebbian_factors(dot, square, scale, rule, h, gain, pull, share)
        learning = 0
        for layer in range(V.shape[0]):
            if not diverged[layer]:
                _hebbian_output(V[layer], h, label, rule, layer, y, t == 0)
                if _all_finite(V[layer].ravel()):
                    learning += 1
                else:
                    diverged[layer] = t + 1
        if learning == 0:
            break


@compiled
def _descend_row(row, gradient, x, rule, kind, synapse, fan, memory, n):
    """Move one row against its gradient, which is `gradient` · x plus that of the penalty."""
    one = row.dtype.type(1)
    factor = one
    if not synapse:
        strength = _norm(row) / fan
        factor = plasticity(kind, strength, min(strength, rule.cap), one)
    for j in range(row.size):
        if synapse:
            strength = abs(row[j])
            factor = plasticity(kind, strength, min(strength, rule.cap), one)
        slope = gradient * x[j]
        total = slope
        if memory.penalised:
            total += memory.weight * memory.importance[n, j] * (row[j] - memory.anchor[n, j])
        change = rule.alpha * factor * total
        row[j] -= change
        if memory.follows:
            memory.path[n, j] += slope * change


@compiled
def train_sgd(W, V, images, full, labels, order, rule, control, hidden, output, diverged):
    """Train W (H rows and a spare one) and V[0] by SGD with a mask or a penalty.

    `control` has the growth of W, the classes that compete with each label, and what is kept at
    unit length; `hidden` and `output` are what is kept from earlier tasks.
    """
    rows, width = W.shape[0] - 1, W.shape[1]
    zero, one = W.dtype.type(0), W.dtype.type(1)
    x = np.empty(width, W.dtype)
    h, back = np.empty(rows, W.dtype), np.empty(rows, W.dtype)
    y, few = np.empty(V.shape[1], W.dtype), np.empty(V.shape[1], W.dtype)
    for t in range(order.size):
        label = labels[order[t]]
        _read(images, order[t], full, x)
        for i in range(rows):
            total = zero
            for j in range(width):
                total += W[i, j] * x[j]
            h[i] = zero if total < zero else total
        _outputs(V[0], h, rule.output_bias, y)
        count = 0
        for c in range(y.size):
            if control.competes[label, c]:
                few[count] = y[c]
                count += 1
        _softmax(few[:count])
        count = 0
        for c in range(y.size):
            if control.competes[label, c]:
                y[c] = few[count]
                count += 1
            else:
                y[c] = zero
        y[label] -= one
        for i in range(rows):
            total = zero
            for c in range(y.size):
                total += V[0, c, i] * y[c]
            back[i] = zero if h[i] == zero else total
        for c in range(y.size):
            _descend_row(
                V[0, c],
                y[c],
                h,
                rule,
                rule.output_growth[0],
                rule.output_synapse[0],
                rule.output_fan,
                output,
                c,
            )
            if rule.output_unit:
                _to_unit(V[0, c])
        for i in range(rows):
            if back[i] != zero or hidden.penalised or control.hidden_unit:
                _descend_row(
                    W[i],
                    back[i],
                    x,
                    rule,
                    control.hidden_growth,
                    control.synapse,
                    rule.hidden_fan,
                    hidden,
                    i,
                )
                if control.hidden_unit:
                    _to_unit(W[i])
        lost = not _all_finite(V[0].ravel())
        for i in range(rows):
            if not _all_finite(W[i]):
                lost = True
        if lost:
            diverged[0] = t + 1
            return
