"""What a student may be asked for: before its maturity gate has passed, scores and nothing else."""

from scorer.engine.request import RunRequest
from scorer.errors import RefusedError, UsageError
from scorer.student.bundle import Student


def check_maturity(student: Student, request: RunRequest) -> None:
    """Raise `RefusedError` where calls are asked for too early, `UsageError` where words clash."""
    maturity = student.manifest.maturity
    if not maturity.passed and not request.baseline:
        raise RefusedError(
            f"{student.version}: its maturity gate has not passed ({maturity.note}).\n"
            "Use a bundle whose gate has passed (scorer models), or --baseline: scores, no calls."
        )
    if not maturity.passed and (request.direct or request.exclude_ids or request.policy):
        raise UsageError(
            "--baseline makes no calls, so --policy, --direct and --exclude-ids have nothing to "
            "decide.\nLeave them out."
        )
    if maturity.passed and request.baseline:
        raise UsageError(
            f"--baseline is for students before maturity; the gate of {student.version} has "
            "passed.\nLeave it out."
        )
