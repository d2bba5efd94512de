"""Which n-grams a student reads: what of each text field, which metadata, the title's shape."""

from dataclasses import dataclass

from scorer.student.manifest import NgramSettings, TextField, WholeField

WHOLE_FIELDS: tuple[WholeField, ...] = ("venue", "topic", "field", "lang", "type")


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """Choices of n-grams; the defaults made the shipped bundle. A title's words are always read."""

    title_bigrams: bool = True
    title_beginnings: tuple[int, ...] = (4, 6)
    """Lengths in letters."""
    abstract_bigrams: bool = True
    venue_words: bool = True
    venue_beginnings: tuple[int, ...] = (6,)
    topic_words: bool = True
    whole: tuple[WholeField, ...] = WHOLE_FIELDS
    """Metadata whose whole value is one n-gram."""
    decade: bool = True
    shape: bool = True
    """Length of the title, and whether it is all capitals."""

    def settings(self, ngrams: int, unit: float, *, abstracts: bool) -> NgramSettings:
        """Return the encoder's settings; abstracts are read where the labels carry them.

        A field of which nothing is wanted is not among its texts at all.
        """
        title = TextField(
            field="title", bigrams=self.title_bigrams, beginnings=self.title_beginnings
        )
        text = [title]
        if abstracts:
            text.append(TextField(field="abstract", bigrams=self.abstract_bigrams))
        if self.venue_words or self.venue_beginnings:
            venue = TextField(
                field="venue", words=self.venue_words, beginnings=self.venue_beginnings
            )
            text.append(venue)
        if self.topic_words:
            text.append(TextField(field="topic"))
        return NgramSettings(
            text=tuple(text),
            whole=self.whole,
            decade=self.decade,
            shape=self.shape,
            ngrams=ngrams,
            logit_unit=unit,
        )
