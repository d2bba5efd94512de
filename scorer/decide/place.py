"""Where a result may be written: checked before the work."""

from collections.abc import Iterable
from pathlib import Path

from scorer.engine.place import check_place, settled
from scorer.errors import OutputError


def free_place(
    output: Path, sources: Iterable[Path | None], *, overwrite: bool, option: str = "-o"
) -> Path:
    """Return where an output really goes; raise the `ScorerError` that fits where it may not.

    `option`: the one that names it.
    """
    output = settled(output)
    for source in sources:
        check_place(output, source or output.parent)
    if output.exists() and not overwrite:
        raise OutputError(f"{output}: exists already. Choose another {option}, or say --overwrite.")
    return output
