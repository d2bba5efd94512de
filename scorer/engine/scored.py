"""Opening a scored file, to read it or decide on it anew: what it is, and its rows in batches."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.engine.manifest import RunManifest, manifest_path, read_manifest
from scorer.engine.rows import other_columns, row_schema
from scorer.errors import InputError, RefusedError, UsageError
from scorer.frame.files import LocalFile
from scorer.frame.parquet import open_parquet
from scorer.frame.readers.sniff import sniff
from scorer.policy.calls import SEGMENT
from scorer.policy.policy import Policy, Quota, Threshold
from scorer.status import SCORE_ONLY
from scorer.targets import Targets, score_column

_ROWS: Final = 1 << 17
STATUSES: Final = ("prediction_status", "score_status", "model_version")


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A scored file whose size, schema and status are those that its manifest speaks of."""

    path: Path
    file: pq.ParquetFile
    manifest: RunManifest
    text: frozenset[str]
    """Columns of text that repeats: all but the ids."""

    @classmethod
    def open(cls, path: Path, *, score_only: bool = False, stacked: bool = False) -> Self:
        """Open a file that `run` or `call` wrote.

        `score_only`: one that holds scores alone will do too; no calls may be made from it.
        `stacked`: so will one that two students scored; a policy is for one of them. Raises
        `InputError` where it is none, `RefusedError` where it holds scores only, `UsageError` where
        it is of two students.
        """
        file, manifest = open_scored(path)
        if not score_only and manifest.score_status.startswith(f"{SCORE_ONLY}:"):
            raise _refused(path, manifest.score_status)
        if not stacked and len(manifest.stages) > 1:
            raise _of_two(path, manifest)
        expected = row_schema(manifest.targets, manifest.policy, manifest.mode)
        found: pa.Schema = file.schema_arrow
        if other := next(other_columns(found, expected), None):
            raise InputError(
                f"{path}: {other}.\n"
                "Not a scored file of this version: score the frame again with scorer run."
            )
        if (size := path.stat().st_size) != manifest.output.size:
            raise _changed(path, f"{size:,} bytes", f"{manifest.output.size:,}")
        text = {field.name for field in found if pa.types.is_string(field.type)} - {"id"}
        return cls(path, file, manifest, frozenset(text))

    @property
    def rows(self) -> int:
        """Number of works."""
        return int(self.file.metadata.num_rows)

    @property
    def targets(self) -> Targets:
        """What the student scored."""
        return self.manifest.targets

    def kept_schema(self) -> pa.Schema:
        """Arrow fields of the columns that were carried along from the frame."""
        return pa.schema([self.file.schema_arrow.field(name) for name in self.manifest.kept])

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows' columns in order, statuses checked, `segment` and those as Enums."""
        names = list(dict.fromkeys([*columns, *STATUSES]))
        start = 0
        try:
            # One row group a call: pyarrow keeps memory for each group of a call until it ends.
            for group in range(self.file.num_row_groups):
                for batch in self.file.iter_batches(_ROWS, row_groups=[group], columns=names):
                    table = pa.Table.from_batches([batch])
                    self._check_status(table)
                    yield self._checked(table, start, columns)
                    start += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise self.damaged(error) from error

    def group(self, number: int, columns: Sequence[str]) -> pl.DataFrame:
        """Return one row group's columns, statuses apart; threads may read at the same time.

        Text comes as Categorical: it is told apart and written without being spelled out.
        """
        return self._checked(self._read_group(number, columns), None, columns)

    def check_status(self, number: int) -> None:
        """Raise unless every row of a row group says what the manifest says."""
        self._check_status(self._read_group(number, STATUSES))

    def _read_group(self, number: int, columns: Sequence[str]) -> pa.Table:
        text = [name for name in columns if name in self.text]
        try:
            file = pq.ParquetFile(self.path, metadata=self.file.metadata, read_dictionary=text)
            return file.read_row_group(number, columns=list(columns), use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise self.damaged(error) from error

    def _checked(
        self, table: pa.Table, start: int | None, columns: Collection[str]
    ) -> pl.DataFrame:
        """Bring columns of rows as read into Polars; raise where a score is off."""
        table = table.combine_chunks()
        for name in self.targets.score_columns:
            if name in table.column_names:
                self._check_scores(name, table[name], start)
        asked = [name for name in STATUSES if name in columns]
        left = [name for name in STATUSES if name not in asked]
        read = [name for name in table.column_names if name not in (*left, "segment")]
        rows = pl.from_arrow(table.select(read))
        assert isinstance(rows, pl.DataFrame)
        rows = rows.with_columns(
            pl.col(name).cast(pl.String).cast(pl.Enum(self.manifest.words(name))) for name in asked
        )
        if "segment" in table.column_names:
            rows = rows.with_columns(_segments(table["segment"]))
        return rows

    def _check_status(self, table: pa.Table) -> None:
        """Raise unless every row says what the manifest says."""
        for name in STATUSES:
            said = self.manifest.words(name)
            others = set(_words(table[name])) - set(said)
            if name == "score_status" and (status := _score_only(others)):
                raise _refused(self.path, status)
            if others:
                raise InputError(
                    f"{self.path}: some rows do not say {' or '.join(said)}; they were changed "
                    "after scoring.\n"
                    "Score the frame again: scorer run --overwrite"
                )

    def check_hash(self, sha256: str) -> None:
        """Raise `InputError` where the file's hash is not the one of its manifest."""
        said = self.manifest.output.sha256
        if sha256 != said:
            raise _changed(self.path, f"sha256 is {sha256[:12]}…", f"{said[:12]}…")

    def damaged(self, error: Exception) -> InputError:
        """Return the error that says that the file cannot be read to its end."""
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        return InputError(f"{self.path}: damaged ({reason}).\nCopy it again, or score again.")

    def _check_scores(self, name: str, values: pa.ChunkedArray, start: int | None) -> None:
        """Raise `InputError` where a score is null, NaN, or out of [0, 1]."""
        scores = values.to_numpy()
        # Whatever is not a number fails both comparisons.
        if not len(scores) or (scores.min() >= 0 and scores.max() <= 1):
            return
        row = int(np.flatnonzero(~((scores >= 0) & (scores <= 1)))[0])
        where = f", row {start + row:,} (counted from 0)" if start is not None else ""
        raise InputError(
            f"{self.path}: column {name!r}{where}: the score is {scores[row]}, expected 0 to 1.\n"
            "The file was changed after scoring: score the frame again with scorer run."
        )


def open_scored(path: Path) -> tuple[pq.ParquetFile, RunManifest]:
    """Open a scored file and the manifest beside it.

    Raises `InputError` where either cannot be read; of a frame, that it has yet to be scored.
    """
    there = manifest_path(path).is_file()
    if not there and path.is_file() and path.stat().st_size and _kind(path) not in ("", "parquet"):
        raise _not_scored(path)
    file = open_parquet(path)
    if not there and "prediction_status" not in file.schema_arrow.names:
        raise _not_scored(path)
    return file, read_manifest(path)


def columns_that_decide(targets: Targets, policy: Policy) -> list[str]:
    """Return the columns from which a policy's calls follow; direct heads need labels besides."""
    entries = {
        score_column(head, target): entry
        for head in targets.head_names
        for target, entry in policy.of_head(head)
    }
    columns = [name for name, entry in entries.items() if isinstance(entry, Threshold | Quota)]
    by_id = any(isinstance(entry, Quota) for entry in entries.values()) or policy.direct_heads()
    return [*(["id"] if by_id else []), "segment", *columns]


def _kind(path: Path) -> str:
    """Return the format of a file that may be a frame; empty where it is none."""
    try:
        return sniff(LocalFile.at(path)).kind
    except InputError:
        return ""


def _not_scored(path: Path) -> InputError:
    return InputError(
        f"{path}: a frame, not a scored file. Score it first: scorer run {shlex.quote(str(path))}"
    )


def _words(column: pa.ChunkedArray) -> list[str | None]:
    """Return the distinct words of a column; of one that holds a single word, without a search."""
    if column.num_chunks == 1 and pa.types.is_dictionary(column.type):
        only = column.chunk(0)
        if len(only.dictionary) == 1:
            return [*only.dictionary.to_pylist(), *([None] if only.null_count else [])]
    return pl.Series(column.unique().cast(pa.string())).to_list()


def _score_only(words: set[str | None]) -> str | None:
    return next((word for word in words if word and word.startswith(f"{SCORE_ONLY}:")), None)


def _segments(column: pa.ChunkedArray) -> pl.Series:
    """Return the segments as their Enum; unknown ones become null."""
    chunks = []
    for chunk in column.chunks:
        words = pl.Series(chunk.dictionary, dtype=pl.String).cast(SEGMENT, strict=False)
        chunks.append(words.gather(pl.Series(chunk.indices)))
    return pl.concat(chunks).rename("segment") if chunks else pl.Series("segment", [], SEGMENT)


def _changed(path: Path, found: str, said: str) -> InputError:
    return InputError(
        f"{path}: {found}, its manifest says {said}: changed after scoring; nothing was "
        "written.\nCopy it again, or score the frame again."
    )


def _of_two(path: Path, manifest: RunManifest) -> UsageError:
    assert manifest.refined is not None
    return UsageError(
        f"{path}: {manifest.refined.works:,} of its works were scored again by "
        f"{manifest.refined.model_version}, the others by {manifest.model_version}: thresholds of "
        "one say nothing of the other's scores.\nScore the frame with one bundle for this, or with "
        "scorer run --policy FILE --refine BUNDLE --refine-policy FILE for other calls."
    )


def _refused(path: Path, status: str) -> RefusedError:
    return RefusedError(
        f"{path}: says {status}: its student's maturity gate has not passed, so no calls can be "
        "made from it.\nScore the frame with a bundle whose gate has passed: scorer models"
    )
