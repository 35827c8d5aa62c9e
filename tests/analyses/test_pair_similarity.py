"""Pair similarity against scipy, by hand, and against the published figure of a real encoder."""

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure
from scipy import stats
from sklearn.metrics.pairwise import paired_cosine_distances

import cls_probe
from cls_probe import VectorStore, pair_similarity, read_pairs
from cls_probe.cli import cli
from cls_probe.errors import InputError
from tests.test_contract import check_result

RNG = np.random.default_rng(0)
TEXTS = [f"text {i}" for i in range(40)]
VECTORS = RNG.normal(size=(40, 2, 6))
SCORES = RNG.uniform(0, 5, size=20)
PAIRS = read_pairs([{"text": TEXTS[i], "text_pair": TEXTS[20 + i], "score": SCORES[i]} for i in range(20)])


def store_of(vectors=VECTORS, **options):
    return VectorStore.from_arrays(vectors, texts=TEXTS, **options)


def test_correlations_equal_scipy():
    result = pair_similarity(store_of(), pairs=PAIRS)
    assert (result.poolings, result.layers) == (("cls", "cls"), (0, 1))
    for layer in (0, 1):
        cosine = 1 - paired_cosine_distances(VECTORS[:20, layer], VECTORS[20:, layer])
        np.testing.assert_allclose(result.cosine[layer], cosine, atol=1e-12)
        assert result.spearman[layer] == pytest.approx(stats.spearmanr(cosine, SCORES).statistic)
        assert result.pearson[layer] == pytest.approx(stats.pearsonr(cosine, SCORES).statistic)
        assert result.mean_cosine[layer] == pytest.approx(cosine.mean())
    check_result(result)
    assert isinstance(result.plot(), Figure)
    assert pair_similarity(store_of(), pairs=PAIRS).to_json() == result.to_json()


def test_intervals_are_the_percentile_bootstrap_of_scipy():
    result = pair_similarity(store_of(), pairs=PAIRS, confidence=0.9)
    for i, (name, statistic) in enumerate((("spearman", stats.spearmanr), ("pearson", stats.pearsonr))):
        theirs = stats.bootstrap(
            (result.cosine[0], SCORES),
            lambda x, y, statistic=statistic: statistic(x, y).statistic,
            paired=True,
            vectorized=False,
            confidence_level=0.9,
            method="percentile",
            n_resamples=2000,
            rng=np.random.default_rng(i),
        ).confidence_interval
        assert getattr(result, f"{name}_low")[0] == pytest.approx(theirs.low, abs=0.05)
        assert getattr(result, f"{name}_high")[0] == pytest.approx(theirs.high, abs=0.05)


def test_planted_agreement_is_found():
    """Second texts turned away from the first by an angle that shrinks with the score."""
    vectors = np.zeros((40, 1, 2))
    vectors[:20, 0] = [1, 0]
    angle = np.pi / 2 * (1 - SCORES / 5)
    vectors[20:, 0] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    result = pair_similarity(store_of(vectors), pairs=PAIRS)
    assert result.spearman[0] == pytest.approx(1)
    assert (result.spearman_low[0], result.spearman_high[0]) == pytest.approx((1, 1))
    assert result.best == 0


def test_undefined_cells_say_why():
    vectors = VECTORS.copy()
    vectors[:, 0] = 1
    result = pair_similarity(store_of(vectors), pairs=PAIRS)
    assert result.undefined == ("all vectors are the same", "")
    assert result.records()[0]["spearman"] is None
    assert "layer 0 (cls): undefined: all vectors are the same" in result.table()
    same = read_pairs([{"text": TEXTS[i], "text_pair": TEXTS[20 + i], "score": 1} for i in range(20)])
    assert pair_similarity(store_of(), pairs=same).undefined == ("all scores are the same",) * 2
    few = read_pairs([{"text": TEXTS[i], "text_pair": TEXTS[20 + i], "score": i} for i in range(2)])
    assert pair_similarity(store_of(), pairs=few).undefined == ("fewer than three pairs",) * 2
    check_result(pair_similarity(store_of(vectors), pairs=PAIRS, transform="center"))


def test_without_scores_there_are_cosines():
    pairs = read_pairs([{"text": TEXTS[i], "text_pair": TEXTS[20 + i]} for i in range(20)])
    result = pair_similarity(store_of(), pairs=pairs)
    assert list(result.to_frame()) == ["pooling", "layer", "mean_cosine", "undefined"]
    assert result.spearman is result.best is None
    check_result(result)
    assert isinstance(result.plot(), Figure)


def test_a_repeated_text_is_looked_up(tmp_path):
    pairs = read_pairs([{"text": TEXTS[0], "text_pair": TEXTS[0], "score": i} for i in range(3)])
    assert pair_similarity(store_of(), pairs=pairs).cosine == pytest.approx(1)


def test_what_cannot_be_compared(tiny_model, tmp_path):
    with pytest.raises(InputError, match=r"texts, row 0: the text 'unknown' is not in the store; extract all texts"):
        pair_similarity(store_of(), pairs=read_pairs([{"text": "unknown", "text_pair": "text 1"}]))
    with pytest.raises(InputError, match="the store holds no single texts"):
        pair_similarity(VectorStore.from_arrays(VECTORS), pairs=PAIRS)
    with pytest.raises(InputError, match="seed is -1; expected 0 to 4294967295"):
        pair_similarity(store_of(), pairs=PAIRS, seed=-1)
    with pytest.raises(InputError, match="pooling 'max' is not in the store; it holds cls"):
        pair_similarity(store_of(), pairs=PAIRS, poolings=["max"])
    with pytest.raises(InputError, match="layer 7 is not in the store; it holds layers 0 to 1"):
        pair_similarity(store_of(), pairs=PAIRS, layers=[7])


def test_the_command_takes_a_model_or_a_store(tiny_model, tmp_path):
    store = cls_probe.extract(read_pairs("sample-pairs").texts, model=tiny_model, out=tmp_path / "s", pooling="mean")
    by_model = CliRunner().invoke(cli, ["pair-similarity", str(tiny_model), "--pooling", "mean", "--csv"])
    by_store = CliRunner().invoke(cli, ["pair-similarity", str(tmp_path / "s"), "sample-pairs", "--csv"])
    assert by_model.exit_code == by_store.exit_code == 0, by_model.output
    assert by_model.output.splitlines() == by_store.output.splitlines()
    assert by_store.output.count("\nmean,") == len(store.layers)


def test_published_figures_of_all_minilm(minilm, real_data):
    """MTEB: mean pooling of the last layer, cosine, Spearman 0.82032 and Pearson 0.82741 on STS-B test."""
    pairs = read_pairs(real_data / "stsb" / "test.csv")
    store = cls_probe.extract(pairs.texts, model=minilm, pooling="mean", layers=[6])
    result = pair_similarity(store, pairs=pairs)
    assert result.spearman[0] == pytest.approx(0.82032, abs=5e-4)
    assert result.pearson[0] == pytest.approx(0.82741, abs=5e-4)
