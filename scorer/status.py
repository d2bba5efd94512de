"""The validation stamp and the status words, written here once for the whole program.

Everything that leaves `scorer` carries `STAMP`; no option, export or code path changes it.
"""

from typing import Final

STAMP: Final = "machine_predicted_unvalidated"
"""The `prediction_status` of every row, in every file and export."""

CALLS: Final = "calls"
SCORE_ONLY: Final = "score_only"

LIMITATIONS: Final = (
    "Scores imitate the labels of large language models (the teachers); they are not ground truth.",
    "Scores rank works for human review; they are no probability that a category is true.",
    "Counts of calls are not prevalence estimates; human validation is pending.",
)
"""What every manifest says about the limits of its rows."""


def score_status(model_version: str, *, mature: bool) -> str:
    """Return the `score_status` word of a run: calls, or scores alone before maturity."""
    return f"{CALLS if mature else SCORE_ONLY}:{model_version}"
