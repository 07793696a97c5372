"""The few special functions that intervals and p-values need, without scipy.

Everything rests on the regularised incomplete beta function, evaluated by its continued fraction with a
prefactor in deviance form, so that large parameters lose no digits. Both x and 1 - x travel together: a tail
is never obtained by subtracting its complement from one. Scalars only; relative error about 1e-14.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_TINY = 1e-300
_FAR_LOGIT = 700.0  # exp of it is still a float
_KEPT = 4096  # answers: of many rules cited once or twice most ask the same few questions


def normal_cdf(z: float) -> float:
    """Probability that a standard normal variable is at most `z`. Source: the complementary error function."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(p: float) -> float:
    """The z with `normal_cdf(z) == p`, 0 < p < 1. Source: Wichura 1988 (AS 241), as in the standard library."""
    return _NORMAL.inv_cdf(p)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta I_x(a, b): probability that a Beta(a, b) variable is at most `x`.

    `a`, `b` > 0; x outside [0, 1] gives 0 or 1. Source: Didonato and Morris 1992.
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    return _tails(x, 1 - x, a, b)[0]


@lru_cache(_KEPT)
def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with `beta_cdf(x, a, b) == p`, 0 <= p <= 1; `a`, `b` > 0."""
    if p <= 0 or p >= 1:
        return 0.0 if p <= 0 else 1.0
    logit = _beta_logit(p, 1 - p, a, b)
    return 1 / (1 + math.exp(-logit))


def t_cdf(t: float, df: float) -> float:
    """Probability that a Student t variable with `df` > 0 degrees of freedom is at most `t`."""
    tail = t_two_sided(t, df) / 2
    return tail if t < 0 else 1 - tail


@lru_cache(_KEPT)
def t_two_sided(t: float, df: float) -> float:
    """Two-sided p-value: probability of a Student t variable at least as far from zero as `t`."""
    square = t * t
    if square == 0 or math.isinf(square):
        return 1.0 if square == 0 else 0.0
    return _tails(df / (df + square), square / (df + square), df / 2, 0.5)[0]


@lru_cache(_KEPT)
def t_quantile(p: float, df: float) -> float:
    """The t with `t_cdf(t, df) == p`, 0 < p < 1, `df` > 0."""
    tail = 2 * min(p, 1 - p)
    if tail == 1:
        return 0.0
    logit = _beta_logit(tail, 1 - tail, df / 2, 0.5)
    return math.copysign(math.sqrt(df) * math.exp(-logit / 2), p - 0.5)


def binomial_tail(k: int, n: int, p: float = 0.5) -> float:
    """Probability of at least `k` successes in `n` trials, each of probability `p`."""
    if k <= 0 or k > n:
        return 1.0 if k <= 0 else 0.0
    return beta_cdf(p, k, n - k + 1)


def _tails(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """Return I_x(a, b) and its complement, with y = 1 - x; the smaller one to full relative precision."""
    front = math.exp(_log_front(x, y, a, b))
    if x * b <= y * a:
        lower = min(1.0, front * _fraction(x, y, a, b))
        return lower, 1 - lower
    upper = min(1.0, front * _fraction(y, x, b, a))
    return 1 - upper, upper


def _log_front(x: float, y: float, a: float, b: float) -> float:
    """Return log of x^a y^b / B(a, b), the derivative of I_x by the logit of x (Loader 2000, deviance form)."""
    total = a + b
    pull = x * b - y * a
    return (
        0.5 * math.log(a * b / (2 * math.pi * total))
        + a * _log_excess(pull / a, x * total / a)
        + b * _log_excess(-pull / b, y * total / b)
        + (_stirling_error(total) - _stirling_error(a) - _stirling_error(b))
    )


def _log_excess(u: float, ratio: float) -> float:
    """Return log(1 + u) - u without cancellation near 0; `ratio` is 1 + u, exact where u is near -1."""
    if abs(u) > 0.3:
        return (math.log(ratio) if ratio > 0 else -math.inf) - u
    r = u / (2 + u)
    square = r * r
    series = 0.0
    for k in range(25, 1, -2):
        series = 1 / k + square * series
    return r * (2 * square * series - u)


def _stirling_error(z: float) -> float:
    """Return log gamma(z) less Stirling's approximation of it."""
    if z < 10:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + _HALF_LOG_2PI)
    inverse = 1 / (z * z)
    series = 0.0
    for term in reversed(_STIRLING):
        series = term + inverse * series
    return series / z


def _fraction(x: float, y: float, a: float, b: float) -> float:
    """Return I_x(a, b) / (x^a y^b / B(a, b)) for x below the mean a/(a + b).

    Continued fraction of Didonato and Morris 1992 (BFRAC), by the modified Lentz method.
    """
    above = y * a - x * b + 1
    value = c = _away_from_zero(a / (a + 1) * above)
    d = 0.0
    for n in range(1, 100_000):
        spread = a + 2 * n - 1
        numerator = (a + n - 1) * (a + b + n - 1) / (spread * spread) * n * (b - n) * x * x
        denominator = n + n * (b - n) * x / spread + (a + n) / (spread + 2) * (above + n * (1 + y))
        d = 1 / _away_from_zero(denominator + numerator * d)
        c = _away_from_zero(denominator + numerator / c)
        value *= c * d
        if abs(c * d - 1) < 4e-16:
            break
    return 1 / value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _beta_logit(p: float, q: float, a: float, b: float) -> float:
    """Return the logit of the Beta(a, b) quantile at p, q = 1 - p.

    Newton's method on log I as a function of the logit: increasing and concave, so it converges from anywhere.
    """
    if p > q:
        return -_beta_logit(q, p, b, a)
    goal = math.log(p)
    logit = math.log(a / b) + normal_quantile(p) * math.sqrt(1 / a + 1 / b)
    for _ in range(200):
        logit = min(_FAR_LOGIT, max(-_FAR_LOGIT, logit))
        log_lower, slope = _log_lower(1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit)), a, b)
        step = (goal - log_lower) / max(slope, _TINY)
        logit += step
        if abs(step) <= 1e-12 * (1 + abs(logit)):  # convergence is quadratic: what is left is rounding
            break
    return min(_FAR_LOGIT, max(-_FAR_LOGIT, logit))


def _log_lower(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """Return log I_x(a, b) and its slope by the logit of x, also where I itself would underflow."""
    log_front = _log_front(x, y, a, b)
    if x * b <= y * a:
        share = _fraction(x, y, a, b)
        return log_front + math.log(share), 1 / share
    front = math.exp(log_front)
    lower = max(1 - front * _fraction(y, x, b, a), _TINY)
    return math.log(lower), front / lower
