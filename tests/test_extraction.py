"""Extraction: the right vectors, once; resumed, opened or refused."""

import logging
import os
from types import SimpleNamespace

import numpy as np
import pytest

import cls_probe
from cls_probe import extraction
from cls_probe.encoding.encoder import Encoder
from cls_probe.errors import EncoderError, InputError, StoreError
from cls_probe.extraction import extract
from tests.encoding.test_encoder import plain

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = [" ".join(LETTERS[: 1 + (7 * i) % 23]) for i in range(40)]
LABELS = ["even", "odd"] * 20


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_row_is_in_its_place(tiny_model, tmp_path):
    store = extract(TEXTS, labels=LABELS, model=tiny_model, out=tmp_path / "s", part_size=16)
    assert (store.n_rows, store.layers, store.hidden_size) == (40, (0, 1, 2), 16)
    for row in (0, 15, 16, 39):
        vectors = np.stack([store.layer(layer)[row] for layer in store.layers])
        np.testing.assert_allclose(vectors, plain(tiny_model, TEXTS[row]), rtol=0, atol=1e-5)
    assert store.texts == tuple(TEXTS)
    assert store.labels == tuple(LABELS)
    assert store.n_tokens.tolist() == [len(text.split()) + 2 for text in TEXTS]
    store.verify()


def test_the_vectors_of_a_row_do_not_depend_on_its_company(tiny_model, tmp_path):
    one = extract(TEXTS, model=tiny_model, out=tmp_path / "one", part_size=7)
    other = extract(TEXTS, model=tiny_model, out=tmp_path / "other")
    np.testing.assert_allclose(one.layer(2), other.layer(2), rtol=0, atol=1e-5)


def test_the_same_call_opens_the_finished_store(tiny_model, monkeypatch, caplog):
    first = extract(TEXTS, model=tiny_model)
    monkeypatch.setattr(Encoder, "__init__", lambda *_, **__: pytest.fail("computed again"))
    with caplog.at_level(logging.INFO, "cls_probe"):
        second = extract(TEXTS, model=tiny_model)
    assert second.folder == first.folder
    assert f"opened the finished store {first.folder}" in caplog.text
    assert str(first.folder).startswith(os.environ["CLS_PROBE_CACHE"])


def test_the_cache_tells_everything_apart_that_matters(tiny_model):
    variants = [
        {},
        {"max_length": 10},
        {"layers": [2]},
        {"store_dtype": "float16"},
        {"dtype": "bfloat16"},
        {"labels": LABELS},
        {"limit": 39},
        {"part_size": 8},
        {"pooling": "mean"},
        {"pooling": "mean", "specials": False},
        {"pooling": ["cls", "mean"]},
        {"random_weights": 0},
        {"random_weights": 1},
    ]
    folders = {extract(TEXTS, model=tiny_model, **options).folder for options in variants}
    assert len(folders) == len(variants)


