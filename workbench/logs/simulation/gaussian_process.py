"""A Gaussian process over coordinates: what a measurement is expected to give, and how unsure that is.

Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: Matérn's covariance with a length per
coordinate, lengths and noise by the most probable value, the amplitude in closed form.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model import Matrix

Floats = NDArray[np.float64]
_Float = TypeVar("_Float", np.float32, np.float64)

_ROOT5 = 5.0**0.5
JITTER = 1e-8
"""Added to the noise, so that rounding leaves a matrix positive."""
SURE = 1e-6
"""Variance relative to the amplitude that is always left: what single precision can tell from none."""


class Prior:
    """What lengths and noise are like before anything was measured, as mean and spread of their logarithms. Chosen."""

    LENGTH, LENGTH_SPREAD = 0.5, 1.0
    NOISE, NOISE_SPREAD = 1e-3, 1.5
    #: Limits of both, in the unit cube and relative to the amplitude.
    LENGTHS, NOISES = (0.02, 30.0), (1e-5, 1.0)


class GaussianProcess:
    """A process that is conditioned on measurements at some points.

    Parameters
    ----------
    dimensions : int
        Coordinates of a point, each of the order of 1.

    Attributes
    ----------
    theta : array [dimensions + 1]
        Logarithms of the lengths and, last, of the noise's variance relative to the amplitude.
    """

    def __init__(self, dimensions: int) -> None:
        length = np.log(Prior.LENGTH) + 0.25 * np.log(max(1, dimensions))
        self._mean = np.append(np.full(dimensions, length), np.log(Prior.NOISE))
        self._spread = np.append(np.full(dimensions, Prior.LENGTH_SPREAD), Prior.NOISE_SPREAD)
        low, high = np.log(Prior.LENGTHS), np.log(Prior.NOISES)
        self._least = np.append(np.full(dimensions, low[0]), high[0])
        self._most = np.append(np.full(dimensions, low[1]), high[1])
        self.theta = self._mean.copy()
        self._points = np.zeros((0, dimensions))
        self._inverse = np.zeros((0, 0))
        self._asked: Matrix | None = None
        self._projected = np.zeros((0, 0))

    def __len__(self) -> int:
        return len(self._points)

    def fit(self, points: Floats, y: Floats, steps: int = 12) -> None:
        """Choose lengths and noise for measurements `y` ``[n]`` at points ``[n, D]``, from those that there are.

        Steps follow the sign of the gradient (Rprop), so there is no step size to choose.
        """
        dimensions = points.shape[1]
        apart = np.ascontiguousarray(((points[:, None] - points[None]) ** 2).transpose(2, 0, 1)).reshape(dimensions, -1)
        theta, best = self.theta.copy(), (np.inf, self.theta)
        step, before = np.full(len(theta), 0.2), np.zeros(len(theta))
        for _ in range(steps):
            value, slope = self._improbability(theta, apart, y)
            if value < best[0]:
                best = (value, theta)
            sign = np.sign(slope)
            grown = np.where(sign * before > 0, step * 1.3, np.where(sign * before < 0, step * 0.5, step))
            step, before = np.clip(grown, 1e-3, 1.0), sign
            theta = np.clip(theta - sign * step, self._least, self._most)
        self.theta = best[1].copy()

    def _improbability(self, theta: Floats, apart: Floats, y: Floats) -> tuple[float, Floats]:
        """Negative log of the posterior of `theta`, but for a constant, and its gradient."""
        n = len(y)
        scale, noise = np.exp(-2.0 * theta[:-1]), np.exp(theta[-1])
        squared = (scale @ apart).reshape(n, n)
        radius = np.sqrt(squared)
        tail = np.exp(-_ROOT5 * radius)
        near = (1.0 + _ROOT5 * radius) * tail
        matrix = near + 5.0 / 3.0 * squared * tail
        matrix.flat[:: n + 1] += noise + JITTER
        inverse = np.linalg.inv(matrix)
        weights = inverse @ y
        amplitude = max(float(y @ weights) / n, 1e-12)
        _, volume = np.linalg.slogdet(matrix)
        off = (theta - self._mean) / self._spread
        value = 0.5 * n * np.log(amplitude) + 0.5 * volume + 0.5 * float(off @ off)
        pull = np.outer(weights, weights) / amplitude - inverse
        slope = off / self._spread
        slope[:-1] -= 0.5 * scale * (apart @ (pull * near).ravel()) * 5.0 / 3.0
        slope[-1] -= 0.5 * float(np.trace(pull)) * noise
        return value, slope

    def condition(self, points: Floats) -> None:
        """Take the points of all measurements ``[n, D]`` with the lengths as they are now."""
        self._points = points / np.exp(self.theta[:-1])
        matrix = _matern(self._points, self._points)
        matrix.flat[:: len(points) + 1] += np.exp(self.theta[-1]) + JITTER
        self._inverse = np.linalg.inv(np.linalg.cholesky(matrix))
        self._asked = None

    def add(self, point: Floats) -> None:
        """Take one more point ``[D]``: a row of the triangle."""
        scaled = point[None] / np.exp(self.theta[:-1])
        known = self._inverse @ _matern(self._points, scaled)[:, 0] if len(self) else np.zeros(0)
        left = np.sqrt(max(1.0 + np.exp(self.theta[-1]) - float(known @ known), JITTER))
        n = len(self)
        grown = np.zeros((n + 1, n + 1))
        grown[:n, :n], grown[n, :n], grown[n, n] = self._inverse, -(known @ self._inverse) / left, 1.0 / left
        self._inverse, self._points = grown, np.vstack([self._points, scaled])

    def posterior(self, x: Matrix, y: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation ``[N]`` at points ``[N, D]`` for measurements `y` ``[n]``.

        A matrix that is asked about again only costs what was measured since.
        """
        weights = self._inverse @ y
        amplitude = max(float(weights @ weights) / max(1, len(y)), 1e-12)
        self._project(x)
        mean = weights.astype(np.float32) @ self._projected
        return mean.astype(np.float64), np.sqrt(np.maximum(self._left, SURE) * amplitude)

    def _project(self, x: Matrix) -> None:
        """Single precision: most of the time goes into this matrix of measurements by points."""
        if self._asked is not x:
            self._asked, self._scaled = x, (x / np.exp(self.theta[:-1])).astype(np.float32)
            self._projected, self._left = np.zeros((0, len(x)), np.float32), np.ones(len(x))
        done = len(self._projected)
        if done < len(self):
            near = _matern(self._points.astype(np.float32), self._scaled)
            new = self._inverse[done:].astype(np.float32) @ near
            self._projected = np.vstack([self._projected, new])
            self._left = self._left - np.einsum("ij,ij->j", new, new)

    def likeness(self, x: Matrix, point: Floats) -> Floats:
        """Return how alike points ``[N, D]`` are to one: 1 at the point itself."""
        length = np.exp(self.theta[:-1])
        alike: Floats = _matern(x / length, point[None] / length)[:, 0]
        return alike


