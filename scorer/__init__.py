"""scorer: score every scholarly work of a frame with a small student, honestly stamped.

The public Python API; each name is loaded when it is first used.

    import scorer
    student = scorer.load_student(scorer.find_bundle("metacan-ngram"))
    policy = scorer.default_policy(student)
    rows = scorer.score_batch(frame, student, policy)      # Polars in, Polars out
    scorer.run(scorer.RunRequest(frame=Path("frame.parquet")))  # files in, files out
    scorer.call(scorer.CallRequest(scores=Path("frame.scored.parquet"), policy=Path("p.json")))
    scorer.rank(scorer.RankRequest(Path("frame.scored.parquet"), by="metaresearch")).works
    scorer.sample(scorer.SampleRequest(Path("frame.scored.parquet"), works=400)).key
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
    from scorer.review.evaluate import EvaluateRequest, evaluate
    from scorer.review.rank import RankRequest, rank
    from scorer.review.sample import SampleRequest, sample
    from scorer.student.bundle import load_student
    from scorer.student.folder import find_bundle

_HOME = {
    "CallRequest": "scorer.engine.call",
    "EvaluateRequest": "scorer.review.evaluate",
    "RankRequest": "scorer.review.rank",
    "RunRequest": "scorer.engine.request",
    "SampleRequest": "scorer.review.sample",
    "call": "scorer.engine.call",
    "default_policy": "scorer.engine.job",
    "evaluate": "scorer.review.evaluate",
    "find_bundle": "scorer.student.folder",
    "load_student": "scorer.student.bundle",
    "rank": "scorer.review.rank",
    "run": "scorer.engine.run",
    "sample": "scorer.review.sample",
    "score_batch": "scorer.engine.batch",
    "verify": "scorer.engine.verify",
}

__all__ = [
    "CallRequest",
    "EvaluateRequest",
    "RankRequest",
    "RunRequest",
    "SampleRequest",
    "__version__",
    "call",
    "default_policy",
    "evaluate",
    "find_bundle",
    "load_student",
    "rank",
    "run",
    "sample",
    "score_batch",
    "verify",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _HOME:
        raise AttributeError(f"module 'scorer' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
