"""From what the user names to a frame: files found, their format told, read at once or spooled."""

import json
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from scorer.errors import InputError
from scorer.frame.files import FrameFile, LocalFile
from scorer.frame.found import FoundFile, find_files
from scorer.frame.frame import Frame, changed, changed_while_read
from scorer.frame.processes import read_aside
from scorer.frame.readers.base import BadRecords
from scorer.frame.readers.sniff import sniff
from scorer.frame.reading import Order, Outcome, Task, mixed_formats, read
from scorer.frame.spool import Named, check_same, held

PARQUET: Final = "parquet"
SPOOL_NOTES: Final = "frame.json"

_TASK_BYTES: Final = 8 << 20  # of files that are read together: some seconds, or less
_LARGE_BYTES: Final = 32 << 20
_LARGE_WORKS: Final = 65_536


@dataclass(frozen=True, slots=True)
class FrameSource:
    """The files of a frame, not yet read, and what is wanted of them."""

    location: str
    kind: str
    found: Sequence[FoundFile]
    wanted: Sequence[str]
    mapping: Mapping[str, str]
    keep: Sequence[str]
    note: str | None
    """What the user should know of the files: an extension that says otherwise than the content."""

    @classmethod
    def find(
        cls,
        location: str | Path,
        *,
        wanted: Sequence[str],
        mapping: Mapping[str, str],
        keep: Sequence[str],
    ) -> Self:
        """Find the files and tell their format; raise `InputError` where there is none to read."""
        found = find_files(location)
        told = sniff(found[0].file)
        return cls(str(location), told.kind, found, wanted, mapping, keep, told.note)

    @property
    def is_parquet(self) -> bool:
        """Whether the files can be read as they are; others are spooled first."""
        return self.kind == PARQUET

    def fingerprint(self) -> list[Any]:
        """Return all that tells this frame from another."""
        return [[f.file.name, f.file.size, f.file.stamp, f.partition] for f in self.found]

    def open(self) -> Frame:
        """Open Parquet files; raise `InputError` for what is none, of another format or damaged."""
        try:
            return Frame.open(self.found, wanted=self.wanted, mapping=self.mapping, keep=self.keep)
        except InputError:
            self._refuse_mixed_formats()
            raise

    def spool(
        self,
        folder: Path,
        bad: BadRecords,
        say: Callable[[int], None],
        limit: int | None = None,
        *,
        deinverted: bool = False,
        processes: int = 1,
    ) -> Frame:
        """Read the files once into Parquet files in `folder`, unless those are there already.

        Only what is wanted of the first `limit` works is kept. `say` is told how many there are so
        far; `deinverted`: an inverted index becomes the abstract; `processes`: how many may read a
        large frame. A reading that was cut off goes on after its finished Parquet files.
        """
        notes = folder / SPOOL_NOTES
        if not notes.exists():
            orders = list(self._orders(folder, bad, limit, deinverted=deinverted))
            try:
                with closing(self._outcomes(orders, say, limit, processes)) as outcomes:
                    told = _gathered(orders, outcomes, bad, limit, deinverted=deinverted)
            except InputError as error:
                # A record that is cut off may be one that is being written.
                if (other := changed([one.file for one in self.found])) is not None:
                    raise changed_while_read(other) from error
                raise
            waiting = notes.with_suffix(".tmp")
            waiting.write_text(json.dumps(told))
            waiting.replace(notes)
        known = json.loads(notes.read_text())
        here = [FoundFile(LocalFile.at(folder / name)) for name in known["files"]]
        frame = Frame.open(here, wanted=list(known["columns"]), mapping={}, keep=self.keep)
        return replace(
            frame,
            files=[one.file for one in self.found],
            columns=known["columns"],
            skipped=known["skipped"],
            notes=known["notes"],
            unreadable_years=known["unreadable_years"],
        )

    def _refuse_mixed_formats(self) -> None:
        first, *others = self.found
        for other in others:
            if (kind := sniff(other.file).kind) != self.kind:
                raise mixed_formats(other.file.name, kind, first.file.name, self.kind)

    def _orders(
        self, folder: Path, bad: BadRecords, limit: int | None, *, deinverted: bool
    ) -> Iterator[Order]:
        """Yield the tasks of reading: the same ones however many processes there are."""
        for number, files in enumerate(self._groups()):
            task = Task(
                target=folder / f"frame-{number:05}.parquet",
                kind=self.kind,
                first=self.found[0].file.name,
                wanted=self.wanted,
                mapping=self.mapping,
                keep=self.keep,
                on_bad=bad.policy,
                limit=limit,
                deinverted=deinverted,
            )
            yield task, files

    def _groups(self) -> Iterator[list[FrameFile]]:
        """Yield the files, as many together as are worth a task."""
        # Kept columns of Arrow files have types, which the first file settles for all.
        least = math.inf if self.kind == "arrow" and self.keep else _TASK_BYTES
        group: list[FrameFile] = []
        size = 0
        for one in self.found:
            group.append(one.file)
            size += one.file.size
            if size >= least:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _outcomes(
        self, orders: Sequence[Order], say: Callable[[int], None], limit: int | None, processes: int
    ) -> Generator[Outcome]:
        """Yield what comes of each task, in their order."""
        if processes > 1 and len(orders) > 1 and self._is_large(limit):
            yield from read_aside(orders, processes, say)
            return
        before = 0

        def so_far(rows: int) -> None:
            say(before + rows)

        for task, files in orders:
            outcome = read(task, files, so_far)
            before += outcome.rows
            yield outcome

    def _is_large(self, limit: int | None) -> bool:
        """Tell whether there is more to read than worker processes take to start."""
        return (
            sum(one.file.size for one in self.found) >= _LARGE_BYTES
            and (limit is None or limit >= _LARGE_WORKS)
            # Files behind addresses have open connections; messages hold names that are text.
            and all(one.file.local and one.file.name.isprintable() for one in self.found)
        )


def _gathered(
    orders: Sequence[Order],
    outcomes: Iterator[Outcome],
    bad: BadRecords,
    limit: int | None,
    *,
    deinverted: bool,
) -> dict[str, Any]:
    """Return what all tasks came to; raise `InputError` where their files do not go together."""
    files: list[str] = []
    firsts: list[Named] = []
    notes: list[str] = []
    rows = unreadable = 0
    for (task, _), outcome in zip(orders, outcomes, strict=False):
        files.append(task.target.name)
        firsts.append(outcome.first)
        notes += [note for note in outcome.notes if note not in notes]
        bad.join(outcome.skipped, task.skipped)
        rows += outcome.rows
        unreadable += outcome.unreadable_years
        if limit is not None and rows >= limit:
            break
    check_same(firsts[0], firsts[1:])
    columns = held(firsts[0][1], deinverted=deinverted)
    return {
        "files": files,
        "columns": columns,
        "skipped": bad.count,
        "notes": notes,
        "unreadable_years": unreadable,
    }
