"""The base of all results: table, JSON, CSV."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from cls_probe import load_result
from cls_probe.errors import InputError
from cls_probe.result import Column, Result, best_defined, explain, text_table


@dataclass(frozen=True, kw_only=True, eq=False)
class SomeResult(Result):
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    flags: NDArray[np.bool_]
    names: tuple[str, ...]
    maybe: tuple[str, ...] | None

    title = "Some"
    meaning = "What it means."
    documented = (Column(name="name", meaning="a name", heading="name"), Column(name="value", meaning="a value"))

    def records(self):
        return [{"name": n, "value": v} for n, v in zip(self.names, self.values[0].tolist(), strict=True)]

    def summary(self):
        return self.columns, [{**record, "undefined": ""} for record in self.records()]


def some(**changes):
    fields = {
        "params": {"layers": (1, 2), "c": 0.1},
        "source": {"model": "m", "versions": {"a": "1"}},
        "values": np.array([[0.1, np.nan], [1 / 3, 1e-300]]),
        "counts": np.array([1, 2]),
        "flags": np.array([True, False]),
        "names": ("ü", '"<b>,\n'),
        "maybe": None,
    }
    return SomeResult(**{**fields, **changes})


def test_json_loses_nothing():
    result = some()
    back = SomeResult.from_json(result.to_json())
    assert back.to_json() == result.to_json()
    np.testing.assert_array_equal(back.values, result.values)
    assert (back.counts.dtype, back.flags.dtype) == (np.int64, np.bool_)
    assert back.names == result.names
    assert back.maybe is None
    assert json.loads(result.to_json())["values"][0] == [0.1, None]
    assert "NaN" not in result.to_json()
    assert SomeResult.from_json(some(maybe=("x",)).to_json()).maybe == ("x",)


def test_arrays_are_read_only_and_fields_frozen():
    with pytest.raises(ValueError, match="read-only"):
        some().values[0, 0] = 1
    with pytest.raises(AttributeError):
        some().names = ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a saved result"),
        ("[]", "not a saved result"),
        ("{}", "not a saved result"),
        ('{"kind": "Other", "schema": 1}', "a saved Other of schema 1; expected SomeResult of schema 1"),
        ('{"kind": "SomeResult", "schema": 2}', "a saved SomeResult of schema 2; expected"),
        ('{"kind": "SomeResult", "schema": 1}', "saved SomeResult: field 'counts' is missing or unknown"),
    ],
)
def test_what_is_no_saved_result(text, message):
    with pytest.raises(InputError, match=message):
        SomeResult.from_json(text)


def test_a_value_outside_its_range_is_refused(planted):
    from cls_probe import anisotropy

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Bounded(SomeResult):
        documented = (Column(name="values", meaning="a share", range=(0, 1)),)

    fields = {"values": np.array([[0.1, np.nan], [1 + 1e-12, 0]])}
    common = {field: getattr(some(), field) for field in ("params", "source", "counts", "flags", "names", "maybe")}
    Bounded(**common, **fields)
    with pytest.raises(ValueError, match=r"values is 1\.1, outside its range \[0, 1\]"):
        Bounded(**common, values=np.array([1.1]))
    saved = anisotropy(planted).to_json()
    with pytest.raises(InputError, match=r"saved AnisotropyResult: mean_cosine is .*outside its range"):
        type(anisotropy(planted)).from_json(saved.replace('"mean_cosine": [1.0', '"mean_cosine": [1.5'))


def test_explain_names_every_column():
    text = explain(SomeResult)
    assert text.startswith("Some\n\nWhat it means.")
    assert "name: a name" in text


def test_load_result_finds_the_kind(tmp_path, planted):
    from cls_probe import anisotropy

    path = tmp_path / "r.json"
    path.write_text(anisotropy(planted).to_json(), encoding="utf-8")
    assert load_result(path).to_json() == anisotropy(planted).to_json()
    path.write_text(some().to_json(), encoding="utf-8")
    with pytest.raises(InputError, match="holds SomeResult; expected a result saved with --save"):
        load_result(path)
    path.write_text("[1]")
    with pytest.raises(InputError, match="holds no result"):
        load_result(path)
    with pytest.raises(InputError, match="not a readable JSON file"):
        load_result(tmp_path / "missing.json")


def test_csv_and_html_hold_any_text():
    result = some(values=np.array([[0.1, 2.0]]))
    assert result.to_csv() == 'name,value\nü,0.1\n"""<b>,\n",2.0\n'
    assert "&lt;b&gt;" in result._repr_html_()
    assert "<b>" not in result._repr_html_()


def test_text_table_aligns_wide_characters_and_marks_a_row():
    from rich.cells import cell_len

    table = text_table(["name", "value"], [["汉字", "1.5"], ["ab", "-10.25"]], mark=1)
    lines = table.splitlines()
    assert lines[0].split() == ["name", "value"]
    assert lines[3].startswith("*")
    assert cell_len(lines[2]) == cell_len(lines[3])
    assert lines[2].endswith("1.5")
    wide = text_table(["name", "value"], [["x" * 300, "1"]])
    assert max(map(len, wide.splitlines())) <= 100
    assert wide.count("x") == 300  # folded, nothing lost
    assert "[red]" in text_table(["[red]"], [["[bold]a[/bold]"]])  # no markup


def test_rows_equal_to_the_best_are_marked():
    lines = text_table(["name"], [["a"], ["b"], ["c"]], mark=1, equal=[2]).splitlines()
    assert [line[0] for line in lines[2:]] == [" ", "*", "="]


def test_best_is_the_first_of_the_largest_that_are_defined():
    assert best_defined([0.1, 0.5, 0.5], ["", "", ""]) == 1
    assert best_defined([0.9, 0.5, np.nan], ["why", "", ""]) == 1
    assert best_defined([0.9], ["why"]) is None
