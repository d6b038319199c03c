"""The diagonal Fisher information of a network of two layers, in closed form.

For a sample with hidden activities h and class probabilities p, the gradient of log p(c) is
(1[k = c] − p_k) · h_i for V_ki, and (V_ci − Σ_k p_k V_ki) · x_j for W_ij where h_i > 0. The mean of
its square over classes c drawn with probability p_c is p_k (1 − p_k) · h_i² and Var_p(V_·i) · x_j².
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.data.samples import Samples

Floats = NDArray[np.float64]
BLOCK = 500  # samples at a time


def fisher(W: NDArray[Any], V: NDArray[Any], samples: Samples) -> tuple[Floats, Floats]:
    """The mean over samples, for each weight of W and of V.

    Products are taken without BLAS, whose rounding depends on the number of threads.
    """
    hidden, output = W.astype(np.float64), V.astype(np.float64)
    of_W, of_V = np.zeros_like(hidden), np.zeros_like(output)
    full = 255 if samples.images.dtype == np.uint8 else 1
    for start in range(0, len(samples), BLOCK):
        x = samples.images[start : start + BLOCK] / full
        h = np.maximum(np.einsum("nj,ij->ni", x, hidden), 0)
        y = np.einsum("ni,ki->nk", h, output)
        p = np.exp(y - y.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("nk,ki->ni", p, output)
        variance = np.einsum("nk,ki->ni", p, np.square(output)) - np.square(mean)
        back = np.where(h > 0, np.maximum(variance, 0), 0)
        of_W += np.einsum("ni,nj->ij", back, np.square(x))
        of_V += np.einsum("nk,ni->ki", p * (1 - p), np.square(h))
    return of_W / len(samples), of_V / len(samples)
