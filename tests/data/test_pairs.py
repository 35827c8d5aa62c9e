"""Pairs of texts with scores."""

import numpy as np
import pytest

from cls_probe.data import read_pairs
from cls_probe.errors import InputError


def test_the_bundled_pairs():
    pairs = read_pairs("sample-pairs")
    assert len(pairs) == 60
    assert len(pairs.texts) == 120
    assert (pairs.scores.min(), pairs.scores.max()) == (0, 5)
    assert len(set(np.floor(np.minimum(pairs.scores, 4.9)))) == 5  # every part of the scale
    assert pairs.rows.source == "sample-pairs"


def test_columns_are_guessed_or_named(tmp_path):
    (tmp_path / "p.csv").write_text("Sentence1,sentence2,score,other\na,b,1.5,9\nc,a,2,8\n")
    pairs = read_pairs(tmp_path / "p.csv")
    assert (pairs.rows.texts, pairs.rows.text_pairs, pairs.scores.tolist()) == (["a", "c"], ["b", "a"], [1.5, 2])
    assert pairs.texts == ["a", "c", "b"]
    assert read_pairs(tmp_path / "p.csv", score_column="other").scores.tolist() == [9, 8]
    assert read_pairs([{"text": "a", "text_pair": "b"}]).scores is None
    assert read_pairs(tmp_path / "p.csv", limit=1).rows.texts == ["a"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("text,score\na,1\n", {}, "no column named sentence2, text2, text_pair for the second text; the columns are"),
        ("text,text2,score\na,b,1\n", {"score_column": "x"}, "no column 'x' for the score; the columns are 'text'"),
        ("text,text2,score\na,b,high\n", {}, r"row 0 \(line 2\): the score is 'high'; expected a number"),
        ("text,text2,score\na,b,nan\n", {}, "the score is 'nan'; expected a number"),
        ("text,text2,score\na,,1\n", {}, r"row 0 \(line 2\): the second text is empty"),
        ("text,text2\na,b\n", {"text_column": "y"}, "no column 'y' for the first text"),
    ],
)
def test_what_cannot_be_pairs(tmp_path, text, options, message):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_pairs(tmp_path / "p.csv", **options)
