import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from safetensors.torch import load_file

from cls_probe.data import Rows
from cls_probe.encoding.files import locate
from cls_probe.errors import EncoderError, InputError, MissingDependencyError
from cls_probe.reference import finetune as module
from cls_probe.reference.classifier import new_classifier
from cls_probe.reference.finetune import finetune
from cls_probe.reference.recipe import Recipe
from cls_probe.reference.training import last_checkpoint, parameter_groups
from tests.reference.conftest import QUICK, animal_rows

KILLED = """
import os, signal, sys, torch
torch.set_num_threads(1)
from cls_probe.reference import training
from cls_probe.reference.finetune import finetune
from tests.reference.conftest import QUICK, animal_rows

def on_step_end(self, args, state, control, **kwargs):
    if state.global_step == 32:
        os.kill(os.getpid(), signal.SIGKILL)

training._Progress.on_step_end = on_step_end
finetune(animal_rows(96), base=sys.argv[1], out=sys.argv[2], recipe=QUICK)
"""


def test_it_learns_and_says_so(learner, rows, eval_rows, tmp_path, capsys):
    result = finetune(rows, base=learner, out=tmp_path / "out", eval_rows=eval_rows, recipe=QUICK)
    assert result.test_accuracy == result.held_out_accuracy == 1
    assert result.metrics == json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert (result.metrics["n_train"], result.metrics["n_held_out"]) == (76, 20)
    assert len(result.metrics["curve"]) == 12
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"README.md", "config.json", "metrics.json", "model.safetensors", "tokenizer.json"} <= names
    assert not {"checkpoints", "run.json"} & names
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Accuracy **1.0000**" in card
    assert f"clsprobe finetune {learner} texts --eval texts -o DIR --epochs 8 --batch-size 8 --lr 0.005" in card
    assert capsys.readouterr() == ("", "")


def test_a_killed_run_goes_on_to_the_same_weights(learner, rows, tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    run = subprocess.run([sys.executable, "-c", KILLED, learner, killed], capture_output=True, env=os.environ)
    assert run.returncode == -signal.SIGKILL
    assert last_checkpoint(killed / "checkpoints").name == "checkpoint-28"
    with pytest.raises(InputError, match=r"holds an unfinished run with another epochs \(8; asked for 7\)"):
        finetune(rows, base=learner, out=killed, recipe=replace(QUICK, epochs=7))
    with pytest.raises(InputError, match="holds an unfinished run with another rows"):
        finetune(animal_rows(96, seed=5), base=learner, out=killed, recipe=QUICK)
    resumed = finetune(rows, base=learner, out=killed, recipe=QUICK)
    assert (resumed.metrics["resumed_at_step"], resumed.metrics["steps"]) == (28, 80)
    uninterrupted = finetune(rows, base=learner, out=whole, recipe=QUICK)
    assert resumed.metrics["curve"] == uninterrupted.metrics["curve"]
    weights, expected = (load_file(folder / "model.safetensors") for folder in (killed, whole))
    assert all((weights[name] == expected[name]).all() for name in expected)


def test_a_half_written_checkpoint_is_passed_over(tmp_path):
    assert last_checkpoint(tmp_path / "none") is None
    for step, state in ((5, "{}"), (10, "{}"), (100, '{"half')):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    (tmp_path / "checkpoint-200").mkdir()
    assert last_checkpoint(tmp_path).name == "checkpoint-10"


def test_the_mean_of_checkpoints_is_tried(learner, rows, tmp_path):
    result = finetune(rows, base=learner, out=tmp_path / "out", recipe=replace(QUICK, epochs=2, average=3))
    kept = max(entry["accuracy"] for entry in result.metrics["curve"])
    assert result.held_out_accuracy >= kept
    assert ("mean of the last 3" in result.metrics["chosen"]) == (result.held_out_accuracy > kept)


def test_every_parameter_has_its_learning_rate(learner):
    model, _ = new_classifier(locate(learner), classes=("x", "y"), max_length=12)
    groups = parameter_groups(model, lr=1.0, head_lr=7.0, layer_decay=0.5, weight_decay=0.1)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert sorted(id(p) for group in groups for p in group["params"]) == sorted(names)
    for group in groups:
        for parameter in group["params"]:
            name = names[id(parameter)]
            expected = (
                7.0 if name.startswith("head") else 0.25 if "embeddings" in name else 0.5 if ".0." in name else 1.0
            )
            assert group["lr"] == expected, name
            assert group["weight_decay"] == (0.1 if parameter.ndim == 2 else 0.0), name


def test_leaked_eval_rows_are_refused_before_any_work(learner, rows, tmp_path):
    leaked = Rows(texts=[text.upper() + "!" for text in rows.texts[:6]], labels=rows.labels[:6])
    with pytest.raises(InputError, match="6 of 6 eval rows stand in the training rows too"):
        finetune(rows, base=learner, out=tmp_path / "out", eval_rows=leaked, recipe=QUICK)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_left_alone(learner, rows, trained, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and holds something else; name a new or an empty folder"):
        finetune(rows, base=learner, out=tmp_path, recipe=QUICK)
    with pytest.raises(InputError, match="holds a finished model; name another folder"):
        finetune(rows, base=learner, out=trained, recipe=QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_rows_without_labels_or_of_unknown_classes_are_refused(learner, rows, tmp_path):
    with pytest.raises(InputError, match="texts: no labels; expected a column of class names"):
        finetune(Rows(texts=["a", "b"]), base=learner, out=tmp_path / "out", recipe=QUICK)
    hounds = animal_rows(8, seed=3, labels=("cat", "hound"))
    with pytest.raises(
        InputError, match="row 1: the label 'hound' does not occur in texts, whose classes are cat, dog"
    ):
        finetune(rows, base=learner, out=tmp_path / "out", eval_rows=hounds, recipe=QUICK)


def test_texts_longer_than_the_base_takes_are_refused(learner, rows, tmp_path):
    with pytest.raises(InputError, match="max_length is 192; expected at most 64, the most that"):
        finetune(rows, base=learner, out=tmp_path / "out")
    with pytest.raises(EncoderError, match="no such folder"):
        finetune(rows, base=tmp_path / "no", out=tmp_path / "out")


def test_without_accelerate_the_command_that_installs_it_is_named(learner, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cls-probe\[finetune\]'"):
        finetune(rows, base=learner, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs is 0; expected above 0 to 1000"),
        ({"lr": -1.0}, "lr is -1.0; expected above 0 to 1"),
        ({"held_out": 0.9}, "held_out is 0.9; expected above 0 to 0.5"),
        ({"warmup": 2}, "warmup is 2; expected 0 to 1"),
        ({"lr": float("nan")}, "lr is nan; expected above 0 to 1"),
    ],
)
def test_a_recipe_that_cannot_work_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        Recipe(**options)
