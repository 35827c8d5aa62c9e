"""Attention of [CLS]: by hand, against the model's own attentions by brute force, and for uniform attention."""

import json

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from scipy import stats
from transformers import AutoModel, AutoTokenizer

import cls_probe
from cls_probe import cls_attention, load_result
from cls_probe.attention import measure as measuring
from cls_probe.attention.result import MEASURES
from cls_probe.attention.tally import Tally, measure
from cls_probe.attention.words import Words
from cls_probe.encoding.encoder import Encoder
from cls_probe.errors import EncoderError, InputError
from tests.test_contract import check_result

TEXTS = ["the cat, the dog.", "a", "fox the", "dog dog dog, cat a b c d e f", "the xyz.", "$ the"]


@pytest.fixture
def uniform_model(tiny_model, tmp_path):
    """The tiny model without queries: it pays every token alike."""
    model = AutoModel.from_pretrained(tiny_model)
    for layer in model.encoder.layer:
        torch.nn.init.zeros_(layer.attention.self.query.weight)
        torch.nn.init.zeros_(layer.attention.self.query.bias)
    model.save_pretrained(tmp_path / "uniform")
    AutoTokenizer.from_pretrained(tiny_model).save_pretrained(tmp_path / "uniform")
    return tmp_path / "uniform"


def brute_force(folder, text):
    """Attention of [CLS] in one text, (n_layers, heads, tokens), and its tokens."""
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        attentions = model(**inputs, output_attentions=True).attentions
    assert len(attentions) == 2
    return np.stack([a[0, :, 0].numpy() for a in attentions]), tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])


def test_measures_by_hand():
    words = Words(
        kinds=np.array([0, 3, 3, 2, 1], dtype=np.int8),
        starts=np.array([0, 1, 3, 4]),
        words=("[CLS]", "Cats", ".", "[SEP]"),
        truncated=False,
    )
    attention = np.array([[[0.5, 0.25, 0.0, 0.125, 0.125], [0.2, 0.2, 0.2, 0.2, 0.2]]])
    got = measure(words, attention)
    entropy = 0.5 * np.log(2) + 0.25 * np.log(4) + 0.25 * np.log(8)
    np.testing.assert_allclose(got[0, 0], [0.5, 0.125, 0.125, 0.25, entropy])
    np.testing.assert_allclose(got[0, 1], [0.2, 0.2, 0.2, 0.4, np.log(5)])
    np.testing.assert_allclose(got[0, 2], (got[0, 0] + got[0, 1]) / 2)
    tally = Tally([1], n_maps=1)
    tally.add(0, words, attention.astype(np.float32))
    top = tally.top_words(3, 1)
    assert top["top_words"].tolist() == [["cats"]]
    np.testing.assert_allclose(top["top_mass"], [[(0.25 + 0.4) / 2]], rtol=1e-6)
    np.testing.assert_allclose(top["top_uniform"], [[0.4]])
    np.testing.assert_allclose(tally.maps()["map_mass"], [[0.35, 0.325, 0.1625, 0.1625]], rtol=1e-6)


def test_equals_the_models_own_attentions(tiny_model):
    result = cls_attention(TEXTS, model=tiny_model, min_occurrences=1, n_words=2)
    check_result(result)
    rows = []
    the = []
    for text in TEXTS:
        attention, tokens = brute_force(tiny_model, text)
        shares = [
            [token == "[CLS]" for token in tokens],
            [token == "[SEP]" for token in tokens],
            [token in (".", ",") or (token == "[UNK]" and "$" in text) for token in tokens],
        ]
        masses = [attention[:, :, share].sum(axis=-1) for share in shares]
        rows.append([*masses, 1 - sum(masses), stats.entropy(attention, axis=-1)])
        the += attention.mean(axis=1)[:, [token == "the" for token in tokens]].T.tolist()
    rows = np.array(rows)  # (rows, measures, n_layers, heads)
    rows = np.concatenate([rows, rows.mean(axis=-1, keepdims=True)], axis=-1)
    for i, name in enumerate(MEASURES):
        low, high = stats.t.interval(0.95, len(TEXTS) - 1, loc=rows[:, i].mean(axis=0), scale=stats.sem(rows[:, i]))
        np.testing.assert_allclose(result.values[name], rows[:, i].mean(axis=0), rtol=0, atol=1e-5)
        np.testing.assert_allclose(getattr(result, f"{name}_low"), np.maximum(low, 0), rtol=0, atol=1e-5)
        top = np.inf if name == "entropy" else 1
        np.testing.assert_allclose(getattr(result, f"{name}_high"), np.minimum(high, top), rtol=0, atol=1e-5)
    sums = sum(result.values[name] for name in list(MEASURES)[:4])
    np.testing.assert_allclose(sums, 1, rtol=0, atol=1e-9)
    every = cls_attention(TEXTS, model=tiny_model, min_occurrences=5, n_words=99)
    assert every.top_words.tolist() == [["the"]] * 2
    assert every.top_occurrences.tolist() == [[5]] * 2
    np.testing.assert_allclose(every.top_mass[:, 0], np.mean(the, axis=0), rtol=0, atol=1e-5)


def test_padding_gets_no_mass(tiny_model):
    encoder = Encoder(cls_probe.encoding.files.locate(tiny_model), device="cpu", poolings=("attention",))
    tokens, n_tokens = encoder.tokenize(TEXTS, None, 64)
    attention = encoder.cls_attentions(tokens)
    assert attention.shape == (len(TEXTS), 2, 2, n_tokens.max())
    for row, n in enumerate(n_tokens):
        assert (attention[row, :, :, n:] == 0).all()
        np.testing.assert_allclose(attention[row].sum(axis=-1), 1, rtol=0, atol=1e-5)
        np.testing.assert_allclose(attention[row, :, :, :n], brute_force(tiny_model, TEXTS[row])[0], rtol=0, atol=1e-5)
    encoder._reader = None  # the way for models that it cannot read
    np.testing.assert_array_equal(encoder.cls_attentions(tokens), attention)


