"""The kernel of the triton engine: one program trains one hidden layer on a chunk of samples.

A program reads and writes its weights once per sample. The pass that updates a row with sample t
also takes its product with sample t + 1 and its new norm, as in the loops of the cpu engine. The
sum over earlier neurons in eq:sanger stays in registers. Rows go several at a time, so that their
sums over the lanes are taken together.

A hidden layer has a slot for each kind of output layer in the population: V[layer, slot, class,
neuron]. Slots do not influence one another. A slot that is not used, or has diverged, is skipped.

What the rows need from one another goes through `scratch`, and barriers order the two: before
every pass its factors have been written, and after it the products. Triton's interpreter runs a
program without threads and cannot see a missing barrier; `triton_check` can, on a device. A small
vector is held by several threads at a time, so a barrier also parts its load from its store.

Where rows are kept at unit length, the division is deferred: a row is stored unscaled, the next
pass scales it, and the end of the chunk scales what is left.
"""

from __future__ import annotations

import triton
import triton.language as tl

from snap import growth
from snap.engines.rule import ERROR_ONEHOT, ERROR_SOFTMAX, LABEL
from snap.engines.triton_math import (
    capped,
    device_function,
    inhibited,
    moved,
    norms,
    over,
    plasticity,
    positive,
    softmax,
    sums,
    unit,
)

# Constants of a compiled kernel must be declared as such.
_LINEAR = tl.constexpr(growth.LINEAR)
_SOFTMAX, _ONEHOT, _LABEL = map(tl.constexpr, (ERROR_SOFTMAX, ERROR_ONEHOT, LABEL))
# The numbers of a layer; the divisor gives a hidden row's strength from its norm.
_ALPHA, _ETA, _LAMBDA, _DIVISOR, _EPSILON = map(tl.constexpr, range(5))
_GAIN, _PULL, _SHARE, _SCALE = map(tl.constexpr, range(4))
NUMBERS = tl.constexpr(5)  # of a layer
# Of a row: the factors that a pass reads, and the sums that it writes, product and squared norm.
FACTORS, SUMS = tl.constexpr(4), tl.constexpr(2)


