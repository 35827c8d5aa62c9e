"""Every family of encoders: our vectors equal a plain forward of the single unpadded text."""

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModel, AutoTokenizer

from cls_probe.encoding.encoder import Encoder
from cls_probe.encoding.files import locate
from cls_probe.errors import EncoderError
from tests.conftest import WORDS, save_tokenizer

TEXTS = ["the cat", "a", "dog, dog, dog and the quick brown fox over all of it.", "xyz " * 15]
SIZES = {
    "vocab_size": 5 + len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 70,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "sep_token_id": 3,
    "cls_token_id": 2,
}
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
ENCODERS = {
    "Albert": {"embedding_size": 8},
    "Bert": {},
    "BigBird": {"block_size": 4, "num_random_blocks": 1},
    "Camembert": {},
    "ConvBert": {},
    "Deberta": RELATIVE,
    "DebertaV2": {**RELATIVE, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True},
    "DistilBert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    "Electra": {"embedding_size": 8},
    "Ernie": {},
    "EuroBert": {"mask_token_id": 4},
    "FNet": {},
    "Flaubert": {"emb_dim": 16, "n_layers": 2, "n_heads": 2},
    "JinaEmbeddingsV3": {},
    "Longformer": {"attention_window": [8, 8]},
    "MPNet": {},
    "MegatronBert": {},
    "ModernBert": {"global_attn_every_n_layers": 2, "local_attention": 8},
    "NomicBert": {},
    "RoFormer": {},
    "Roberta": {},
    "XLM": {"emb_dim": 16, "n_layers": 2, "n_heads": 2},
    "XLMRoberta": {},
    "XLNet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32},
}
ONE_LENGTH = ("ConvBert", "FNet")
"""Families that mix padding into the vectors: their batches hold texts of one length."""
NARROWED = ("Bert", "Camembert", "DistilBert", "Electra", "Ernie", "Roberta", "XLMRoberta")
"""Families whose last block is run for [CLS] alone."""
WITHOUT_ATTENTION = ("FNet", "Longformer")
WITHOUT_CLS = {
    "GPT2": {"n_positions": 70, "n_embd": 16, "n_layer": 2, "n_head": 2},
    "T5": {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0},
}
POOLINGS = ("cls", "mean", "max", "last")


def build(family, changes, folder, **tokenizer):
    """A random model of 2 layers, 16 wide, and its tokenizer, saved; skips where transformers has no such family."""
    if not hasattr(transformers, f"{family}Config"):
        pytest.skip(f"this transformers has no {family}")
    sizes = {key: value for key, value in SIZES.items() if family != "XLNet" or key != "max_position_embeddings"}
    torch.manual_seed(0)
    model = AutoModel.from_config(getattr(transformers, f"{family}Config")(**{**sizes, **changes})).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    if family == "BigBird":
        model.set_attention_type("original_full")
    model.save_pretrained(folder)
    save_tokenizer(folder, **tokenizer)
    return model


def plain(model, folder, names, text):
    """Hidden states of one text, with its final norm at the end, and its tokens."""
    inputs = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        output = model(**{key: value for key, value in inputs.items() if key in names}, output_hidden_states=True)
    return [state[0].numpy() for state in (*output.hidden_states[:-1], output.last_hidden_state)], inputs["input_ids"][
        0
    ]


def encode(encoder):
    tokens, _ = encoder.tokenize(TEXTS, None, 64)
    encoder.check(tokens)
    if encoder.padded:
        return encoder.encode(tokens)
    single = [encoder.encode([row]) for row in tokens]
    return {key: np.concatenate([vectors[key] for vectors in single]) for key in single[0]}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", ENCODERS)
