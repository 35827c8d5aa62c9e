"""Reading: every format gives the same rows, every fault one line that names file and row."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from cls_probe.data import read_rows
from cls_probe.errors import ClsProbeError, InputError, MissingDependencyError

TEXTS = ['plain, with comma and "quotes"', "two\nlines", "ünïcödé 汉字 \u2028 x", "same", "same"]
LABELS = ["b", "a", "b", "a", "b"]


@pytest.fixture
def table():
    return pd.DataFrame({"id": range(5), "text": TEXTS, "label": LABELS, "other": list("vwxyz")})


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_all_formats_give_the_same_rows(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    table.to_parquet(tmp_path / "t.parquet")
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True, force_ascii=False)
    sources = [
        *(tmp_path / f"t.{kind}" for kind in ("csv", "tsv", "parquet", "jsonl")),
        table,
        table.to_dict("records"),
    ]
    for source in sources:
        rows = read_rows(source)
        assert list(rows.texts) == TEXTS
        assert rows.labels == LABELS
        assert rows.classes == ("a", "b")


def test_txt_is_one_text_a_line(tmp_path):
    rows = read_rows(write(tmp_path / "t.txt", "one\r\ntwo \u2028 parts\nthree"))
    assert list(rows.texts) == ["one", "two \u2028 parts", "three"]
    assert rows.labels is None


def test_byte_order_mark_windows_line_ends_and_upper_case_endings(tmp_path):
    rows = read_rows(write(tmp_path / "T.CSV", b"\xef\xbb\xbfText,Label\r\none,x\r\ntwo,y\r\nthree,x\r\n\r\n"))
    assert list(rows.texts) == ["one", "two", "three"]
    assert rows.classes == ("x", "y")


def test_columns_are_guessed_in_order_and_can_be_named(tmp_path):
    content = "content,Sentence,category,class,q\nc1,s1,A,B,q1\nc2,s2,A,C,q2\nc3,s3,D,B,q3\n"
    path = write(tmp_path / "t.csv", content)
    rows = read_rows(path)
    assert list(rows.texts) == ["s1", "s2", "s3"]
    assert rows.labels == ["B", "C", "B"]
    rows = read_rows(path, text_column="content", text_pair_column="q", label_column="category")
    assert list(rows.texts) == ["c1", "c2", "c3"]
    assert list(rows.text_pairs) == ["q1", "q2", "q3"]
    assert rows.labels == ["A", "A", "D"]
    assert read_rows(path, no_labels=True).labels is None


def test_huge_fields_are_read(tmp_path):
    word = "x" * 1_000_000
    limit = csv.field_size_limit()
    assert read_rows(write(tmp_path / "t.csv", f"text\n{word}\n")).texts[0] == word
    assert csv.field_size_limit() == limit


def test_limit_and_sample(tmp_path):
    path = write(tmp_path / "t.txt", "\n".join(f"line {i}" for i in range(100)))
    assert list(read_rows(path, limit=3).texts) == ["line 0", "line 1", "line 2"]
    assert len(read_rows(path, limit=1000)) == 100
    drawn = [int(text.split()[1]) for text in read_rows(path, sample=10, seed=1).texts]
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 10
    assert list(read_rows(path, sample=10, seed=1).texts) == [f"line {i}" for i in drawn]
    assert list(read_rows(path, sample=10, seed=2).texts) != [f"line {i}" for i in drawn]
    assert max(int(t.split()[1]) for t in read_rows(path, limit=20, sample=10).texts) < 20


def test_rows_keep_their_place_in_the_file_after_sampling(tmp_path):
    path = write(tmp_path / "t.csv", 'text\n"two\nlines"\nb\nc\n')
    rows = read_rows(path, sample=2, seed=0)
    lines = {"two\nlines": 2, "b": 4, "c": 5}
    assert [rows.lines[i] for i in range(2)] == [lines[text] for text in rows.texts]


FAULTS = {
    "no such file": ("missing.csv", None, "no such file"),
    "ending": ("t.xlsx", "x", "the ending '.xlsx' is not known; expected .csv, .tsv, .jsonl, .parquet, .txt"),
    "empty csv": ("t.csv", "", "is empty; expected a header line and rows"),
    "header only": ("t.csv", "text,label\n", "no rows; expected at least one text"),
    "empty jsonl": ("t.jsonl", "\n", "no rows; expected at least one text"),
    "empty txt": ("t.txt", "", "no rows; expected at least one text"),
    "no text column": ("t.csv", "a,b\n1,2\n", "no column named text, sentence, content; the columns are 'a', 'b'"),
    "bytes": ("t.csv", b"text\nok\ncaf\xe9\n", ", line 3: byte 0xE9 is not UTF-8"),
    "utf-16": ("t.csv", "text\na\n".encode("utf-16"), "is UTF-16; expected UTF-8"),
    "too many fields": ("t.csv", "text,label\na,x\nb,y,z\n", ", row 1 (line 3): 3 fields; expected 2 as in the header"),
    "too few fields": ("t.tsv", "text\tlabel\na\n", ", row 0 (line 2): 1 fields; expected 2 as in the header"),
    "open quote": ("t.csv", 'text\na\n"b\n', ", row 1 (line 3): not valid csv"),
    "twice": ("t.csv", "text,text\na,b\n", ", line 1: column 'text' stands twice in the header"),
    "empty text": ("t.csv", "text,label\na,x\n,y\nc,x\n", ", row 1 (line 3): the text is empty"),
    "empty line in txt": ("t.txt", "a\n\nb\n", ", row 1 (line 2): the text is empty"),
    "null text": ("t.jsonl", '{"text": "a"}\n{"text": null}\n', ", row 1 (line 2): the text is nothing"),
    "number as text": ("t.jsonl", '{"text": 5}\n', ", row 0 (line 1): the text is int 5; expected a string"),
    "no json": ("t.jsonl", '{"text": "a"}\n{"text": \n', ", row 1 (line 2): not valid JSON"),
    "no object": ("t.jsonl", '["a"]\n', ", row 0 (line 1): list; expected an object"),
    "surrogate": ("t.jsonl", '{"text": "\\ud800"}\n', ", row 0 (line 1): the text holds a lone surrogate"),
    "one class": ("t.csv", "text,label\na,x\nb,x\n", ", row 0 (line 2): the label is 'x' here and in all 2 rows"),
    "all differ": ("t.csv", "text,label\na,1\nb,2\n", ", row 0 (line 2): the label '1' and those of all 2 rows differ"),
    "no label": ("t.csv", "text,label\na,x\nb,\nc,y\n", ", row 1 (line 3): the label is missing"),
    "no parquet": ("t.parquet", "PAR1 not really", "not a readable parquet file"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_one_line_that_names_the_place(tmp_path, name):
    file, content, message = FAULTS[name]
    path = tmp_path / file
    if content is not None:
        write(path, content)
    with pytest.raises(InputError) as caught:
        read_rows(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_column": "x"}, "no text column 'x'; the columns are 'text', 'label'"),
        ({"text_pair_column": "x"}, "no text pair column 'x'"),
        ({"label_column": "x"}, "no label column 'x'"),
        ({"limit": 0}, "limit is 0; expected at least 1"),
        ({"sample": -1}, "sample is -1; expected at least 1"),
        ({"sample": 9}, "a sample of 9 rows was asked for, but there are 4"),
        ({"sample": 2, "seed": -1}, "seed is -1; expected 0 or more"),
        ({"limit": 2}, "did a limit cut the others off?"),
    ],
)
def test_options_that_cannot_be(tmp_path, options, message):
    path = write(tmp_path / "t.csv", "text,label\na,x\nb,x\nc,y\nd,y\n")
    with pytest.raises(InputError) as caught:
        read_rows(path, **options)
    assert message in str(caught.value)


def test_folders_and_other_types_are_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder; expected a file of rows"):
        read_rows(tmp_path)
    with pytest.raises(InputError, match="rows came as int"):
        read_rows(5)
    with pytest.raises(InputError, match="texts, row 1: str; expected a mapping as in row 0"):
        read_rows([{"text": "a"}, "b"])


def test_the_sample_is_400_items_in_four_balanced_classes():
    rows = read_rows("sample")
    assert len(rows) == 400
    assert rows.classes == ("Business", "Sci/Tech", "Sports", "World")
    assert np.unique(rows.labels, return_counts=True)[1].tolist() == [100] * 4
    assert len(set(rows.texts)) == 400
    lengths = [len(text.split()) for text in rows.texts]
    assert min(lengths) < 10
    assert max(lengths) > 100
    assert len(set(read_rows("sample", limit=8).labels)) == 4  # any piece of it holds all classes


def test_hub_data_sets_keep_label_names_and_order(tmp_path):
    datasets = pytest.importorskip("datasets", reason="the optional package datasets is not installed")
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["z", "a"])})
    data = datasets.Dataset.from_dict({"text": ["p", "q", "r"], "label": [0, 1, 0]}, features=features)
    rows = read_rows(data)
    assert rows.labels == ["z", "a", "z"]
    assert rows.classes == ("z", "a")
    folder = tmp_path / "set"
    folder.mkdir()
    for split in ("train", "test"):
        lines = [json.dumps({"text": f"{split} {i}", "label": "xy"[i % 2]}) for i in range(4)]
        write(folder / f"{split}.jsonl", "\n".join(lines))
    rows = read_rows(f"hub:{folder}:test")
    assert list(rows.texts) == [f"test {i}" for i in range(4)]
    with pytest.raises(InputError, match=r"no split named; expected one of (test, train|train, test)"):
        read_rows(f"hub:{folder}")


def test_a_missing_extra_names_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cls-probe\[hub\]'"):
        read_rows("hub:ag_news:test")
    assert issubclass(MissingDependencyError, ClsProbeError)
