"""The encoder: its [CLS] of every state equals a plain forward of the single unpadded text."""

import numpy as np
import pytest
import torch
from transformers import (
    AlbertConfig,
    AlbertModel,
    AutoModel,
    AutoTokenizer,
    BartConfig,
    BartModel,
    BertConfig,
    BertForMaskedLM,
)

from cls_probe.encoding import encoder as module
from cls_probe.encoding import pooling
from cls_probe.encoding.encoder import Encoder
from cls_probe.encoding.files import locate
from cls_probe.errors import EncoderError, InputError
from tests.conftest import WORDS, save_tokenizer

TEXTS = ["the cat", "a", "dog, dog, dog and the quick brown fox over all of it.", "xyz " * 15]


def plain(folder, text, pair=None):
    """[CLS] of every state of one text, (n_states, hidden_size), by transformers alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    inputs = tokenizer(text, pair, return_tensors="pt", truncation=True, max_length=64)
    with torch.no_grad():
        states = model(**inputs, output_hidden_states=True).hidden_states
    return np.stack([state[0, 0].numpy() for state in states])


def assert_equals_plain(folder, encoder, texts, pairs=None):
    tokens, _ = encoder.tokenize(texts, pairs, 64)
    got = encoder.encode(tokens)
    for row, text in enumerate(texts):
        expected = plain(folder, text, None if pairs is None else pairs[row])
        np.testing.assert_allclose(got[row], expected, rtol=0, atol=1e-5)
    return got


def test_every_state_equals_the_plain_forward(tiny_model):
    encoder = Encoder(locate(tiny_model), device="cpu")
    assert len(encoder._blocks) == encoder.n_layers == 2
    got = assert_equals_plain(tiny_model, encoder, TEXTS)
    assert got.shape == (4, 3, 16)
    assert (got[:, 0] == got[0, 0]).all()  # state 0 of [CLS] is one constant vector
    assert np.ptp(got[:, 1:], axis=0).max() > 0.1


def test_pairs_are_encoded_together(tiny_model):
    encoder = Encoder(locate(tiny_model), device="cpu")
    assert_equals_plain(tiny_model, encoder, TEXTS[:3], ["dog", "the cat and the dog", "x"])


def test_left_padding_gives_the_same_vectors(tiny_model, tmp_path):
    AutoModel.from_pretrained(tiny_model).save_pretrained(tmp_path / "m")
    save_tokenizer(tmp_path / "m", padding_side="left")
    encoder = Encoder(locate(tmp_path / "m"), device="cpu")
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    inputs = encoder.tokenizer.pad(tokens, return_tensors="pt")
    positions = pooling.cls_positions(inputs["input_ids"], inputs["attention_mask"], encoder.tokenizer.cls_token_id)
    assert positions.tolist() == [int(row.argmax()) for row in inputs["attention_mask"]]
    assert positions[1] > 0
    vectors = encoder.encode(tokens)
    # absolute positions shift with left padding, so only the unpadded row is the plain one
    np.testing.assert_allclose(vectors[3], plain(tmp_path / "m", TEXTS[3]), rtol=0, atol=1e-5)
    assert not np.allclose(vectors[0, 1], 0)


def test_the_lean_way_equals_the_plain_way(tiny_model):
    encoder = Encoder(locate(tiny_model), device="cpu")
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    lean = encoder.encode(tokens)
    encoder._blocks = []
    np.testing.assert_allclose(lean, encoder.encode(tokens), rtol=0, atol=1e-6)


def test_an_architecture_that_shares_its_blocks_takes_the_plain_way(tmp_path):
    torch.manual_seed(1)
    config = AlbertConfig(
        vocab_size=5 + len(WORDS),
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    AlbertModel(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    encoder = Encoder(locate(tmp_path), device="cpu")
    assert encoder._blocks == []
    assert assert_equals_plain(tmp_path, encoder, TEXTS).shape == (4, 4, 16)


def test_blocks_that_differ_from_the_plain_way_are_not_used(tiny_model, monkeypatch):
    monkeypatch.setattr(module, "_same", lambda lean, plain: False)
    assert Encoder(locate(tiny_model), device="cpu")._blocks == []


def test_truncation_keeps_the_special_tokens_and_counts_before_it(tiny_model):
    encoder = Encoder(locate(tiny_model), device="cpu")
    tokens, n_tokens = encoder.tokenize(["a b c d e f g h", "a"], None, 6)
    assert n_tokens.tolist() == [10, 3]
    assert [len(row["input_ids"]) for row in tokens] == [6, 3]
    specials = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    assert all((row["input_ids"][0], row["input_ids"][-1]) == specials for row in tokens)


def test_cls_is_found_by_id_and_mask():
    ids = torch.tensor([[0, 0, 2, 5], [2, 5, 2, 3], [2, 0, 5, 2]])
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]])
    positions = pooling.cls_positions(ids, mask, 2)
    assert positions.tolist() == [2, 0, 3]
    hidden = torch.arange(3 * 4 * 2).reshape(3, 4, 2)
    assert pooling.cls(hidden, positions).tolist() == [[4, 5], [8, 9], [22, 23]]
    with pytest.raises(ValueError, match=r"a row without \[CLS\]"):
        pooling.cls_positions(ids, torch.zeros_like(mask), 2)


def test_a_tokenizer_without_cls_is_refused(tiny_model, tmp_path):
    AutoModel.from_pretrained(tiny_model).save_pretrained(tmp_path / "m")
    save_tokenizer(tmp_path / "m", cls_token=None)
    with pytest.raises(EncoderError, match=r"its tokenizer has no \[CLS\] token"):
        Encoder(locate(tmp_path / "m"), device="cpu")


def test_an_encoder_decoder_model_is_refused(tmp_path):
    config = BartConfig(
        vocab_size=5 + len(WORDS),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_position_embeddings=64,
    )
    BartModel(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(EncoderError, match="is an encoder-decoder model; expected an encoder of the BERT family"):
        Encoder(locate(tmp_path), device="cpu")


def small_config(**changes):
    sizes = {"vocab_size": 5 + len(WORDS), "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    return BertConfig(**{**sizes, "num_hidden_layers": 2, "max_position_embeddings": 64, **changes})


def test_weights_of_a_model_with_a_head_load_without_its_pooler(tmp_path):
    BertForMaskedLM(small_config()).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    assert_equals_plain(tmp_path, Encoder(locate(tmp_path), device="cpu"), TEXTS[:2])


def test_weights_that_lack_a_block_are_refused(tmp_path):
    BertForMaskedLM(small_config(num_hidden_layers=1)).save_pretrained(tmp_path)
    small_config().save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(EncoderError, match=r"the weights lack \d+ tensors, such as encoder.layer.1"):
        Encoder(locate(tmp_path), device="cpu")


def test_what_transformers_cannot_load_is_one_line(tmp_path, tiny_model):
    (tmp_path / "config.json").write_text('{"model_type": "no-such-model"}')
    (tmp_path / "model.safetensors").write_bytes((tiny_model / "model.safetensors").read_bytes())
    save_tokenizer(tmp_path)
    with pytest.raises(EncoderError, match="transformers cannot load it") as caught:
        Encoder(locate(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_devices_that_are_not_there(tiny_model, device):
    with pytest.raises(InputError, match=f"device '{device}' is not to be had here"):
        Encoder(locate(tiny_model), device=device)


def test_settings_of_transformers_are_left_as_they_were(tiny_model, capfd):
    import transformers

    before = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    Encoder(locate(tiny_model), device="cpu")
    assert (transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")
