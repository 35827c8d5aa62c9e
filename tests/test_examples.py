"""Every example runs."""

import runpy
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_before_after(minilm, tmp_path, monkeypatch, capsys):
    rows = [f"Item {i} tells of {topic}.,{topic}" for i in range(8) for topic in ("football", "shares")]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    words = [str(tmp_path / "rows.csv"), "--layers", "0", "6", "--plot", str(tmp_path / "x.png")]
    monkeypatch.setattr(sys, "argv", ["before_after.py", *words])
    runpy.run_path(str(EXAMPLES / "before_after.py"), run_name="__main__")
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 4
    assert out[0].startswith("| layer | mean cosine before | mean cosine after | class gap before |")
    assert out[2].startswith("| 0 | 1.0000 | 1.0000 | 0.0000 | 0.0000 |")
    assert (tmp_path / "x.png").stat().st_size > 5000


def test_no_example_is_left_out():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(f"def test_{name}(" in text for name in names)
