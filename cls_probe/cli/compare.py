"""Several saved results side by side."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cls_probe.cli.options import result_command, split_names

if TYPE_CHECKING:
    from cls_probe.result import Result


@click.command()
@click.argument("results", metavar="RESULT.json RESULT.json ...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--column", metavar="NAME", help="Column to compare.  [default: mean_cosine, gap or accuracy]")
@click.option("--names", callback=split_names, metavar="A,B,...", help="What to call them.  [default: the files]")
@result_command
def compare(results: tuple[Path, ...], column: str | None, names: tuple[str, ...] | None) -> "Result":
    """Put the curves of saved results of one kind side by side.

    Two stores in one table and one figure: save a result of each with --save, then compare the files.
    """
    from cls_probe.comparison import compare as run
    from cls_probe.saved import load_result

    stems = tuple(path.stem for path in results)
    files = stems if len(set(stems)) == len(stems) else tuple(map(str, results))
    return run([load_result(path) for path in results], names=names or files, column=column)
