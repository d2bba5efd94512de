"""onnxruntime: which providers it has here, and graphs opened and run without surprises."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from scorer.errors import BundleError, UsageError
from scorer.student import CPU
from scorer.targets import Targets

_ENDING: Final = "ExecutionProvider"
# A provider of this name sends works to a service of its own; it computes nothing here.
_ELSEWHERE: Final = ("azure",)
# The key under which a protobuf tensor names the file that holds its data; its length byte may be
# written in more than one way.
_EXTERNAL_DATA: Final = re.compile(rb"\x0a(?:\x08|\x88\x80*\x00)location")

Floats = npt.NDArray[np.float32]


def providers() -> dict[str, str]:
    """Return the providers of this onnxruntime: short name, as `--provider` has it, -> its name."""
    names = {name.removesuffix(_ENDING).lower(): name for name in ort.get_available_providers()}
    return {short: name for short, name in names.items() if short not in _ELSEWHERE}


def check_provider(provider: str) -> None:
    """Raise `UsageError` where onnxruntime has no such provider here."""
    if provider not in (found := providers()):
        raise UsageError(
            f"--provider {provider}: onnxruntime has none of that name here; it has "
            f"{', '.join(sorted(found))}.\n"
            "Name one of these, or install a build of onnxruntime that has it."
        )


def open_graph(path: Path, provider: str = CPU) -> ort.InferenceSession:
    """Open a graph that one thread at a time runs; raise `BundleError` where it cannot be.

    `provider`: one of `providers`; raises `UsageError` where it is there and does not start.
    """
    check_provider(provider)
    graph = path.read_bytes()
    if _EXTERNAL_DATA.search(graph):
        raise BundleError(
            f"{path}: keeps weights in another file, which may lie anywhere; not "
            "loaded.\nA bundle holds its whole graph in model.onnx: save it as one file."
        )
    options = ort.SessionOptions()
    # Works are spread over threads a shard at a time; a graph of its own needs just one.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors come back as exceptions; the log would say them twice
    wanted = providers()[provider]
    named = list(dict.fromkeys([wanted, providers()[CPU]]))
    try:
        session = ort.InferenceSession(graph, options, providers=named)
    except Exception as error:  # onnxruntime raises its own, undocumented types
        raise BundleError(f"{path}: onnxruntime cannot load it ({reason(error)}).") from error
    if wanted not in session.get_providers():  # it goes on without, and says so in its log alone
        raise UsageError(
            f"--provider {provider}: onnxruntime has it, but it does not start on this machine.\n"
            "Check its driver and libraries, or leave the option out."
        )
    return session


def reason(error: Exception) -> str:
    """Return the first line of what onnxruntime says."""
    return str(error).splitlines()[0][:200]


def promised_shapes(targets: Targets) -> dict[str, int]:
    """Return the outputs that contract 3 promises: name -> width."""
    shapes: dict[str, int] = {}
    for head in targets.head_names:
        shapes[f"{head}/binary"] = len(targets.binary)
        shapes |= {f"{head}/{axis.name}": len(axis.values) for axis in targets.axes}
    return shapes


def check_outputs(session: ort.InferenceSession, path: Path, shapes: Mapping[str, int]) -> None:
    """Raise `BundleError` unless a graph declares the promised outputs."""
    outputs = {node.name: node for node in session.get_outputs()}
    for name, width in shapes.items():
        if name not in outputs:
            raise BundleError(f"{path}: no output {name!r}, which the manifest promises.")
        found = outputs[name].shape
        if found[1:] != [width] or outputs[name].type != "tensor(float)":
            raise BundleError(
                f"{path}: output {name!r} is {outputs[name].type} {found}, "
                f"expected float32 [B, {width}]."
            )


def run_graph(
    session: ort.InferenceSession, inputs: Mapping[str, npt.NDArray[Any]], shapes: Mapping[str, int]
) -> list[Floats]:
    """Run a graph; what it promised by its declared shapes is checked on what it gives."""
    works = len(next(iter(inputs.values())))
    try:
        found: list[Floats] = session.run(list(shapes), inputs)
    except Exception as error:  # onnxruntime raises its own, undocumented types
        raise BundleError(f"model.onnx: failed ({str(error).splitlines()[0]}).") from error
    for (name, width), scores in zip(shapes.items(), found, strict=True):
        if scores.shape != (works, width):
            raise BundleError(
                f"model.onnx: output {name!r} has shape {list(scores.shape)}, expected "
                f"{[works, width]}.\nTrain the bundle again."
            )
    return found
