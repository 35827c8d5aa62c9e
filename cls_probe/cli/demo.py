"""The whole road on the bundled sample."""

from pathlib import Path

import click


@click.command()
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("clsprobe-demo"),
    show_default=True,
    help="Folder for store, tables and plots.",
)
@click.option("-m", "--model", help="Model folder, hub id or short name.  [default: agnews]")
@click.option("--overwrite", is_flag=True, help="Replace a store of another model in the folder.")
def demo(out: Path, model: str | None, overwrite: bool) -> None:
    """Run everything on the bundled sample, offline.

    The sample is 400 short news items in four classes. Extracts the [CLS] vector of every layer, runs every
    analysis, prints the tables, and writes the store and each result as JSON, CSV and PNG into the folder.
    """
    from cls_probe.demonstration import demo as run
    from cls_probe.extraction import DEFAULT_MODEL
    from cls_probe.store import describe

    store, results = run(out=out, model=model or DEFAULT_MODEL, overwrite=overwrite)
    click.echo("\n\n".join([describe(store), *(result.table() for result in results)]))
    click.echo(f"\nresults: {out}/ (store, and each result as .json, .csv and .png)")
