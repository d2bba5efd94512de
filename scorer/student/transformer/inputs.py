"""What a transformer's graph takes: its inputs, and works cut into batches of them.

A batch holds works of one length alone, so nothing is padded; which works stand together follows
from their lengths and their order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from scorer.errors import BundleError
from scorer.student import CPU
from scorer.student.transformer.tokens import EncodedTexts, Ids

IDS: Final = "input_ids"
MASK: Final = "attention_mask"
TYPES: Final = "token_type_ids"
ALONE: Final = 1
"""As tokens a batch: every work by itself."""

# On a processor more would gain nothing: 512 tokens take 1.7 times less than works by themselves.
_TOKENS_A_BATCH: Final = 1 << 9
# Other providers need more at a time to be worth their trip.
_TOKENS_A_BATCH_ELSEWHERE: Final = 1 << 14
_DRAWN_LENGTHS: Final = (5, 24, 67)
_WATCHED: Final = 3

Floats = npt.NDArray[np.float32]
Found = TypeVar("Found")


def check_inputs(session: ort.InferenceSession, path: Path, more: Mapping[str, str]) -> Set[str]:
    """Return the names of a graph's inputs; raise `BundleError` where it takes others.

    `more`: name -> type of those that it takes besides tokens.
    """
    found = {node.name: node.type for node in session.get_inputs()}
    expected = {IDS: "tensor(int64)", MASK: "tensor(int64)", **more}
    allowed = {**expected, TYPES: "tensor(int64)"}
    if not expected.items() <= found.items() <= allowed.items():
        taken = ", ".join(f"{name} {kind}" for name, kind in sorted(found.items()))
        raise BundleError(
            f"{path}: takes {taken or 'nothing'}; expected {', '.join(expected)} and, where there, "
            f"{TYPES}, int64 [B, L].\nExport the encoder anew, with these inputs."
        )
    return found.keys()


def check_reads(
    run: Callable[[EncodedTexts], Found], path: Path, *, vocabulary: int, max_tokens: int
) -> tuple[Found, Found]:
    """Run a graph on the tokenizer's last token and on the longest text; return what it gives.

    Raises `BundleError` where it cannot read them.
    """
    last = vocabulary - 1
    try:
        short = run(_texts([np.full(1, last)]))
    except BundleError as error:
        raise BundleError(
            f"{path}: cannot read token {last:,}, its tokenizer's last; they do not belong "
            f"together.\n{error}"
        ) from error
    try:
        return short, run(_texts([np.full(max_tokens, last)]))
    except BundleError as error:
        raise BundleError(
            f"{path}: cannot read a text of {max_tokens:,} tokens, as long as they may be.\n{error}"
        ) from error


def tokens_a_batch(
    run: Callable[[EncodedTexts, int], Floats], *, vocabulary: int, max_tokens: int, provider: str
) -> int:
    """Return how many tokens a batch may hold.

    On a processor a work must get the same bits whatever it stands with. Float32 kernels that sum
    each row by itself give them; a dynamically quantised graph, whose scale comes from the whole
    batch, does not. So it is tried, by `run` (texts, tokens a batch -> float32 [works, any]) on
    drawn texts: where a bit differs, works go `ALONE`.
    """
    if provider != CPU:
        return _TOKENS_A_BATCH_ELSEWHERE
    rng = np.random.default_rng(0)
    drawn = [
        rng.integers(0, vocabulary, length)
        for length in (min(length, max_tokens) for length in _DRAWN_LENGTHS)
        for _ in range(_TOKENS_A_BATCH // length)
    ]
    whole = run(_texts(drawn), _TOKENS_A_BATCH)
    order = rng.permutation(len(drawn))[: len(drawn) // 2]
    watched = rng.choice(len(drawn), _WATCHED * len(_DRAWN_LENGTHS), replace=False)
    for places in (order, *watched[:, None]):
        found = run(_texts([drawn[place] for place in places]), _TOKENS_A_BATCH)
        if found.tobytes() != whole[places].tobytes():
            return ALONE
    return _TOKENS_A_BATCH


def batches(
    works: EncodedTexts, names: Set[str], tokens: int
) -> Iterator[tuple[Ids, dict[str, npt.NDArray[Any]]]]:
    """Yield the places of the works of each batch, int64 [B], and its inputs, int64 [B, L].

    `names`: of the inputs that the graph takes; `tokens`: about so many a batch, or `ALONE`.
    Shortest works first, equal ones in their order.
    """
    lengths = np.diff(works.offsets)
    order = np.argsort(lengths, kind="stable")
    bounds = np.searchsorted(lengths[order], np.unique(lengths), side="left")
    for same in np.split(order, bounds[1:]):
        length = int(lengths[same[0]]) if len(same) else 1
        rows = max(1, tokens // length)
        for start in range(0, len(same), rows):
            batch = same[start : start + rows]
            places = works.offsets[batch][:, None] + np.arange(length)
            inputs = {IDS: works.ids[places], MASK: np.ones(places.shape, np.int64)}
            if TYPES in names:
                inputs[TYPES] = works.types[places]
            yield batch, inputs


def _texts(ids: Sequence[Ids]) -> EncodedTexts:
    """Return texts of these tokens, all of type 0."""
    offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
    return EncodedTexts(np.concatenate(ids), np.zeros(offsets[-1], np.int64), offsets)
