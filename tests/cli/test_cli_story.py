"""How the shell is met: `scorer` alone, examples in every help, completion."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup

from scorer.cli.app import app

Run = Callable[..., Any]
STORY = re.compile(r"^  (scorer .+?) {2,}(.+)$", re.MULTILINE)


def commands(group: TyperGroup, *before: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command, those of groups after it, with the words that name it."""
    for word, command in group.commands.items():
        yield (*before, word), command
        if isinstance(command, TyperGroup):
            yield from commands(command, *before, word)


EVERY = dict(commands(typer.main.get_group(app)))


def parsed(line: str) -> dict[str, Any]:
    """Parse a command line as the program does, and call nothing; return its parameters."""
    program, *words = shlex.split(line)
    assert program == "scorer"
    command: TyperCommand | TyperGroup = typer.main.get_group(app)
    while isinstance(command, TyperGroup) and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    assert not (isinstance(command, TyperGroup) and words[:1] and words[0][0] != "-"), line
    return command.make_context(line, words).params


def test_scorer_alone_tells_the_five_commands_in_the_order_of_use(scorer: Run) -> None:
    ended = scorer()
    assert (ended.code, ended.err) == (0, "")
    lines = STORY.findall(ended.out)
    assert [line.split()[1] for line, _ in lines] == ["run", "rank", "show", "sample", "evaluate"]
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    assert "they never assert a category" in ended.out


@pytest.mark.parametrize("place", range(5))
def test_each_line_of_the_story_is_a_command_as_it_can_be_typed(scorer: Run, place: int) -> None:
    line, _ = STORY.findall(scorer().out)[place]
    assert parsed(line)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_help_has_an_example_that_the_command_understands(words: tuple[str, ...]) -> None:
    epilog = EVERY[words].epilog or ""
    assert epilog.startswith(f"Example: scorer {' '.join(words)}")
    assert parsed(epilog.removeprefix("Example: ").removesuffix("."))


def test_the_example_is_on_the_screen(scorer: Run) -> None:
    assert "Example: scorer verify frame.scored.parquet" in scorer("verify", "--help").out


def test_completion_is_installed_and_completes(tmp_path: Path) -> None:
    code = "import sys, scorer.cli.app as program; sys.argv[0] = 'scorer'; program.main()"
    program = [sys.executable, "-c", code]
    home = os.environ | {
        "HOME": str(tmp_path),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",  # no shell stands above a test
    }
    ran = subprocess.run(
        [*program, "--install-completion", "bash"],
        env=home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "bash completion installed" in ran.stdout
    script = tmp_path / ".bash_completions" / "scorer.sh"
    assert str(script) in (tmp_path / ".bashrc").read_text(encoding="utf-8")
    assert "_SCORER_COMPLETE=complete_bash" in script.read_text(encoding="utf-8")
    asked = home | {
        "COMP_WORDS": "scorer ver",
        "COMP_CWORD": "1",
        "_SCORER_COMPLETE": "complete_bash",
    }
    told = subprocess.run(program, env=asked, capture_output=True, text=True, check=False)
    assert told.stdout.split() == ["verify"]
