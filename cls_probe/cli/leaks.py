"""From rows to a report of their leaks."""

from typing import TYPE_CHECKING, Any

import click

from cls_probe.cli.options import column_options, result_command, seed_option

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
@seed_option("Draws the hash functions.")
@column_options(pair="compared with the first")
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
