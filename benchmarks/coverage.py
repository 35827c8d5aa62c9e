"""How often the 95 % intervals of the mean cosine and of the class gap hold the truth, and the permutation test rejects.

    python benchmarks/coverage.py [mean_cosine|gap|permutation ...] --repetitions 1000

Draws Gaussian mixtures with fixed seeds, calls the public functions and prints one JSON line for every setting, then a
table. Class sizes are fixed by design (n/2 and n/2, or 9n/10 and n/10), as the intervals of the class gap take them.

The truth needs no pairs: rows are independent, so the expected cosine of two rows is the product of the mean unit
vectors of their classes, and the expected within, between and gap are its averages over pairs for the given class
sizes. The mean unit vectors come from 2,000,000 other draws a class.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cls_probe

Floats = NDArray[np.float64]

WIDTH = 16
TRUTH_DRAWS = 2_000_000
SETTINGS = {
    "classes apart": (1.0, (1.0, 1.0)),
    "unequal spread": (1.0, (1.0, 0.3)),
    "no gap": (0.0, (1.0, 1.0)),
}
"""Name -> distance of the class means from their common mean, and standard deviation of each class."""
SIZES = [(n, share) for n in (100, 400, 2000) for share in (0.5, 0.9)]
"""Rows, and the share of the first class."""


def mean_of_class(k: int, apart: float) -> Floats:
    """(WIDTH,) mean of class k: one direction that both classes share, as in real clouds, and one of its own."""
    mean = np.zeros(WIDTH)
    mean[3], mean[k] = 1, apart
    return mean


def draw(rng: np.random.Generator, codes: NDArray[np.int64], apart: float, spread: tuple[float, float]) -> Floats:
    """(rows, WIDTH) one vector for each class number."""
    means = np.array([mean_of_class(k, apart) for k in (0, 1)])
    return rng.normal(size=(len(codes), WIDTH)) * np.array(spread)[codes][:, None] + means[codes]


def mean_units(apart: float, spread: tuple[float, float]) -> Floats:
    """(2, WIDTH) mean unit vector of each class, from many draws."""
    rng, chunk = np.random.default_rng(2**32), 100_000
    sums = np.zeros((2, WIDTH))
    for k in (0, 1):
        for _ in range(TRUTH_DRAWS // chunk):
            vectors = draw(rng, np.full(chunk, k), apart, spread)
            sums[k] += (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).sum(axis=0)
    return sums / TRUTH_DRAWS


def truth(units: Floats, sizes: NDArray[np.int64]) -> dict[str, float]:
    """Expected values for these class sizes."""
    cosine, n = units @ units.T, sizes.sum()
    within = float(sizes * (sizes - 1) @ np.diag(cosine) / (sizes * (sizes - 1)).sum())
    between = float(cosine[0, 1])
    weights = np.outer(sizes, sizes) - np.diag(sizes)
    return {"gap": within - between, "mean_cosine": float((weights * cosine).sum() / (n * (n - 1)))}


def repeat(measure: str, setting: str, n: int, share: float, repetitions: int) -> dict[str, Any]:
    """Draw and measure again and again; give the share of hits, and what else tells how good the numbers are."""
    apart, spread = SETTINGS[setting]
    sizes = np.array([round(n * share), n - round(n * share)])
    codes = np.repeat([0, 1], sizes)
    expected = truth(mean_units(apart, spread), sizes)
    started, hits, values, widths = time.perf_counter(), 0, [], []
    for seed in range(repetitions):
        vectors = draw(np.random.default_rng(seed), codes, apart, spread)
        store = cls_probe.VectorStore.from_arrays(vectors, labels=codes.tolist())
        if measure == "permutation":
            p = cls_probe.class_gap(store, permutations=199, seed=seed).p_value
            assert p is not None
            hits += p[0] <= 0.05
            continue
        name = "gap" if measure == "gap" else "mean_cosine"
        result = cls_probe.class_gap(store, permutations=0) if measure == "gap" else cls_probe.anisotropy(store)
        value, low, high = (getattr(result, f"{name}{end}")[0] for end in ("", "_low", "_high"))
        hits += low <= expected[name] <= high
        values.append(value - expected[name])
        widths.append((high - low) / 2)
    row = {"measure": measure, "setting": setting, "n": n, "classes": sizes.tolist(), "repetitions": repetitions}
    row |= {"rate": hits / repetitions, "seconds": round(time.perf_counter() - started, 1)}
    if values:
        row |= {"truth": expected[name], "bias": float(np.mean(values)), "sd": float(np.std(values))}
        row |= {"mean_half_width": float(np.mean(widths))}
    return row


def runs(measures: list[str], repetitions: int) -> Iterator[dict[str, Any]]:
    """All settings of the measures; the permutation test is run where no gap is."""
    for measure in measures:
        if measure == "permutation":
            for n, share in SIZES[:4]:
                yield repeat(measure, "no gap", n, share, repetitions)
            continue
        for setting in SETTINGS:
            for n, share in SIZES:
                yield repeat(measure, setting, n, share, repetitions)


def main() -> None:
    """Print a JSON line for every setting, then the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = ("mean_cosine", "gap", "permutation")
    parser.add_argument("measures", nargs="*", choices=choices, default=list(choices), metavar="MEASURE")
    parser.add_argument("--repetitions", type=int, default=1000)
    args = parser.parse_args()
    lines = ["| measure | setting | classes | rate | wanted | seconds |", "|---|---|---|---|---|---|"]
    for row in runs(args.measures, args.repetitions):
        print(json.dumps(row), flush=True)
        low, high = (0.04, 0.06) if row["measure"] == "permutation" else (0.93, 0.97)
        wanted = f"{low:.2f}-{high:.2f}" + ("" if low <= row["rate"] <= high else " (missed)")
        sizes = " + ".join(map(str, row["classes"]))
        cells = (row["measure"], row["setting"], sizes, f"{row['rate']:.3f}", wanted, str(row["seconds"]))
        lines.append("| " + " | ".join(cells) + " |")
    print("\n".join(["", *lines]))


if __name__ == "__main__":
    main()
