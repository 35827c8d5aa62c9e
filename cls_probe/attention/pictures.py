"""Pictures of the attention of [CLS]: curves over layers, and maps of layers and words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.plotting import curve, drawable, grid, layer_axis, panels, style
from cls_probe.result import ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
_LABELS = {
    "to_cls": "to [CLS] itself",
    "to_special": "to [SEP] and the like",
    "to_punctuation": "to punctuation",
    "to_words": "to words",
    "entropy": "entropy (nats)",
}


def curves(
    layers: Sequence[int], values: Mapping[str, Floats], uniform: Mapping[str, float], ax: "Axes | None"
) -> "Figure":
    """Draw one panel a measure: the mean over heads, every head as a dot, uniform attention; on `ax` the masses."""
    with style():
        if ax is not None:
            figure, _ = panels(ax, 1)
            for number, name in enumerate(list(_LABELS)[:4]):
                curve(ax, layers, *_ends(values, name), label=_LABELS[name], number=number)
            layer_axis(ax, layers, "share of attention", across="layer")
            ax.legend()
            return figure
        figure, axes = panels(None, len(_LABELS))
        for panel, (name, label) in zip(axes, _LABELS.items(), strict=True):
            heads = values[name][:, :-1]
            dots: Any = {"s": 9, "color": "#999999", "linewidths": 0, "label": "each head"}
            panel.scatter(np.repeat(layers, heads.shape[1]), heads.ravel(), **dots)
            curve(panel, layers, *_ends(values, name), label="mean over heads, with its interval", number=0)
            panel.axhline(uniform[name], color="#666666", linestyle=":", label="uniform attention")
            layer_axis(panel, layers, label, across="layer")
            panel.set_ylim(0, None if name == "entropy" else 1)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def maps(layers: Sequence[int], rows: Mapping[int, tuple[list[str], Floats]], ax: "Axes | None") -> "Figure":
    """Draw one map of layers and words for each row, all in one scale of colour; on `ax` the first row alone.

    `rows` are row numbers -> words and their masses, (n_layers, n_words).
    """
    with style():
        longest = max(len(words) for words, _ in rows.values())
        if ax is not None:
            figure, axes = panels(ax, 1)
        else:
            size = {"width": 1.8 + 0.27 * longest, "height": 1.5 + 0.22 * len(layers)}
            figure, axes = grid(len(rows), 1, **size, least_width=4.2)
        from matplotlib.colors import PowerNorm

        norm = PowerNorm(0.5, vmin=0, vmax=max(float(mass.max()) for _, mass in rows.values()))
        for panel, (row, (words, mass)) in zip(axes, rows.items(), strict=False):
            image = panel.imshow(mass, cmap="Blues", norm=norm, aspect="auto")
            panel.set_xticks(range(len(words)), drawable(words), rotation=90)
            panel.set_yticks(range(len(layers)), [str(layer) for layer in layers])
            panel.set(xlabel="word", ylabel="layer")
            panel.invert_yaxis()
            panel.set_title(f"row {row}" if len(rows) > 1 else "", loc="left")
            panel.grid(visible=False)
        if ax is None:
            figure.colorbar(image, ax=axes, label="share of attention\n(square-root scale)")
    return figure


def _ends(values: Mapping[str, Floats], name: str) -> list[Floats]:
    """Mean over heads, and the ends of its interval."""
    return [values[key][:, -1] for key in ends(name)]
