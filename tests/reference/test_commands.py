import json

import pytest
from click.testing import CliRunner

from cls_probe.cli import cli
from cls_probe.reference.recipe import Recipe
from tests.reference.conftest import QUICK, animal_rows


def write_csv(path, rows):
    lines = [f"{text},{label}" for text, label in zip(rows.texts, rows.labels, strict=True)]
    path.write_text("\n".join(["text,label", *lines]) + "\n")
    return str(path)


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)


def test_finetune_then_classify(run, learner, tmp_path):
    train = write_csv(tmp_path / "train.csv", animal_rows(96))
    test = write_csv(tmp_path / "test.csv", animal_rows(40, seed=1))
    out = tmp_path / "out"
    quick = ["--epochs", 8, "--batch-size", 8, "--lr", 5e-3, "--head-lr", 5e-3, "--max-length", 32, "--held-out", 0.2]
    trained = run("finetune", learner, train, "--eval", test, "-o", out, *quick)
    assert trained.exit_code == 0
    assert trained.stdout.splitlines()[1:] == ["held-out accuracy  1.0000", "test accuracy      1.0000"]
    assert Recipe(**json.loads((out / "metrics.json").read_text())["recipe"]) == QUICK
    classified = run("classify", test, "--model", out, "--json", "--plot", tmp_path / "c.png")
    assert json.loads(classified.stdout)["accuracy"] == 1
    assert (tmp_path / "c.png").stat().st_size > 0


def test_texts_from_the_command_line(run, trained):
    result = run("classify", "--text", "the cat", "--text", "a dog", "-m", trained, "--csv")
    assert [line.split(",")[3] for line in result.stdout.splitlines()] == ["predicted", "cat", "dog"]


def test_every_number_of_the_recipe_is_an_option():
    options = cli.commands["finetune"].make_context("finetune", ["base", "data", "-o", "out"]).params
    assert {name: options[name] for name in Recipe().__dict__} == Recipe().__dict__


@pytest.mark.parametrize("words", [[], ["sample", "--text", "a"]])
def test_classify_takes_either_data_or_text(run, words):
    result = run("classify", *words)
    assert result.exit_code == 2
    assert "expected either DATA or --text" in result.stderr
