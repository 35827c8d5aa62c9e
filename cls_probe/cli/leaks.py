"""From rows to a report of their leaks."""

from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import result_command

if TYPE_CHECKING:
    from cls_probe.result import Result


@click.command()
@click.argument("train")
@click.option("--test", metavar="TEST", help="Test rows, to be compared with TRAIN and with themselves.")
@click.option(
    "--near",
    type=float,
    default=0.8,
    show_default=True,
    help="Jaccard similarity of runs of 5 letters and digits from which texts are near; 0: leave near repeats out.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the hash functions.")
@click.option("--text-column", help="Column of texts.  [default: text, sentence or content]")
@click.option("--text-pair-column", help="Column of second texts, compared with the first.")
@click.option("--label-column", help="Column of labels.  [default: label, class or category, if there]")
@click.option("--no-labels", is_flag=True, help="Leave labels aside.")
@result_command
def leaks(train: str, test: str | None, near: float, seed: int, **reading: Any) -> "Result":
    """Report test rows in train, repeats, conflicting labels.

    TRAIN and TEST are files of rows, "hub:NAME[:SPLIT]" or "sample". Counts repeats (character for character, and as
    letters and digits in lower case), near repeats, rows that share their ending, and texts with several labels,
    within TRAIN, within TEST and of TEST in TRAIN. --csv lists every row with the row that it matches.
    """
    from cls_probe.data import read_rows
    from cls_probe.data.near import check_near
    from cls_probe.leakage import leaks as run

    check_near(near)
    test_rows = None if test is None else read_rows(test, **reading)
    return run(read_rows(train, **reading), test_rows, near=near, seed=seed)
