"""The page of a study: which published conclusions hold on these data, and the curves behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pippin.bench.study import LAST
from pippin.report import study as report
from pippin.report.page import Drawing, Section, Shown, page

if TYPE_CHECKING:
    from pippin.bench.study import Study

_MANY = 6  # rankers whose curves are drawn one by one


def study_page(studies: Sequence[Study], facts: Sequence[str] = ()) -> str:
    """The whole page as one text."""
    held = [c.holds for study in studies for c in study.conclusions]
    told = ", ".join(f"{held.count(answer)} {words[1]}" for answer, words in _ANSWERS.items() if answer in held)
    names = " and ".join(study.data for study in studies)
    finding = f"Of {len(held)} conclusions of Busa-Fekete et al. (2012), {told}."
    sections = [_conclusions(studies), *(section for study in studies for section in _behind(study))]
    return page("Pippin study", f"Do published conclusions hold on {names}?", finding, sections, facts)


_ANSWERS = {  # of one conclusion, of several
    "yes": ("holds", "hold"), "partly": ("holds partly", "hold partly"), "no": ("does not hold", "do not hold"),
    "unknown": ("cannot be told", "cannot be told"),
}  # fmt: skip


def _conclusions(studies: Sequence[Study]) -> Section:
    """Each conclusion, and what every data set says of it."""
    several = len(studies) > 1
    answers: dict[str, list[dict[str, str]]] = {}
    for study in studies:
        for c in study.conclusions:
            answer = {"holds": c.holds, "words": _ANSWERS[c.holds][0], "where": study.data if several else ""}
            answers.setdefault(c.statement, []).append({**answer, "why": c.words})
    claims = [{"statement": statement, "answers": found} for statement, found in answers.items()]
    words = [f"{study.data}: {report.lead(study)}" if several else report.lead(study) for study in studies]
    return Section("Conclusions", words, claims=claims)


def _behind(study: Study) -> list[Section]:
    """What the conclusions rest on, for one data set."""
    name = study.data.replace(" ", "-")
    tables = [
        Shown(report.conclusions_table(study), f"Conclusions on {study.data}", f"conclusions-{name}"),
        Shown(report.tools_table(study), f"NDCG@{LAST} under every tool", f"tools-{name}"),
        *(Shown(report.evidence_table(c), f"{c.name[0].upper()}{c.name[1:]}, by ranker", f"evidence-{name}-{i}")
          for i, c in enumerate(study.conclusions) if c.name.startswith("training") and c.evidence),
    ]  # fmt: skip
    training = [figure for figure in (_training(study, ranker) for ranker in study.rankers[:_MANY]) if figure.rows]
    by_tool = [figure for figure in (_rankers(study, group) for group in study.alike) if figure.rows]
    whisker = "A whisker is one standard error."
    hint = f"{whisker} Point at a line to let the others fade."
    numbers = Section(f"The numbers of {study.data}", [hint] if training else (), training, tables, nav=study.data)
    if not by_tool:
        return [numbers]
    folded = f"{len(by_tool)} figures, one for each group of tools that agree"
    title = f"All rankers under each tool on {study.data}"
    return [numbers, Section(title, [whisker], by_tool, folded=folded, nav=None)]


def _training(study: Study, ranker: str) -> Drawing:
    """One ranker under the definition, a line for each convention that it was trained under."""
    tool = study.alike[0][0]
    points = [p for p in study.points if (p.ranker, p.tool) == (ranker, tool)]
    rows = [_row(p.convention, p.cutoff, p.mean, p.error) for p in points]
    return Drawing("lines", rows, f"NDCG of {ranker} by cutoff, evaluated by {tool}, by training convention",
                   {"yTitle": "NDCG"}, title=f"{ranker}, evaluated by {tool}",
                   words="A line for each convention that it was trained under.")  # fmt: skip


def _rankers(study: Study, group: Sequence[str]) -> Drawing:
    """All rankers, trained under the base, evaluated by one group of tools that agree."""
    points = [p for p in study.points if (p.convention, p.tool) == (study.base, group[0])]
    rows = [_row(p.ranker, p.cutoff, p.mean, p.error) for p in points]
    same = f" The same as {', '.join(group[1:])}." if len(group) > 1 else ""
    return Drawing("lines", rows, f"NDCG of all rankers by cutoff, evaluated by {group[0]}", {"yTitle": "NDCG"},
                   title=f"All rankers, evaluated by {group[0]}",
                   words=f"Trained under {study.base}.{same}")  # fmt: skip


def _row(series: str, cutoff: int, mean: float, error: float) -> dict[str, object]:
    bounds = {} if math.isnan(error) else {"low": mean - error, "high": mean + error}
    return {"series": series, "x": cutoff, "y": mean, **bounds, "tip": f"{series}\nNDCG@{cutoff} {mean:.4f}"}
