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


def cls_states(encoder, tokens):
    """[CLS] of every state, (texts, n_states, hidden_size)."""
    vectors = encoder.encode(tokens)
    return np.stack([vectors["cls", layer] for layer in range(encoder.n_layers + 1)], axis=1)


def assert_equals_plain(folder, encoder, texts, pairs=None):
    tokens, _ = encoder.tokenize(texts, pairs, 64)
    got = cls_states(encoder, tokens)
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
    assert encoder.tokenizer.padding_side == "left"
    assert_equals_plain(tmp_path / "m", encoder, TEXTS)  # padded on the right all the same: positions begin at 0


def test_the_lean_ways_equal_the_plain_way(tiny_model):
    encoder = Encoder(locate(tiny_model), device="cpu")
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    assert encoder._narrow
    narrow = cls_states(encoder, tokens)
    encoder._narrow = False
    lean = cls_states(encoder, tokens)
    encoder._blocks = []
    plain = cls_states(encoder, tokens)
    np.testing.assert_allclose(lean, plain, rtol=0, atol=1e-6)
    np.testing.assert_allclose(narrow, plain, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(narrow[:, :-1], lean[:, :-1])


def test_the_last_block_is_narrowed_for_one_batch_only(tiny_model):
    encoder = Encoder(locate(tiny_model), device="cpu")
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    encoder.encode(tokens)
    with torch.inference_mode():
        output = encoder.model(**encoder._batch(tokens).inputs)
    assert output.last_hidden_state.shape[1] == max(len(row["input_ids"]) for row in tokens)


@pytest.mark.parametrize("poolings", [("cls", "mean"), ("mean",), ("cls", "pooler"), ("attention", "cls")])
def test_other_poolings_need_the_whole_last_block(tiny_model, poolings):
    assert not Encoder(locate(tiny_model), device="cpu", poolings=poolings)._narrow


def test_a_batch_that_memory_does_not_hold_is_halved(tiny_model, monkeypatch):
    encoder = Encoder(locate(tiny_model), device="cpu")
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    whole, sizes, run = encoder.encode(tokens), [], Encoder._encode

    def small(self, tokens, most=1):
        sizes.append(len(tokens))
        if len(tokens) > most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return run(self, tokens)

    monkeypatch.setattr(Encoder, "_encode", small)
    halved = encoder.encode(tokens)
    assert sizes == [4, 2, 1, 1, 2, 1, 1]
    for key, vectors in whole.items():
        np.testing.assert_allclose(halved[key], vectors, rtol=0, atol=1e-5)

    monkeypatch.setattr(Encoder, "_encode", lambda self, tokens: small(self, tokens, most=0))
    with pytest.raises(EncoderError, match=r"memory of cpu does not hold a text of \d+ tokens; lower --max-length"):
        encoder.encode(tokens)


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
    monkeypatch.setattr(Encoder, "_same", lambda self, lean, plain: False)
    encoder = Encoder(locate(tiny_model), device="cpu")
    assert encoder._blocks == []
    assert not encoder._narrow


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
    with pytest.raises(EncoderError, match=r"its tokenizer gives no \[CLS\] token"):
        Encoder(locate(tmp_path / "m"), device="cpu")


def test_of_an_encoder_decoder_model_the_encoder_is_used(tmp_path):
    torch.manual_seed(2)
    config = BartConfig(
        vocab_size=5 + len(WORDS),
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_position_embeddings=64,
    )
    model = BartModel(config).eval()
    model.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    encoder = Encoder(locate(tmp_path), device="cpu")
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    ids = torch.tensor(tokens[2]["input_ids"][None])
    with torch.no_grad():
        states = model.encoder(ids, output_hidden_states=True).hidden_states
    assert encoder.n_layers == 1
    got = cls_states(encoder, tokens)[2]
    np.testing.assert_allclose(got, np.stack([state[0, 0].numpy() for state in states]), rtol=0, atol=1e-5)


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


def test_pooling_functions_by_hand():
    hidden = torch.tensor([[[1.0, -5], [3, -1], [9, 9]], [[2, 0], [4, 4], [6, 2]]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert pooling.mean(hidden, mask).tolist() == [[2, -3], [4, 2]]
    assert pooling.maximum(hidden, mask).tolist() == [[3, -1], [6, 4]]
    assert pooling.last(hidden, mask).tolist() == [[3, -1], [6, 2]]
    assert pooling.attention(hidden, torch.tensor([[0.5, 0.5, 0], [0, 0, 1]])).tolist() == [[2, -3], [6, 2]]
    nothing = torch.zeros_like(mask)
    assert pooling.mean(hidden, nothing).tolist() == pooling.maximum(hidden, nothing).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_pooling_in_half_precision_is_finite(dtype):
    hidden = torch.full((2, 3, 4), -60000.0).to(dtype)
    mask = torch.tensor([[True, False, False], [True, True, True]])
    for pooled in (pooling.maximum(hidden, mask), pooling.mean(hidden, mask)):
        assert pooled.dtype == torch.float32
        assert torch.isfinite(pooled).all()
        torch.testing.assert_close(pooled[0], hidden[0, 0].float())


def test_special_tokens_count_or_do_not(tiny_model):
    with_specials = Encoder(locate(tiny_model), device="cpu", poolings=("mean", "max"))
    without = Encoder(locate(tiny_model), device="cpu", poolings=("mean", "max"), specials=False)
    tokens, _ = with_specials.tokenize(["the cat", "dog qqqq \u4e2d"], None, 64)
    inputs = torch.tensor(tokens[0]["input_ids"][None])
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(tiny_model).eval()(inputs).last_hidden_state[0].numpy()
    np.testing.assert_allclose(with_specials.encode(tokens)["mean", 2][0], hidden.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(without.encode(tokens)["mean", 2][0], hidden[1:-1].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(without.encode(tokens)["max", 2][0], hidden[1:-1].max(axis=0), atol=1e-5)
    assert with_specials.tokenizer.unk_token_id in tokens[1]["input_ids"]
    batch = without._batch(tokens)
    assert batch.specials.sum(dim=1).tolist() == [2, 2]  # an unknown word is no special token here


def test_the_pooler_is_the_models_own(tiny_model, tmp_path):
    encoder = Encoder(locate(tiny_model), device="cpu", poolings=("cls", "pooler"))
    tokens, _ = encoder.tokenize(TEXTS[:1], None, 64)
    vectors = encoder.encode(tokens)
    assert [layer for name, layer in vectors if name == "pooler"] == [2]
    ids = torch.tensor(tokens[0]["input_ids"][None])
    with torch.no_grad():
        expected = AutoModel.from_pretrained(tiny_model).eval()(ids).pooler_output
    np.testing.assert_allclose(vectors["pooler", 2], expected.numpy(), atol=1e-5)
    BertForMaskedLM(small_config()).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(EncoderError, match="its pooler has no trained weights"):
        Encoder(locate(tmp_path), device="cpu", poolings=("pooler",))


def test_a_model_whose_vectors_depend_on_the_batch_is_refused(tiny_model, monkeypatch):
    encoder = Encoder(locate(tiny_model), device="cpu")
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda tokens: {k: v * len(tokens) for k, v in encode(tokens).items()})
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    with pytest.raises(EncoderError, match=r"differs by 1 of its largest coordinate .* \(tolerance 0.0001\)"):
        encoder.check(tokens)


def test_the_check_tells_what_it_did(tiny_model):
    encoder = Encoder(locate(tiny_model), device="cpu")
    tokens, n_tokens = encoder.tokenize(TEXTS, None, 64)
    told = encoder.check(tokens)
    assert told.padded
    assert told.difference < 1e-5
    assert told.n_tokens == (n_tokens.min(), n_tokens.max())
    assert "texts      4, of 3 to" in told.describe()