def test_an_unfinished_store_is_resumed_to_the_same_bytes(tiny_model, tmp_path, monkeypatch):
    extract(TEXTS, model=tiny_model, out=tmp_path / "whole", part_size=8)
    encode, calls = extraction._encode_part, []

    def stop_at_the_third(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(*args)

    monkeypatch.setattr(extraction, "_encode_part", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        extract(TEXTS, model=tiny_model, out=tmp_path / "stopped", part_size=8)
    assert len(list((tmp_path / "stopped").glob("part-*.arrow"))) == 2
    monkeypatch.setattr(extraction, "_encode_part", lambda *args: (calls.append(args), encode(*args))[1])
    extract(TEXTS, model=tiny_model, out=tmp_path / "stopped", part_size=8)
    assert len(calls) == 3 + 3  # the two finished parts were not computed again
    assert files(tmp_path / "stopped") == files(tmp_path / "whole")


def test_another_store_in_the_folder_is_refused_with_the_key_named(tiny_model, tmp_path):
    out = tmp_path / "s"
    extract(TEXTS, model=tiny_model, out=out)
    before = files(out)
    for options, key in (
        ({"max_length": 9}, r"another max_length \(64; asked for 9\)"),
        ({"layers": [1]}, r"another layers"),
        ({"limit": 9}, r"another rows_sha256 \([0-9a-f]{12}\.\.\.; asked for [0-9a-f]{12}\.\.\.\)"),
        ({"store_dtype": "float16"}, "another store_dtype"),
        ({"part_size": 9}, "another part_size"),
    ):
        with pytest.raises(StoreError, match=key):
            extract(TEXTS, model=tiny_model, out=out, **options)
        assert files(out) == before
    store = extract(TEXTS, model=tiny_model, out=out, layers=[1], overwrite=True)
    assert store.layers == (1,)


def test_a_folder_with_other_files_is_left_alone(tiny_model, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(StoreError, match="exists and is not a vector store; name a new or an empty folder"):
            extract(TEXTS, model=tiny_model, out=tmp_path, overwrite=overwrite)
    assert files(tmp_path) == {"thesis.tex": b"years of work"}


def test_number_formats(tiny_model, tmp_path):
    full = extract(TEXTS, model=tiny_model, out=tmp_path / "full")
    half = extract(TEXTS, model=tiny_model, out=tmp_path / "half", store_dtype="float16")
    brain = extract(TEXTS, model=tiny_model, out=tmp_path / "brain", dtype="bfloat16")
    assert (half.layer(2) == full.layer(2).astype(np.float16)).all()
    assert brain.layer(2).dtype == np.float32
    assert 0 < np.abs(brain.layer(2) - full.layer(2)).max() < 0.2


def test_truncation_is_counted(tiny_model, tmp_path):
    store = extract(TEXTS, model=tiny_model, out=tmp_path / "s", max_length=12)
    lengths = np.array([len(text.split()) + 2 for text in TEXTS])
    assert (store.truncated == (lengths > 12)).all()
    assert 0 < store.truncated.sum() < 40
    assert (store.n_tokens == lengths).all()


def test_truncation_is_said_refused_or_kept(tiny_model, tmp_path, caplog):
    extract(TEXTS, model=tiny_model, out=tmp_path / "a", max_length=12, on_truncate="keep")
    assert "were cut" not in caplog.text
    long = sum(len(text.split()) + 2 > 12 for text in TEXTS)
    extract(TEXTS, model=tiny_model, out=tmp_path / "b", max_length=12)
    assert f"{long} of 40 texts were cut at 12 tokens; the column truncated says which" in caplog.text
    first = next(row for row, text in enumerate(TEXTS) if len(text.split()) + 2 > 12)
    with pytest.raises(InputError, match=rf"texts, row {first}: the text has \d+ tokens, more than 12 \({long} such"):
        extract(TEXTS, model=tiny_model, out=tmp_path / "c", max_length=12, on_truncate="error")
    assert not (tmp_path / "c").exists()


def test_of_a_pair_the_longer_text_is_cut(tiny_model, tmp_path):
    rows = [{"text": "a b c d e f g h", "text_pair": "x y"}]
    store = extract(rows, model=tiny_model, out=tmp_path / "s", text_pair_column="text_pair", max_length=9)
    assert store.truncated.tolist() == [True]
    expected = plain(tiny_model, "a b c d", "x y")  # 4 + 2 words, [CLS] and two [SEP]
    np.testing.assert_allclose(store.layer(2)[0], expected[2], rtol=0, atol=1e-5)


def test_several_poolings_in_one_store(tiny_model, tmp_path):
    names = ["cls", "mean", "max", "last", "attention", "pooler"]
    store = extract(TEXTS, model=tiny_model, out=tmp_path / "s", pooling=names, part_size=16)
    assert store.poolings == tuple(names)
    assert store.layers_of("mean") == (0, 1, 2)
    assert store.layers_of("attention") == (1, 2)
    assert store.layers_of("pooler") == (2,)
    with pytest.raises(InputError, match="layer 0 of pooling attention is not in the store; it holds layers 1 to 2"):
        store.layer(0, pooling="attention")
    alone = extract(TEXTS, model=tiny_model, out=tmp_path / "alone", pooling="mean")
    np.testing.assert_allclose(store.layer(1, pooling="mean"), alone.layer(1, pooling="mean"), rtol=0, atol=1e-5)
    result = cls_probe.anisotropy(store, pooling="pooler")
    assert result.layers == (2,)
    assert cls_probe.anisotropy(alone, pooling="mean").layers == (0, 1, 2)
    with pytest.raises(InputError, match="pooling 'cls' is not in the store; it holds mean"):
        cls_probe.anisotropy(alone)


def test_the_self_check_writes_nothing(tiny_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = extraction.self_check(TEXTS, model=tiny_model, pooling=["cls", "max"])
    assert (told.n_texts, told.padded) == (4, True)
    assert told.n_tokens == (3, 25)
    assert told.difference < told.tolerance == 1e-4
    assert list(tmp_path.iterdir()) == []
    untrained = extraction.self_check(TEXTS, model=tiny_model, random_weights=1, pooling="mean", specials=False)
    assert untrained.difference != extraction.self_check(TEXTS, model=tiny_model, pooling="mean").difference
    with pytest.raises(InputError, match="max_length is 65"):
        extraction.self_check(TEXTS, model=tiny_model, max_length=65)


def test_pairs_are_stored(tiny_model, tmp_path):
    rows = [{"text": "a b", "other": "c"}, {"text": "d", "other": "e f"}]
    store = extract(rows, model=tiny_model, out=tmp_path / "s", text_pair_column="other")
    assert store.text_pairs == ("c", "e f")
    np.testing.assert_allclose(store.layer(2)[1], plain(tiny_model, "d", "e f")[2], rtol=0, atol=1e-5)


def lengths_of_batches(lengths, **encoder):
    """Check that every text is in one batch; return the lengths of the texts of every batch."""
    tokens = [{"input_ids": np.zeros(length, dtype=np.int32)} for length in lengths]
    found = list(extraction.batches(tokens, SimpleNamespace(**encoder)))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    return [lengths[batch] for batch in found]


def test_batches_hold_the_token_budget():
    lengths = np.random.default_rng(0).integers(3, 600, size=500)
    batches = lengths_of_batches(lengths, padded=True, batch_tokens=4096)
    assert all(len(batch) * batch.max() <= 4096 for batch in batches)
    assert [len(batch) for batch in lengths_of_batches(np.array([20_000, 9]), padded=True, batch_tokens=4096)] == [1, 1]


def test_batches_of_one_length():
    lengths = np.random.default_rng(0).integers(3, 30, size=500)
    batches = lengths_of_batches(lengths, padded=False, batch_tokens=4096)
    assert all(np.ptp(batch) == 0 for batch in batches)
    assert len(batches) == len(set(lengths.tolist()))


def test_vectors_that_are_not_finite_name_row_and_layer(tiny_model, tmp_path, monkeypatch):
    encode = Encoder.encode

    def broken(self, tokens):
        vectors = encode(self, tokens)
        for row, row_tokens in enumerate(tokens):
            if len(row_tokens["input_ids"]) == 25:  # the longest texts: rows 16 and 39
                vectors["cls", 2][row] = np.inf
        return vectors

    monkeypatch.setattr(Encoder, "encode", broken)
    longest = [row for row, text in enumerate(TEXTS) if len(text.split()) == 23]
    with pytest.raises(EncoderError) as caught:
        extract(TEXTS, model=tiny_model, out=tmp_path / "s")
    assert f"texts, row {longest[0]}: the cls vector of layer 2 is not finite ({len(longest)} such rows" in str(
        caught.value
    )
    assert "float32" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 65}, "max_length is 65; expected 3 to 64, the most that"),
        ({"max_length": 2}, "max_length is 2; expected 3 to 64"),
        ({"part_size": 0}, "part_size is 0; expected at least 1"),
        ({"dtype": "int8"}, "dtype is 'int8'; expected one of float32, float16, bfloat16"),
        ({"store_dtype": "float64"}, "store_dtype is 'float64'; expected one of float32, float16"),
        ({"pooling": "best"}, "poolings is 'best'; expected one of cls"),
        ({"layers": [0, 3]}, r"layers are \[0, 3\]; expected some of 0 to 2, the states of"),
        ({"pooling": []}, "no pooling was asked for; expected some of cls, mean, max"),
        ({"on_truncate": "cut"}, "on_truncate is 'cut'; expected warn, error or keep"),
        ({"layers": []}, r"layers are \[\]; expected some of 0 to 2"),
    ],
)
def test_options_that_cannot_be_write_nothing(tiny_model, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        extract(TEXTS, model=tiny_model, out=tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()


def test_progress_is_silent_unless_asked_for(tiny_model, tmp_path, capfd):
    extract(TEXTS, model=tiny_model, out=tmp_path / "a")
    assert capfd.readouterr() == ("", "")
    extract(TEXTS, model=tiny_model, out=tmp_path / "b", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "40/40" in err
    assert "row/s" in err


def test_random_weights_are_those_of_the_seed_and_of_the_architecture(tiny_model, tmp_path):
    import torch

    state = torch.random.get_rng_state()
    stores = [
        extract(TEXTS, model=tiny_model, random_weights=seed, out=tmp_path / str(i)) for i, seed in enumerate((5, 5, 6))
    ]
    assert (torch.random.get_rng_state() == state).all()
    assert files(tmp_path / "0") == files(tmp_path / "1")
    trained = extract(TEXTS, model=tiny_model, out=tmp_path / "trained")
    assert [store.manifest.random_weights for store in (*stores, trained)] == [5, 5, 6, None]
    assert stores[0].source["random_weights"] == 5
    assert stores[0].manifest.rows_sha256 == trained.manifest.rows_sha256
    assert len({store.manifest.weights_sha256 for store in (*stores, trained)}) == 3
    assert np.abs(stores[0].layer(2) - stores[2].layer(2)).max() > 0.1
    assert np.abs(stores[0].layer(2) - trained.layer(2)).max() > 0.1
    with pytest.raises(StoreError, match="holds a store with another weights_sha256"):
        extract(TEXTS, model=tiny_model, out=tmp_path / "0")


def test_random_weights_equal_those_that_transformers_draws(tiny_model, tmp_path):
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(3)
    AutoModel.from_config(AutoConfig.from_pretrained(tiny_model)).save_pretrained(tmp_path / "drawn")
    for path in tiny_model.glob("tokenizer*"):
        (tmp_path / "drawn" / path.name).write_bytes(path.read_bytes())
    drawn = extract(TEXTS, model=tmp_path / "drawn", out=tmp_path / "a")
    ours = extract(TEXTS, model=tiny_model, random_weights=3, out=tmp_path / "b")
    np.testing.assert_allclose(ours.layer(2), drawn.layer(2), atol=1e-6)


def test_random_weights_need_no_weights(tiny_model, tmp_path):
    for path in tiny_model.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    assert extract(TEXTS, model=tmp_path, random_weights=0).n_rows == 40
