"""Seconds and memory of anisotropy and class_gap against the number of rows, from 1,000 to 1,000,000 on disk.

    python benchmarks/streaming.py [--rows 1000 10000 100000 1000000] [--width 384] [--repeats 1]

Writes a store of one layer for every number of rows, and measures each analysis in a fresh process: the seconds, and
the peak of the memory of the process that no file stands behind (RssAnon of Linux; pages of the memory map are not
in it) above what it was after the libraries were loaded, the store opened, and the analysis run once on 200 rows.
Prints one JSON object a line, and a table.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import cls_probe
from cls_probe.store import Manifest, StoreWriter

CLASSES = ("business", "science", "sports", "world")
ANALYSES = {"anisotropy": cls_probe.anisotropy, "class_gap": cls_probe.class_gap}
PART_SIZE = 4096


def write_store(folder: Path, n_rows: int, width: int) -> None:
    """Write Gaussian classes about a common mean, part by part."""
    manifest = Manifest(
        **{"model": None, "n_layers": 0, "layers": (0,), "hidden_size": width, "poolings": ("cls",)},
        **{"dtype": "float32", "store_dtype": "float32", "n_rows": n_rows, "label_names": CLASSES},
        **{"part_size": PART_SIZE, "versions": {}},
    )
    rng = np.random.default_rng(0)
    means = 1 + rng.normal(size=(len(CLASSES), width)).astype(np.float32)
    with StoreWriter.begin(folder, manifest) as writer:
        for part in writer.missing:
            codes = rng.integers(len(CLASSES), size=len(part))
            vectors = means[codes] + rng.standard_normal(size=(len(part), width), dtype=np.float32)
            writer.write(part, {"label": [CLASSES[code] for code in codes]}, {("cls", 0): vectors})
        writer.finish()


def anonymous_mb() -> float:
    """Memory of this process without a file behind it, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


class Peak(threading.Thread):
    """Watches the memory until `stop` is set."""

    def __init__(self) -> None:
        """Start from the memory of now."""
        super().__init__(daemon=True)
        self.base = self.peak = anonymous_mb()
        self.stop = threading.Event()

    def run(self) -> None:
        """Look every 2 ms."""
        while not self.stop.wait(0.002):
            self.peak = max(self.peak, anonymous_mb())


def measure_here(folder: str, name: str) -> dict[str, float]:
    """Run one analysis on a store, in this process."""
    analysis = ANALYSES[name]
    rng = np.random.default_rng(0)
    store = cls_probe.VectorStore.open(folder)
    analysis(cls_probe.VectorStore.from_arrays(rng.normal(size=(200, 8)), labels=[*"abcd"] * 50))
    peak = Peak()
    peak.start()
    start = time.perf_counter()
    analysis(store)
    seconds = time.perf_counter() - start
    peak.stop.set()
    peak.join()
    return {"seconds": round(seconds, 3), "peak_mb": round(peak.peak - peak.base, 1)}


def measure(sizes: list[int], width: int, repeats: int) -> list[dict[str, object]]:
    """Measure every analysis at every size in processes of their own; the least of the repeats."""
    lines: list[dict[str, object]] = []
    for n_rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_store(Path(folder), n_rows, width)
            for name in ANALYSES:
                command = [sys.executable, __file__, "--measure", folder, name]
                runs = [json.loads(subprocess.check_output(command)) for _ in range(repeats)]
                line = {
                    "analysis": name,
                    "rows": n_rows,
                    "width": width,
                    "map_mb": round(n_rows * width * 4 / 2**20, 1),
                }
                best = {key: min(run[key] for run in runs) for key in ("seconds", "peak_mb")}
                lines.append({**line, **best, "microseconds_a_row": round(1e6 * best["seconds"] / n_rows, 2)})
    return lines


def main() -> None:
    """Read the command line, print the lines and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--measure", nargs=2, metavar=("STORE", "ANALYSIS"), help="measure one, in this process")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure_here(*options.measure)))
        return
    lines = measure(options.rows, options.width, options.repeats)
    for line in lines:
        print(json.dumps(line))
    print(
        f"\n{'analysis':<12} {'rows':>9} {'map, MB':>9} {'seconds':>9} {'us a row':>9} {'peak above the map, MB':>23}"
    )
    for line in lines:
        print(
            f"{line['analysis']:<12} {line['rows']:>9,} {line['map_mb']:>9,.0f} {line['seconds']:>9.2f} "
            f"{line['microseconds_a_row']:>9.1f} {line['peak_mb']:>23.1f}"
        )


if __name__ == "__main__":
    main()
