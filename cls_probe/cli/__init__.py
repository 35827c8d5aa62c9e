"""The command line: parse, one library call, print."""

import contextlib
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

import click

from cls_probe.cli.analyses import anisotropy, class_gap, layer_probe, project
from cls_probe.cli.classify import classify
from cls_probe.cli.cls_attention import cls_attention
from cls_probe.cli.compare import compare
from cls_probe.cli.demo import demo
from cls_probe.cli.exchange import export, import_
from cls_probe.cli.extract import extract
from cls_probe.cli.finetune import finetune
from cls_probe.cli.info import info
from cls_probe.cli.leaks import leaks
from cls_probe.cli.pair_similarity import pair_similarity
from cls_probe.cli.report import report
from cls_probe.errors import ClsProbeError

HELP = """Measure what is in the [CLS] vector, layer by layer.

\b
Extract once, then analyse the store as often as you like:
  clsprobe extract news.csv --model bert-base-uncased -o store
  clsprobe anisotropy store
  clsprobe layer-probe store --plot probe.pdf

"clsprobe demo" shows all of it on a bundled sample."""

_STOPPED = "stopped; an extraction keeps its finished parts, and the same command goes on from there"


@click.group(help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cls-probe", prog_name="clsprobe")
def cli() -> None:
    """Hold the commands."""


for _command in (
    *(extract, info, leaks, anisotropy, class_gap, layer_probe, project, pair_similarity, cls_attention),
    *(compare, export, import_, report, finetune, classify, demo),
):
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0, 2 for what a user can mend, 130 when interrupted, 143 when terminated."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no crash on a terminal that lacks a character
    _show_notes()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    try:
        cli.main(args, prog_name="clsprobe", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        _stop(_STOPPED, 130)
    except _Terminated:
        _stop(_STOPPED, 128 + signal.SIGTERM)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        help_for = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        _stop(f"Error: {error.format_message()}{help_for}", 2)
    except (click.ClickException, ClsProbeError) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        _stop(f"Error: {message}", 2)
    except BrokenPipeError:  # the reader of a pipe went away, as head does
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


class _Terminated(BaseException):
    """The system or a scheduler asked the process to end."""


def _terminated(*_: object) -> NoReturn:
    raise _Terminated


def _stop(message: str, code: int) -> NoReturn:
    click.echo(" ".join(message.splitlines()), err=True)
    sys.exit(code)


def _show_notes() -> None:
    """Show the library's notes on stderr."""
    log = logging.getLogger("cls_probe")
    if not log.handlers:
        log.addHandler(_EchoHandler())
        log.setLevel(logging.INFO)


class _EchoHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)
