"""The targets of graphs made by hand: two heads of two binary targets and one axis each."""

from scorer.targets import Axis, Binary, Head, Label, Targets

LABEL = Label(en="Label", fr="Étiquette")
TARGETS = Targets(
    heads=(Head(name="a"), Head(name="b")),
    binary=(
        Binary(name="one", kind="category", label=LABEL),
        Binary(name="mark", kind="flag", label=LABEL),
    ),
    axes=(Axis(name="kind", label=LABEL, values=("x", "y", "z"), value_labels=(LABEL,) * 3),),
)
OUTPUTS = 2 * (2 + 3)
