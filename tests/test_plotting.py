"""Figures: files, fonts, settings left alone."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from cls_probe import VectorStore, project
from cls_probe.errors import InputError
from cls_probe.plotting import drawable, save_figure


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "PNG"])
def test_figures_are_written_the_same_twice(planted, tmp_path, suffix):
    figures = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for path in figures:
        save_figure(project(planted).plot(), path)
    assert figures[0].read_bytes() == figures[1].read_bytes()
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix.lower()]
    assert figures[0].read_bytes().startswith(start)


def test_other_endings_and_folders_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match=r"a figure cannot be written as '.gif'; expected .png, .svg, .pdf"):
        save_figure(Figure(), tmp_path / "x.gif")
    with pytest.raises(InputError, match="cannot be written"):
        save_figure(Figure(), tmp_path / "missing" / "x.png")


def test_settings_and_pyplot_are_left_alone(planted):
    import sys

    before = dict(mpl.rcParams)
    sys.modules.pop("matplotlib.pyplot", None)
    project(planted).plot()
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules


def test_class_names_in_scripts_without_a_font_are_drawn_as_code_points(tmp_path):
    names = drawable(["World", "Ελλάδα", "\ue000x", "$a_b$"])
    assert names == ["World", "Ελλάδα", "\\ue000x", r"\$a_b\$"]
    rng = np.random.default_rng(0)
    labels = ["汉字", "ไทย", "한국어", "অ আ", "$x$", "a"] * 5
    store = VectorStore.from_arrays(rng.normal(size=(30, 1, 4)), labels=labels)
    save_figure(project(store).plot(), tmp_path / "x.png")  # warnings are errors: a missing glyph would fail


def test_more_classes_than_colours_look_different(planted):
    from cls_probe.analyses.projection.result import _look

    assert len({tuple(_look(i).values()) for i in range(40)}) == 40


def test_one_layer_has_one_tick():
    from matplotlib.figure import Figure

    from cls_probe.plotting import layer_axis

    figure = Figure()
    ax = figure.subplots()
    layer_axis(ax, [6], "value")
    figure.draw_without_rendering()
    assert [tick for tick in ax.get_xticks() if 5.6 <= tick <= 6.4] == [6]
