"""One contract over the table of analyses."""

import dataclasses
import inspect
import json

import numpy as np
import pytest
from matplotlib.figure import Figure

import cls_probe
from cls_probe import VectorStore
from cls_probe.analyses import ANALYSES, Analysis
from cls_probe.errors import ClsProbeError, InputError
from cls_probe.result import TABLE_WIDTH, Column, Result

every_analysis = pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)


def degenerate_stores():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(12, 2, 4))
    labels = ["a", "b", "c"] * 4
    near = np.ones((12, 1, 4))
    near[0, 0, 0] = 1.5
    zero = some.copy()
    zero[3, 0] = 0
    return {
        "one row": VectorStore.from_arrays(some[:1], labels=["a"]),
        "two rows": VectorStore.from_arrays(some[:2], labels=["a", "b"]),
        "three rows": VectorStore.from_arrays(some[:3], labels=["a", "a", "b"]),
        "one class": VectorStore.from_arrays(some, labels=["a"] * 12),
        "one row per class": VectorStore.from_arrays(some, labels=[f"c{i}" for i in range(12)]),
        "constant": VectorStore.from_arrays(np.ones((12, 1, 4)), labels=labels),
        "all zero": VectorStore.from_arrays(np.zeros((12, 1, 4)), labels=labels),
        "one row differs": VectorStore.from_arrays(near, labels=labels),
        "a zero vector": VectorStore.from_arrays(zero, labels=labels),
        "duplicated": VectorStore.from_arrays(np.repeat(some[:4], 3, axis=0), labels=labels),
        "a constant dimension": VectorStore.from_arrays(np.where(np.arange(4) == 1, 7.0, some), labels=labels),
        "one dimension": VectorStore.from_arrays(some[:, :, :1], labels=labels),
        "float16": VectorStore.from_arrays(some.astype(np.float16), labels=labels),
        "huge": VectorStore.from_arrays(some * 1e18, labels=labels),
        "tiny": VectorStore.from_arrays(some * 1e-18, labels=labels),
    }


def check_result(result: Result):
    """Everything that must hold for any result."""
    names = [column.name for column in result.columns]
    assert len(set(names)) == len(names)
    assert all(column.meaning for column in result.columns)
    records = result.records()
    assert records
    for record in records:
        assert sorted(record) == sorted(names)
        for value in record.values():
            assert type(value) in (str, int, float, bool, type(None))
            assert value == value, "NaN in a record"
            assert value not in (np.inf, -np.inf)
    for record in records:
        if any(value is None for value in record.values()):
            few = result.source["n_rows"] < 4
            assert record["undefined"] or few, "undefined without a reason"
    assert max(map(len, result.table().splitlines())) <= TABLE_WIDTH
    assert "nan" not in result.table().lower().replace("dominant", "")
    text = result.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert type(result).from_json(text).to_json() == text
    assert len(result.to_frame()) == len(records)
    assert list(result.to_frame().columns) == names
    assert result.to_csv().splitlines()[0] == ",".join(names)


def check_analysis(analysis: Analysis):
    """Check what must hold for the function itself."""
    parameters = list(inspect.signature(analysis.function).parameters.values())
    assert parameters[0].name == "store"
    assert [p.name for p in parameters[1:] if p.kind is not p.KEYWORD_ONLY] == []
    assert "layers" in {p.name for p in parameters}
    assert inspect.signature(analysis.function, eval_str=True).return_annotation is analysis.result
    assert analysis.result.__name__ == "".join(map(str.capitalize, analysis.name.split("_"))) + "Result"
    for word in ("Parameters", "Returns", "Raises"):
        assert word in analysis.function.__doc__
    for parameter in parameters[1:]:
        assert parameter.name in analysis.function.__doc__, f"{parameter.name} is not documented"
    fields = dataclasses.fields(analysis.result)
    source = inspect.getsource(analysis.result)
    for field in fields[2:]:
        assert f"    {field.name}: " in source
        assert source.split(f"    {field.name}: ")[1].split("\n")[1].strip().startswith('"""'), field.name
    assert analysis.result.__dataclass_params__.frozen
    assert not analysis.result.__dataclass_params__.eq


