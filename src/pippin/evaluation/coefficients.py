"""Each rank correlation by its own name, with its formula and source; `correlation` tells which question it answers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from pippin.evaluation.correlation import OverlapTies, Top, correlate


def tau(x: ArrayLike, y: ArrayLike, *, top: Top = "high") -> float:
    """Kendall's τ of two rankings without ties.

    (concordant − discordant) / (n(n−1)/2). Kendall 1938; eq. 1 of Urbano and Marrero, ICTIR 2017.

    >>> tau([1, 2, 3, 4, 5, 6], [2, 3, 1, 4, 6, 5], top="low")
    0.6
    """
    return correlate(x, y, "tau", top=top).value


def tau_a(x: ArrayLike, y: ArrayLike, *, top: Top = "high", tolerance: float = 0.0) -> float:
    """Kendall's τ_a: accuracy of y, which may tie items, against the truth x, which may not.

    (concordant − discordant) / (n(n−1)/2). Woodbury 1940; eq. 4 of Urbano and Marrero 2017. The tolerance is
    y's.

    >>> tau_a([1, 2, 3, 4, 5, 6], [2, 4, 1, 4, 6, 4], top="low")
    0.4
    """
    return correlate(x, y, "tau_a", top=top, tolerance=tolerance).value


def tau_b(x: ArrayLike, y: ArrayLike, *, top: Top = "high", tolerance: float = 0.0) -> float:
    """Kendall's τ_b: agreement of two rankings that both may tie items; NaN if one ties all.

    (concordant − discordant) / √((N − t_x)(N − t_y)), N = n(n−1)/2, t = tied pairs. Student 1921; eq. 9 of
    Urbano and Marrero 2017.

    >>> round(tau_b([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], top="low"), 3)
    0.386
    """
    return correlate(x, y, "tau_b", top=top, tolerance=tolerance).value


def tau_ap(x: ArrayLike, y: ArrayLike, *, top: Top = "high") -> float:
    """AP correlation of y with respect to x, without ties; errors at y's top weigh most; not symmetric.

    2/(n−1) · Σ_{i=2..n} (concordant above i) / (i−1) − 1, i = position in y. Yilmaz, Aslam and Robertson,
    SIGIR 2008; eq. 3 of Urbano and Marrero 2017.

    >>> round(tau_ap([1, 2, 3, 4, 5, 6], [2, 3, 1, 4, 6, 5], top="low"), 2)
    0.32
    """
    return correlate(x, y, "tau_ap", top=top).value


def tau_ap_a(x: ArrayLike, y: ArrayLike, *, top: Top = "high") -> float:
    """AP correlation as accuracy of y, which may tie items, against the truth x: a mean over orders.

    2/(n−1) · [Σ_i c_i Σ_{k=1..t} 1/(t(p+k−2)) + Σ_i 1/(2t) Σ_{k=1..t−1} k/(p+k−1)] − 1, with c_i = concordant
    above i's group, t = its size, p = its first position, i over the items of y (the first sum without the
    top group). Eq. 8 of Urbano and Marrero 2017.

    >>> round(tau_ap_a([1, 2, 3, 4, 5, 6], [2, 4, 1, 4, 6, 4], top="low"), 3)
    0.209
    """
    return correlate(x, y, "tau_ap_a", top=top).value


def tau_ap_ties(x: ArrayLike, y: ArrayLike, *, top: Top = "high", tolerance: float = 0.0) -> float:
    """AP correlation of y with respect to x where both may tie items, in one direction; NaN if one ties all.

    2/(n−t₁) · Σ_i c_i / (p_i−1) − 1, with c_i = concordant above i's group, p_i = the group's first position,
    i over the items of y below its top group of t₁. Eq. 10 of Urbano and Marrero 2017, whose print leaves out
    the − 1 that its own worked example needs. The sum gives −1 when only x ties all; there is no order to
    agree with, so that is NaN too.

    >>> round(tau_ap_ties([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], top="low"), 2)
    0.12
    """
    return correlate(x, y, "tau_ap_ties", top=top, tolerance=tolerance).value


def tau_ap_b(x: ArrayLike, y: ArrayLike, *, top: Top = "high", tolerance: float = 0.0) -> float:
    """AP correlation as agreement of two rankings that both may tie items; NaN if one ties all.

    (tau_ap_ties(x, y) + tau_ap_ties(y, x)) / 2. Eq. 11 of Urbano and Marrero 2017. Being symmetric, it
    differs from `tau_ap` even without ties.

    >>> round(tau_ap_b([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], top="low"), 2)
    0.14
    """
    return correlate(x, y, "tau_ap_b", top=top, tolerance=tolerance).value


def tau_truth_ties(x: ArrayLike, y: ArrayLike, *, top: Top = "high", tolerance: float = 0.0) -> float:
    """Extension: accuracy of y where a tie in the truth x is what y should say (not Stuart's τ_c).

    2/N · (concordant + tied in both) − 1, N = n(n−1)/2: a pair tied in one ranking only is discordant. The
    third scenario in section 4 of Urbano and Marrero 2017.

    >>> tau_truth_ties([3, 1, 1], [2, 1, 1])
    1.0
    """
    return correlate(x, y, "tau_truth_ties", top=top, tolerance=tolerance).value


def tau_ap_truth_ties(x: ArrayLike, y: ArrayLike, *, top: Top = "high") -> float:
    """Extension: AP correlation where a tie in the truth x is what y should say.

    As `tau_ap_a`, the mean over all orders of y's ties, but a pair that y ties is concordant if x ties it too
    and discordant if not, and a pair that only x ties is discordant: the scenario of `tau_truth_ties`,
    top-heavy.

    >>> tau_ap_truth_ties([3, 1, 1], [2, 1, 1])
    1.0
    """
    return correlate(x, y, "tau_ap_truth_ties", top=top).value


def spearman(x: ArrayLike, y: ArrayLike, *, top: Top = "high") -> float:
    """Spearman's ρ: product-moment correlation of ranks, ties at their mid-rank; NaN if one ties all.

    Σ (r_x − r̄)(r_y − r̄) / √(Σ (r_x − r̄)² Σ (r_y − r̄)²). Spearman 1904; ties after Student 1921.

    >>> spearman([1, 2, 3], [1, 3, 2], top="low")
    0.5
    """
    return correlate(x, y, "spearman", top=top).value


def rbo(x: ArrayLike, y: ArrayLike, *, p: float = 0.9, top: Top = "high", ties: OverlapTies = "w") -> float:
    """Extrapolated rank-biased overlap, from 0 to 1, of two rankings of the same items.

    (1−p) · Σ_{d=1..n} p^(d−1) A_d + pⁿ, A_d = agreement of the first d items; after the last depth both hold
    all items. Webber, Moffat and Zobel 2010, eq. 32. Tied items (Corsi and Urbano, SIGIR 2024): `w`, as
    Webber et al., all stand at the first rank of their group and A_d = 2 |common| / (|x's| + |y's|); `a`, the
    mean over all orders of ties; `b`, as `a`, with A_d = Σ c_x c_y / √(Σ c_x² Σ c_y²) over the items' chances
    c of being among the first d.

    >>> rbo([3, 2, 1], [3, 1, 2], p=0.5)
    0.875
    """
    return correlate(x, y, "rbo", top=top, p=p, ties=ties).value
