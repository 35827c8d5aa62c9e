"""Imports point down and stay light; each check has a twin that shows it can fail."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cls_probe

ROOT = Path(cls_probe.__file__).parent
RANKS = [
    {"errors"},
    {"data", "plotting", "result"},
    {"store", "leakage", "comparison"},
    {"encoding", "analyses", "exchange", "scale_out"},
    {"extraction", "analyses.__init__"},
    {"reference", "attention"},
    {"saved"},
    {"reporting"},
    {"demonstration"},
    {"cli"},
    {"__main__", "__init__"},
]
SHARED_BY_ANALYSES = (
    *(
        "anisotropy_result",
        "calibration",
        "class_gap_result",
        "cloud",
        "geometry",
        "interval",
        "probing",
        "projection",
        "separation",
        "transform",
    ),
)
LIGHT = {"numpy", "cls_probe", *sys.stdlib_module_names}
HEAVIER = {
    "store": {"pyarrow"},
    "cli": {"click"},
    "encoding/attention.py": {"torch"},
    "encoding/encoder.py": {"torch"},
    "encoding/last_block.py": {"torch"},
    "encoding/loading.py": {"torch", "transformers"},
    "encoding/tokens.py": {"torch"},
    "reference/classifier.py": {"torch", "transformers"},
    "reference/training.py": {"torch", "transformers", "safetensors"},
}
HEAVY = (
    "torch",
    "transformers",
    "pandas",
    "scipy",
    "sklearn",
    "matplotlib",
    "pyarrow",
    "rich",
    "umap",
    "numba",
    "h5py",
    "datasets",
    "tqdm",
    "accelerate",
    "ray",
)


def source_files():
    return [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in sorted(ROOT.rglob("*.py"))]


def runtime_imports(tree, *, top_only):
    """Names imported, without those under TYPE_CHECKING; with `top_only` not those inside functions."""
    found = []

    def visit(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if top_only and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if isinstance(child, ast.Import):
                found.extend(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, "imports are absolute"
                inner = ROOT / child.module.removeprefix("cls_probe").strip(".").replace(".", "/")
                files = [
                    f"{child.module}.{alias.name}" for alias in child.names if (inner / f"{alias.name}.py").is_file()
                ]
                found.extend(files or [child.module])
            visit(child)

    visit(tree)
    return found


def stage(name):
    """The part of the package that a file or module belongs to."""
    parts = name.removesuffix(".py").replace("/", ".").removeprefix("cls_probe.").split(".")
    if parts in (["analyses"], ["analyses", "__init__"]):
        return "analyses.__init__"
    return parts[0]


def rank(name):
    return next(i for i, stages in enumerate(RANKS) if stage(name) in stages)


def faults_of(name, text):
    """Every import of a file that the architecture forbids."""
    tree = ast.parse(text)
    faults = []
    for module in runtime_imports(tree, top_only=False):
        if module == "cls_probe":
            faults.append(f"{name} imports the package root")
        if not module.startswith("cls_probe.") or stage(name) == "__init__":
            continue
        upward = rank(module) > rank(name)
        sideways = rank(module) == rank(name) and stage(module) != stage(name)
        sister = stage(name) == stage(module) == "analyses" and module.split(".")[2] not in SHARED_BY_ANALYSES
        if upward or sideways or sister:
            faults.append(f"{name} imports {module}")
    allowed = LIGHT | HEAVIER.get(name.split("/")[0], set()) | HEAVIER.get(name, set())
    for module in runtime_imports(tree, top_only=True):
        if module.split(".")[0] not in allowed:
            faults.append(f"{name} imports {module} at its top")
    return faults


def test_every_file_has_a_rank():
    for name, _ in source_files():
        assert rank(name) >= 0, name


def test_imports_point_down_and_heavy_ones_are_inside_functions():
    assert [fault for name, text in source_files() for fault in faults_of(name, text)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("store/vectors.py", "from cls_probe.analyses.anisotropy import anisotropy"),
        ("data/rows.py", "from cls_probe.result import Result"),
        ("analyses/project.py", "from cls_probe.analyses.anisotropy import anisotropy"),
        ("analyses/project.py", "from cls_probe.analyses import anisotropy"),
        ("analyses/project.py", "from cls_probe.encoding.files import locate"),
        ("store/vectors.py", "def f():\n    from cls_probe.extraction import extract"),
        ("result.py", "import cls_probe"),
        ("result.py", "import pandas"),
        ("data/read.py", "from pyarrow import parquet"),
        ("encoding/files.py", "import torch"),
        ("attention/measure.py", "from cls_probe.reference.evaluate import classify"),
        ("attention/words.py", "import torch"),
        ("cli/info.py", "try:\n    import rich\nexcept ImportError:\n    pass"),
    ],
)
def test_the_check_can_fail(name, text):
    assert faults_of(name, text) != []
    assert faults_of(name, "import json\nfrom cls_probe.errors import InputError") == []


def test_type_checking_imports_do_not_count():
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"
    assert faults_of("encoding/files.py", text) == []


def heavy_modules_after(code):
    """Which heavy modules a fresh interpreter has loaded after running the code."""
    report = f"import sys; {code}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", report], check=True, capture_output=True, text=True)
    return done.stdout.split("\n")[-2].split()


HELP = (
    "from click.testing import CliRunner; from cls_probe.cli import cli; "
    "assert CliRunner().invoke(cli, {args}).exit_code == 0"
)


@pytest.mark.parametrize(
    "code",
    [
        "import cls_probe",
        "import cls_probe.cli",
        HELP.format(args=["--help"]),
        HELP.format(args=["layer-probe", "--help"]),
        "import cls_probe; dir(cls_probe)",
    ],
)
def test_nothing_heavy_is_loaded_for_help_or_import(code):
    assert heavy_modules_after(code) == []


def test_the_heavy_check_can_fail():
    assert "pyarrow" in heavy_modules_after("import cls_probe; cls_probe.VectorStore")


def test_opening_a_finished_store_loads_no_torch(tiny_model, tmp_path):
    call = f"import cls_probe; cls_probe.extract(['a', 'b'], model={str(tiny_model)!r}, out={str(tmp_path / 's')!r})"
    subprocess.run([sys.executable, "-c", call], check=True)
    assert {"torch", "transformers", "pandas", "sklearn"} & set(heavy_modules_after(call)) == set()


def test_every_public_name_is_there_and_documented():
    for name in cls_probe.__all__:
        assert getattr(cls_probe, name).__doc__, name
    assert set(cls_probe.__all__) <= set(dir(cls_probe))
    with pytest.raises(AttributeError, match="module 'cls_probe' has no attribute 'nothing'"):
        _ = cls_probe.nothing


def test_no_pickle_no_remote_code_no_print():
    for name, text in source_files():
        tree = ast.parse(text)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        imports = {module.split(".")[0] for module in runtime_imports(tree, top_only=False)}
        keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
        assert "print" not in names, name
        assert not imports & {"pickle", "dill", "joblib", "shelve", "marshal"}, name
        assert not keywords & {"trust_remote_code", "allow_pickle"}, name
