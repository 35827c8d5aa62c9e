"""All measurements, one after the other, into RESULTS.md beside this file, with the machine named.

    python benchmarks/run.py [SECTION ...] [--data DATA.csv]

Without a SECTION all but the slow ones (marked below); a section that is not run keeps what stands in RESULTS.md.
DATA.csv gives the rows of the extraction; by default it takes the bundled sample.
"""

import argparse
import platform
import re
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from os import cpu_count
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "RESULTS.md"
SECTIONS = {
    "extraction": ("Extraction beside the loops written by hand", ["extraction.py"]),
    "memory": ("Memory of an extraction", ["memory.py"]),
    "streaming": ("anisotropy and class-gap on many rows", ["streaming.py"]),
    "analyses": ("Measures beside other libraries", ["analyses.py"]),
    "probe": ("The probe beside scikit-learn", ["probe.py"]),
    "start-up": ("Until the command line answers", ["start_up.py"]),
    "memory-100k": ("Memory of an extraction, 100,000 rows", ["memory.py", "--rows", "100000"]),
    "load": ("Every step on many rows", ["load.py"]),
    "coverage": ("How often intervals hold the truth", ["interval_coverage.py", "--repetitions", "1000"]),
}
INTRODUCTION = """Written by `make bench` (`python benchmarks/run.py`). Every table compares ways that ran side by side
on one machine; read the ratios, since seconds differ between machines and days."""
SLOW = ("memory-100k", "load", "coverage")
_HEADING = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def machine() -> str:
    """Name processor, cores and the versions that the numbers hang on."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if sys.platform == "linux" else None
    processor = found[1] if found else platform.processor() or platform.machine()
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy", "scikit-learn"))
    return f"{processor}, {cpu_count()} cores, Python {platform.python_version()}, {versions}"


def section(script: list[str], data: Path | None) -> str:
    """Run one script and lay out its table, the command, the day and the machine."""
    command = [sys.executable, str(HERE / script[0]), *script[1:]]
    start = time.perf_counter()
    done = subprocess.run([*command, str(data)] if data else command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(script)} failed with {done.returncode}")
    table = done.stdout.split("\n\n", 1)[1].rstrip()
    named = " ".join([*script, data.name] if data else script)
    said = f"`python benchmarks/{named}`, {date.today()}, {time.perf_counter() - start:.0f} s; {machine()}"
    return f"\n{said}\n\n```text\n{table}\n```\n\n"


def main() -> None:
    """Read the command line, run the sections and write after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], metavar="SECTION")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    there = dict(_HEADING.findall(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else {}
    for name in options.sections or [name for name in SECTIONS if name not in SLOW]:
        title, script = SECTIONS[name]
        print(f"{name} ...", flush=True)
        there[title] = section(script, options.data if name == "extraction" else None)
        titles = [title for title, _ in SECTIONS.values() if title in there]
        body = "".join(f"## {title}\n{there[title]}" for title in titles)
        RESULTS.write_text(f"# Results\n\n{INTRODUCTION}\n\n{body.rstrip()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