@every_analysis
def test_function_and_result_class(analysis):
    check_analysis(analysis)
    assert getattr(cls_probe, analysis.name) is analysis.function


@every_analysis
def test_planted_store(analysis, planted):
    before = [planted.layer(layer).tobytes() for layer in planted.layers]
    result = analysis.function(planted)
    assert type(result) is analysis.result
    check_result(result)
    assert result.source == planted.source
    assert [planted.layer(layer).tobytes() for layer in planted.layers] == before
    assert analysis.function(planted).to_json() == result.to_json()
    assert analysis.function(planted, layers=[2, 1]).layers == (2, 1)
    options = set(inspect.signature(analysis.function).parameters) - {"store"}
    assert options <= set(result.params)
    assert json.loads(result.to_json())["params"]["layers"] == [0, 1, 2]


@every_analysis
def test_prints_nothing(analysis, planted, capfd):
    analysis.function(planted).plot()
    assert capfd.readouterr() == ("", "")


@every_analysis
def test_plot_draws_on_new_and_given_axes(analysis, planted):
    result = analysis.function(planted)
    figure = result.plot()
    assert isinstance(figure, Figure)
    assert all(ax.get_xlabel() or ax.texts for ax in figure.axes)
    own = Figure()
    ax = own.subplots()
    assert result.plot(ax) is own
    assert own.axes == [ax]
    assert ax.has_data()
    back = analysis.result.from_json(result.to_json())
    assert isinstance(back.plot(), Figure)


@every_analysis
def test_needs_labels_or_does_not(analysis):
    store = VectorStore.from_arrays(np.random.default_rng(0).normal(size=(20, 2, 4)))
    if analysis.needs_labels:
        with pytest.raises(InputError, match="the store has no labels; extract rows with a label column"):
            analysis.function(store)
    else:
        check_result(analysis.function(store))
        assert isinstance(analysis.function(store).plot(), Figure)


@every_analysis
@pytest.mark.parametrize("name", degenerate_stores())
def test_degenerate_stores_give_a_reason_or_one_line(analysis, name):
    try:
        result = analysis.function(degenerate_stores()[name])
    except ClsProbeError as error:
        assert "\n" not in str(error)
        assert len(str(error)) > 20
        return
    check_result(result)
    assert isinstance(result.plot(), Figure)
    if name in ("constant", "one row"):
        assert all(result.undefined)


@every_analysis
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": [7]}, "layer 7 is not in the store; it holds layers 0 to 2"),
        ({"layers": []}, "no layer was asked for"),
        ({"pooling": "mean"}, "pooling 'mean' is not in the store; it holds cls"),
    ],
)
def test_what_is_not_stored(analysis, planted, options, message):
    with pytest.raises(InputError, match=message):
        analysis.function(planted, **options)


@pytest.mark.parametrize("analysis", [a for a in ANALYSES if "seed" in inspect.signature(a.function).parameters])
def test_a_seed_that_is_none(analysis, planted):
    with pytest.raises(InputError, match="seed is -1; expected 0 "):
        analysis.function(planted, seed=-1)


# The contract can fail: each of these breaks it in one way.


def test_the_contract_notices_a_wrong_column(planted):
    result = cls_probe.anisotropy(planted)

    class Wrong(type(result)):
        @property
        def columns(self):
            return (*super().columns, Column(name="extra", meaning="never filled"))

    broken = Wrong(**{field.name: getattr(result, field.name) for field in dataclasses.fields(result)})
    with pytest.raises(AssertionError):
        check_result(broken)


def test_the_contract_notices_nan_and_a_missing_reason(planted):
    result = cls_probe.anisotropy(planted)

    class Nan(type(result)):
        def records(self):
            return [{**record, "mev": float("nan")} for record in super().records()]

    class Silent(type(result)):
        def records(self):
            return [{**record, "undefined": ""} for record in super().records()]

    for broken in (Nan, Silent):
        values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
        with pytest.raises(AssertionError):
            check_result(broken(**{**values, "source": {**result.source, "n_rows": 90}}))


def test_the_contract_notices_a_positional_option():
    def anisotropy(store, layers=None):
        """Parameters layers Returns Raises."""

    with pytest.raises(AssertionError):
        check_analysis(dataclasses.replace(ANALYSES[0], function=anisotropy))
