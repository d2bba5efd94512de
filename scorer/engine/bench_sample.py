"""The works that `scorer bench` scores: some of the frame, from all over it, repeated to size.

A shard of few works again and again would be no measure: its words, calls and scores repeat, and
pack into next to nothing. Works of a small frame are first put together anew.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from scorer.engine.rowgroups import RowGroupWriter, encode, row_group, with_columns
from scorer.frame.contract import text
from scorer.frame.frame import Frame

SAMPLE: Final = "works.parquet"
_PIECES: Final = 16
_INVERTED: Final = "abstract_inverted_index"
_FIRST_ID: Final = 4_000_000_001  # as long as OpenAlex's newest


def sample_frame() -> Path:
    """Return the sample frame that came with the program: 2,000 made works."""
    package = Path(str(files("scorer")))
    # In a wheel it lies in the package; in a checkout, beside it.
    packaged = package / "_sample_frames" / SAMPLE
    return packaged if packaged.exists() else package.parent / "sample_frames" / SAMPLE


def drawn(frame: Frame, works: int) -> pl.DataFrame:
    """Return at most so many works of a frame, in pieces spread evenly over it.

    The first works alone would not do: frames are often sorted by year, language or source.
    """
    rows = max(1, works // _PIECES)
    if frame.rows <= works:
        starts = list(range(0, frame.rows, rows))
    else:
        last = frame.rows // rows - 1
        starts = [rows * (last * piece // (_PIECES - 1)) for piece in range(_PIECES)]
    pieces = [
        batch.frame
        for start in starts
        for batch in frame.batches(rows, start=start, limit=start + rows)
    ]
    return pl.concat([_plain(piece) for piece in pieces])


def varied(sample: pl.DataFrame, works: int) -> pl.DataFrame:
    """Return `works` works made of the sample's, at least as many as it has; hardly two the same.

    A title or abstract is the first half of one and the second half of another; all else is as the
    first has it. Drawn with a fixed seed.
    """
    random = np.random.default_rng(0)
    made = sample[random.integers(sample.height, size=works)]
    others = sample[random.integers(sample.height, size=works)]
    texts = [name for name in ("title", "abstract") if name in sample.columns]
    return made.with_columns(_crossed(made[name], others[name]) for name in texts)


def _crossed(texts: pl.Series, others: pl.Series) -> pl.Series:
    """Join the first half of each text's words with the second half of another's; null stays."""
    first = pl.col("text").str.split(" ")
    second = pl.coalesce("other", "text").str.split(" ")
    halves = [
        first.list.head((first.list.len() + 1) // 2),
        second.list.tail(second.list.len() // 2),
    ]
    crossed = pl.concat_list(halves).list.join(" ")
    return pl.select(text=texts, other=others).select(crossed.alias(texts.name)).to_series()


def write_repeated(sample: pl.DataFrame, works: int, path: Path) -> None:
    """Write `works` works to a Parquet file: the sample again and again, each id once.

    All but the ids is encoded once: what is timed is scoring, not this.
    """
    whole = sample.to_arrow().drop_columns(["id"])
    last = works % sample.height
    groups = {sample.height: row_group(encode(whole), whole.schema)}
    groups[last] = row_group(encode(whole.slice(0, last)), whole.schema)
    schema = _ids(0, 0).to_arrow().schema
    for field in whole.schema:
        schema = schema.append(field)
    with path.open("wb") as file:
        writer = RowGroupWriter(file, schema)
        for start in range(0, works, sample.height):
            rows = min(sample.height, works - start)
            ids = _ids(start, rows).to_arrow()
            own = row_group(encode(ids), ids.schema)
            writer.add(with_columns(groups[rows], own, {name: name for name in schema.names}))
        writer.close()


def _ids(start: int, rows: int) -> pl.DataFrame:
    first = _FIRST_ID + start
    numbers = pl.int_range(first, first + rows, eager=True).cast(pl.String)
    return pl.DataFrame({"id": "W" + numbers})


def _plain(works: pl.DataFrame) -> pl.DataFrame:
    """De-invert an index of Arrow's own types: pieces of a frame may have other words in it."""
    if _INVERTED not in works.columns or works[_INVERTED].dtype == pl.String:
        return works
    return works.drop(_INVERTED).with_columns(text(works, "abstract").alias("abstract"))
