"""Linear heads on soft labels: they are scikit-learn's where labels are hard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from scorer.train.soft import Evidence, Stop, fit_soft, sigmoid, softmax

TIGHT = Stop(slope=1e-5, steps=2000)
WORKS, NGRAMS, WIDTH = 120, 15, 4


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    rng = np.random.default_rng(0)
    ngrams = csr_matrix((rng.random((WORKS, NGRAMS)) < 0.3).astype(np.float32))
    return Evidence(ngrams, rng.normal(0, 1, (WORKS, WIDTH)).astype(np.float32))


def both(evidence: Evidence) -> csr_matrix:
    return hstack([evidence.ngrams, csr_matrix(evidence.vectors)]).tocsr()


def test_hard_labels_give_scikit_learns_regressions(evidence: Evidence) -> None:
    rng = np.random.default_rng(1)
    said = rng.random((WORKS, 3)) < sigmoid(evidence.times(rng.normal(0, 1, (19, 3))))
    weights = np.where(said, 2.5, 0.5).astype(np.float32)
    strength = np.array([0.1, 1.0, 3.0])
    found = fit_soft(evidence, said.astype(np.float32), weights, strength, stop=TIGHT)
    assert found.shape == (NGRAMS + WIDTH + 1, 3)
    for column in range(3):
        model = LogisticRegression(C=strength[column], tol=1e-8, max_iter=5000)
        model.fit(both(evidence), said[:, column], sample_weight=weights[:, column])
        assert found[:-1, column] == pytest.approx(model.coef_[0], abs=2e-3)
        assert found[-1, column] == pytest.approx(model.intercept_[0], abs=2e-3)


def test_an_axis_gives_scikit_learns_multinomial_regression(evidence: Evidence) -> None:
    values = np.random.default_rng(2).integers(0, 3, WORKS)
    shares = np.eye(3, dtype=np.float32)[values]
    weights = np.linspace(0.5, 2, WORKS, dtype=np.float32)[:, None]
    found = fit_soft(evidence, shares, weights, np.full(3, 0.5), link="softmax", stop=TIGHT)
    model = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000)
    model.fit(both(evidence), values, sample_weight=weights[:, 0])
    assert pytest.approx(model.coef_, abs=2e-3) == found[:-1].T
    chances = softmax(evidence.times(found[:-1].astype(np.float32)) + found[-1])
    assert chances == pytest.approx(model.predict_proba(both(evidence)), abs=2e-3)


def test_a_share_is_so_many_works_that_say_yes_and_the_others_that_say_no(
    evidence: Evidence,
) -> None:
    """What a soft label means: the work twice, once yes and once no, weighed by the share."""
    share = np.random.default_rng(3).random(WORKS).astype(np.float32)
    found = fit_soft(
        evidence, share[:, None], np.ones((WORKS, 1), np.float32), np.ones(1), stop=TIGHT
    )
    model = LogisticRegression(C=1.0, tol=1e-8, max_iter=5000)
    twice = hstack([both(evidence).T, both(evidence).T]).T.tocsr()
    said = np.repeat([1, 0], WORKS)
    model.fit(twice, said, sample_weight=np.concatenate([share, 1 - share]))
    assert found[:-1, 0] == pytest.approx(model.coef_[0], abs=2e-3)


def test_works_that_weigh_nothing_change_no_bit_but_their_own(evidence: Evidence) -> None:
    shares = (np.arange(WORKS) % 3 == 0).astype(np.float32)[:, None]
    weights = np.ones((WORKS, 1), np.float32)
    weights[60:] = 0
    first = fit_soft(evidence, shares, weights, np.ones(1))
    shares[60:] = 1 - shares[60:]
    assert np.array_equal(first, fit_soft(evidence, shares, weights, np.ones(1)))


@given(st.lists(st.floats(-200, 200), min_size=2, max_size=6))
def test_links_stay_between_0_and_1_and_shares_add_up(logits: list[float]) -> None:
    given_ = np.array([logits], np.float32)
    assert ((sigmoid(given_) >= 0) & (sigmoid(given_) <= 1)).all()
    assert softmax(given_).sum() == pytest.approx(1, abs=1e-5)
    assert sigmoid(-given_) == pytest.approx(1 - sigmoid(given_), abs=1e-6)
