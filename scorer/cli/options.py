"""Options that several commands share, each worded once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scorer.errors import UsageError

Model = Annotated[
    str,
    typer.Option("--model", metavar="NAME", help="A shipped bundle's name, or a bundle's folder."),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="A policy file; by default the bundle's own."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output that exists already.")
]
LabelTable = Annotated[
    Path | None,
    typer.Argument(
        metavar="LABELS", help="A label table (Parquet): works, and <head>_categories a teacher."
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels", metavar="LABELS", help="A label table (Parquet), as for scorer train."
    ),
]
Sample = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Instead of a table: the works of the sample, in JSON."),
]
HeadFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--head", metavar="NAME=FILE", help="With --sample: a teacher's labels in JSON; repeatable."
    ),
]
OutOfFoldFile = Annotated[
    Path | None,
    typer.Option(
        "--out-of-fold",
        metavar="FILE",
        help="Scores of the labelled works by heads that never saw them: scorer train writes them "
        "with the same option. Needed where the student learned from these labels.",
    ),
]
EqualWeights = Annotated[
    bool, typer.Option("--equal-weights", help="Every labelled work weighs 1.")
]
MinPos = Annotated[int, typer.Option(min=1, help="Positives that a head needs to make calls.")]
MinEss = Annotated[float, typer.Option(min=0, help="Effective sample size that a head needs.")]
Frame = Annotated[
    str,
    typer.Argument(
        metavar="FRAME",
        help="Works: a file, a folder, a pattern or an address; Parquet, Arrow, CSV, JSON Lines, "
        "OpenAlex, RIS, BibTeX or MEDLINE.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", metavar="COLUMN", help="A frame column to carry into the output; repeatable."
    ),
]
Mapping = Annotated[
    list[str] | None,
    typer.Option(
        "--map", metavar="NAME=COLUMN", help="Where a column has another name; repeatable."
    ),
]
Limit = Annotated[int | None, typer.Option(min=0, metavar="N", help="Read the first N works only.")]
Direct = Annotated[
    list[str] | None,
    typer.Option(
        "--direct",
        metavar="HEAD=FILE",
        help="Labels that are that head's calls (Parquet or JSON: id, categories); repeatable.",
    ),
]
ExcludeIds = Annotated[
    Path | None,
    typer.Option(
        "--exclude-ids",
        metavar="FILE",
        help="Works that are scored but never called: an id a line, or Parquet with id.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Hold no more memory than that, for instance 500MB: slower, the same bytes come out.",
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="By default as many as processors.")
]
Provider = Annotated[
    str,
    typer.Option(
        "--provider",
        metavar="NAME",
        help="What runs a transformer: cpu, or what else this onnxruntime has, for instance cuda. "
        "N-gram students always run on the processor.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]

WorkId = Annotated[str, typer.Argument(metavar="ID", help="The work's id, bare or as an address.")]
RecordFrame = Annotated[
    str | None,
    typer.Option(
        "--frame", metavar="FRAME", help="The frame that was scored, in any format: adds records."
    ),
]
Bundles = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="FOLDER",
        help="The bundle that gave the scores, where it is none of the shipped; repeatable.",
    ),
]


class LanguageName(StrEnum):
    """Languages of pages and views."""

    en = "en"
    fr = "fr"


ShownLanguage = Annotated[LanguageName, typer.Option("--lang", help="English or French.")]


class SegmentName(StrEnum):
    """Segments of works."""

    covered = "covered"
    insufficient_payload = "insufficient_payload"
    excluded = "excluded"


SegmentNames = Annotated[
    list[SegmentName] | None,
    typer.Option(
        "--segment",
        help="Which works, by default covered: without a usable title none can be judged, and "
        "excluded ones carry labels already. Repeatable.",
    ),
]


Refine = Annotated[
    str | None,
    typer.Option(
        metavar="BUNDLE",
        help="A second, slower bundle, which scores again the works where that tells the most.",
    ),
]
RefineShare = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="With --refine: how many works, those that rank highest for any target; 5% unless "
        "said.",
    ),
]
RefineBand = Annotated[
    float | None,
    typer.Option(
        metavar="DISTANCE",
        help="With --refine, instead of a share: all works with a score so near to its threshold.",
    ),
]
RefinePolicy = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="With --refine: its policy; by default the bundle's own."),
]


class EngineName(StrEnum):
    """What scores the shards of a frame."""

    local = "local"
    ray = "ray"


Engine = Annotated[
    EngineName,
    typer.Option(
        help="This machine's processors, or a Ray cluster (extra ray): the same bytes come out."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="With --engine ray: the cluster (auto, or HOST:PORT). By default one is started on "
        "this machine, for this run.",
    ),
]


class BadLine(StrEnum):
    """What to do with a record that cannot be read."""

    error = "error"
    skip = "skip"


OnBadLine = Annotated[
    BadLine,
    typer.Option(
        help="A line or record that cannot be read ends the command, or is skipped, counted and "
        "written to OUTPUT.skipped.tsv."
    ),
]


OnBadShard = Annotated[
    BadLine,
    typer.Option(
        "--on-bad-shard",
        help="Works of a damaged or broken stretch of the frame end the command, or are left out, "
        "counted and named in the manifest.",
    ),
]


class ModeName(StrEnum):
    """Which calls a table speaks of; a scored file always holds candidate and consensus."""

    candidate = "candidate"
    consensus = "consensus"
    majority = "majority"
    both = "both"


Mode = Annotated[
    ModeName,
    typer.Option(
        help="Which calls the table and the column classification speak of; majority: of three "
        "heads or more."
    ),
]


def share(word: str | None, option: str) -> float | None:
    """Read a share such as 5% or 0.05; raise `UsageError` for what is none."""
    if word is None:
        return None
    number = word.strip().removesuffix("%")
    try:
        part = float(number) / (100 if number != word.strip() else 1)
    except ValueError:
        raise UsageError(f"{option} {word}: expected a share, for instance 5% or 0.05.") from None
    if not 0 < part <= 1:  # what is not a number is neither
        raise UsageError(
            f"{option} {word}: expected over 0 and up to 100 %, for instance 5% or 0.05."
        )
    return part


def size(word: str | None, option: str) -> int | None:
    """Read a size such as 500MB in bytes; raise `UsageError` for what is none."""
    from pydantic import ByteSize, TypeAdapter, ValidationError

    if word is None:
        return None
    try:
        return int(TypeAdapter(ByteSize).validate_python(word))
    except ValidationError:
        raise UsageError(f"{option} {word}: expected a size, for instance 500MB.") from None


def paths(words: list[str] | None, option: str) -> dict[str, Path]:
    """Read NAME=FILE words."""
    return {name: Path(value) for name, value in pairs(words or [], option).items()}


def pairs(words: list[str], option: str) -> dict[str, str]:
    """Read NAME=VALUE words; raise `UsageError` for one of another form."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {word}: expected NAME=VALUE.")
        if name in found:
            raise UsageError(f"{option} {word}: {name} is given twice.")
        found[name] = value
    return found