@device_function
def _pass(
    W,
    x,
    following,
    lanes,
    inside,
    scratch,
    HEBBIAN: tl.constexpr,
    LEARN: tl.constexpr,
    SYNAPSE: tl.constexpr,
    UNIT: tl.constexpr,
    CLAMPED: tl.constexpr,
    NON_NEGATIVE: tl.constexpr,
    PADDED: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Update every row with x (if LEARN), and take its product with `following` and its norm."""
    earlier = x * 0.0  # Σ_{k<i} h_k w_k
    for block in range(0, PADDED, ROWS):
        parts = ()
        for r in tl.static_range(ROWS):
            i = block + r
            at = W + i * D + lanes
            w = tl.load(at, mask=inside, other=0.0)
            if LEARN:
                factors = scratch + i * FACTORS
                gain = tl.load(factors + _GAIN)
                if UNIT:
                    w *= tl.load(factors + _SCALE)
                before = w
                if SYNAPSE == _LINEAR:  # from left to right, so that products fuse with additions
                    w = w + gain * x
                    if HEBBIAN:
                        w = w - tl.load(factors + _PULL) * earlier
                else:
                    change = gain * x
                    if HEBBIAN:
                        change = change - tl.load(factors + _PULL) * earlier
                    strength = tl.abs(w)
                    w += change * plasticity(SYNAPSE, strength, capped(strength, CLAMPED), 1.0)
                if HEBBIAN:
                    earlier += tl.load(factors + _SHARE) * before
                if NON_NEGATIVE:
                    w = positive(w)
                tl.store(at, w, mask=inside)
            parts = parts + (w * following, w * w)
        # Products and squares of a row lie side by side.
        ends = scratch + PADDED * FACTORS + 2 * block + tl.arange(0, 2 * ROWS)
        tl.store(ends, sums(parts, ROWS))


@triton.jit
def train(
    W,  # [L, PADDED, D]
    V,  # [L, SLOTS, C, H]
    images,  # [N, D], numbers in the precision of the weights
    labels,
    order,  # sample numbers of all layers
    spans,  # [L, 2]: where a layer's samples start in `order`, and how many there are
    numbers,  # [L, NUMBERS]
    powers,  # [L, 2]: λ as a number of squarings and one of square roots; -1, 0 if it is neither
    hidden_bias,  # [L, H]
    output_bias,  # [L, C]
    divisors,  # [SLOTS]: of the norms of output rows
    diverged,  # [L, SLOTS]: the sample (from 1) of this chunk; 0 if none, -1 if there is no network
    scratch,  # [L, PADDED * (FACTORS + SUMS)]
    HEBBIAN: tl.constexpr,
    HIDDEN_GROWTH: tl.constexpr,
    SYNAPSE: tl.constexpr,
    UNIT: tl.constexpr,
    NORMALIZED: tl.constexpr,
    NORM_RATIO: tl.constexpr,
    EPSILON: tl.constexpr,
    CLAMPED: tl.constexpr,
    NON_NEGATIVE: tl.constexpr,
    OUTPUT_UNIT: tl.constexpr,
    OUTPUT_RULE: tl.constexpr,
    OUTPUT_GROWTHS: tl.constexpr,
    OUTPUT_SYNAPSES: tl.constexpr,
    SLOTS: tl.constexpr,
    H: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    PADDED: tl.constexpr,
    ROW_LANES: tl.constexpr,
    LANES: tl.constexpr,
    CLASS_LANES: tl.constexpr,
    ROWS: tl.constexpr,
):
    layer = tl.program_id(0).to(tl.int64)
    start, length = tl.load(spans + 2 * layer), tl.load(spans + 2 * layer + 1)
    if length > 0:
        W += layer * (PADDED * D)
        V += layer * (SLOTS * C * H)
        order += start
        diverged += layer * SLOTS
        scratch += layer * (PADDED * (FACTORS + SUMS))
        own = numbers + layer * NUMBERS
        alpha, eta = tl.load(own + _ALPHA), tl.load(own + _ETA)
        power, divisor = tl.load(own + _LAMBDA), tl.load(own + _DIVISOR)
        epsilon = tl.load(own + _EPSILON)
        squarings, roots = tl.load(powers + 2 * layer), tl.load(powers + 2 * layer + 1)
        lanes, rows, classes = (
            tl.arange(0, LANES),
            tl.arange(0, ROW_LANES),
            tl.arange(0, CLASS_LANES),
        )
        inside, present = lanes < D, rows < H
        tile = classes[:, None] * H + rows[None, :]
        tile_present = (classes < C)[:, None] & present[None, :]
        hidden = tl.load(hidden_bias + layer * H + rows, mask=present, other=0.0)
        output = tl.load(output_bias + layer * C + classes, mask=classes < C, other=0.0)
        ends = scratch + PADDED * FACTORS
        # The slots that learn, as bits. Kept in registers: a flag that is read from memory after it
        # was written could divide the threads.
        alive = 0
        for slot in tl.static_range(SLOTS):
            alive += (tl.load(diverged + slot) == 0).to(tl.int32) << slot

        x = tl.load(images + tl.load(order).to(tl.int64) * D + lanes, mask=inside, other=0.0)
        _pass(
            W, x, x, lanes, inside, scratch,
            HEBBIAN, False, SYNAPSE, UNIT, CLAMPED, NON_NEGATIVE, PADDED, D, ROWS,
        )  # fmt: skip
        if HEBBIAN and OUTPUT_UNIT and OUTPUT_RULE == _LABEL:
            # Later only the label's row moves, and it alone is scaled.
            first = tl.load(labels + tl.load(order))
            for slot in tl.static_range(SLOTS):
                if (alive >> slot) & 1:
                    v = tl.load(V + slot * C * H + tile, mask=tile_present, other=0.0)
                    others = tile_present & (classes != first)[:, None]
                    tl.debug_barrier()
                    tl.store(V + slot * C * H + tile, unit(v, norms(v, 1)[:, None]), mask=others)
        tl.debug_barrier()

        t = 0
        while (t < length) & (alive != 0):
            label = tl.load(labels + tl.load(order + t))
            upcoming = tl.load(order + tl.minimum(t + 1, length - 1)).to(tl.int64)
            following = tl.load(images + upcoming * D + lanes, mask=inside, other=0.0)
            dot = tl.load(ends + 2 * rows, mask=present, other=0.0)
            square = tl.load(ends + 2 * rows + 1, mask=present, other=0.0)
            norm = tl.sqrt(square)
            if UNIT:
                rescaled = (t > 0) & (square != 0)
                scale = tl.where(rescaled, 1.0 / tl.where(rescaled, norm, 1.0), 1.0)
                dot *= scale
                norm *= scale
                tl.store(scratch + rows * FACTORS + _SCALE, scale, mask=present)
            strength = norm / divisor
            factor = alpha * plasticity(HIDDEN_GROWTH, strength, capped(strength, CLAMPED), 1.0)
            if HEBBIAN:
                if NORMALIZED:
                    dot = over(dot, norm)
                h = inhibited(positive(dot + hidden), power, squarings, roots)
                gain = factor * h
                if NORM_RATIO:
                    pull = gain * eta * norm
                    share = h / (norm + epsilon) if EPSILON else over(h, norm)
                else:
                    pull = gain * eta
                    share = h
                tl.store(scratch + rows * FACTORS + _PULL, pull, mask=present)
                tl.store(scratch + rows * FACTORS + _SHARE, share, mask=present)
                # eq:original_class
                for slot in tl.static_range(SLOTS):
                    if (alive >> slot) & 1:
                        own_divisor = tl.load(divisors + slot)
                        if OUTPUT_RULE == _LABEL:
                            at = V + (slot * C + label) * H + rows
                            v = tl.load(at, mask=present, other=0.0)
                            v = moved(
                                v, h, 1.0, alpha, own_divisor, 0, OUTPUT_GROWTHS[slot],
                                OUTPUT_SYNAPSES[slot], CLAMPED, OUTPUT_UNIT,
                            )  # fmt: skip
                            tl.debug_barrier()  # threads that hold the same lanes have loaded them
                            tl.store(at, v, mask=present)
                            bad = tl.sum(tl.where(v - v == 0, 0, 1), axis=0)
                        else:
                            at = V + slot * C * H + tile
                            v = tl.load(at, mask=tile_present, other=0.0)
                            y = tl.sum(v * h[None, :], axis=1) + output
                            if OUTPUT_RULE == _SOFTMAX:
                                y = softmax(y, classes, C)
                            elif OUTPUT_RULE == _ONEHOT:
                                y = tl.where(classes < C, y, -float("inf"))
                                highest = tl.where(y == tl.max(y, axis=0), classes, C)
                                y = tl.where(classes == tl.min(highest, axis=0), 1.0, 0.0)
                            amount = tl.where(classes == label, 1 - y, 0 - y)
                            amount = tl.where(classes < C, amount, 0.0)
                            v = moved(
                                v, h[None, :], amount[:, None], alpha, own_divisor, 1,
                                OUTPUT_GROWTHS[slot], OUTPUT_SYNAPSES[slot], CLAMPED, OUTPUT_UNIT,
                            )  # fmt: skip
                            tl.debug_barrier()
                            tl.store(at, v, mask=tile_present)
                            bad = tl.sum(tl.sum(tl.where(v - v == 0, 0, 1), axis=1), axis=0)
                        if bad > 0:
                            tl.store(diverged + slot, t + 1)
                            alive -= 1 << slot
            else:
                h = positive(dot)
                v = tl.load(V + tile, mask=tile_present, other=0.0)
                y = softmax(tl.sum(v * h[None, :], axis=1), classes, C)
                error = tl.where(classes == label, y - 1, y)
                back = tl.sum(v * error[:, None], axis=0)
                gain = tl.where(h == 0, 0.0, -factor * back)
                v = moved(
                    v, h[None, :], -error[:, None], alpha, tl.load(divisors), 1,
                    OUTPUT_GROWTHS[0], OUTPUT_SYNAPSES[0], CLAMPED, OUTPUT_UNIT,
                )  # fmt: skip
                tl.debug_barrier()
                tl.store(V + tile, v, mask=tile_present)
                if tl.sum(tl.sum(tl.where(v - v == 0, 0, 1), axis=1), axis=0) > 0:
                    tl.store(diverged, t + 1)
                    alive = 0
            tl.store(scratch + rows * FACTORS + _GAIN, gain, mask=present)
            tl.debug_barrier()
            _pass(
                W, x, following, lanes, inside, scratch,
                HEBBIAN, True, SYNAPSE, UNIT, CLAMPED, NON_NEGATIVE, PADDED, D, ROWS,
            )  # fmt: skip
            tl.debug_barrier()
            # A weight that is not finite makes the product of its row not finite: 0 · ∞ is NaN.
            # A product can overflow by itself, so the weights decide.
            dot = tl.load(ends + 2 * rows, mask=present, other=0.0)
            if tl.sum(tl.where(dot - dot == 0, 0, 1), axis=0) > 0:
                bad = 0
                for i in range(H):
                    w = tl.load(W + i * D + lanes, mask=inside, other=0.0)
                    bad += tl.sum(tl.where(w - w == 0, 0, 1), axis=0)
                if bad > 0:
                    for slot in tl.static_range(SLOTS):
                        if (alive >> slot) & 1:
                            tl.store(diverged + slot, t + 1)
                    alive = 0
            x = following
            t += 1
        if UNIT:
            for i in range(H):
                norm = tl.sqrt(tl.load(ends + 2 * i + 1))
                w = tl.load(W + i * D + lanes, mask=inside, other=0.0)
                tl.store(W + i * D + lanes, unit(w, norm), mask=inside)