def test_every_state_equals_the_plain_forward(family, side, tmp_path):
    model = build(family, ENCODERS[family], tmp_path, padding_side=side)
    encoder = Encoder(locate(tmp_path), device="cpu", poolings=POOLINGS)
    assert (encoder.n_layers, encoder.hidden_size) == (2, 16)
    got = encode(encoder)
    assert encoder.padded == (family not in ONE_LENGTH)
    for row, text in enumerate(TEXTS):
        states, ids = plain(model, tmp_path, encoder._names, text)
        place = ids.tolist().index(encoder.tokenizer.cls_token_id)
        for layer, state in enumerate(states):
            expected = {"cls": state[place], "mean": state.mean(axis=0), "max": state.max(axis=0), "last": state[-1]}
            for name in POOLINGS:
                np.testing.assert_allclose(got[name, layer][row], expected[name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", ENCODERS)
def test_cls_alone_equals_the_plain_forward(family, tmp_path):
    model = build(family, ENCODERS[family], tmp_path, padding_side="right")
    encoder = Encoder(locate(tmp_path), device="cpu")
    assert encoder._narrow == (family in NARROWED)
    got = encode(encoder)
    for row, text in enumerate(TEXTS):
        states, ids = plain(model, tmp_path, encoder._names, text)
        place = ids.tolist().index(encoder.tokenizer.cls_token_id)
        for layer, state in enumerate(states):
            np.testing.assert_allclose(got["cls", layer][row], state[place], rtol=0, atol=1e-5)


def test_cls_at_the_end(tmp_path):
    """XLNet's own order: text, [SEP], [CLS]."""
    from tokenizers import processors

    model = build("XLNet", ENCODERS["XLNet"], tmp_path, padding_side="left")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    specials = [("[CLS]", tokenizer.cls_token_id), ("[SEP]", tokenizer.sep_token_id)]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP] [CLS]:2", pair="$A [SEP] $B:1 [SEP]:1 [CLS]:2", special_tokens=specials
    )
    tokenizer.save_pretrained(tmp_path)
    encoder = Encoder(locate(tmp_path), device="cpu", poolings=("cls", "last"))
    got = encode(encoder)
    for row, text in enumerate(TEXTS):
        states, ids = plain(model, tmp_path, encoder._names, text)
        assert ids[-1] == encoder.tokenizer.cls_token_id
        np.testing.assert_allclose(got["cls", 2][row], states[2][-1], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(got["cls", 2], got["last", 2])


@pytest.mark.parametrize("family", WITHOUT_CLS)
def test_families_without_cls_are_refused_with_advice(family, tmp_path):
    model = build(family, WITHOUT_CLS[family], tmp_path, cls_token=None)
    with pytest.raises(EncoderError, match=r"no \[CLS\] token, .* or --pooling mean or --pooling last"):
        Encoder(locate(tmp_path), device="cpu")
    encoder = Encoder(locate(tmp_path), device="cpu", poolings=("mean", "last"))
    got = encode(encoder)
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    for row, text in enumerate(TEXTS):
        states, _ = plain(model, tmp_path, encoder._names, text)
        for layer, state in enumerate(states):
            np.testing.assert_allclose(got["last", layer][row], state[-1], rtol=0, atol=1e-5)
            np.testing.assert_allclose(got["mean", layer][row], state.mean(axis=0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", ENCODERS)
def test_attention_pooling_equals_the_models_own_attentions(family, tmp_path):
    build(family, ENCODERS[family], tmp_path)
    if family in WITHOUT_ATTENTION:
        with pytest.raises(EncoderError, match="gives no attention of every token to every token; choose another"):
            Encoder(locate(tmp_path), device="cpu", poolings=("attention",))
        return
    encoder = Encoder(locate(tmp_path), device="cpu", poolings=("attention",))
    got = encode(encoder)
    assert ("attention", 0) not in got
    eager = AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    if family == "BigBird":
        eager.set_attention_type("original_full")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    for row, text in enumerate(TEXTS):
        inputs = {k: v for k, v in tokenizer(text, return_tensors="pt").items() if k in encoder._names}
        with torch.no_grad():
            output = eager(**inputs, output_hidden_states=True, output_attentions=True)
        states = (*output.hidden_states[:-1], output.last_hidden_state)
        attentions = encoder.cls_attentions(encoder.tokenize([text], None, 64)[0])[0]
        for layer in (1, 2):
            np.testing.assert_allclose(attentions[layer - 1], output.attentions[layer - 1][0, :, 0], rtol=0, atol=1e-5)
            weights = output.attentions[layer - 1][0, :, 0].mean(dim=0)
            expected = (weights[:, None] * states[layer][0]).sum(dim=0).numpy()
            np.testing.assert_allclose(got["attention", layer][row], expected, rtol=0, atol=1e-5)
