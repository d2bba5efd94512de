"""The second stage of a run, opened and checked before the first begins: bundle, policy, share."""

from dataclasses import dataclass
from typing import Any, Final, Self

from scorer.engine.decision import Decision, bundle_policy, read_policy
from scorer.engine.request import DEFAULT_SHARE, RunRequest
from scorer.errors import BundleError, RefusedError, UsageError
from scorer.frame.frame import Frame
from scorer.policy.policy import Policy
from scorer.policy.refinement import CRITERION, ranked_columns, thresholds
from scorer.student.bundle import Student, load_student
from scorer.student.folder import find_bundle
from scorer.targets import Targets

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Refining:
    """A second student with its decision, and how the works that it scores are chosen."""

    student: Student
    decision: Decision
    share: float | None
    """Of the rows, over 0 and up to 1; None where `band` says which."""
    band: float | None
    frame: Frame | None = None
    """The columns of the frame that this student reads, once it can be read."""

    @classmethod
    def prepare(cls, request: RunRequest, first: Student, decision: Decision) -> Self | None:
        """Open and check what the request says of a second stage; None where it asks for none.

        `decision`: that of the first student, whose labels and excluded ids hold for both. Raises
        the `ScorerError` that fits.
        """
        if request.refine is None:
            _check_alone(request)
            return None
        _check_extent(request)
        if request.baseline:
            raise UsageError(
                "--baseline makes no calls, so --refine has none to change.\nLeave one of them out."
            )
        student = load_student(find_bundle(request.refine), provider=request.provider)
        _check_student(student, first, request.refine)
        targets = student.manifest.targets
        _check_policy(targets, decision.policy, request.refine_band)
        policy = (
            read_policy(request.refine_policy, targets)
            if request.refine_policy
            else bundle_policy(student.folder, student.manifest)
        )
        share = request.refine_share
        if share is None and request.refine_band is None:
            share = DEFAULT_SHARE
        return cls(student, decision.with_policy(policy, targets), share, request.refine_band)

    def fingerprint(self) -> dict[str, Any]:
        """Return all that this stage adds to what decides the output's bytes."""
        return {
            "model": self.student.version,
            "decision": self.decision.fingerprint(),
            "by": CRITERION,
            "share": self.share,
            "band": self.band,
        }


def _check_alone(request: RunRequest) -> None:
    """Raise `UsageError` where options speak of a second stage and there is none."""
    for name in ("refine_share", "refine_band", "refine_policy"):
        if getattr(request, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option}: for a second bundle, and none is named.\n"
                f"Add --refine BUNDLE, or leave {option} out."
            )


def _check_extent(request: RunRequest) -> None:
    share, band = request.refine_share, request.refine_band
    if share is not None and band is not None:
        raise UsageError(
            "--refine-share and --refine-band: each says by itself which works are scored again.\n"
            "Give one of them."
        )
    if share is not None and not 0 < share <= 1:  # what is not a number is neither
        raise UsageError(
            f"--refine-share {100 * share:g}%: expected over 0 and up to 100 %, for instance 5% "
            "or 0.05.\nTo score no work again, leave --refine out."
        )
    if band is not None and not 0 < band <= 1:
        raise UsageError(
            f"--refine-band {band:g}: expected over 0 and up to 1, the distance of a score from "
            "its threshold, for instance 0.1."
        )


def _check_policy(targets: Targets, policy: Policy, band: float | None) -> None:
    """Raise `UsageError` where no work can be chosen under the first student's policy."""
    if not ranked_columns(targets, policy):
        raise UsageError(
            "--refine: every head has its labels given (--direct), so no score decides anything.\n"
            "Leave one of them out."
        )
    if band is not None and not thresholds(targets, policy):
        raise UsageError(
            f"--refine-band: policy {policy.version} makes no call by a score, so no work is near "
            "a threshold.\nGive a policy with thresholds, or a share: --refine-share 5%"
        )


def _check_student(student: Student, first: Student, named: str) -> None:
    if student.version == first.version:
        raise UsageError(
            f"--refine {named}: is {student.version}, which scores all works already.\n"
            "Name another bundle, or leave the option out."
        )
    maturity = student.manifest.maturity
    if not maturity.passed:
        raise RefusedError(
            f"{student.version}: its maturity gate has not passed ({maturity.note}), so it may not "
            "change calls.\nRefine with a bundle whose gate has passed (scorer models)."
        )
    if other := _difference(first.manifest.targets, student.manifest.targets):
        raise BundleError(
            f"{student.version}: cannot refine what {first.version} scores: {other}.\n"
            "Name a bundle that was trained for the same heads and targets."
        )


def _difference(first: Targets, second: Targets) -> str | None:
    """Return in what two students differ that goes into their rows; None where in nothing.

    Labels for people may differ: the rows do not hold them.
    """
    for what, one, two in (
        ("heads", first.head_names, second.head_names),
        ("categories", first.categories, second.categories),
        ("flags", first.flags, second.flags),
        ("axes", [axis.name for axis in first.axes], [axis.name for axis in second.axes]),
    ):
        if one != two:
            return f"its {what} are {_listed(two)}, there {_listed(one)}"
    for here, there in zip(second.axes, first.axes, strict=True):
        if (here.values, here.only_with) != (there.values, there.only_with):
            return f"axis {here.name} has other values, or depends on another category"
    for head, other in zip(second.heads, first.heads, strict=True):
        if only := set(head.unavailable) ^ set(other.unavailable):
            return f"only one of them has learned {_listed(sorted(only))} for head {head.name}"
    return None


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "none") + more
