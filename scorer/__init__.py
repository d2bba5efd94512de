"""scorer: score every scholarly work of a frame with a small student, honestly stamped.

The public Python API; each name is loaded when it is first used.

    import scorer
    student = scorer.load_student(scorer.find_bundle("metacan-ngram"))
    policy = scorer.default_policy(student)
    rows = scorer.score_batch(frame, student, policy)      # Polars in, Polars out
    scorer.run(scorer.RunRequest(frame=Path("frame.parquet")))  # files in, files out
    scorer.call(scorer.CallRequest(scores=Path("frame.scored.parquet"), policy=Path("p.json")))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from scorer.engine.batch import score_batch
    from scorer.engine.call import CallRequest, call
    from scorer.engine.job import default_policy
    from scorer.engine.request import RunRequest
    from scorer.engine.run import run
    from scorer.engine.verify import verify
    from scorer.student.bundle import load_student
    from scorer.student.folder import find_bundle

_HOME = {
    "CallRequest": "scorer.engine.call",
    "RunRequest": "scorer.engine.request",
    "call": "scorer.engine.call",
    "default_policy": "scorer.engine.job",
    "find_bundle": "scorer.student.folder",
    "load_student": "scorer.student.bundle",
    "run": "scorer.engine.run",
    "score_batch": "scorer.engine.batch",
    "verify": "scorer.engine.verify",
}

__all__ = [
    "CallRequest",
    "RunRequest",
    "__version__",
    "call",
    "default_policy",
    "find_bundle",
    "load_student",
    "run",
    "score_batch",
    "verify",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _HOME:
        raise AttributeError(f"module 'scorer' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
