"""Benchmarks run and print JSON lines; the full run of interval_coverage.py takes two minutes."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import cls_probe

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def benchmark(name):
    """A benchmark as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_benchmark", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def coverage(monkeypatch):
    module = benchmark("interval_coverage")
    monkeypatch.setattr(module, "TRUTH_DRAWS", 200_000)
    return module


def test_coverage_prints_json_lines_and_a_table(coverage, monkeypatch, capsys):
    monkeypatch.setattr(coverage, "SIZES", [(100, 0.9)])
    monkeypatch.setattr(sys, "argv", ["interval_coverage.py", "--repetitions", "40"])
    coverage.main()
    lines, table = capsys.readouterr().out.split("\n\n")
    rows = [json.loads(line) for line in lines.splitlines()]
    assert [row["measure"] for row in rows] == ["mean_cosine"] * 3 + ["gap"] * 3 + ["permutation"]
    assert all(row["rate"] >= 0.8 for row in rows[:6])
    assert rows[6]["rate"] <= 0.2
    assert all(abs(row["bias"]) < row["sd"] for row in rows[:6])
    assert len(table.strip().splitlines()) == 2 + len(rows)


def test_the_truth_is_the_mean_over_many_pairs(coverage):
    apart, spread = coverage.SETTINGS["unequal spread"]
    sizes = np.array([30, 20])
    codes = np.repeat([0, 1], sizes)
    gaps = []
    for seed in range(400):
        vectors = coverage.draw(np.random.default_rng(seed), codes, apart, spread)
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        cosine = (units @ units.T)[np.triu_indices(50, k=1)]
        same = (codes[:, None] == codes)[np.triu_indices(50, k=1)]
        gaps.append(cosine[same].mean() - cosine[~same].mean())
    expected = coverage.truth("gap", coverage.mean_units(apart, spread), sizes)
    assert np.mean(gaps) == pytest.approx(expected, abs=4 * np.std(gaps) / 20)


def test_the_probe_and_scikit_learn_come_to_the_same_loss(monkeypatch, capsys):
    size = ["--layers", "2", "--rows", "300", "--width", "20", "--folds", "3"]
    monkeypatch.setattr(sys, "argv", ["probe.py", *size, "--fits", "4"])
    benchmark("probe").main()
    lines, table = capsys.readouterr().out.split("\n\n")
    rows = {row["way"]: row for row in map(json.loads, lines.splitlines())}
    ours, _, theirs = rows.values()
    assert all((row["fits"], row["measured"]) == (6, 4) for row in rows.values())
    assert abs(theirs["loss_above_ours"]) <= 1e-4
    assert abs(theirs["accuracy"] - ours["accuracy"]) <= 0.01  # 4 of 400 rows
    assert (ours["ratio"], ours["loss_above_ours"]) == (1, 0)
    assert len(table.strip().splitlines()) == 4


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="RssAnon is Linux's")
def test_streaming_measures_every_size_in_a_process_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["streaming.py", "--rows", "50", "5000", "--width", "8"])
    benchmark("streaming").main()
    lines, table = capsys.readouterr().out.split("\n\n")
    rows = [json.loads(line) for line in lines.splitlines()]
    assert [(row["analysis"], row["rows"]) for row in rows] == [
        *(("anisotropy", 50), ("class_gap", 50), ("anisotropy", 5000), ("class_gap", 5000))
    ]
    assert all(row["seconds"] > 0 and row["peak_mb"] >= 0 for row in rows)
    assert rows[2]["map_mb"] == pytest.approx(5000 * 8 * 4 / 2**20, abs=0.1)
    assert len(table.strip().splitlines()) == 5


def test_measures_beside_other_libraries(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["analyses.py", "--rows", "60", "--width", "6", "--repeats", "1"])
    module = benchmark("analyses")
    module.main()
    lines, table = capsys.readouterr().out.split("\n\n")
    rows = [json.loads(line) for line in lines.splitlines()]
    assert all(row["seconds"] > 0 and row["other_seconds"] > 0 for row in rows)
    assert len(table.strip().splitlines()) == 1 + len(rows)
    store = module.draw(60, 6)
    gap = cls_probe.class_gap(store, permutations=0)
    within, between = module.pairs(store)
    assert within == pytest.approx((gap.within_cosine[0] * 14 + 1) / 15, abs=1e-6)  # with every row beside itself
    assert between == pytest.approx(gap.between_cosine[0], abs=1e-6)


def test_a_section_run_again_leaves_the_others(monkeypatch, tmp_path):
    module = benchmark("run")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr(module, "HERE", tmp_path)
    sections = {"one": ("First", ["one.py"]), "two": ("Second", ["two.py", "--rows", "3"])}
    monkeypatch.setattr(module, "SECTIONS", sections)
    for number, script in enumerate(("one.py", "two.py")):
        (tmp_path / script).write_text(f"print('{{}}')\nprint()\nprint('table {number}')")
    monkeypatch.setattr(sys, "argv", ["run.py"])
    module.main()
    (tmp_path / "one.py").write_text("print('{}')\nprint()\nprint('table 7')")
    monkeypatch.setattr(sys, "argv", ["run.py", "one"])
    module.main()
    text = (tmp_path / "RESULTS.md").read_text()
    assert text.index("## First") < text.index("table 7") < text.index("## Second") < text.index("table 1")
    assert "table 0" not in text
    assert "`python benchmarks/two.py --rows 3`" in text
    monkeypatch.setattr(sys, "argv", ["run.py", "three"])
    with pytest.raises(SystemExit):
        module.main()


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="wait4 is Unix's")
def test_load_runs_every_step(monkeypatch, tmp_path):
    module = benchmark("load")
    module.write_rows(tmp_path / "rows.csv", 8)
    assert len(set((tmp_path / "rows.csv").read_text().splitlines())) == 9
    seconds, peak = module.run(["--version"])
    assert seconds > 0
    assert peak > 1
    with pytest.raises(SystemExit, match=r"info failed: Error: .*not a vector store"):
        module.run(["info", tmp_path])
