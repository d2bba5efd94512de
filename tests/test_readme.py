"""The README says what the program does: its command table is made from the program itself."""

import re
from collections.abc import Iterator
from pathlib import Path

import typer.main
from typer.core import TyperGroup

from scorer.cli.app import app

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- commands: made from `scorer --help`, checked by tests/test_readme.py -->\n"
END = "<!-- end of commands -->"


def command_table() -> str:
    """Return the table of commands, in Markdown."""
    rows = ["| command | what it does |", "|---|---|"]
    for name, what in commands("scorer", typer.main.get_group(app)):
        rows.append(f"| `{name}` | {what} |")
    return "\n".join(rows) + "\n"


def commands(name: str, group: TyperGroup) -> Iterator[tuple[str, str]]:
    """Yield the commands of a group, those below them after each, with their first line of help."""
    for word, command in group.commands.items():
        yield f"{name} {word}", (command.help or "").strip().splitlines()[0]
        if isinstance(command, TyperGroup):
            yield from commands(f"{name} {word}", command)


def test_the_command_table_is_that_of_the_program():
    text = README.read_text(encoding="utf-8")
    assert text[text.index(BEGIN) + len(BEGIN) : text.index(END)] == command_table()


def test_readme_opens_with_exactly_two_commands():
    block = re.search(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    commands = block.group(1).strip().splitlines()
    assert len(commands) == 2
    assert "scorer run sample_frames/works.parquet" in commands[0]
    assert "pytest" in commands[1]


def test_every_folder_of_the_layout_table_exists():
    text = README.read_text(encoding="utf-8")
    layout = text[text.index("## Layout") : text.index("## Licence")]
    folders = re.findall(r"`([a-z_/]+/)`", layout)
    assert len(folders) >= 10
    for folder in folders:
        assert (README.parent / folder).is_dir(), folder
