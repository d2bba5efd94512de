"""The card's words on how a student was made: what it reads, and whom it learned from."""

import scorer
from scorer.student.manifest import Distillation, MixedSettings, NgramSettings, TokenizerSettings
from scorer.train.fit import ENCODER_C, Recipe
from scorer.train.trained import SOFT_WEIGHT, EncoderRequest, Trained

_OPTIONS = {"heads": ["--encoder"], "mixed": ["--mixed", "--encoder"], "ensemble": ["--ensemble"]}


def encoder_words(asked: EncoderRequest) -> list[str]:
    """Return the options that name an encoder, its folder without those above it."""
    words = [*_OPTIONS[asked.use], asked.folder.resolve().name]
    for path in asked.unlabelled:
        words += ["--unlabelled", path.name]
    if asked.use == "ensemble" and asked.soft_weight != SOFT_WEIGHT:
        words += ["--soft-weight", f"{asked.soft_weight:.15g}"]
    return words


def how_made(trained: Trained) -> str:
    """Return the paragraphs after the command."""
    settings, training = trained.settings, trained.training
    version = f"With scorer {scorer.__version__}: "
    if isinstance(settings, NgramSettings):
        said = version + _of_ngrams(settings, trained)
        if training.distillation is not None:
            said += "\n\n" + _of_distillation(training.distillation, training.encoder_sha256)
        return said
    return version + _of_encoder(settings, trained)


def _of_ngrams(settings: NgramSettings, trained: Trained) -> str:
    strength, cost = _strength(trained.recipe), -trained.metrics["quantisation_cost"]
    return f"""the presence of {settings.ngrams:,} n-grams; a logistic regression
a head and target (C = {strength}, class-balanced, no design weights in the loss), a
multinomial one a head and axis. Weights are rounded to integers, {settings.logit_unit:.3g} each on
the logit scale, which makes every score exact; that changes the mean average precision by
{cost:+.4f}."""


def _of_encoder(settings: TokenizerSettings | MixedSettings, trained: Trained) -> str:
    tokens, beside = settings, ""
    if isinstance(settings, MixedSettings):
        tokens = settings.tokenizer
        beside = f" and on the presence of {settings.ngram.ngrams:,} n-grams"
    assert isinstance(tokens, TokenizerSettings)
    return f"""linear heads on the mean-pooled output of a frozen encoder{beside}.
The encoder (sha256 `{trained.training.encoder_sha256}`)
reads {tokens.max_tokens} tokens of a text at most; its output, {tokens.width} wide, counts by its
direction, times {tokens.scale:g}. A logistic regression a head and target (C = {ENCODER_C:g},
class-balanced, no design weights in the loss), a multinomial one a head and axis."""


def _of_distillation(done: Distillation, encoder: str | None) -> str:
    frames = "\n".join(
        f"| {data.file} | {data.rows:,} | {data.learned_from:,} | {data.labelled:,} "
        f"| {data.repeated:,} | {data.untitled:,} | `{data.sha256}` |"
        for data in done.unlabelled
    )
    return f"""It learned from labels and from an ensemble together: n-grams and an encoder's output
(sha256 `{encoder}`),
fitted on the same labels; in each fold below, on those works alone that this fold learns from. Of
what a labelled work teaches, {done.own_share:.0%} is the ensemble's opinion: half of one that knew
the work, half of one that knew no work of its venue. All unlabelled works together count
{done.soft_weight:g} times as much as all labelled ones. A head learns what its own teacher would
say, not what the other would. The n-grams are those that weigh most for categories and flags; axes
learned from the labels alone.

| unlabelled works | rows | learned from | labelled as well | there twice | no title | sha256 |
|---|--:|--:|--:|--:|--:|---|
{frames}"""


def _strength(recipe: Recipe) -> str:
    own = len(recipe.regularisation_of)
    return f"{recipe.regularisation:g}" + (f"; {own} of these have one of their own" * bool(own))
