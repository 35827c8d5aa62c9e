"""Looking into a store."""

import click


@click.command()
@click.argument("store_path", metavar="STORE")
@click.option("--verify", is_flag=True, help="Check the checksum of every part.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def info(store_path: str, verify: bool, as_json: bool) -> None:
    """Say what a store holds, and whether it is whole."""
    from cls_probe.store import VectorStore, describe

    store = VectorStore.open(store_path, verify=False)
    if verify:
        store.verify()
    click.echo(store.manifest.to_json().rstrip() if as_json else describe(store))
    if verify:
        click.echo(f"verified: all {len(store.manifest.parts)} parts match their checksums", err=True)
