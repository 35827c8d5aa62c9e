"""README: its blocks run, every command and option has help and stands in it, its links lead somewhere."""

import re
import shlex
from pathlib import Path

import click
import pytest

from cls_probe.cli import cli, main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    lines = "\n".join(blocks("sh")).splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("clsprobe ")]


def undocumented(group):
    """Commands and options without help, and commands that README does not show."""
    missing = [name for name in group.commands if f"clsprobe {name}" not in README]
    for name, command in group.commands.items():
        missing += [] if command.help else [f"{name} --help"]
        options = [p for p in command.params if isinstance(p, click.Option)]
        missing += [f"{name} {option.opts[0]}" for option in options if not option.help]
    return missing


def test_commands_and_python_blocks_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert len(commands()) >= 7
    for args in commands():
        with pytest.raises(SystemExit) as stopped:
            main(args)
        assert stopped.value.code == 0, (args, capsys.readouterr().err)
        assert capsys.readouterr().out.strip(), args
    for name in ("gap.pdf", "projection.png", "probe.json", "results/project.png", "results/store/manifest.json"):
        assert (tmp_path / name).stat().st_size > 0
    namespace = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)
    assert namespace["store"].n_rows == 60
    assert "Layer probe" in capsys.readouterr().out


def test_everything_is_documented():
    assert undocumented(cli) == []


def test_the_documentation_check_can_fail():
    @click.command()
    @click.option("--silent")
    def secret(silent):
        pass

    assert undocumented(click.Group(commands={"secret": secret})) == ["secret", "secret --help", "secret --silent"]


def test_the_make_targets_that_readme_names_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    for target in re.findall(r"make (\w+)", "\n".join(blocks("sh"))):
        assert target in targets


def test_changelog_names_every_command():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name in cli.commands:
        assert f"`{name}`" in text, name
