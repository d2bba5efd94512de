"""Where an output may lie: checked before the work, not after it."""

from pathlib import Path

from scorer.errors import OutputError, UsageError


def settled(output: Path) -> Path:
    """Return where an output really goes: to the end of a link."""
    return output.resolve() if output.is_symlink() else output


def check_place(output: Path, source: Path) -> None:
    """Raise unless the output can lie where it should, apart from what lies there already."""
    if output.is_dir():
        raise OutputError(f"{output}: a folder; name the file to write, for instance with -o.")
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: not a plain file, so it is not replaced. Choose another -o.")
    if not output.parent.is_dir():
        raise OutputError(
            f"{output.parent}: no such folder. Make it first, or choose -o elsewhere."
        )
    if output.exists() and source.exists() and output.samefile(source):
        raise UsageError(f"{output}: the input itself cannot be the output. Choose another -o.")


def exists_already(output: Path) -> OutputError:
    """Return the error for an output that is there and may not be replaced."""
    return OutputError(
        f"{output}: exists already. Choose another output with -o, or say --overwrite."
    )
