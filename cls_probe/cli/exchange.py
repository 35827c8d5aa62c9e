"""From a store to files of other tools, and back."""

from pathlib import Path
from typing import Any

import click

from cls_probe.cli.options import layers_option, split_names


@click.command()
@click.argument("store_path", metavar="STORE")
@click.option(
    "--to",
    type=click.Choice(["npz", "parquet", "csv", "tensorboard", "hdf5"]),
    required=True,
    help="Format; tensorboard is a folder.",
)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="File or folder to write.")
@layers_option
@click.option(
    "--pooling", callback=split_names, metavar="NAME,...", help="Vectors of the store.  [default: all; hdf5 takes one]"
)
def export(store_path: str, out: Path, **options: Any) -> None:
    """Write vectors, texts and labels for other tools.

    csv and tensorboard hold the last layer unless --layers asks for more. npz, parquet and hdf5 come back bit for bit
    by "clsprobe import".
    """
    from cls_probe.exchange import export as run
    from cls_probe.store import VectorStore

    store = VectorStore.open(store_path)
    click.echo(f"{run(store, out, **options)}: {store.n_rows:,} rows, {store.hidden_size} wide")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder of the new store.")
@click.option("--rows", metavar="DATA", help="Texts and labels in the place of the file's own, as extract takes them.")
@click.option("--pooling", default="cls", show_default=True, help="What to call vectors without such a name.")
@click.option("--overwrite", is_flag=True, help="Replace the store in the folder.")
def import_(file: Path, **options: Any) -> None:
    """Make a store of vectors from anywhere.

    It gets every analysis.

    FILE is .npy, .npz, .parquet or .hdf5: arrays or columns of lists named POOLING.LAYER such as cls.6, or a single one
    of shape (n_rows, hidden_size) or (n_rows, n_states, hidden_size); texts and labels beside them where there are any.
    """
    from cls_probe.exchange import import_vectors
    from cls_probe.store import describe

    click.echo(describe(import_vectors(file, **options)))
