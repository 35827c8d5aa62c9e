"""Whatever ends an extraction, what was computed is kept and the same command goes on to the same bytes.

Kills a real process at KILLS random moments: a few, or 50 where CLS_PROBE_SOAK is set (`make soak`).
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cls_probe import extraction
from cls_probe.errors import StoreError
from cls_probe.extraction import extract
from cls_probe.store import Manifest, StoreWriter, VectorStore
from tests.test_extraction import LETTERS, TEXTS, files

KILLS = 50 if os.environ.get("CLS_PROBE_SOAK") else 3
MANY = [f"{' '.join(LETTERS[i % 20 : i % 20 + 6])} {'the dog ' * (i % 25)}" for i in range(1200)]
RUN = """
import sys, cls_probe
from cls_probe import extraction
encode = extraction._encode_parts
extraction._encode_parts = lambda *given: print("begun", flush=True) or encode(*given)
cls_probe.extract(sys.argv[1], model=sys.argv[2], out=sys.argv[3], part_size=20, progress=False)
"""


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(MANY))
    return path


def test_sigkill_at_any_moment_loses_no_part(tiny_model, rows, tmp_path):
    start = time.perf_counter()
    whole = files(extract(rows, model=tiny_model, out=tmp_path / "whole", part_size=20, progress=False).folder)
    lasts = time.perf_counter() - start
    out, kills, chance = tmp_path / "killed", 0, random.Random(0)
    while kills < KILLS:
        if (out / "manifest.json").exists() and Manifest.read(out).complete:
            assert files(out) == whole
            shutil.rmtree(out)
        before = files(out) if out.exists() else {}
        run = subprocess.Popen([sys.executable, "-c", RUN, rows, tiny_model, out], stdout=subprocess.PIPE)
        assert run.stdout.readline() == b"begun\n"
        time.sleep(chance.uniform(0, lasts / 3))
        run.send_signal(signal.SIGKILL)
        kills += run.wait() == -signal.SIGKILL
        run.stdout.close()
        parts = {name: content for name, content in before.items() if name.startswith("part-")}
        assert parts.items() <= files(out).items()
        for name, content in files(out).items():
            assert name not in whole or name == "manifest.json" or content == whole[name]
        if not Manifest.read(out).complete:
            with pytest.raises(StoreError, match=r"unfinished, \d+ of 1200 rows are there; run the extraction again"):
                VectorStore.open(out)
    extract(rows, model=tiny_model, out=out, part_size=20)
    assert files(out) == whole


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_store_that_resumes_and_says_so(tiny_model, rows, tmp_path, sent, code):
    out = tmp_path / "s"
    command = [sys.executable, "-m", "cls_probe", "extract", rows, "-m", tiny_model, "-o", out, "--part-size", "20"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and len(list(out.glob("part-*.arrow"))) < 3:
        time.sleep(0.002)
    run.send_signal(sent)
    _, said = run.communicate()
    assert run.returncode == code
    assert said.splitlines()[-1] == (
        "stopped; an extraction keeps its finished parts, and the same command goes on from there"
    )
    assert "Traceback" not in said
    there = Manifest.read(out)
    assert len(there.parts) >= 3
    assert not there.complete
    assert not list(out.glob(".*"))
    extract(rows, model=tiny_model, out=out, part_size=20)
    assert files(out) == files(extract(rows, model=tiny_model, out=tmp_path / "whole", part_size=20).folder)


def test_a_full_disk_keeps_the_parts_before(tiny_model, tmp_path):
    resource = pytest.importorskip("resource", reason="limits of file size are Unix's")
    texts = [*TEXTS[:16], *("the dog " * 3000 for _ in range(8))]  # the last part is larger
    (tmp_path / "rows.txt").write_text("\n".join(texts))
    out = tmp_path / "s"
    command = [sys.executable, "-m", "cls_probe", "extract", tmp_path / "rows.txt", "-m", tiny_model, "-o", out]
    run = subprocess.run(
        [*command, "--part-size", "8", "--on-truncate", "keep"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"Error: {out}: part 2 cannot be written (")
    assert line.endswith("File too large); the parts before it are kept, and the same command resumes")
    assert [part.start for part in Manifest.read(out).parts] == [0, 8]
    extract(tmp_path / "rows.txt", model=tiny_model, out=out, part_size=8)
    whole = extract(tmp_path / "rows.txt", model=tiny_model, out=tmp_path / "whole", part_size=8)
    assert files(out) == files(whole.folder)


def test_a_folder_deleted_under_the_run_is_one_line(tiny_model, tmp_path, monkeypatch):
    encode, calls = extraction._encode_part, []

    def delete_at_the_third(*given):
        calls.append(1)
        if len(calls) == 3:
            shutil.rmtree((tmp_path / "s").rename(tmp_path / "gone"))
        return encode(*given)

    monkeypatch.setattr(extraction, "_encode_part", delete_at_the_third)
    with pytest.raises(StoreError, match=r"part \d cannot be written \(.*No such file or directory"):
        extract(TEXTS, model=tiny_model, out=tmp_path / "s", part_size=8)
    assert not list(tmp_path.glob("s*"))


def test_a_second_process_on_the_same_store_is_refused(tiny_model, tmp_path):
    store = extract(TEXTS, model=tiny_model, out=tmp_path / "done", part_size=8)
    with StoreWriter.begin(tmp_path / "s", store.manifest), pytest.raises(StoreError, match="another process"):
        extract(TEXTS, model=tiny_model, out=tmp_path / "s", part_size=8)
