"""The command line: what it prints and where, exit codes, one line for what a user can mend."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import cls_probe
from cls_probe.cli import main


@pytest.fixture
def run(capfd):
    """Run a command in this process; gives exit code, stdout, stderr."""

    def _run(*args):
        with pytest.raises(SystemExit) as stopped:
            main([str(arg) for arg in args])
        out, err = capfd.readouterr()
        return stopped.value.code, out, err

    return _run


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{'the cat ' * (i % 4)}{'abcd'[i % 4]},{'xy'[i % 2]}" for i in range(24)]
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def store(run, rows, tiny_model, tmp_path):
    code, out, err = run("extract", rows, "-m", tiny_model, "-o", tmp_path / "store")
    assert (code, err) == (0, "")
    for piece in ("24 from", "2: x 12, y 12", "3 (0 = embedding output, to 2), 16 wide, cls, float32", "0 rows (0.0%)"):
        assert piece in out
    return tmp_path / "store"


def test_extract_again_says_that_it_opened_the_store(run, store, rows, tiny_model):
    code, _, err = run("extract", rows, "-m", tiny_model, "-o", store)
    assert (code, err) == (0, f"opened the finished store {store}\n")
    code, out, err = run("extract", rows, "-m", tiny_model, "-o", store, "--layers", "1-2")
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert "another layers" in err
    code, out, _ = run("extract", rows, "-m", tiny_model, "-o", store, "--layers", "1-2", "--overwrite")
    assert code == 0
    assert "2 of 3 (1, 2)" in out


def test_info(run, store):
    code, out, err = run("info", store, "--verify")
    assert (code, err) == (0, "verified: all 1 parts match their checksums\n")
    assert "3 (0 = embedding output" in out
    assert json.loads(run("info", store, "--json")[1])["n_rows"] == 24


@pytest.mark.parametrize("name", ["anisotropy", "class-gap", "layer-probe", "project"])
def test_every_form_of_output(run, store, tmp_path, name):
    analysis = getattr(cls_probe, name.replace("-", "_"))
    result = analysis(cls_probe.VectorStore.open(store), layers=(2, 0))
    layers = ["--layers", "2,0"]
    assert run(name, store, *layers) == (0, result.table().removesuffix("\n") + "\n", "")
    assert run(name, store, *layers, "--csv") == (0, result.to_csv(), "")
    saved = tmp_path / "r.json"
    for suffix in ("png", "svg", "pdf"):
        plot = tmp_path / f"r.{suffix}"
        assert run(name, store, *layers, "--json", "--save", saved, "--plot", plot) == (0, result.to_json(), "")
        assert plot.stat().st_size > 1000
    assert cls_probe.load_result(saved).to_json() == result.to_json()
    frame = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert {row["layer"] for row in frame} == {"0", "2"}


def test_layer_probe_with_a_test_store(run, store, tiny_model, tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("text,label\na,x\nthe cat b,y\nc,x\n")
    assert run("extract", path, "-m", tiny_model, "-o", tmp_path / "test")[0] == 0
    code, out, _ = run("layer-probe", store, "--test", tmp_path / "test")
    assert code == 0
    assert "3 rows predicted, 2 classes." in out


def test_layer_probe_beside_random_weights(run, store, rows, tiny_model, tmp_path):
    code, out, _ = run("extract", rows, "-m", tiny_model, "--random-weights", "--seed", "4", "-o", tmp_path / "random")
    assert code == 0
    assert "tiny-bert with random weights (seed 4)" in out
    assert "random weights (seed 4)" in run("info", tmp_path / "random")[1]
    options = ["--mdl", "--knn", "-k", "3", "--curve", "-C", "auto"]
    code, out, err = run("layer-probe", store, "--baseline", tmp_path / "random", *options)
    assert (code, err) == (0, "")
    for piece in (
        "baseline",
        "kNN",
        "compression",
        "C chosen within",
        "with random weights (seed 4)",
        "training on so",
    ):
        assert piece in " ".join(out.split())  # lines are wrapped
    assert max(map(len, out.splitlines())) <= 100
    out = run("layer-probe", store, "--no-control", "--no-baselines")[1]
    assert "control" not in out
    assert "bag of words" not in out
    other = tmp_path / "other.csv"
    other.write_text(rows.read_text().replace("the cat", "the dog"))
    assert run("extract", other, "-m", tiny_model, "-o", tmp_path / "other")[0] == 0
    code, _, err = run("layer-probe", store, "--baseline", tmp_path / "other")
    assert (code, err.count("\n")) == (2, 1)
    assert "the baseline store holds other rows (rows_sha256 " in err


def test_two_stores_in_one_figure(run, store, tmp_path):
    for seed in (0, 1):
        args = ["anisotropy", store, "--seed", seed, "--layers", "1,2", "--save", tmp_path / f"s{seed}.json"]
        assert run(*args)[0] == 0
    files = [tmp_path / "s0.json", tmp_path / "s1.json"]
    code, out, err = run("compare", *files, "--plot", tmp_path / "c.png", "--save", tmp_path / "c.json")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split() == ["layer", "s0", "s1"]
    assert (tmp_path / "c.png").stat().st_size > 1000
    assert run("compare", *files, "--names", "a,b", "--csv")[1].splitlines()[1].startswith("a,1,mean_cosine,")
    assert cls_probe.load_result(tmp_path / "c.json").table() + "\n" == out + "\n" * (not out.endswith("\n"))


def test_export_and_import(run, store, tmp_path):
    file = tmp_path / "x.parquet"
    code, out, err = run("export", store, "--to", "parquet", "--layers", "1-2", "-o", file)
    assert (code, out, err) == (0, f"{file}: 24 rows, 16 wide\n", "")
    code, out, err = run("import", file, "-o", tmp_path / "again")
    assert (code, err) == (0, "")
    for piece in ("model      arrays", "24 from x.parquet", "2: x 12, y 12", "2 of 3 (1, 2), 16 wide, cls, float32"):
        assert piece in out
    assert run("info", tmp_path / "again", "--verify")[0] == 0
    here, there = (cls_probe.VectorStore.open(tmp_path / name) for name in ("store", "again"))
    assert here.layer(2).tobytes() == there.layer(2).tobytes()
    assert run("class-gap", tmp_path / "again", "--csv")[1] == run("class-gap", store, "--layers", "1-2", "--csv")[1]


BAD = {
    "no command": (["nothing"], "No such command 'nothing'. (see clsprobe --help)"),
    "no argument": (["anisotropy"], "Missing argument 'STORE'. (see clsprobe anisotropy --help)"),
    "no store": (["anisotropy", "{tmp}/nope"], "{tmp}/nope: not a vector store (no manifest.json)"),
    "layers": (["anisotropy", "{store}", "--layers", "1,x"], "'1,x' is no list of layers; expected such as 0,4-6"),
    "backwards": (["project", "{store}", "--layers", "2-1"], "'2-1' runs backwards; expected such as 4-6"),
    "layer": (["class-gap", "{store}", "--layers", "5"], "layer 5 is not in the store; it holds layers 0 to 2"),
    "plot": (["project", "{store}", "--plot", "{tmp}/x.gif"], "a figure cannot be written as '.gif'; expected .png"),
    "plot folder": (["project", "{store}", "--plot", "{tmp}/no/x.png"], "{tmp}/no: no such folder; make it first"),
    "save folder": (["project", "{store}", "--save", "{tmp}/no/x.json"], "{tmp}/no: no such folder; make it first"),
    "save to folder": (["project", "{store}", "--save", "{tmp}"], "{tmp}: is a folder; expected a file name"),
    "confidence": (["anisotropy", "{store}", "--confidence", "95"], "confidence is 95.0; expected a share between"),
    "folds": (["layer-probe", "{store}", "--folds", "13"], "class 'x' has 12 rows, fewer than the 13 folds"),
    "penalty": (["layer-probe", "{store}", "-C", "some"], "'some' is neither a number nor auto"),
    "no number": (["layer-probe", "{store}", "--folds", "many"], "'many' is not a valid integer"),
    "no data": (["extract", "{tmp}/no.csv", "-m", "{model}", "-o", "{tmp}/new"], "{tmp}/no.csv: no such file"),
    "no model": (["extract", "{rows}", "-m", "{tmp}/no/model", "-o", "{tmp}/new"], "no such folder; expected a model"),
    "hub offline": (["extract", "{rows}", "-m", "no/such", "-o", "{tmp}/new"], "the hub does not give it"),
    "length": (["extract", "{rows}", "-m", "{model}", "-o", "{tmp}/new", "--max-length", "99"], "expected 3 to 64"),
    "pooling": (["extract", "{rows}", "-m", "{model}", "-o", "{tmp}/new", "--pooling", "cls,x"], "poolings is 'x'"),
    "dtype": (["extract", "{rows}", "--dtype", "int8", "-o", "{tmp}/new"], "'int8' is not one of"),
    "method": (["project", "{store}", "--method", "tsne"], "'tsne' is not one of"),
    "align by PCA": (["project", "{store}", "--align"], "align and pca_dims are for UMAP; choose method umap or both"),
    "one result": (["compare", "{rows}"], "{rows}: not a readable JSON file"),
    "no result": (["compare"], "comparing fewer than two results; expected two or more"),
    "export ending": (["export", "{store}", "--to", "npz", "-o", "{tmp}/x.csv"], "expected a name ending in '.npz'"),
    "export layer": (["export", "{store}", "--to", "npz", "-o", "{tmp}/x.npz", "--layers", "9"], "layer 9 is not in"),
    "import nothing": (["import", "{tmp}/no.npz", "-o", "{tmp}/new"], "no such file; expected a file of vectors"),
    "import rows": (["import", "{rows}", "-o", "{tmp}/new"], "the ending '.csv' is not known; expected .npy, .npz"),
    "import there": (["import", "{tmp}/x.npz", "-o", "{store}"], "holds a store already; name another folder"),
    "not a store": (["extract", "{rows}", "-m", "{model}", "-o", "{tmp}"], "exists and is not a vector store"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_are_one_line_and_leave_nothing(run, store, rows, tiny_model, tmp_path, name):
    args, message = BAD[name]
    places = {"tmp": tmp_path, "store": store, "rows": rows, "model": tiny_model}
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run(*(arg.format(**places) for arg in args))
    assert (code, out) == (2, "")
    assert message.format(**places) in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bug_is_a_traceback(store, monkeypatch):
    monkeypatch.setattr(cls_probe.VectorStore, "open", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["anisotropy", str(store)])


def test_interrupting_says_how_to_go_on(run, rows, tiny_model, tmp_path, monkeypatch):
    from cls_probe import extraction

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(extraction, "_encode_part", interrupt)
    code, out, err = run("extract", rows, "-m", tiny_model, "-o", tmp_path / "s")
    assert (code, out) == (130, "")
    assert "the same command goes on from there" in err


def clsprobe(*args, **options):
    return subprocess.run([sys.executable, "-m", "cls_probe", *map(str, args)], capture_output=True, **options)


def test_a_closed_pipe_and_a_poor_terminal_are_no_trouble(tmp_path):
    arrays = np.random.default_rng(0).normal(size=(30, 1, 4))
    result = cls_probe.class_gap(cls_probe.VectorStore.from_arrays(arrays, labels=["汉", "é", "a"] * 10))
    assert "汉" in result.table()
    code = "import sys; from cls_probe.cli import main; sys.argv[1:] = ['--help']; main()"
    closed = subprocess.run(f'{sys.executable} -c "{code}" | true', shell=True, capture_output=True)
    assert closed.stderr == b""


def test_a_terminal_without_the_characters_shows_their_code_points(tiny_model, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"cat {'abc'[i % 3]},{['汉', 'é'][i % 2]}\n" for i in range(12)), "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    assert clsprobe("extract", path, "-m", tiny_model, "-o", tmp_path / "s", env=environment).returncode == 0
    done = clsprobe("class-gap", tmp_path / "s", env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u6c49" in done.stdout


def test_help_says_what_it_does(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "  clsprobe anisotropy store\n" in out
    for name in ("extract", "info", "anisotropy", "class-gap", "layer-probe", "project", "cls-attention", "demo"):
        assert f"\n  {name} " in out
    assert "..." not in out.split("Commands:")[1]  # no short help is cut
    assert run("--version")[1].startswith("clsprobe, version 0.")
