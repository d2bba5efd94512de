"""The constants of `model.onnx`, read by Google's protobuf.

Of ONNX's schema (onnx.proto) only the few fields are declared that constants need; nothing of the
graph runs.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from scorer.errors import BundleError

_FLOAT: Final = 1  # TensorProto.DataType.FLOAT


def graph_constants(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """Return the graph's float32 constants by name."""
    model = _schema()["ModelProto"]()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise BundleError(f"{path}: not an ONNX graph ({error}).") from error
    found = {}
    for tensor in model.graph.initializer:
        if tensor.data_type == _FLOAT and len(tensor.raw_data) == 4 * np.prod(tensor.dims):
            found[tensor.name] = np.frombuffer(tensor.raw_data, "<f4").reshape(tensor.dims)
    return found


@cache
def _schema() -> dict[str, Any]:
    """Return classes for ModelProto, GraphProto and TensorProto with the fields read here.

    Numbers are those of onnx.proto; a pool of its own, for the package onnx fills the common one.
    """
    field = descriptor_pb2.FieldDescriptorProto
    whole = descriptor_pb2.FileDescriptorProto(name="constants.proto", package="scorer.constants")
    messages: dict[str, list[tuple[str, int, int, int, str | None]]] = {
        "ModelProto": [("graph", 7, field.LABEL_OPTIONAL, field.TYPE_MESSAGE, "GraphProto")],
        "GraphProto": [("initializer", 5, field.LABEL_REPEATED, field.TYPE_MESSAGE, "TensorProto")],
        "TensorProto": [
            ("dims", 1, field.LABEL_REPEATED, field.TYPE_INT64, None),
            ("data_type", 2, field.LABEL_OPTIONAL, field.TYPE_INT32, None),
            ("name", 8, field.LABEL_OPTIONAL, field.TYPE_STRING, None),
            ("raw_data", 9, field.LABEL_OPTIONAL, field.TYPE_BYTES, None),
        ],
    }
    for message, fields in messages.items():
        described = whole.message_type.add(name=message)
        for name, number, label, kind, of in fields:
            one = described.field.add(name=name, number=number, label=label, type=kind)
            if of is not None:
                one.type_name = f".{whole.package}.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(whole.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{whole.package}.{name}"))
        for name in messages
    }
