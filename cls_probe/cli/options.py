"""Options and arguments that several commands share."""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cls_probe.plotting import check_figure_path

if TYPE_CHECKING:
    from cls_probe.result import Result

F = TypeVar("F", bound=Callable[..., Any])


def _together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Add options in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def column_options(*, pair: str = "encoded with the first", labels: bool = True) -> Callable[[F], F]:
    """Add --text-column and --text-pair-column, and --label-column and --no-labels."""
    texts = (
        click.option("--text-column", help="Column of texts.  [default: text, sentence or content]"),
        click.option("--text-pair-column", help=f"Column of second texts, {pair}."),
    )
    named = (
        click.option("--label-column", help="Column of labels.  [default: label, class or category, if there]"),
        click.option("--no-labels", is_flag=True, help="Leave labels aside."),
    )
    return _together(*texts, *(named if labels else ()))


def drawing_options(of: str = "rows") -> Callable[[F], F]:
    """Add --limit and --sample."""
    return _together(
        click.option("--limit", type=int, help=f"Keep the first N {of}."),
        click.option("--sample", type=int, help=f"Keep N {of} drawn without replacement, in their order."),
    )


def seed_option(draws: str) -> Callable[[F], F]:
    """Add --seed."""
    return click.option("--seed", type=int, default=0, show_default=True, help=draws)


def max_length_option(command: F) -> F:
    """Add --max-length."""
    return click.option("--max-length", type=int, help="Tokens at which texts are cut.  [default: the model's limit]")(
        command
    )


def device_option(command: F) -> F:
    """Add --device."""
    return click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda[:i] or mps.")(command)


def layers_option(command: F) -> F:
    """Add --layers."""
    return click.option(
        "--layers", callback=_layers, metavar="0,4-6", help="Layers by number, 0 = embedding output.  [default: all]"
    )(command)


def confidence_option(command: F) -> F:
    """Add --confidence."""
    return click.option(
        "--confidence", type=float, default=0.95, show_default=True, help="Confidence of the intervals."
    )(command)


def transform_option(default: str = "none", *, fitted_on: str = "all rows") -> Callable[[F], F]:
    """Add --transform."""
    return click.option(
        "--transform",
        default=default,
        show_default=True,
        metavar="NAME",
        help=f"Correct the vectors first, fitted on {fitted_on}: none, center, standardize, all-but-the-top[:k], "
        "whiten.",
    )


def analysis_command(analyse: Callable[..., "Result"]) -> Callable[..., None]:
    """Turn `analyse(store, **options)` into a command that opens STORE and shows the result.

    The name of the function is that of its analysis, whose columns --explain tells.
    """

    @functools.wraps(analyse)
    def run(store_path: str, **options: Any) -> "Result":
        from cls_probe.store import VectorStore

        return analyse(VectorStore.open(store_path), **options)

    def kind() -> "type[Result]":
        from cls_probe.analyses import ANALYSES

        return next(line.result for line in ANALYSES if line.name == analyse.__name__)

    pooling = click.option("--pooling", default="cls", show_default=True, help="Which vectors of the store.")
    store = click.argument("store_path", metavar="STORE")
    return store(layers_option(pooling(explain_option(kind)(result_command(run)))))


def explain_option(kind: Callable[[], "type[Result]"]) -> Callable[[F], F]:
    """Add --explain, which tells the columns of that kind of result."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            from cls_probe.result import explain

            click.echo(explain(kind()))
            ctx.exit()

    return click.option(
        "--explain",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=show,
        help="Print the definition of every column and exit.",
    )


def result_command(compute: Callable[..., "Result"]) -> Callable[..., None]:
    """Turn a function that gives a result into a command with --table, --csv, --json, --save and --plot."""

    @functools.wraps(compute)
    def command(form: str, save: Path | None, plot: Path | None, **options: Any) -> None:
        _show(compute(**options), form, save, plot)

    file = click.Path(path_type=Path)
    return _together(
        click.option("--table", "form", flag_value="table", default=True, help="Print a table (the default)."),
        click.option("--csv", "form", flag_value="csv", help="Print the records as CSV."),
        click.option("--json", "form", flag_value="json", help="Print the whole result as JSON."),
        click.option(
            "--save", type=file, metavar="RESULT.json", callback=check_file, help="Save the result as JSON too."
        ),
        click.option(
            "--plot", type=file, metavar="FILE", callback=_check_plot, help="Draw to a .png, .svg or .pdf file."
        ),
    )(command)


def _show(result: "Result", form: str, save: Path | None, plot: Path | None) -> None:
    if save is not None:
        try:
            save.write_text(result.to_json(), encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"{save}: cannot be written ({error.strerror or error})") from error
    if plot is not None:
        from cls_probe.plotting import save_figure

        save_figure(result.plot(), plot)
    text = {"json": result.to_json, "csv": result.to_csv, "table": result.table}[form]()
    click.echo(text.removesuffix("\n"))


def _layers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Read a list such as "0,4-6", in the order named."""
    if value is None:
        return None
    layers: list[int] = []
    for piece in value.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", piece)
        if match is None:
            raise click.BadParameter(f"{value!r} is no list of layers; expected such as 0,4-6", ctx, param)
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise click.BadParameter(f"{piece.strip()!r} runs backwards; expected such as 4-6", ctx, param)
        layers.extend(range(first, last + 1))
    return tuple(dict.fromkeys(layers))


def split_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Read a list of names with commas between them."""
    return None if value is None else tuple(name.strip() for name in value.split(","))


def check_file(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Find out before the work that a file cannot be written."""
    if value is not None and not value.parent.is_dir():
        raise click.BadParameter(f"{value.parent}: no such folder; make it first", ctx, param)
    if value is not None and value.is_dir():
        raise click.BadParameter(f"{value}: is a folder; expected a file name", ctx, param)
    return value


def _check_plot(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None:
        check_figure_path(value)
    return check_file(ctx, param, value)
