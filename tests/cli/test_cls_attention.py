"""clsprobe cls-attention: texts or rows, definitions, pictures."""

import json

import pytest
from click.testing import CliRunner

from cls_probe.cli import cli


@pytest.fixture
def run(tiny_model):
    def _run(*words, model=tiny_model):
        return CliRunner().invoke(cli, ["cls-attention", *map(str, words), "-m", str(model)], catch_exceptions=False)

    return _run


def test_texts_give_a_map(run, tmp_path):
    done = run("--text", "the cat", "--text", "a dog", "--plot", tmp_path / "map.png")
    assert done.exit_code == 0
    assert "Row 1: mass of every word" in done.stdout
    assert (tmp_path / "map.png").stat().st_size > 0


def test_rows_are_read_as_extract_reads_them(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "\n".join(f"the cat {'abcdefgh'[i]},{'xy'[i % 2]}" for i in range(8)))
    result = json.loads(run(path, "--json", "--limit", 7, "--sample", 6, "--layers", "2", "--max-length", 4).stdout)
    assert (result["source"]["n_rows"], result["layers"], result["n_truncated"]) == (6, [2], 6)
    lines = run(path, "--csv").stdout.splitlines()
    assert [line.split(",")[:2] for line in lines[1:4]] == [["1", "0"], ["1", "1"], ["1", "all"]]
    assert len(lines) == 1 + 2 * 3


def test_either_data_or_text(run):
    for words in ([], ["sample", "--text", "a"]):
        done = run(*words)
        assert done.exit_code == 2
        assert "expected either DATA or --text" in done.stderr


def test_explain_defines_every_column(run):
    told = run("--explain").stdout
    for name in ("to_cls", "to_special", "to_punctuation", "to_words", "entropy", "uniform_entropy"):
        assert f"{name}: " in told
