"""What heads score: targets, as typed data that bundles, policies and manifests share."""

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

INSUFFICIENT_PAYLOAD: Final = "insufficient_payload"
"""The category of works that cannot be judged, and the segment of those without a usable title."""

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]


class Strict(BaseModel):
    """Immutable data without surprises: an unknown key is an error, not a silent loss."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Label(Strict):
    """A name that people read."""

    en: str
    fr: str


class Binary(Strict):
    """A target with a yes or no: a category or a flag."""

    name: Name
    kind: Literal["category", "flag"]
    label: Label


class Axis(Strict):
    """A target with one value a work."""

    name: Name
    label: Label
    values: Annotated[tuple[Name, ...], Field(min_length=1, max_length=255)]
    value_labels: tuple[Label, ...]
    only_with: Name | None = None
    """The category whose call this axis depends on (`domain` on `metaresearch`)."""

    @model_validator(mode="after")
    def _one_label_a_value(self) -> Self:
        if len(self.values) != len(self.value_labels):
            raise ValueError(f"axis {self.name}: as many labels as values are needed")
        if len(set(self.values)) != len(self.values):
            raise ValueError(f"axis {self.name}: values must be distinct")
        return self


class Head(Strict):
    """A head, and the targets its teacher gave too little to learn from (scores there are 0)."""

    name: Name
    unavailable: tuple[Name, ...] = ()


class Targets(Strict):
    """Heads, binary targets (categories, then flags) and axes, all in the order of every output."""

    heads: Annotated[tuple[Head, ...], Field(min_length=1)]
    binary: Annotated[tuple[Binary, ...], Field(min_length=1, max_length=63)]
    axes: tuple[Axis, ...] = ()

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        heads = [head.name for head in self.heads]
        targets = [t.name for t in self.binary] + [a.name for a in self.axes]
        for kind, names in (("heads", heads), ("targets", targets)):
            if len(set(names)) != len(names):
                raise ValueError(f"{kind} must have distinct names")
        if len(set(self.score_columns)) != len(self.score_columns):
            raise ValueError("names of heads and targets make the same score column twice")
        if "binary" in [axis.name for axis in self.axes]:
            raise ValueError("no axis may be named binary")
        if {"candidate", "consensus"} & set(heads):
            raise ValueError("no head may be named candidate or consensus")
        for head in self.heads:
            if set(head.unavailable) - set(targets):
                raise ValueError(f"head {head.name}: unavailable names an unknown target")
        for axis in self.axes:
            if axis.only_with is not None and axis.only_with not in self.categories:
                raise ValueError(f"axis {axis.name}: only_with names no category")
        kinds = [target.kind for target in self.binary]
        if kinds != sorted(kinds):
            raise ValueError("categories come before flags")
        return self

    @property
    def head_names(self) -> list[str]:
        """Names of the heads."""
        return [head.name for head in self.heads]

    @property
    def binary_names(self) -> list[str]:
        """Names of the categories, then of the flags."""
        return [target.name for target in self.binary]

    @property
    def score_columns(self) -> list[str]:
        """Names of the score columns, in the order of every output."""
        return [score_column(h, t) for h in self.head_names for t in self.binary_names]

    @property
    def categories(self) -> list[str]:
        """Names of the categories."""
        return [target.name for target in self.binary if target.kind == "category"]

    @property
    def flags(self) -> list[str]:
        """Names of the flags."""
        return [target.name for target in self.binary if target.kind == "flag"]


def score_column(head: str, target: str) -> str:
    """Return the name of the column that holds a head's scores for a binary target."""
    return f"score_{head}_{target}"
