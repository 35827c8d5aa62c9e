"""The real encoder on real rows; skipped where data or weights are not."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cls_probe
from cls_probe.analyses import ANALYSES
from cls_probe.encoding.encoder import Encoder
from cls_probe.encoding.files import locate
from cls_probe.extraction import batches
from cls_probe.plotting import save_figure
from tests.encoding.test_encoder import plain


@pytest.fixture(scope="module")
def news(real_data, minilm, tmp_path_factory):
    out = tmp_path_factory.mktemp("stores") / "news"
    return cls_probe.extract(real_data / "ag_news" / "test.csv", model=minilm, out=out, sample=300)


def test_minilm_is_what_it_is_said_to_be(minilm):
    files = locate(minilm)
    assert (files.config["num_hidden_layers"], files.config["hidden_size"], files.max_length) == (6, 384, 512)


def test_rows_equal_the_plain_forward(news, minilm):
    for row in (0, 150, 299):
        expected = plain(locate(minilm).folder, news.texts[row])
        for layer in news.layers:
            np.testing.assert_allclose(news.layer(layer)[row], expected[layer], rtol=0, atol=1e-5)


def test_padding_of_news_stays_under_three_percent(real_data, minilm):
    encoder = Encoder(locate(minilm), device="cpu")
    rows = cls_probe.read_rows(real_data / "ag_news" / "test.csv", limit=4096)
    tokens, _ = encoder.tokenize(rows.texts, None, 192)
    lengths = np.array([len(row["input_ids"]) for row in tokens])
    assert sum(len(batch) * lengths[batch].max() for batch in batches(tokens, encoder)) / lengths.sum() < 1.03


def test_state_0_is_constant_and_topics_are_read_above_it(news):
    result = cls_probe.layer_probe(news)
    assert result.undefined[0] == "all vectors are the same"
    assert result.accuracy[0] == result.majority_accuracy
    assert result.accuracy[1:].min() > 0.55
    crowded = cls_probe.anisotropy(news)
    assert crowded.mean_cosine[1:5].min() > 0.9998
    assert crowded.mean_cosine[6] < 0.8
    assert (cls_probe.class_gap(news).gap_low[1:] > 0).all()


def test_the_probe_equals_scikit_learn(news):
    result = cls_probe.layer_probe(news, layers=[5])
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    split = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(probe, news.layer(5).astype(float), news.labels, cv=split)
    assert result.accuracy[0] == pytest.approx(scores.mean(), abs=1e-3)


def test_fifteen_languages_come_through(real_data, minilm, tmp_path, capfd):
    path = real_data / "sib200" / "multilingual.csv"
    store = cls_probe.extract(path, model=minilm, out=tmp_path / "s", sample=120, label_column="lang")
    rows = cls_probe.read_rows(path, sample=120, label_column="lang")
    assert store.texts == tuple(rows.texts)
    assert len(store.label_names) == 15
    blocks = ("\u4e00\u9fff", "\u0600\u06ff", "\u0900\u097f", "\u1200\u137f", "\u0e00\u0e7f", "\uac00\ud7a3")
    for first, last in blocks:
        assert any(first <= c <= last for text in store.texts for c in text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for analysis in ANALYSES:
            options = {"folds": 2} if analysis.name == "layer_probe" else {}
            result = analysis.function(store, **options)
            assert "\ufffd" not in result.table() + result.to_csv()
            save_figure(result.plot(), tmp_path / f"{analysis.name}.png")
    assert capfd.readouterr().err == ""


def test_mean_pooling_equals_sentence_transformers(minilm, real_data, tmp_path):
    library = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    from cls_probe.encoding.files import locate

    rows = cls_probe.read_rows(real_data / "ag_news" / "test.csv", sample=200, no_labels=True)
    store = cls_probe.extract(rows.texts, model=minilm, pooling="mean", layers=[6], out=tmp_path / "s")
    ours = store.layer(6, pooling="mean")
    ours = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    theirs = library.SentenceTransformer(str(locate(minilm).folder), device="cpu").encode(list(rows.texts))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
