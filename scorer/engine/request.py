"""What a run is asked for: all that the options of `scorer run` say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from scorer.engine.place import settled
from scorer.policy.calls import Mode
from scorer.student import CPU, DEFAULT_MODEL

DEFAULT_SHARE: Final = 0.05
"""Of the works: most of what the slow student knows better, at a twentieth of its time."""

# What a frame's name may end in that an output's need not.
_ENDINGS: Final = (
    r"(?i)(\.(parquet|arrow|feather|ipc|csv|tsv|txt|jsonl|ndjson|json|ris|bib|nbib))?"
    r"(\.(gz|zst|bz2))?$"
)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to score, with what, to where. Only `frame` must be given."""

    frame: Path | str
    """A file, a folder or a pattern."""
    output: Path | None = None
    """By default `<frame stem>.scored.parquet` in the working folder."""
    model: str = DEFAULT_MODEL
    policy: Path | None = None
    """By default the bundle's own."""
    mode: Mode = "both"
    direct: Mapping[str, Path] = field(default_factory=dict)
    """Head -> its labels: they are that head's calls."""
    exclude_ids: Path | None = None
    """Works that are scored but never called."""
    baseline: bool = False
    """Score with a student whose maturity gate has not passed: scores only, no calls."""
    refine: str | None = None
    """A second, slower bundle, which scores some works again: those where that tells the most."""
    refine_share: float | None = None
    """How many works it scores, over 0 and up to 1, those that rank highest for any target; by
    default `DEFAULT_SHARE`."""
    refine_band: float | None = None
    """Instead of a share: all works with a score this near to its threshold."""
    refine_policy: Path | None = None
    """By default the second bundle's own."""
    keep: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    on_bad_record: Literal["error", "skip"] = "error"
    """What to do with a record that cannot be read."""
    on_bad_shard: Literal["error", "skip"] = "error"
    """What to do with works that cannot be read or scored, a shard of them at a time."""
    memory: int | None = None
    """Bytes that the process should not hold more of while it scores; None: as it comes."""
    threads: int | None = None
    """By default as many as the process may use; for Ray, as many as the cluster has processors."""
    engine: Literal["local", "ray"] = "local"
    address: str | None = None
    """Where Ray's cluster is, as Ray has it; None: one of this machine, for this run alone."""
    provider: str = CPU
    """What of onnxruntime's runs a transformer; n-gram students run on the processor."""
    overwrite: bool = False

    def output_path(self) -> Path:
        """Return where the scored file goes."""
        return settled(self.output or Path(f"{self.frame_stem()}.scored.parquet"))

    def inputs(self) -> list[Path]:
        """Return the files that are read: the output may be none of them."""
        named = [self.policy, *self.direct.values(), self.exclude_ids, self.refine_policy]
        return [Path(self.frame), *(path for path in named if path is not None)]

    def frame_stem(self) -> str:
        """Return what the frame is called, without the endings of its format."""
        name = Path(self.frame).name
        return re.sub(_ENDINGS, "", name.replace("*", "").strip(".")) or "frame"
