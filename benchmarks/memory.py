"""Peak memory of an extraction against the number of rows.

    python benchmarks/memory.py [--rows 1000 10000]

Each number of short rows is extracted in a process of its own, from a file and with the weights of all-MiniLM-L6-v2.
The process first encodes some rows, so that libraries and model are loaded, and then counts from there: the peak of
its resident memory (VmHWM, which the kernel keeps; Linux only) above what it held before. Prints one JSON object a
line, and a table.
"""

import argparse
import json
import multiprocessing
import re
import tempfile
import time
from pathlib import Path

import cls_probe
from cls_probe.encoding.encoder import Encoder
from cls_probe.encoding.files import locate

MODEL = "all-MiniLM-L6-v2"


def resident(name: str) -> float:
    """Give a size in the kernel's account of this process in MB: VmRSS, or VmHWM, the peak."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1e3


def extract(n_rows: int) -> dict[str, float]:
    """Extract so many short rows; peak above libraries and model in MB, and seconds."""
    texts = [f"row {row}" for row in range(n_rows)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.txt"
        source.write_text("\n".join(texts), encoding="utf-8")
        del texts
        encoder = Encoder(locate(MODEL), device="cpu")
        encoder.encode(encoder.tokenize(["warm up"] * 64, None, 64)[0])
        before = resident("VmRSS")
        del encoder
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        start = time.perf_counter()
        cls_probe.extract(source, model=MODEL, out=Path(folder) / "store", progress=False)
        seconds = time.perf_counter() - start
    return {
        "rows": n_rows,
        "before_mb": round(before),
        "peak_above_mb": round(resident("VmHWM") - before),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    """Read the command line, print the lines and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    lines = []
    for n_rows in parser.parse_args().rows:
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            lines.append(alone.apply(extract, (n_rows,)))
        print(json.dumps(lines[-1]), flush=True)
    print(f"\n{'rows':>9} {'before, MB':>11} {'peak above, MB':>15} {'seconds':>8}")
    for line in lines:
        print(f"{line['rows']:>9,} {line['before_mb']:>11} {line['peak_above_mb']:>15} {line['seconds']:>8.1f}")


if __name__ == "__main__":
    main()
