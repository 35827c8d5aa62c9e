"""Paired tests by hand; the simulation that the interval stands on."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from cls_probe.analyses.probing.classifier import Logistic
from cls_probe.analyses.probing.scoring import accuracy_interval, compared_with


def test_exact_mcnemar_with_holm_by_hand():
    best = np.array([True] * 90 + [False] * 10)
    worse = best.copy()
    worse[:12] = False  # 12 rows lost, 2 won
    worse[90:92] = True
    close = best.copy()
    close[:3] = False  # 3 lost, 2 won
    close[90:92] = True
    p_values = compared_with(0, np.array([best, worse, close, best]))
    two_sided = 2 * binom.cdf(2, 14, 0.5)
    assert p_values == pytest.approx([1, 3 * two_sided, 1, 1])
    assert np.isnan(compared_with(None, np.array([best, worse]))).all()
    assert compared_with(0, np.array([best])).tolist() == [1]


def test_the_exact_interval_reaches_the_ends():
    assert accuracy_interval(np.ones(20, dtype=bool), 0.95) == pytest.approx((1, 0.025 ** (1 / 20), 1))
    assert accuracy_interval(np.zeros(20, dtype=bool), 0.95) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 20)))


@pytest.fixture(scope="module")
def simulation():
    path = Path(__file__).parents[3] / "benchmarks" / "coverage_probe.py"
    spec = importlib.util.spec_from_file_location("coverage_probe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_truth_of_the_simulation_is_that_of_a_large_sample(simulation, share):
    rng = np.random.default_rng(0)
    vectors, codes = simulation.draw(rng, simulation.Setting(100, share))
    probe = Logistic(n_classes=2)
    weights, bias = simulation.rule(probe, vectors, codes)
    new, true = simulation.draw(rng, simulation.Setting(200_000, share))
    said = new @ weights + bias > 0
    assert (said[:500] == probe.predict(vectors, codes, new[:500]).codes).all()
    assert simulation.population_accuracy(weights, bias, simulation.Setting(100, share)) == pytest.approx(
        (said == true).mean(), abs=0.003
    )


def test_the_shipped_interval_is_the_simulated_one_and_covers(simulation):
    right = [np.arange(20) % 5 > fold // 2 for fold in range(5)]
    shipped = accuracy_interval(np.concatenate(right), 0.95)[1:]
    assert simulation.intervals(right)["exact"] == pytest.approx(shipped)
    found = simulation.coverage(simulation.Setting(100, 0.5), 60, seed=0)["exact"]
    assert found["folds"] > 0.85
    assert found["procedure"] > 0.85
