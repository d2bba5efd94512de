"""Works without labels, to be scored by an ensemble: read, and parted from the labelled ones."""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from scorer.counted import counted
from scorer.engine.files import file_hash, told
from scorer.errors import InputError
from scorer.frame.frame import Frame
from scorer.frame.readers.base import BadRecords
from scorer.frame.source import FrameSource
from scorer.frame.text import clean, longer_than_ten
from scorer.labels.sample import Labels
from scorer.student.manifest import UnlabelledData

_BATCH: Final = 65_536


@dataclass(frozen=True, slots=True)
class UnlabelledFrame:
    """The works of one frame that can teach something, and what the manifest says of it."""

    works: pl.DataFrame
    data: UnlabelledData


def read_unlabelled(
    paths: Sequence[Path], labels: Labels, say: Callable[[str], None] = lambda _: None
) -> list[UnlabelledFrame]:
    """Read frames of any format, with those columns that the labels have.

    Left out are works without a title of more than ten characters, works that are labelled (the
    same id, or the same clean title: in folds they would give away what is scored), and all but the
    first of those with the same id or clean title. Raises `InputError` where a frame has no work
    left.
    """
    taken = Taken.of(labels)
    frames = []
    for path in paths:
        read, digest = _read(path, labels)
        frame = taken.part(read, path.name, digest)
        say(_told(frame.data))
        if not frame.works.height:
            raise InputError(
                f"{path}: no work to learn from: {counted(read.height, 'row')}, none with a title "
                "of more than 10 characters that the labels and the frames before lack.\n"
                "Leave it out, or give other works with --unlabelled."
            )
        frames.append(frame)
    return frames


@dataclass(slots=True)
class Taken:
    """Ids and clean titles that were met already."""

    labelled_ids: pl.Series
    labelled_titles: pl.Series
    ids: pl.Series
    titles: pl.Series

    @classmethod
    def of(cls, labels: Labels) -> "Taken":
        """Begin with the labelled works."""
        nothing = pl.Series([], dtype=pl.String)
        titles = clean(labels.works["title"]).drop_nulls()
        return cls(labels.works["id"], titles, nothing, nothing)

    def part(self, works: pl.DataFrame, name: str, digest: str) -> UnlabelledFrame:
        """Leave out what cannot teach, count it, and take note of the rest."""
        rows = works.height
        usable = works.filter(longer_than_ten(works["title"]))
        titles = clean(usable["title"])
        labelled = usable["id"].is_in(self.labelled_ids.implode()) | titles.is_in(
            self.labelled_titles.implode()
        )
        strangers, titles = usable.filter(~labelled), titles.filter(~labelled)
        again = (
            ~strangers["id"].is_first_distinct()
            | ~titles.is_first_distinct()
            | strangers["id"].is_in(self.ids.implode())
            | titles.is_in(self.titles.implode())
        )
        kept = strangers.filter(~again)
        self.ids = pl.concat([self.ids, kept["id"]])
        self.titles = pl.concat([self.titles, titles.filter(~again)])
        data = UnlabelledData(
            file=name,
            sha256=digest,
            rows=rows,
            learned_from=kept.height,
            untitled=rows - usable.height,
            labelled=int(labelled.sum()),
            repeated=int(again.sum()),
        )
        return UnlabelledFrame(kept, data)


def _read(path: Path, labels: Labels) -> tuple[pl.DataFrame, str]:
    """Return the works of a frame, and one hash of its files."""
    source = FrameSource.find(path, wanted=labels.works.columns, mapping={}, keep=())
    with tempfile.TemporaryDirectory(prefix="scorer-train-") as folder:
        try:
            frame = _opened(source, Path(folder))
            batches = [batch.frame for batch in frame.batches(_BATCH)]
        except InputError as error:
            what, *remedy = str(error).splitlines()
            if "--" not in "".join(remedy):
                raise
            # The remedies are options of the commands that score; training has none of them.
            raise InputError(
                f"{what}\nMake a clean frame of it first: scorer convert {path} -o FRAME, which "
                "takes --map, --on-bad-line and --on-duplicate."
            ) from error
    if not batches:
        raise InputError(
            f"{path}: holds no works.\nLeave it out, or give other works with --unlabelled."
        )
    hashes = [file_hash(one.file) for one in source.found]
    joined = hashlib.sha256("".join(hashes).encode()).hexdigest()
    return pl.concat(batches), hashes[0] if len(hashes) == 1 else joined


def _opened(source: FrameSource, folder: Path) -> Frame:
    if source.is_parquet:
        return source.open()
    bad = BadRecords("error", folder / "skipped.tsv")
    with told(folder):
        return source.spool(folder, bad, lambda _: None)


def _told(data: UnlabelledData) -> str:
    left = [
        (data.labelled, "labelled"),
        (data.repeated, "there twice"),
        (data.untitled, "without a title of more than 10 characters"),
    ]
    said = ", ".join(f"{count:,} {why}" for count, why in left if count)
    return f"{data.file}: {data.learned_from:,} unlabelled works" + (
        f"; left out: {said}" if said else ""
    )
