"""What Hypothesis draws: queries with unjudged, unretrieved and tied documents, and conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.reference import MEASURES, Label

from pippin.data.trec import Judgements, Run
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import evaluate_tool
from pippin.evaluation.measures import KINDS
from pippin.evaluation.tools import Tool


@dataclass(frozen=True)
class Drawn:
    """A query as drawn: labels and scores of retrieved documents, and labels of documents that were not retrieved."""

    labels: tuple[Label, ...]
    scores: tuple[float, ...]
    missed: tuple[int, ...] = ()

    @property
    def judged(self) -> list[int]:
        return [label for label in self.labels if label is not None] + list(self.missed)

    @property
    def ranked(self) -> list[Label]:
        """Labels in rank order; equal scores stay in input order."""
        order = sorted(range(len(self.labels)), key=lambda i: -self.scores[i])
        return [self.labels[i] for i in order]


def labels(most: int = 4) -> st.SearchStrategy[Label]:
    return st.one_of(st.integers(0, most), st.integers(0, most), st.sampled_from([None, -1, -2]))


@st.composite
def queries(draw: st.DrawFn, longest: int = 12, tied: bool = False, most: int = 4) -> Drawn:
    """One query; without ties every score is another."""
    listed = tuple(draw(st.lists(labels(most), max_size=longest)))
    if tied:
        scores = tuple(draw(st.lists(st.sampled_from([0.25, 1.0, 1.5]), min_size=len(listed), max_size=len(listed))))
    else:
        scores = tuple(map(float, draw(st.permutations(range(len(listed))))))
    return Drawn(listed, scores, tuple(draw(st.lists(st.integers(-1, most), max_size=4))))


GAINS: tuple[Any, ...] = ("label", "exp2", (0.0, 1.0, 3.0, 7.0, 15.0), (0.0, 0.0, 0.5, 2.0, 2.0))
UNSORTED_GAIN = (0.0, 2.0, 1.0, 5.0, 3.0)

conventions = st.builds(
    Convention,
    gain=st.sampled_from((*GAINS, UNSORTED_GAIN)),
    top_label=st.sampled_from([None, 2]),
    gain_at=st.sampled_from([1, 2]),
    discount=st.sampled_from(["log2", "letor", "reciprocal"]),
    ideal=st.sampled_from(["list", "judged"]),
    short=st.sampled_from(["keep", "zero"]),
    short_precision=st.sampled_from(["cutoff", "list", "zero"]),
    empty=st.sampled_from([0.0, 1.0, 0.5, None]),
    queries=st.just("judged"),
    ties=st.just("input"),
    relevant_at=st.sampled_from([1, 2]),
    ap_denominator=st.sampled_from(["judged", "list", "cutoff"]),
    ap_undefined=st.sampled_from(["pool", "cutoff"]),
    err_top=st.sampled_from([4, 5, "query"]),
    cut=st.booleans(),
)


def collection(drawn: Sequence[Drawn]) -> tuple[Judgements, Run]:
    """Queries q0, q1, … as judgements and a run."""
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q, query in enumerate(drawn):
        judged[f"q{q}"] = {f"d{i}": label for i, label in enumerate(query.labels) if label is not None}
        judged[f"q{q}"] |= {f"x{i}": label for i, label in enumerate(query.missed)}
        run[f"q{q}"] = {f"d{i}": score for i, score in enumerate(query.scores)}
    return Judgements.of(judged), Run.of(run)


def as_tool(convention: Convention) -> Tool:
    return Tool("drawn", "a drawn convention", "1", "tests", convention, ())


OWN: dict[str, tuple[dict[str, float], ...]] = {"RBP": ({"p": 0.5},), "F1": ({"beta": 2.0},)}

# every measure of the reference, at cutoffs inside and beyond a list, with parameters of its own
ASKED: tuple[tuple[str, str, int | None, dict[str, float]], ...] = tuple(
    (f"{name}{''.join(f'({k}={v})' for k, v in own.items())}" + (f"@{cutoff}" if cutoff else ""), name, cutoff, own)
    for name in MEASURES
    for own in ({}, *OWN.get(name, ()))
    for cutoff in ((None,) if KINDS[name].cutoff == "never" else (None, 1, 3, 10))
)


def per_query(drawn: Sequence[Drawn], convention: Convention, asked: Sequence[str]) -> dict[str, list[float]]:
    """What Pippin says of these queries, by measure."""
    judgements, run = collection(drawn)
    found = evaluate_tool(judgements, run, asked, as_tool(convention), {}, "drawn").per_query
    return {text: [found[text][f"q{q}"] for q in range(len(drawn))] for text in asked}
