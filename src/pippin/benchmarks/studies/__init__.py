"""Studies on benchmark results: training conventions, curves, research directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.registry import lazy_attributes

if TYPE_CHECKING:
    from pippin.benchmarks.studies.curves import feature_curve, learning_curves
    from pippin.benchmarks.studies.directions import research
    from pippin.benchmarks.studies.training_conventions import compare_conventions

_HOMES = {
    "compare_conventions": "training_conventions", "feature_curve": "curves", "learning_curves": "curves",
    "research": "directions",
}  # fmt: skip

__all__ = ["compare_conventions", "feature_curve", "learning_curves", "research"]

__getattr__ = lazy_attributes(__name__, _HOMES)
