"""Seconds until the command line answers, beside a program of click and numpy alone.

    python benchmarks/start_up.py [--repeats 10]

Every program runs once a round, in a fresh process each time, so that all meet the same machine; medians over the
rounds. Prints one JSON object a line, and a table.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

import cls_probe

PEER = "import click, numpy\n@click.command()\ndef main(): print(numpy.zeros(1))\nmain()"


def measure(repeats: int) -> list[dict[str, object]]:
    """Medians of every program, and how many times as long as the peer takes."""
    with tempfile.TemporaryDirectory() as folder:
        cls_probe.extract("sample", limit=8, out=f"{folder}/store", progress=False)
        ours = [sys.executable, "-m", "cls_probe"]
        programs = {
            "click and numpy": [sys.executable, "-c", PEER],
            "clsprobe --help": [*ours, "--help"],
            "clsprobe anisotropy --help": [*ours, "anisotropy", "--help"],
            "clsprobe info STORE": [*ours, "info", f"{folder}/store"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(repeats):
            for name, command in programs.items():
                start = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    base = medians["click and numpy"]
    return [
        {"program": name, "seconds": round(median, 3), "ratio": round(median / base, 2)}
        for name, median in medians.items()
    ]


def main() -> None:
    """Read the command line, print the lines and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    lines = measure(parser.parse_args().repeats)
    for line in lines:
        print(json.dumps(line))
    print(f"\n{'program':<28} {'seconds':>8} {'times click and numpy':>22}")
    for line in lines:
        print(f"{line['program']:<28} {line['seconds']:>8.3f} {line['ratio']:>22.2f}")


if __name__ == "__main__":
    main()
