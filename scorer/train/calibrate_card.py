"""The section of a model card on calibration: what it is, and how reliable scores became by it."""

from typing import Any, Final

from scorer.policy.fit import ENOUGH_POSITIVES

_HOW: Final = {
    "isotonic": "centred isotonic regression (Oron and Flournoy, 2017)",
    "platt": "a logistic regression on the logit (Platt, 1999)",
}


def calibration_section(metrics: dict[str, Any], weights: str) -> str:
    """Return the section in Markdown; nothing for a student that is not calibrated.

    `weights`: the words `with design weights`, or `without`.
    """
    found = metrics.get("calibration")
    if found is None:
        return ""
    pairs = [
        f"| {pair.replace('/', ' | ')} | {one['n_pos']:,} | {one['error_before']:.4f} "
        f"| {one['error_after']:.4f} |"
        for pair, one in found["pairs"].items()
    ]
    mean = ""
    if found["mean_error_before"] is not None:
        mean = (
            f" Its mean over the pairs with {ENOUGH_POSITIVES} positives or more went from "
            f"**{found['mean_error_before']:.4f}** to **{found['mean_error_after']:.4f}**."
        )
    said = f"""## Calibration

Scores are calibrated to the teachers' labels (`{found["method"]}`): after the graph, a map a head
and target turns a score into about the share of works of the frame with that score to which the
teacher says yes. The maps are {_HOW[found["method"]]},
fitted on the out-of-fold scores {weights}. They always rise, so that ranks stay as they were, up
to the rounding of float32; thresholds and all figures above are of calibrated scores. They speak of
a teacher's yes: how often that is true, no score says.

Expected calibration error: the mean distance between a step's mean score and its share of yes,
{weights}, over ten steps of the score. After: in each fold by a map that the other folds
made.{mean}"""
    steps = [
        f"| {when} | {step['from']:g}–{step['to']:g} | {step['works']:.2%} "
        f"| {step['mean_score']:.4f} | {step['yes']:.4f} |"
        for when, of_when in found["steps"].items()
        for step in of_when
    ]
    table = [
        "| head | target | positives | error before | after |",
        "|---|---|--:|--:|--:|",
        *pairs,
    ]
    table += ["", "All heads and targets together:", ""]
    table += ["| | score | share of works | mean score | share of yes |", "|---|---|--:|--:|--:|"]
    return "\n".join([said, "", *table, *steps, "", ""])
