from cls_probe.data import Rows
from cls_probe.data.matching import normalised


def test_normalised_keeps_letters_and_digits_in_lower_case():
    rows = Rows(texts=["Ab, 3-c!", "Été №1", "?!"], text_pairs=["X.", "y", "-"])
    assert normalised(rows) == ["ab3cx", "été1y", "?!-"]
