"""Rank correlation coefficients: Kendall's τ, AP correlation, Spearman's ρ, rank-biased overlap.

Each function states its formula and source. `pippin.correlate` computes any of them by name.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from pippin.evaluation.correlation import (
    COEFFICIENTS,
    Correlation,
    CorrelationInterval,
    Correlations,
    OverlapTies,
    Top,
    bootstrap,
    clusters,
    correlate,
    correlate_vectors,
)

__all__ = [
    "COEFFICIENTS",
    "Correlation",
    "CorrelationInterval",
    "Correlations",
    "bootstrap",
    "clusters",
    "correlate",
    "rbo",
    "spearman",
    "tau",
    "tau_a",
    "tau_ap",
    "tau_ap_a",
    "tau_ap_b",
    "tau_ap_ties",
    "tau_ap_truth_ties",
    "tau_b",
    "tau_truth_ties",
]


def tau(x: ArrayLike, y: ArrayLike, *, best: Top = "high") -> float:
    """Return Kendall's τ of two rankings without ties.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    (concordant − discordant) / (n(n−1)/2). Kendall 1938; eq. 1 of Urbano and Marrero, ICTIR 2017.

    Examples
    --------
    >>> tau([1, 2, 3, 4, 5, 6], [2, 3, 1, 4, 6, 5], best="low")
    0.6
    """
    return correlate_vectors(x, y, "tau", best=best).value


def tau_a(x: ArrayLike, y: ArrayLike, *, best: Top = "high", tolerance: float = 0.0) -> float:
    """Return Kendall's τ_a: the accuracy of y, which may have ties, against the truth x without ties.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.
    tolerance : float, default 0.0
        Items whose values differ by less are tied.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    (concordant − discordant) / (n(n−1)/2). Woodbury 1940; eq. 4 of Urbano and Marrero 2017. The tolerance applies
    to y.

    Examples
    --------
    >>> tau_a([1, 2, 3, 4, 5, 6], [2, 4, 1, 4, 6, 4], best="low")
    0.4
    """
    return correlate_vectors(x, y, "tau_a", best=best, tolerance=tolerance).value


def tau_b(x: ArrayLike, y: ArrayLike, *, best: Top = "high", tolerance: float = 0.0) -> float:
    """Return Kendall's τ_b: the agreement of two rankings with ties; NaN if all items of one are tied.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.
    tolerance : float, default 0.0
        Items whose values differ by less are tied.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    (concordant − discordant) / √((N − t_x)(N − t_y)), N = n(n−1)/2, t = tied pairs. Student 1921; eq. 9 of
    Urbano and Marrero 2017.

    Examples
    --------
    >>> round(tau_b([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], best="low"), 3)
    0.386
    """
    return correlate_vectors(x, y, "tau_b", best=best, tolerance=tolerance).value


def tau_ap(x: ArrayLike, y: ArrayLike, *, best: Top = "high") -> float:
    """Return the AP correlation of y with the truth x, without ties; errors at the top of y weigh most.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    2/(n−1) · Σ_{i=2..n} (concordant above i) / (i−1) − 1, i = position in y. Yilmaz, Aslam and Robertson,
    SIGIR 2008; eq. 3 of Urbano and Marrero 2017.

    Examples
    --------
    >>> round(tau_ap([1, 2, 3, 4, 5, 6], [2, 3, 1, 4, 6, 5], best="low"), 2)
    0.32
    """
    return correlate_vectors(x, y, "tau_ap", best=best).value


def tau_ap_a(x: ArrayLike, y: ArrayLike, *, best: Top = "high") -> float:
    """Return the AP correlation as accuracy of y, which may have ties, against the truth x without ties.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    2/(n−1) · [Σ_i c_i Σ_{k=1..t} 1/(t(p+k−2)) + Σ_i 1/(2t) Σ_{k=1..t−1} k/(p+k−1)] − 1, with c_i = concordant
    above i's group, t = its size, p = its first position, i over the items of y (the first sum without the
    top group). Eq. 8 of Urbano and Marrero 2017.

    Examples
    --------
    >>> round(tau_ap_a([1, 2, 3, 4, 5, 6], [2, 4, 1, 4, 6, 4], best="low"), 3)
    0.209
    """
    return correlate_vectors(x, y, "tau_ap_a", best=best).value


def tau_ap_ties(x: ArrayLike, y: ArrayLike, *, best: Top = "high", tolerance: float = 0.0) -> float:
    """Return the AP correlation of y with x if both may have ties; NaN if all items of one are tied.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.
    tolerance : float, default 0.0
        Items whose values differ by less are tied.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    2/(n−t₁) · Σ_i c_i / (p_i−1) − 1, with c_i = concordant above i's group, p_i = the group's first position,
    i over the items of y below its top group of t₁. Eq. 10 of Urbano and Marrero 2017, where the
    − 1 is missing in print but used in the example. The sum gives −1 when only x ties all; there is no order to
    agree with, so that is NaN too.

    Examples
    --------
    >>> round(tau_ap_ties([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], best="low"), 2)
    0.12
    """
    return correlate_vectors(x, y, "tau_ap_ties", best=best, tolerance=tolerance).value


def tau_ap_b(x: ArrayLike, y: ArrayLike, *, best: Top = "high", tolerance: float = 0.0) -> float:
    """Return the AP correlation as agreement of two rankings with ties; NaN if all items of one are tied.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.
    tolerance : float, default 0.0
        Items whose values differ by less are tied.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    (tau_ap_ties(x, y) + tau_ap_ties(y, x)) / 2. Eq. 11 of Urbano and Marrero 2017. Being symmetric, it
    differs from `tau_ap` even without ties.

    Examples
    --------
    >>> round(tau_ap_b([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], best="low"), 2)
    0.14
    """
    return correlate_vectors(x, y, "tau_ap_b", best=best, tolerance=tolerance).value


def tau_truth_ties(x: ArrayLike, y: ArrayLike, *, best: Top = "high", tolerance: float = 0.0) -> float:
    """Return the accuracy of y if a tie in the truth x should be a tie in y (an extension; not Stuart's τ_c).

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.
    tolerance : float, default 0.0
        Items whose values differ by less are tied.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    2/N · (concordant + tied in both) − 1, N = n(n−1)/2: a pair tied in one ranking only is discordant. The
    third scenario in section 4 of Urbano and Marrero 2017.

    Examples
    --------
    >>> tau_truth_ties([3, 1, 1], [2, 1, 1])
    1.0
    """
    return correlate_vectors(x, y, "tau_truth_ties", best=best, tolerance=tolerance).value


def tau_ap_truth_ties(x: ArrayLike, y: ArrayLike, *, best: Top = "high") -> float:
    """Return the AP correlation if a tie in the truth x should be a tie in y (an extension).

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    As `tau_ap_a`, the mean over all orders of y's ties, but a pair that y ties is concordant if x ties it too
    and discordant if not, and a pair that only x ties is discordant: the scenario of `tau_truth_ties`,
    top-heavy.

    Examples
    --------
    >>> tau_ap_truth_ties([3, 1, 1], [2, 1, 1])
    1.0
    """
    return correlate_vectors(x, y, "tau_ap_truth_ties", best=best).value


def spearman(x: ArrayLike, y: ArrayLike, *, best: Top = "high") -> float:
    """Return Spearman's ρ: the correlation of ranks, mid-ranks for ties; NaN if all items of one are tied.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    Σ (r_x − r̄)(r_y − r̄) / √(Σ (r_x − r̄)² Σ (r_y − r̄)²). Spearman 1904; ties after Student 1921.

    Examples
    --------
    >>> spearman([1, 2, 3], [1, 3, 2], best="low")
    0.5
    """
    return correlate_vectors(x, y, "spearman", best=best).value


def rbo(x: ArrayLike, y: ArrayLike, *, p: float = 0.9, best: Top = "high", ties: OverlapTies = "w") -> float:
    """Return the extrapolated rank-biased overlap, from 0 to 1, of two rankings of the same items.

    Parameters
    ----------
    x, y : array-like of shape (items,)
        Scores or ranks of the same items.
    p : float, default 0.9
        Persistence: the weight of depth d is (1 − p) p^(d−1).
    best : {"high", "low"}, default "high"
        Whether high values (scores) or low values (ranks) are at the top.
    ties : {"w", "a", "b"}, default "w"
        Treatment of ties; see Notes.

    Returns
    -------
    float
        The coefficient.

    Notes
    -----
    (1−p) · Σ_{d=1..n} p^(d−1) A_d + pⁿ, A_d = agreement of the first d items; after the last depth both hold
    all items. Webber, Moffat and Zobel 2010, eq. 32. Tied items (Corsi and Urbano, SIGIR 2024): `w`, as
    Webber et al., have the first rank of their group and A_d = 2 |common| / (|x's| + |y's|); `a`, the
    mean over all orders of ties; `b`, as `a`, with A_d = Σ c_x c_y / √(Σ c_x² Σ c_y²) over the items' probabilities
    c of being among the first d.

    Examples
    --------
    >>> rbo([3, 2, 1], [3, 1, 2], p=0.5)
    0.875
    """
    return correlate_vectors(x, y, "rbo", best=best, p=p, ties=ties).value