def test_uniform_attention_equals_its_baseline(uniform_model):
    result = cls_attention(TEXTS, model=uniform_model, min_occurrences=1)
    for name in MEASURES:
        np.testing.assert_allclose(result.values[name], result.uniform[name], rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.top_mass, result.top_uniform, rtol=0, atol=1e-6)
    assert result.records()[0]["uniform_entropy"] == result.uniform["entropy"]
    lengths = [len(brute_force(uniform_model, text)[1]) for text in TEXTS]
    assert result.uniform["to_cls"] == pytest.approx(np.mean(1 / np.array(lengths)))
    assert result.uniform["entropy"] == pytest.approx(np.log(lengths).mean())


def test_parts_and_order_of_rows_change_nothing_and_the_same_call_gives_the_same(tiny_model, monkeypatch):
    whole = cls_attention(TEXTS, model=tiny_model, min_occurrences=1)
    monkeypatch.setattr(measuring, "PART_SIZE", 2)
    parts = cls_attention(TEXTS[::-1], model=tiny_model, min_occurrences=1)
    for name, values in whole.values.items():
        np.testing.assert_allclose(parts.values[name], values, rtol=0, atol=1e-6)
    assert parts.top_words.tolist() == whole.top_words.tolist()
    assert cls_attention(TEXTS[::-1], model=tiny_model, min_occurrences=1).to_json() == parts.to_json()


def test_a_few_rows_keep_every_word(tiny_model):
    result = cls_attention(TEXTS[:2], model=tiny_model, layers=[2])
    check_result(result)
    assert result.map_words == ("[CLS]", "the", "cat", ",", "the", "dog", ".", "[SEP]", "[CLS]", "a", "[SEP]")
    assert result.map_rows.tolist() == [0] * 8 + [1] * 3
    expected = [brute_force(tiny_model, text)[0][1].mean(axis=0) for text in TEXTS[:2]]
    np.testing.assert_allclose(result.map_mass[0], np.concatenate(expected), rtol=0, atol=1e-5)
    table = result.table()
    assert "Row 1: mass of every word by layer, mean over heads" in table
    assert "layer 2: undefined: fewer than three rows" in table
    many = cls_attention(TEXTS, model=tiny_model)
    assert many.map_words == ()
    assert many.map_mass.shape == (2, 0)


def test_a_long_text_shows_its_largest_masses(tiny_model):
    result = cls_attention(["a b " * 28], model=tiny_model)
    assert len(result.map_words) == 58
    assert "18 words of less mass are not shown; all of them: --json" in result.table()
    assert len(result.plot().axes[0].get_xticks()) == 40


def test_truncated_rows_are_counted(tiny_model):
    result = cls_attention(TEXTS, model=tiny_model, max_length=6)
    assert result.n_truncated == 3
    assert "3 of 6 texts were cut at 6 tokens" in result.table()


def test_no_word_often_enough(tiny_model):
    result = cls_attention(TEXTS, model=tiny_model, min_occurrences=50)
    check_result(result)
    assert result.top_words.shape == (2, 0)
    assert "No word occurs 50 times" in result.table()


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1], TEXTS[:3]])
def test_pictures(tiny_model, texts):
    result = cls_attention(texts, model=tiny_model)
    figure = result.plot()
    assert isinstance(figure, Figure)
    assert all(ax.has_data() for ax in figure.axes)
    own = Figure()
    ax = own.subplots()
    assert result.plot(ax) is own
    assert own.axes == [ax]
    back = type(result).from_json(result.to_json())
    assert isinstance(back.plot(), Figure)


def test_saved_and_loaded(tiny_model, tmp_path):
    result = cls_attention(TEXTS, model=tiny_model)
    (tmp_path / "r.json").write_text(result.to_json())
    assert load_result(tmp_path / "r.json").to_json() == result.to_json()
    assert json.loads(result.to_json())["source"]["n_rows"] == 6


def test_pairs(tiny_model):
    rows = cls_probe.read_rows([{"text": "cat", "other": "dog"}] * 3, text_pair_column="other")
    result = cls_attention(rows, model=tiny_model)
    assert result.uniform["to_special"] == pytest.approx(2 / 5)
    assert result.map_words[:5] == ("[CLS]", "cat", "[SEP]", "dog", "[SEP]")


def test_attention_that_is_none_is_an_error(tiny_model, monkeypatch):
    attentions = Encoder.cls_attentions

    def broken(self, tokens):
        found = attentions(self, tokens)
        found[0, 1, 0] = np.nan
        return found

    monkeypatch.setattr(Encoder, "cls_attentions", broken)
    with pytest.raises(EncoderError, match=r"row \d: the attention of \[CLS\] in layer 2, head 0 adds up to nan"):
        cls_attention(TEXTS, model=tiny_model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": [0]}, r"layers are \[0\]; expected some of 1 to 2, the blocks of .* before any attention"),
        ({"layers": [3]}, "expected some of 1 to 2"),
        ({"layers": []}, "expected some of 1 to 2"),
        ({"max_length": 99}, "max_length is 99; expected 3 to 64"),
        ({"n_words": 0}, "n_words is 0; expected at least 1"),
        ({"min_occurrences": 0}, "min_occurrences is 0; expected at least 1"),
        ({"confidence": 95}, "confidence is 95"),
    ],
)
def test_options_that_cannot_work(tiny_model, options, message):
    with pytest.raises(InputError, match=message):
        cls_attention(TEXTS, model=tiny_model, **options)
