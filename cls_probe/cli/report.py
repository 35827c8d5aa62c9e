"""One page of everything."""

from pathlib import Path
from typing import Any

import click

from cls_probe.cli.options import check_file, layers_option


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="STORE|RESULT.json...")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    callback=check_file,
    help="HTML file to write.",
)
@click.option("--title", help="Heading of the page.  [default: model and rows]")
@layers_option
@click.option("--pooling", default="cls", show_default=True, help="Which vectors of the store.")
def report(sources: tuple[str, ...], out: Path, **options: Any) -> None:
    """Write one HTML page to explore: charts, map, tables.

    Saved results are shown as they are, and nothing is computed. With a STORE every analysis is run that the results
    do not hold already. The page loads nothing from anywhere and works by double click.
    """
    from cls_probe.reporting.report import report as run

    path = run(sources, out=out, **options)
    click.echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
