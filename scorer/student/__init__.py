"""The student: its bundle, its encoder, its scores."""

from typing import Final

DEFAULT_MODEL: Final = "metacan-ngram"
"""The shipped bundle that is used where none is named."""
CPU: Final = "cpu"
"""The provider of onnxruntime that is always there, the processor."""
