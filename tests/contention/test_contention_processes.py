"""Compares our Gaussian processes and ridge regression with those of scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from slowpath.contention.memory.learners import Ridge
from slowpath.contention.memory.regressors import GaussianProcess, Likelihood, Roughness, scale_of
from slowpath.core.arrays import Floats

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn, about bounds of kernels

BOTH: tuple[Roughness, ...] = (0.5, 1.5)


def rows(count: int, features: int, seed: int) -> tuple[Floats, Floats]:
    """Return random training rows: features and targets.

    Some rows have equal features, like repeated measurements.
    """
    draw = np.random.default_rng(seed)
    x = draw.uniform(-2, 3, (count, features)) * 10.0 ** draw.integers(-2, 3, features)
    x[count // 2] = x[0]
    y = 5 + np.sin(scale_of(x)(x).sum(axis=1)) + 0.1 * draw.standard_normal(count)
    return x, y


def of_scikit_learn(features: int, roughness: Roughness) -> GaussianProcessRegressor:
    shape = Matern(np.ones(features), (0.1, 100.0), nu=roughness)
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * shape + WhiteKernel(0.05, (1e-3, 1.0))
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)


@pytest.mark.parametrize("roughness", BOTH)
@pytest.mark.parametrize(("count", "features"), [(8, 1), (25, 3), (60, 9)])
def test_processes_are_those_of_scikit_learn(
    roughness: Roughness, count: int, features: int
) -> None:
    x, y = rows(count, features, count)
    new = rows(30, features, 99)[0]
    ours = GaussianProcess(roughness).fit(x, y)
    expected_model = make_pipeline(StandardScaler(), of_scikit_learn(features, roughness))
    process = expected_model.fit(x, y).steps[-1][1]
    value = process.log_marginal_likelihood(process.kernel_.theta)
    found = process.log_marginal_likelihood(ours.theta)
    assert found >= value - 1e-3 * abs(value)
    # Flat likelihoods end the search at slightly different points, so compare with equal kernels.
    same = GaussianProcess(roughness, process.kernel_.theta).fit(x, y)
    middle, spread = same.predict(new, return_std=True)
    expected, deviation = expected_model.predict(new, return_std=True)
    np.testing.assert_allclose(middle, expected, rtol=1e-7)
    np.testing.assert_allclose(same.predict(new), expected, rtol=1e-7)
    np.testing.assert_allclose(spread, deviation, rtol=1e-6)
    np.testing.assert_allclose(ours.predict(new), expected, rtol=0.01)


@pytest.mark.parametrize("roughness", BOTH)
@pytest.mark.parametrize("seed", range(3))
def test_likelihood_and_slope(roughness: Roughness, seed: int) -> None:
    x, y = rows(20, 4, seed)
    x, y = scale_of(x)(x), scale_of(y)(y)
    theta = np.log(np.random.default_rng(seed).uniform(0.2, 3, 6))
    ours = Likelihood(x, y, roughness)
    process = of_scikit_learn(4, roughness)
    process.optimizer = None
    process.fit(x, y)
    value, slope = process.log_marginal_likelihood(theta, eval_gradient=True)
    assert ours.loss(theta)[0] == pytest.approx(-value)
    np.testing.assert_allclose(ours.loss(theta)[1], -slope, rtol=1e-6, atol=1e-8)
    error = check_grad(lambda at: ours.loss(at)[0], lambda at: ours.loss(at)[1], theta)
    assert error < 1e-3 * np.linalg.norm(slope)


@pytest.mark.parametrize(("count", "features"), [(8, 1), (30, 4), (12, 20)])
def test_ridges_are_those_of_scikit_learn(count: int, features: int) -> None:
    x, y = rows(count, features, 7)
    new = rows(30, features, 99)[0]
    expected = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 16))).fit(x, y)
    np.testing.assert_allclose(Ridge().fit(x, y).predict(new), expected.predict(new), rtol=1e-8)


def test_features_and_targets_of_one_value_are_no_division_by_zero() -> None:
    x = np.column_stack([np.full(9, 0.1), np.arange(9.0)])
    for y in (np.arange(9.0), np.full(9, 0.3)):
        for one in (GaussianProcess(0.5), GaussianProcess(1.5), Ridge()):
            found = one.fit(x, y).predict(x)
            np.testing.assert_allclose(found, y, atol=1.0)
            assert np.isfinite(found).all()
