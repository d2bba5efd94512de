"""Contract 6: `<output>.meta.json`, what a scored file is and how it came to be."""

from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, ValidationError

import scorer
from scorer.engine.files import sha256 as file_sha256
from scorer.errors import InputError
from scorer.policy.calls import Mode
from scorer.policy.policy import Policy
from scorer.status import LIMITATIONS, STAMP
from scorer.targets import Strict, Targets

_SOFTWARE: Final = ("polars", "pyarrow", "onnxruntime", "numpy")


class Source(Strict):
    """A file that was read."""

    name: str
    size: int
    rows: int | None
    """Works in it; None where it was read together with other files."""
    sha256: str


class DirectSource(Strict):
    """Labels that were given for a head: its calls are direct."""

    name: str
    size: int
    sha256: str
    labels: int
    works_without_label: int
    """Works of the frame that the file lacks: that head makes no call for them."""
    labels_without_work: int


class ExcludedSource(Strict):
    """Works that were asked to be scored but not called."""

    name: str
    size: int
    sha256: str
    ids: int
    ids_without_work: int


class Output(Strict):
    """The file that was written."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Describe a finished file."""
        return cls(name=path.name, size=path.stat().st_size, sha256=file_sha256(path))


class Counts(Strict):
    """How many works, by what was said of them."""

    rows: int
    segments: dict[str, int]
    classification: dict[str, int]
    calls: dict[str, dict[str, int]]
    """Target -> each head, `candidate`, `consensus` -> works. No estimate of prevalence."""


class RunManifest(Strict):
    """The whole of `<output>.meta.json`."""

    schema_version: Literal[1] = 1
    prediction_status: Literal["machine_predicted_unvalidated"] = STAMP
    score_status: str
    limitations: tuple[str, ...] = LIMITATIONS
    model_version: str
    model_licence: str
    attribution: str
    policy_version: str
    mode: Mode
    counts: Counts
    output: Output
    made_by: Literal["run", "call"] = "run"
    """What wrote the file: `run` from a frame, or `call` from a scored file."""
    sources: tuple[Source, ...]
    """What was read: the frame, or the scored file."""
    frame: tuple[Source, ...]
    """The frame that the scores come from: for `run` the same as `sources`."""
    direct: dict[str, DirectSource] = Field(default_factory=dict)
    """Head -> the labels that are its calls."""
    excluded: ExcludedSource | None = None
    skipped_records: int = 0
    """Records of the frame that could not be read and were left out, as was asked."""
    columns: dict[str, str]
    """Contract column -> where it was found in the source."""
    columns_not_found: tuple[str, ...]
    """Columns that the student reads and the source lacks: it scores worse without."""
    kept: tuple[str, ...]
    """Columns of the source that were carried along, at the end of each row."""
    limit: int | None
    """The first so many works were asked for; None: all."""
    targets: Targets
    policy: Policy
    job: str
    """Fingerprint of all that decided the output's bytes."""
    software: dict[str, str]
    started: str
    wall_seconds: float
    works_a_second: float
    resumed_rows: int


def manifest_path(output: Path) -> Path:
    """Return where the manifest of an output lies."""
    return output.with_name(output.name + ".meta.json")


@cache
def software() -> dict[str, str]:
    """Return the versions of all that decides the output's bytes."""
    return {"scorer": scorer.__version__, **{name: version(name) for name in _SOFTWARE}}


def read_manifest(output: Path) -> RunManifest:
    """Read the manifest of a scored file; raise `InputError` where it is missing or broken."""
    path = manifest_path(output)
    if not path.is_file():
        raise InputError(
            f"{path}: no manifest, so {output.name} is not known to be complete.\n"
            "Copy the manifest along with the file, or score again with scorer run --overwrite."
        )
    try:
        return RunManifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, ValueError) as error:
        raise InputError(f"{path}: not a manifest ({str(error).splitlines()[0]}).") from error
