"""One style for all figures: colour-blind safe, readable in grey print, fonts embedded, no pyplot."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cls_probe.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#B8A800")
"""Okabe & Ito 2008, strongest contrast first, its yellow darkened for white paper."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")

_STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "cls-probe",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in our style and leave the user's settings as they were."""
    import matplotlib as mpl

    settings: Any = {**_STYLE, "font.family": _font_families()}
    with mpl.rc_context(settings):
        yield


def panels(ax: "Axes | None", n_panels: int, *, width: float = 3.6, height: float = 3.0) -> "tuple[Figure, list[Axes]]":
    """Give the figure and axes to draw on: the user's one, or as many panels as wanted, up to four side by side."""
    if ax is not None:
        figure = ax.get_figure(root=True)
        assert figure is not None
        return figure, [ax]
    n_lines = -(-n_panels // 4)
    return grid(n_panels, -(-n_panels // n_lines), width=width, height=height)


def grid(
    n_panels: int, n_columns: int, *, width: float, height: float, least_width: float = 0.0, margin: float = 0.0
) -> "tuple[Figure, list[Axes]]":
    """Give a new figure with panels of that size, so many side by side, and a margin below for a legend."""
    from matplotlib.figure import Figure

    n_lines = -(-n_panels // n_columns)
    size = max(width * n_columns, least_width), height * n_lines + margin
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(n_lines, n_columns, squeeze=False).flat)
    for spare in axes[n_panels:]:
        spare.remove()
    return figure, axes[:n_panels]


def layer_axis(ax: "Axes", layers: Sequence[int], label: str, *, across: str = "layer (0 = embedding output)") -> None:
    """Label the axes of a curve over layers."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(across)
    ax.set_ylabel(label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(min(layers) - 0.4, max(layers) + 0.4)


def curve(ax: "Axes", layers: Any, values: Any, low: Any = None, high: Any = None, *, label: str, number: int) -> None:
    """Draw one curve over layers, with its interval as a band."""
    colour = COLOURS[number % len(COLOURS)]
    look: dict[str, Any] = {"marker": MARKERS[number % len(MARKERS)], "linestyle": DASHES[number % len(DASHES)]}
    ax.plot(layers, values, color=colour, label=label, **look)
    if low is not None:
        ax.fill_between(layers, low, high, color=colour, alpha=0.2, linewidth=0)


def heat_map(
    ax: "Axes", values: Any, names: Sequence[str], *, low: float, high: float, form: Any = None, aspect: Any = "equal"
) -> "AxesImage":
    """Shade a square matrix with named rows and columns from white (`low`) to dark blue (`high`).

    `form` turns a position (row, column) into the text of its cell; None writes none.
    """
    names = drawable(names)
    image = ax.imshow(values, cmap="Blues", vmin=low, vmax=high, aspect=aspect)
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.grid(visible=False)
    cells = itertools.product(range(len(names)), repeat=2) if form is not None else ()
    size = 9 if len(names) <= 4 else 5.5
    for i, j in cells:
        colour = "white" if values[i, j] - low > 0.6 * (high - low) else "black"
        ax.text(j, i, form(i, j), ha="center", va="center", color=colour, fontsize=size)
    return image


def save_figure(figure: "Figure", path: str | Path) -> None:
    """Write a figure as png, svg or pdf by the ending of its name, without a time stamp."""
    path = Path(path)
    suffix = check_figure_path(path)
    stamp = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    try:
        with style():
            figure.savefig(path, metadata=stamp)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


def check_figure_path(path: Path) -> str:
    """Give the ending in lower case; InputError when it is none that can be drawn."""
    suffix = path.suffix.lower()
    if suffix not in FIGURE_SUFFIXES:
        raise InputError(
            f"{path}: a figure cannot be written as {path.suffix!r}; expected {', '.join(FIGURE_SUFFIXES)}"
        )
    return suffix


def drawable(names: Sequence[str]) -> list[str]:
    """Give names as the installed fonts can draw them: a character that they lack becomes its code point."""
    fonts = _fonts()
    names = [name.replace("$", r"\$") for name in names]  # no mathematics
    return ["".join(c if any(f.get_char_index(ord(c)) for f in fonts) else _escaped(c) for c in n) for n in names]


def _escaped(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode()


_FALLBACKS = (
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Arial Unicode MS",
    "Microsoft YaHei",
    "Hiragino Sans",
)


def _font_families() -> list[str]:
    """DejaVu Sans, which matplotlib brings, then the wide fonts that are installed."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    noto = sorted(name for name in installed if name.startswith("Noto Sans ") and "Mono" not in name)
    return ["DejaVu Sans", *(name for name in (*_FALLBACKS, *noto) if name in installed)]


def _fonts() -> list[Any]:
    from matplotlib import font_manager

    return [font_manager.get_font(font_manager.findfont(name)) for name in _font_families()]
