"""The measures as scikit-learn takes them: `make_scorer` for `GridSearchCV`, `cross_validate` and the like.

The public face of `pippin.evaluation.scorer`.
"""

from __future__ import annotations

from pippin.evaluation.scorer import make_scorer

__all__ = ["make_scorer"]
