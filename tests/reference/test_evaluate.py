import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from cls_probe.data import Rows
from cls_probe.errors import EncoderError, InputError
from cls_probe.reference.evaluate import ClassifyResult, classify
from tests.reference.conftest import animal_rows


def test_texts_alone_are_predicted(trained):
    result = classify(["a cat", "b c the dog"], model=trained)
    assert result.predicted == ("cat", "dog")
    assert result.label_names == ("dog", "cat")
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1)
    assert result.accuracy is result.confusion is result.calibration_error is None
    assert "a cat" in result.table()


def test_labels_are_compared_by_name_whatever_their_order(trained, eval_rows):
    permuted = Rows(texts=eval_rows.texts, labels=eval_rows.labels, label_names=["dog", "cat"])
    one, other = classify(eval_rows, model=trained), classify(permuted, model=trained)
    assert (eval_rows.classes, permuted.classes) == (("cat", "dog"), ("dog", "cat"))
    assert one.predicted == other.predicted == tuple(eval_rows.labels)
    assert one.label_names == other.label_names == ("dog", "cat")  # as in training
    assert one.accuracy == other.accuracy == 1
    assert other.confusion.tolist() == [[20, 0], [0, 20]]


def test_batches_do_not_matter(trained, eval_rows):
    one = classify(eval_rows, model=trained, batch_size=1)
    np.testing.assert_allclose(one.probabilities, classify(eval_rows, model=trained).probabilities, atol=1e-5)


def test_an_unknown_label_is_named(trained):
    with pytest.raises(InputError) as caught:
        classify(animal_rows(8, labels=("cat", "hound")), model=trained)
    assert str(caught.value) == (
        f"texts, row 1: the label 'hound' is not known to {trained}, whose classes are dog, cat; "
        "rename the labels, or classify without them (--no-labels)"
    )


def test_cut_texts_are_counted(trained):
    result = classify(["cat " * 40, "the dog"], model=trained)
    assert result.n_truncated == 1
    assert "1 of 2 texts were cut to the model's length." in result.table()


def test_json_is_lossless(trained, eval_rows):
    for rows in (eval_rows, list(eval_rows.texts)):
        result = classify(rows, model=trained)
        again = ClassifyResult.from_json(result.to_json())
        assert again.to_json() == result.to_json()
        assert again.probabilities.tobytes() == result.probabilities.tobytes()
    assert json.loads(result.to_json())["accuracy"] is None


def test_records_have_the_documented_columns(trained, eval_rows):
    result = classify(eval_rows, model=trained)
    names = [column.name for column in result.columns]
    assert all(list(record) == names for record in result.records())
    assert result.to_csv().splitlines()[0] == "row,text,label,predicted,probability,p(dog),p(cat)"
    assert len(result.to_frame()) == 40


def test_the_table_shows_scores_and_confusion(trained, eval_rows):
    table = classify(eval_rows, model=trained).table()
    for piece in (
        "precision",
        "accuracy          1.0000 [0.9124, 1.0000]",
        "calibration error",
        "predicted class (across)",
    ):
        assert piece in table
    assert max(map(len, table.splitlines())) <= 100


def test_many_texts_are_shortened(trained):
    table = classify(["the cat " * 30] * 25, model=trained).table()
    assert "5 more rows are not shown; all of them with: --csv" in table
    assert "..." in table


def test_plots_are_figures(trained, eval_rows):
    assert len(classify(eval_rows, model=trained).plot().axes) == 2
    figure = Figure()
    ax = figure.add_subplot()
    assert classify(["cat"], model=trained).plot(ax) is figure
    assert ax.get_xlabel() == "rows predicted"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; expected at least 1"),
        ({"confidence": 1.0}, "confidence is 1.0; expected a share between 0 and 1"),
        ({"device": "abacus"}, "device 'abacus'"),
    ],
)
def test_bad_options_are_one_line(trained, options, message):
    with pytest.raises(InputError, match=message):
        classify(["cat"], model=trained, **options)


def test_a_missing_model_is_one_line(tmp_path):
    with pytest.raises(EncoderError, match="no such folder"):
        classify(["cat"], model=tmp_path / "no")
