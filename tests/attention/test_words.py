"""Kinds and words: every token has one kind, and words are runs of tokens, for every sort of tokenizer."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from cls_probe.attention.words import KINDS, read_words
from cls_probe.encoding.tokens import tokenize
from cls_probe.errors import EncoderError
from tests.conftest import save_tokenizer

CLS, SPECIAL, PUNCTUATION, WORD = range(4)


@pytest.fixture
def tokenizer(tmp_path):
    return save_tokenizer(tmp_path)


def read(tokenizer, text, pair=None, max_length=64):
    [words] = read_words(tokenizer, [text], None if pair is None else [pair], max_length, name="tiny")
    return words


def test_subwords_become_words_and_kinds_by_hand(tokenizer):
    words = read(tokenizer, "The fox, dog")
    assert KINDS == ("cls", "special", "punctuation", "words")
    assert words.words == ("[CLS]", "The", "fox", ",", "dog", "[SEP]")
    assert words.n_tokens.tolist() == [1, 1, 3, 1, 1, 1]
    assert words.starts.tolist() == [0, 1, 2, 5, 6, 7]
    assert words.kinds.tolist() == [CLS, WORD, WORD, WORD, WORD, PUNCTUATION, WORD, SPECIAL]
    assert words.word_kinds.tolist() == [CLS, WORD, WORD, PUNCTUATION, WORD, SPECIAL]
    masses = np.arange(16.0).reshape(2, 8)
    assert words.add_up(masses).tolist() == [[0, 1, 9, 5, 6, 7], [8, 9, 33, 13, 14, 15]]


def test_signs_and_special_tokens_in_a_text(tokenizer):
    words = read(tokenizer, "a $ [SEP] [CLS] \u4e2d.")
    assert words.words == ("[CLS]", "a", "$", "[SEP]", "[CLS]", "\u4e2d", ".", "[SEP]")
    assert words.kinds.tolist() == [CLS, WORD, PUNCTUATION, SPECIAL, SPECIAL, WORD, PUNCTUATION, SPECIAL]


def test_pairs_keep_their_own_words(tokenizer):
    words = read(tokenizer, "cat", "dog ab")
    assert words.words == ("[CLS]", "cat", "[SEP]", "dog", "ab", "[SEP]")


def test_tokens_are_those_of_the_encoder_and_truncation_is_told(tokenizer):
    texts = ["the cat, abc", "x " * 30, "a b c d"]
    pairs = ["dog", "y " * 10, "d"]
    for second in (None, pairs):
        tokens, n_tokens = tokenize(tokenizer, texts, second, 9)
        words = read_words(tokenizer, texts, second, 9, name="tiny")
        assert [len(w.kinds) for w in words] == [len(row["input_ids"]) for row in tokens]
        assert [w.truncated for w in words] == (n_tokens > 9).tolist()


def other_tokenizer(kind):
    """Two that mark spaces: pieces with a meta space, and bytes."""
    specials = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    if kind == "pieces":
        pieces = [*specials, "\u2581", "\u2581the", "\u2581do", "g", ",", "\u2581a"]
        model = models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=1)
        before = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    else:
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        model = models.BPE(vocab={piece: i for i, piece in enumerate([*specials, *letters])}, merges=[])
        before = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = before
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


@pytest.mark.parametrize("kind", ["pieces", "bytes"])
def test_other_tokenizers_give_the_same_words(kind):
    words = read(other_tokenizer(kind), "the dog, a")
    assert words.words == ("[CLS]", "the", "dog", ",", "a", "[SEP]")
    assert words.word_kinds.tolist() == [CLS, WORD, WORD, PUNCTUATION, WORD, SPECIAL]
    assert words.n_tokens.sum() == len(words.kinds)


def test_a_tokenizer_that_knows_no_words_is_refused(tokenizer, monkeypatch):
    monkeypatch.setattr(type(tokenizer), "is_fast", False)
    with pytest.raises(EncoderError, match=r"tiny: its tokenizer does not tell .* expected a fast tokenizer"):
        read(tokenizer, "a")
