"""What probability does LETOR's own t-test print for two systems?

The significance scripts that ship with LETOR 3.0, LETOR 4.0 and MSLR share one formula: a paired t on the
differences per query with the one-pass variance, and the one-tailed upper probability of Student's t from the
Perl module Statistics::Distributions, which knows π to ten decimals only. The rounded π shows in the printed
digits, so a modern library cannot replace it; everything here follows the original to the last digit of p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pippin.errors import DataError
from pippin.frozen import Frozen

PERL_PI = 3.1415926536
SIGNIFICANT_DIGITS = 5


class LetorT(Frozen):
    """One line of LETOR's t-test: size, means, t, and the one-tailed upper p with its printed text."""

    n: int
    mean_a: float
    mean_b: float
    t: float
    p: float

    @property
    def df(self) -> int:
        """Degrees of freedom, n − 1."""
        return self.n - 1

    @property
    def p_text(self) -> str:
        """The p value as the scripts print it."""
        return format_p(self.p)


def paired_t_letor(a: Sequence[float], b: Sequence[float]) -> LetorT:
    """Paired t of LETOR's scripts: is A better than B?

    d = a − b; s² = (Σd² − n·mean²)/(n − 1), 0 if negative; t = mean/(s/√n), 0 if s = 0; p = P(T > t), df = n
    − 1. Sums run in the order given. Source: Eval-Ttest of LETOR 3.0 and 4.0 over the Perl modules
    Statistics::DependantTTest 0.03 and Statistics::Distributions 1.02.

    >>> paired_t_letor([0.5, 0.75, 1.0], [0.25, 0.75, 0.5]).p_text
    '0.11270'
    """
    if len(a) != len(b):
        raise DataError(f"a paired t-test needs equally many values on both sides, not {len(a)} and {len(b)}")
    n = len(a)
    if n < 2:
        raise DataError(f"a paired t-test needs at least two queries, not {n}")
    total_a = total_b = total = squares = 0.0
    for x, y in zip(a, b, strict=True):
        d = x - y
        total_a += x
        total_b += y
        total += d
        squares += d**2
    if not math.isfinite(squares):
        raise DataError("a paired t-test needs finite values on both sides")
    mean = total / n
    variance = (squares - n * mean**2) / (n - 1)
    # Rounding can push the one-pass variance below zero; the original calls that zero, and t with it.
    deviation = math.sqrt(variance) if variance > 0 else 0.0
    t = mean / (deviation / math.sqrt(n)) if deviation else 0.0
    return LetorT(n=n, mean_a=total_a / n, mean_b=total_b / n, t=t, p=upper_t(n - 1, t))


def upper_t(df: int, t: float) -> float:
    """Upper tail P(T > t) of Student's t, as Statistics::Distributions 1.02 sums it.

    With θ = atan(t/√df) and the finite series of Abramowitz and Stegun 26.7.3 and 26.7.4:
    df even: 1/2 − (sin θ/2)·Y;  df odd: 1/2 − θ/π − (sin θ cos θ/π)·Y, without the last term for df = 1;
    Y = 1 + c₁z(1 + c₂z(…)), z = cos²θ; never below 0.

    >>> upper_t(4, 0.0)
    0.5
    """
    if df < 1:
        raise DataError(f"Student's t needs at least one degree of freedom, not {df}")
    theta = math.atan2(t / math.sqrt(df), 1)
    cosine_squared = math.cos(theta) ** 2
    series = 1.0
    for i in range(df - 2, 1, -2):
        series = 1 + (i - 1) / i * cosine_squared * series
    if df % 2 == 0:
        centre, weight = 0.5, math.sin(theta) / 2
    else:
        centre = 0.5 + theta / PERL_PI
        weight = 0.0 if df == 1 else math.sin(theta) * math.cos(theta) / PERL_PI
    return max(0.0, 1 - centre - weight * series)


def format_p(p: float) -> str:
    """Five significant digits without an exponent, as Statistics::Distributions 1.02 prints a probability.

    Decimals: |trunc(log10 p − 5)| with log10 p = ln p / ln 10; zero prints as a bare 0.

    >>> format_p(0.95846123), format_p(0.0000116481), format_p(0.5), format_p(0.0)
    ('0.95846', '0.000011648', '0.50000', '0')
    """
    if p == 0:
        return "0"
    decimals = abs(int(math.log(abs(p)) / math.log(10) - SIGNIFICANT_DIGITS))
    return f"{p:.{decimals}f}"
