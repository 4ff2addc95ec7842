"""Measures as scorers of scikit-learn, for `GridSearchCV`, `cross_validate` and similar functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pippin.data.inputs import coerce_judgements
from pippin.errors import ConventionError
from pippin.evaluation.evaluation import RankingCache, evaluate_rankings
from pippin.evaluation.measures.notation import parse, text_of
from pippin.evaluation.tools import TOOLS, Tool


@dataclass(frozen=True)
class MeanOverQueries:
    """A measure as scikit-learn's metrics are: labels and predictions to a number."""

    measure: str
    tool: Tool
    axes: tuple[tuple[str, Any], ...]

    @property
    def __name__(self) -> str:
        return f"{self.measure} ({self.tool.name})"

    def __call__(self, y_true: Any, y_score: Any, *, qid: Any = None) -> float:
        """The mean over the queries of these rows."""
        if qid is None:
            raise ConventionError(
                "the query of each row is needed: hand qid= to fit, and leave scikit-learn's metadata routing on "
                "(sklearn.set_config(enable_metadata_routing=True))"
            )
        import numpy as np

        rankings = RankingCache(coerce_judgements(y_true, qid=qid), np.asarray(y_score, np.float64))
        return evaluate_rankings(rankings, [self.measure], self.tool, dict(self.axes), "").mean[self.measure]


def make_scorer(measure: Any = "NDCG@10", tool: str | Tool = "official", *, routing: bool = True, **axes: Any) -> Any:
    """A scorer for scikit-learn: the mean of a measure over queries, as a tool computes it.

    measure  one, in any notation of the field
    tool     whose rules: a name of `pippin.tools`
    routing  switch scikit-learn's metadata routing on, which is how the query of each row gets to a scorer; False
             leaves the setting alone, for who switches it on himself
    axes     choices of a convention on top of the tool's

    GridSearchCV(LambdaMART(), grid, scoring=make_scorer("NDCG@10"), cv=GroupKFold()).fit(X, y, groups=qid, qid=qid)

    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> from pippin.rankers import RankSVM
    >>> generator = np.random.default_rng(0)
    >>> X, y, qid = generator.normal(size=(60, 3)), generator.integers(0, 3, 60), np.repeat(np.arange(12), 5)
    >>> queries = {"groups": qid, "qid": qid}
    >>> with sklearn.config_context():  # which ends the routing, too
    ...     scorer = make_scorer("NDCG@5", tool="letor4")
    ...     scores = cross_val_score(RankSVM(), X, y, cv=GroupKFold(3), scoring=scorer, params=queries)
    >>> scores.shape, bool(np.isfinite(scores).all())
    ((3,), True)
    """
    import sklearn
    from sklearn.metrics import make_scorer as scorer_of

    text = text_of(measure)
    whose = TOOLS[tool] if isinstance(tool, str) else tool
    whose.convention_for(parse(text), **axes)  # report invalid measures now, not as NaN during a search
    if routing:
        sklearn.set_config(enable_metadata_routing=True)
    with sklearn.config_context(enable_metadata_routing=True):
        return scorer_of(MeanOverQueries(text, whose, tuple(axes.items()))).set_score_request(qid=True)