def _matern(a: NDArray[_Float], b: NDArray[_Float]) -> NDArray[_Float]:
    """Covariance ``[len(a), len(b)]`` for smoothness 5/2, amplitude and lengths 1."""
    squared = a @ (-2.0 * b.T)
    squared += (a * a).sum(axis=1)[:, None]
    squared += (b * b).sum(axis=1)[None]
    np.maximum(squared, 0.0, out=squared)
    radius = np.sqrt(squared)
    radius *= _ROOT5
    squared *= 5.0 / 3.0
    squared += radius
    squared += 1.0
    np.exp(np.negative(radius, out=radius), out=radius)
    squared *= radius
    return squared


def log_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """Return the logarithm of what normal values ``[N]`` are expected to exceed `best` by; below it counts as 0."""
    z = (mean - best) / deviation
    near = z > -FAR
    usual = np.where(near, z, 0.0)
    share = 0.5 * np.asarray(_erfc(-usual / 2.0**0.5), np.float64)
    gain = np.log(usual * share + np.exp(-0.5 * usual * usual) / ROOT_2PI)
    far = np.where(near, -FAR, z)  # the first term of the series there
    out: Floats = np.log(deviation) + np.where(near, gain, -0.5 * far * far - np.log(ROOT_2PI * far * far))
    return out


FAR = 25.0
"""Deviations below the best from which on a series takes the place of the difference, whose rounding shows there."""
ROOT_2PI = (2.0 * math.pi) ** 0.5

_erfc = np.frompyfunc(math.erfc, 1, 1)
