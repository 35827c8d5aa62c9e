"""Leaks: planted rows by hand, near repeats against brute force, the real data sets and their known faults."""

import dataclasses
import json
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import cls_probe
from cls_probe.data import Rows, read_rows
from cls_probe.data.matching import normalised
from cls_probe.data.near import jaccard, shingles
from cls_probe.errors import InputError, MissingDependencyError
from cls_probe.leakage import KINDS, PLACES, LeaksResult, leaks
from cls_probe.result import TABLE_WIDTH

STORY = "the same long story, which runs on for more than eighty letters and digits, from several feeds at once"
TRAIN = Rows(
    texts=[
        "Good film.",
        "bad film",
        "Good film.",
        "good film",
        "Good film!",
        f"Title: {STORY}",
        f"Other news: {STORY}",
    ],
    labels=["+", "-", "-", "+", "-", "+", "+"],
    lines=[2, 3, 4, 5, 6, 7, 8],
    source="train.csv",
)
TEST = Rows(texts=["bad film", "GOOD FILM", "fine", f"Third: {STORY}", "fine"], labels=["+", "+", "-", "-", "-"])


def found(result, kind, place):
    return [(r["row"], r["other_row"]) for r in result.records() if (r["leak"], r["place"]) == (kind, place)]


@pytest.fixture(scope="module")
def planted_leaks():
    return leaks(TRAIN, TEST)


def test_planted_leaks(planted_leaks):
    expected = {
        ("repeat", "train"): [(2, 0)],
        ("repeat", "test"): [(4, 2)],
        ("repeat", "test in train"): [(0, 1)],
        ("normalised_repeat", "train"): [(2, 0), (3, 0), (4, 0)],
        ("normalised_repeat", "test"): [(4, 2)],
        ("normalised_repeat", "test in train"): [(0, 1), (1, 0)],
        ("near_repeat", "train"): [(6, 5)],
        ("near_repeat", "test in train"): [(3, 5)],
        ("shared_ending", "train"): [(5, 6), (6, 5)],
        ("shared_ending", "test in train"): [(3, 5)],
        ("conflict", "train"): [(0, 2), (2, 0)],
        ("conflict", "test in train"): [(0, 1)],
        ("normalised_conflict", "train"): [(0, 2), (2, 0), (3, 2), (4, 0)],
        ("normalised_conflict", "test in train"): [(0, 1), (1, 2)],
    }
    for kind in KINDS:
        for place in PLACES:
            assert found(planted_leaks, kind, place) == expected.get((kind, place), []), (kind, place)
    counts = {(c["leak"], c["place"]): (c["rows"], c["share"], c["groups"]) for c in planted_leaks.counts()}
    assert counts["normalised_repeat", "train"] == (3, 3 / 7, 1)
    assert counts["normalised_conflict", "train"] == (4, 4 / 7, 1)
    assert counts["repeat", "test in train"] == (1, 1 / 5, 1)
    record = planted_leaks.records()[0]
    assert (record["line"], record["other_line"], record["label"], record["other_label"]) == (4, 2, "-", "+")


def test_it_is_a_result_like_any_other(planted_leaks, tmp_path):
    assert KINDS["near_repeat"] in " ".join(planted_leaks.table().split())
    names = [column.name for column in planted_leaks.columns]
    for record in planted_leaks.records():
        assert list(record) == names
        assert all(type(value) in (str, int, float, type(None)) and value == value for value in record.values())
    path = tmp_path / "leaks.json"
    path.write_text(planted_leaks.to_json())
    back = cls_probe.load_result(path)
    assert type(back) is LeaksResult
    assert back.to_csv() == planted_leaks.to_csv()
    assert isinstance(planted_leaks.plot(), Figure)
    own = Figure()
    assert planted_leaks.plot(own.subplots()) is own
    assert leaks(TRAIN, TEST).to_json() == planted_leaks.to_json()
    for field in dataclasses.fields(LeaksResult)[2:]:
        assert hasattr(planted_leaks, field.name)


def test_train_alone_without_labels_and_without_leaks():
    result = leaks(["one", "two", "three"], near=0)
    assert result.records() == []
    assert {count["place"] for count in result.counts()} == {"train"}
    assert "Labels were not compared" in result.table()
    assert "Near repeats were not looked for" in result.table()
    assert isinstance(result.plot(), Figure)
    assert result.to_csv().startswith("leak,place,row,line,text,label,other_row,")
    assert type(result).from_json(result.to_json()).to_json() == result.to_json()


