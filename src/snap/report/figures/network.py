"""A diagram of the network: its two layers, and what each computes."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
from matplotlib.patches import Circle

from snap.report.figures.base import Drawing, Drawn, panels

LAYERS = (  # x, neurons drawn, name
    (0.0, 5, "input\nx, the pixels"),
    (2.6, 4, "hidden\nh, inhibited"),
    (5.2, 3, "output\ny, the classes"),
)
LINKS = (
    (1.3, "W", r"$a_i = \mathrm{ReLU}(W_i \cdot x / \Vert W_i \Vert)$"),
    (3.9, "V", r"$y = V h$, class = argmax"),
)


def network(drawing: Drawing) -> Drawn:
    """The network as in the paper, with the symbols of the equations."""
    figure, axes = panels(1, 1, 5.2, width=8.0)
    axis = axes[0, 0]
    axis.set_axis_off()
    axis.set_aspect("equal")
    heights = {x: [(n - (count - 1) / 2) * 0.8 for n in range(count)] for x, count, _ in LAYERS}
    columns = list(heights)
    for left, right in pairwise(columns):
        for y in heights[left]:
            for z in heights[right]:
                axis.annotate(
                    "",
                    (right - 0.22, z),
                    (left + 0.22, y),
                    arrowprops={
                        "arrowstyle": "->",
                        "color": drawing.color("muted"),
                        "linewidth": 0.7,
                    },
                )
    circle = {"facecolor": drawing.color("ground"), "edgecolor": drawing.color("ink")}
    for x, _, name in LAYERS:
        for y in heights[x]:
            axis.add_patch(Circle((x, y), 0.2, **circle, zorder=3))
        axis.text(x, -2.5, name, ha="center", va="center")
    for x, name, formula in LINKS:
        axis.text(x, 2.15, name, ha="center", fontsize=13, weight="bold")
        axis.text(x, -1.95, formula, ha="center", va="top", fontsize=11)
    axis.text(2.6, 1.75, r"inhibition: $h_i = (a_i/\max_k a_k)^\lambda$", ha="center", fontsize=11)
    axis.set_xlim(-1.4, 6.6)
    axis.set_ylim(-3.0, 2.6)
    return Drawn(
        figure,
        pd.DataFrame(columns=["layer"]),  # a diagram has no data
        "A network of two fully connected layers without bias: pixels, a hidden layer whose neurons"
        " inhibit each other, and an output for every class.",
    )
