"""Seconds and peak memory of every step on many rows: extraction with a tiny model, the analyses, the report.

    python benchmarks/load.py [--rows 25000 50000 100000]

Rows of four classes go through `clsprobe` as a user would run it, each command a process of its own, whose peak
resident memory the system counts (Unix only). The model is a BERT of 2 blocks, 32 wide, with random weights. Prints
one JSON object a line, and a table.
"""

import argparse
import csv
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cls_probe.encoding.files import locate

CLASSES = {
    "world": "minister election border treaty",
    "sports": "match goal coach season",
    "business": "market share profit bank",
    "science": "planet software cell rocket",
}


def write_rows(path: Path, n_rows: int) -> None:
    """Write rows of some words of their class and others."""
    rng = random.Random(0)
    common = "the of a to in and said new year two report after".split()
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        for row in range(n_rows):
            label = list(CLASSES)[row % len(CLASSES)]
            words = rng.choices(common, k=6) + rng.choices(CLASSES[label].split(), k=2)
            rng.shuffle(words)
            table.writerow([f"{' '.join(words)} {row}", label])


def write_model(folder: Path) -> None:
    """Write a tiny BERT with random weights and the bundled model's tokenizer."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(locate("agnews").folder)
    tokenizer.save_pretrained(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(tokenizer), **size)).save_pretrained(folder)


def run(arguments: list[object]) -> tuple[float, float]:
    """Run one command; seconds, and peak resident memory in MB."""
    command = [sys.executable, "-m", "cls_probe", *map(str, arguments)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    with process.stderr as pipe:
        said = pipe.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{arguments[0]} failed: {said}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return time.perf_counter() - start, usage.ru_maxrss / unit


def measure(sizes: list[int]) -> list[dict[str, object]]:
    """Seconds and memory of every command at every size."""
    lines: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with multiprocessing.get_context("spawn").Pool(1) as aside:  # a command's peak is at least that of this process
            aside.apply(write_model, (folder / "model",))
        for n_rows in sizes:
            rows, store = folder / "rows.csv", folder / f"store-{n_rows}"
            write_rows(rows, n_rows)
            commands: dict[str, list[object]] = {
                "extract": ["extract", rows, "-m", folder / "model", "-o", store],
                **{name: [name, store] for name in ("anisotropy", "class-gap", "layer-probe")},
                "project, PCA": ["project", store],
                "project, UMAP": ["project", store, "--method", "umap"],
                "report": ["report", store, "-o", folder / "report.html"],
            }
            for step, arguments in commands.items():
                seconds, peak = run(arguments)
                lines.append({"step": step, "rows": n_rows, "seconds": round(seconds, 2), "peak_mb": round(peak)})
                print(json.dumps(lines[-1]), flush=True)
    return lines


def main() -> None:
    """Read the command line, print the lines and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[25_000, 50_000, 100_000])
    lines = measure(parser.parse_args().rows)
    print(f"\n{'step':<16} {'rows':>8} {'seconds':>8} {'peak, MB':>9}")
    for line in lines:
        print(f"{line['step']:<16} {line['rows']:>8,} {line['seconds']:>8.1f} {line['peak_mb']:>9,}")


if __name__ == "__main__":
    main()
