"""Contract 6: `<output>.meta.json`, what a scored file is and how it came to be."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
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

# ftfy mends mojibake, so scores depend on it where there is some.
_SOFTWARE: Final = ("polars", "pyarrow", "onnxruntime", "numpy", "ftfy")


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


class SkippedShard(Strict):
    """Works of the frame that could not be read or scored, and were left out, as was asked."""

    first_row: int
    """In the frame, counted from 0."""
    last_row: int
    reason: str

    @property
    def works(self) -> int:
        """How many there are."""
        return self.last_row - self.first_row + 1


class Refinement(Strict):
    """A second stage: the bundle that scored some works again, and which ones."""

    model_version: str
    model_licence: str
    attribution: str
    score_status: str
    policy_version: str
    policy: Policy
    """What called the works that were scored again."""
    by: Literal["best_rank", "band"]
    """What works were chosen by: their best rank over the heads and targets, or a band."""
    share: float | None
    """Of the rows, those that rank highest; None where a band was asked for."""
    band: float | None
    """Works with a score no further from its threshold, in the first policy; None for a share."""
    works: int
    """How many were scored again; their rows name this bundle and this policy."""
    last_rank: int | None = None
    """Of a share: the best rank of the last work chosen; all with a better one were."""
    last_id: str | None = None
    """Of a share: the largest id that was chosen at that rank; ids compare as strings."""
    at_least: dict[str, float] = Field(default_factory=dict)
    """Of a share: score column -> the first student's lowest score of a better rank than that."""
    columns: dict[str, str]
    columns_not_found: tuple[str, ...]
    """Columns that this student reads and the source lacks."""
    skipped_shards: tuple[SkippedShard, ...] = ()
    """Chosen works that could not be scored again, as was allowed: they keep their first rows."""

    @property
    def chosen_in_words(self) -> str:
        """Which works were to be scored again."""
        if self.band is not None:
            return f"within {self.band:g} of a threshold"
        assert self.share is not None
        return f"{100 * self.share:g} % of the works, those that rank highest for any target"


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


_OF_A_STAGE: Final = (
    *("model_version", "model_licence", "attribution", "score_status"),
    *("policy_version", "policy", "columns", "columns_not_found"),
)


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
    skipped_shards: tuple[SkippedShard, ...] = ()
    """Works that could not be read or scored and were left out, as was asked: no row has them."""
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
    refined: Refinement | None = None
    """The second stage; None where one student scored all works."""
    job: str
    """Fingerprint of all that decided the output's bytes."""
    software: dict[str, str]
    provider: str = "cpu"
    """What of onnxruntime's ran the student; n-gram students run on the processor, cpu."""
    started: str
    wall_seconds: float
    works_a_second: float
    resumed_rows: int

    @property
    def stages(self) -> tuple[Self, ...]:
        """Return this manifest, and that of a run in which the second student scored all works.

        A row is to be read by the one that has its `model_version`.
        """
        second = self.refined
        if second is None or not second.works:
            return (self,)
        changes = {name: getattr(second, name) for name in _OF_A_STAGE}
        return (self, self.model_copy(update=changes))

    def of_model(self, model_version: str) -> Self:
        """Return the stage that gave a row its scores."""
        return next((s for s in self.stages if s.model_version == model_version), self)

    def words(self, name: str) -> tuple[str, ...]:
        """Return what rows may say in a column such as `model_version`: that of each stage."""
        return tuple(dict.fromkeys(getattr(stage, name) for stage in self.stages))

    def in_words(self, name: str) -> str:
        """Return `words` as a text of one line."""
        return " and ".join(self.words(name))

    @property
    def skipped_works(self) -> int:
        """Works of the skipped shards."""
        return sum(shard.works for shard in self.skipped_shards)


def manifest_path(output: Path) -> Path:
    """Return where the manifest of an output lies."""
    return output.with_name(output.name + ".meta.json")


@cache
def software(*more: str) -> dict[str, str]:
    """Return the versions of all that decides the output's bytes; `more`: of a student's own."""
    return {"scorer": scorer.__version__, **{name: _version(name) for name in _SOFTWARE + more}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


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
