"""Several results side by side."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from cls_probe import VectorStore, anisotropy, class_gap, compare, layer_probe, load_result, project
from cls_probe.errors import InputError
from tests.test_contract import check_result


@pytest.fixture
def other(planted):
    """The planted classes without the constant layer, three times as wide a spread."""
    rng = np.random.default_rng(1)
    arrays = {layer: planted.layer(layer) + rng.normal(size=(90, 8)) for layer in (1, 2)}
    return VectorStore.from_arrays(arrays, labels=planted.labels)


@pytest.mark.parametrize(
    ("analysis", "column"), [(anisotropy, "mean_cosine"), (class_gap, "gap"), (layer_probe, "accuracy")]
)
def test_values_are_those_of_the_results(planted, other, tmp_path, analysis, column):
    first, second = analysis(planted), analysis(other)
    result = compare([first, second], names=["a", "b"])
    check_result(compare([analysis(planted, layers=[1, 2]), second], names=["a", "b"]))
    assert result.column == column
    assert result.layers == (0, 1, 2, 1, 2)
    assert result.curves == ("a",) * 3 + ("b",) * 2
    for end in ("", "_low", "_high"):
        expected = np.concatenate([getattr(first, f"{column}{end}"), getattr(second, f"{column}{end}")])
        np.testing.assert_array_equal(getattr(result, f"value{end}"), expected)
    (tmp_path / "r.json").write_text(result.to_json())
    assert load_result(tmp_path / "r.json").to_json() == result.to_json()


def test_the_table_has_a_column_for_each_result_and_the_figure_a_curve(planted, other):
    result = compare([class_gap(planted), class_gap(other)], names=["plain", "noisy"])
    lines = result.table().splitlines()
    assert lines[2].split() == ["layer", "plain", "noisy"]
    assert "layer 0: undefined: plain: all vectors are the same" in lines
    assert "different rows" not in result.table()  # neither has a digest
    figure = result.plot()
    assert isinstance(figure, Figure)
    (ax,) = figure.axes
    assert [line.get_label() for line in ax.get_lines()] == ["plain", "noisy"]
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), class_gap(other).gap)
    assert ax.get_ylabel() == "gap"
    assert len(ax.collections) == 2  # bands
    own = Figure().subplots()
    assert result.plot(own) is own.get_figure()


def test_the_table_gives_every_reason_and_the_digits_of_the_column(planted):
    result = compare([anisotropy(planted)] * 2, names=["a", "b"])
    lines = result.table().splitlines()
    assert "layer 0: undefined: a: all vectors are the same; b: all vectors are the same" in lines
    assert lines[4].split() == ["0", "1.0000", "1.0000"]


def test_another_column(planted, other):
    result = compare([anisotropy(planted), anisotropy(other)], names=["a", "b"], column="norm_mean")
    np.testing.assert_array_equal(result.value[:3], anisotropy(planted).norm_mean)
    assert np.isnan(result.value_low).all()
    check_result(result)
    assert "value_low" not in result.records()[0]
    assert len(result.plot().axes[0].collections) == 0


def test_what_cannot_be_compared(planted, other):
    gaps = [class_gap(planted), class_gap(other)]
    for results, options, message in [
        (gaps[:1], {}, "comparing fewer than two results; expected two or more of one kind"),
        ([gaps[0], anisotropy(other)], {}, "results of several kinds \\(ClassGapResult, AnisotropyResult\\)"),
        (gaps, {}, "names are arrays, arrays; expected 2 different ones"),
        (gaps, {"names": ["a"]}, "names are a; expected 2 different ones"),
        (gaps, {"names": ["a", "b"], "column": "accuracy"}, "column is 'accuracy'; expected one that all .* gap"),
        ([project(planted), project(other)], {"names": ["a", "b"], "column": "x"}, "ProjectResult has several rows"),
    ]:
        with pytest.raises(InputError, match=message):
            compare(results, **options)


def test_by_default_the_model_tells_results_apart_with_its_seed(planted):
    trained = anisotropy(planted)
    random = replace(trained, source={**trained.source, "model": "m", "random_weights": 3})
    names = compare([replace(trained, source={**trained.source, "model": "m"}), random]).names
    assert names == ("m", "m with random weights (seed 3)")
