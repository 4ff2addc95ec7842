"""How alike do two rankings order the same items? Kendall's τ, AP correlation, Spearman's ρ, RBO.

The public face of `pippin.evaluation.correlation`; each coefficient states its formula and its source.
"""

from __future__ import annotations

from pippin.evaluation.coefficients import (
    rbo,
    spearman,
    tau,
    tau_a,
    tau_ap,
    tau_ap_a,
    tau_ap_b,
    tau_ap_ties,
    tau_ap_truth_ties,
    tau_b,
    tau_truth_ties,
)
from pippin.evaluation.correlation import COEFFICIENTS, Correlation, clusters, correlate
from pippin.evaluation.correlation_bootstrap import CorrelationInterval, bootstrap

__all__ = [
    "COEFFICIENTS",
    "Correlation",
    "CorrelationInterval",
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
