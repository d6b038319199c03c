"""The arithmetic of the triton engine's kernel: functions that the kernel calls."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import triton
import triton.language as tl

from snap import growth

INTERPRETED: bool = triton.knobs.runtime.interpret


def device_function(function: Callable[..., Any]) -> Any:
    """A function that the kernel calls.

    The interpreter takes it as it is: as a function of Triton, each call would cost a millisecond.
    """
    return function if INTERPRETED else triton.jit(function)


def with_constants(function: Callable[..., Any]) -> Any:
    """A copy of a plain function that Triton can compile: global numbers become its constants.

    Triton also looks up the annotations, so what they name becomes a constant too.
    """
    constants = {
        name: tl.constexpr(value)
        for name, value in function.__globals__.items()
        if isinstance(value, int) or value is Any
    }
    constants["__name__"] = function.__module__
    return FunctionType(function.__code__, constants, function.__name__)


plasticity = device_function(
    growth.plasticity if INTERPRETED else with_constants(growth.plasticity)
)


@device_function
def over(numerator, denominator):
    """numerator / denominator, and 0 where the denominator is 0."""
    zero = denominator == 0
    return tl.where(zero, 0.0, numerator / tl.where(zero, 1.0, denominator))


@device_function
def capped(strength, CLAMPED: tl.constexpr):
    if CLAMPED:
        return tl.minimum(strength, 1.0, propagate_nan=tl.PropagateNan.ALL)
    else:
        return strength


@device_function
def positive(values):
    return tl.maximum(values, 0.0, propagate_nan=tl.PropagateNan.ALL)


@device_function
def sums(parts, ROWS: tl.constexpr):
    """The sums of 2·ROWS vectors, taken together; the order of joining keeps theirs."""
    if ROWS == 1:
        joined = tl.join(parts[0], parts[1])
    elif ROWS == 2:
        joined = tl.join(tl.join(parts[0], parts[2]), tl.join(parts[1], parts[3]))
    elif ROWS == 4:
        low = tl.join(tl.join(parts[0], parts[4]), tl.join(parts[2], parts[6]))
        high = tl.join(tl.join(parts[1], parts[5]), tl.join(parts[3], parts[7]))
        joined = tl.join(low, high)
    else:
        a = tl.join(tl.join(parts[0], parts[8]), tl.join(parts[4], parts[12]))
        b = tl.join(tl.join(parts[2], parts[10]), tl.join(parts[6], parts[14]))
        c = tl.join(tl.join(parts[1], parts[9]), tl.join(parts[5], parts[13]))
        d = tl.join(tl.join(parts[3], parts[11]), tl.join(parts[7], parts[15]))
        joined = tl.join(tl.join(a, b), tl.join(c, d))
    return tl.reshape(tl.sum(joined, axis=0), (2 * ROWS,))


@device_function
def inhibited(a, power, squarings, roots):
    """eq:lateral_inhibition. A λ that is a power of two needs no logarithm."""
    h = over(a, tl.max(a, axis=0))
    for _ in range(squarings):
        h *= h
    for _ in range(roots):
        h = tl.sqrt(h)
    if squarings + roots < 0:
        silent = h == 0
        h = tl.where(silent, 0.0, tl.exp2(power * tl.log2(tl.where(silent, 1.0, h))))
    return h


@device_function
def norms(rows, AXIS: tl.constexpr):
    return tl.sqrt(tl.sum(rows * rows, axis=AXIS))


@device_function
def unit(rows, length):
    """Rows at unit length, given their length; rows of zeros stay."""
    return rows / tl.where(length == 0, 1.0, length)


@device_function
def softmax(y, classes, C: tl.constexpr):
    y = tl.where(classes < C, y, -float("inf"))
    raised = tl.exp(y - tl.max(y, axis=0))
    return raised / tl.sum(raised, axis=0)


@device_function
def moved(
    V,
    h,
    amount,
    alpha,
    divisor,
    AXIS: tl.constexpr,
    GROWTH: tl.constexpr,
    SYNAPSE: tl.constexpr,
    CLAMPED: tl.constexpr,
    UNIT: tl.constexpr,
):
    """Rows of an output layer after a move of α · plasticity · amount · h."""
    if SYNAPSE:
        strength = tl.abs(V)
        V += alpha * plasticity(GROWTH, strength, capped(strength, CLAMPED), 1.0) * (amount * h)
    else:
        strength = norms(V, AXIS) / divisor
        factor = alpha * plasticity(GROWTH, strength, capped(strength, CLAMPED), 1.0)
        if AXIS == 1:
            V += (factor * tl.full(strength.shape, 1.0, strength.dtype))[:, None] * (amount * h)
        else:
            V += factor * (amount * h)
    if UNIT:
        length = norms(V, AXIS)
        V = unit(V, length[:, None] if AXIS == 1 else length)
    return V