def test_second_texts_count():
    rows = Rows(texts=["a", "a", "a"], text_pairs=["b", "c", "b"])
    result = leaks(rows, near=0)
    assert found(result, "repeat", "train") == [(2, 0)]
    assert result.records()[0]["text"] == "a [SEP] b"


def test_near_repeats_equal_brute_force():
    rng = np.random.default_rng(0)
    words = np.array(["alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "lambda"])
    texts = [" ".join(rng.choice(words, size=12)) for _ in range(60)]
    for text in texts[:40]:
        some = text.split()
        some[rng.integers(12)] = rng.choice(words)
        texts.append(" ".join(some))
    keys = normalised(read_rows(texts))
    expected = []
    for row, key in enumerate(keys):
        similar = [jaccard(shingles(key), shingles(other)) for other in keys[:row]]
        if key not in keys[:row] and any(s >= 0.7 for s in similar):
            expected.append((row, next(i for i, s in enumerate(similar) if s >= 0.7)))
    assert len(expected) > 15
    result = leaks(texts, near=0.7)
    assert found(result, "near_repeat", "train") == expected
    assert np.nanmin(result.jaccard) >= 0.7


def test_shingles_by_hand():
    assert shingles("abcdef") == {"abcde", "bcdef"}
    assert shingles("ab") == {"ab"}
    assert jaccard({"a", "b"}, {"b", "c", "d"}) == 1 / 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"near": 1.5}, "near is 1.5; expected a Jaccard similarity such as 0.8, or 0 to leave near repeats out"),
        ({"near": float("nan")}, "near is nan"),
        ({"seed": -1}, "seed is -1; expected 0 to 4294967295"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        leaks(["a", "b"], **options)


def test_a_missing_package_is_told_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "datasketch", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cls-probe\[leaks\]', or leave them out"):
        leaks(tmp_path / "not there.csv")
    assert leaks(["a", "A"], near=0).leak == ("normalised_repeat",)


def test_the_command(tmp_path, capsys):
    from cls_probe.cli import main

    (tmp_path / "train.csv").write_text("text,label\nOne,a\nTwo,b\none,b\nTwo,b\n", encoding="utf-8")
    (tmp_path / "test.csv").write_text("text,label\nTWO!,b\nnew,a\nolder,a\n", encoding="utf-8")
    args = ["leaks", str(tmp_path / "train.csv"), "--test", str(tmp_path / "test.csv")]
    for form in ("--table", "--csv", "--json"):
        with pytest.raises(SystemExit) as stopped:
            main([*args, form, "--plot", str(tmp_path / "leaks.png"), "--save", str(tmp_path / "leaks.json")])
        out, err = capsys.readouterr()
        assert (stopped.value.code, err) == (0, "")
        if form == "--table":
            assert max(map(len, out.splitlines())) <= TABLE_WIDTH
        if form == "--csv":
            assert "normalised_repeat,test in train,0,2,TWO!,b,1,3,Two,b,1," in out
    assert json.loads((tmp_path / "leaks.json").read_text())["n_test"] == 3
    with pytest.raises(SystemExit) as stopped:
        main([*args, "--near", "2"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("Error: near is 2.0; expected a Jaccard similarity")


# Known faults of real data sets.


def rows_of(result):
    return {(count["leak"], count["place"]): count["rows"] for count in result.counts()}


def test_trec_has_test_questions_in_train(real_data):
    counts = rows_of(leaks(real_data / "trec" / "train.csv", real_data / "trec" / "test.csv"))
    assert counts["repeat", "train"] == 71
    assert counts["repeat", "test in train"] == 10
    assert counts["normalised_repeat", "train"] == 76  # case and punctuation aside
    assert counts["normalised_repeat", "test in train"] == 11


def test_sst2_repeats_phrases_and_labels_some_twice(real_data):
    result = leaks(real_data / "sst2" / "train.csv", near=0)
    counts = {(count["leak"], count["place"]): count for count in result.counts()}
    assert counts["repeat", "train"]["rows"] == 371
    assert (counts["conflict", "train"]["groups"], counts["conflict", "train"]["rows"]) == (5, 10)
    assert counts["normalised_repeat", "train"]["rows"] == 8774  # phrases that differ in punctuation alone
    assert counts["normalised_conflict", "train"]["groups"] == 156


def test_ag_news_shares_no_row_but_endings(real_data):
    counts = rows_of(leaks(real_data / "ag_news" / "train.csv", real_data / "ag_news" / "test.csv", near=0))
    assert counts["repeat", "test in train"] == counts["normalised_repeat", "test in train"] == 0
    assert counts["repeat", "train"] == counts["normalised_repeat", "train"] == 0
    assert counts["shared_ending", "train"] == 2910
    assert counts["shared_ending", "test in train"] == 299
