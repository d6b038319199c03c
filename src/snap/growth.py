"""How plasticity depends on strength: Table 1 of the paper (tab:growth-eqns).

A growth function says how far a weight moves, given the update a learning rule asks for:
ΔW = plasticity(strength) · δW. Strength is |w| synapse-wise and the row's norm neuron-wise.

`plasticity` is the only place with these formulas. It uses arithmetic alone, so that the same
lines run on torch tensors and, compiled, on numba's scalars. To add a growth function, add its
name to GROWTHS, its number to the constants below, and its formula to `plasticity`.
"""

from __future__ import annotations

from typing import Any

GROWTHS = ("linear", "sigmoid", "exponential")
LINEAR, SIGMOID, EXPONENTIAL = range(len(GROWTHS))

FOCUSES = ("neuron", "synapse")


def plasticity(growth: int, strength: Any, capped: Any, one: Any) -> Any:
    """Plasticity at a strength; `capped` is min(strength, 1) where plasticity has a floor of zero.

    `one` is 1 in the caller's precision: numba would widen float32 to float64 at a literal 1.
    """
    if growth == SIGMOID:
        return strength * (one - capped)  # eq:s-snap and eq:n-snap
    elif growth == EXPONENTIAL:
        return strength  # eq:exp_growth_der_diff
    else:  # LINEAR: a test checks that no other growth ends here
        return one  # eq:linear_growth_integral
