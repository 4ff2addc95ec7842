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
    several = len(studies) > 1
    sections = [section for study in studies for section in _sections(study, f" on {study.data}" if several else "")]
    held = [c.holds for study in studies for c in study.conclusions]
    told = ", ".join(f"{held.count(answer)} {words}" for answer, words in _ANSWERS.items() if answer in held)
    names = " and ".join(study.data for study in studies)
    finding = f"Of {len(held)} conclusions of Busa-Fekete et al. (2012), {told}."
    return page("Pippin study", f"Do published conclusions hold on {names}?", finding, sections, facts)


_ANSWERS = {"yes": "hold", "partly": "hold partly", "no": "do not hold", "unknown": "cannot be told"}
_ANSWER = {"yes": "It holds", "partly": "It holds partly", "no": "It does not hold", "unknown": "It cannot be told"}


def _sections(study: Study, where: str) -> list[Section]:
    words = [report.lead(study), *(f"{i}. {c.statement} {_ANSWER[c.holds]}: "
             f"{c.words}" for i, c in enumerate(study.conclusions, 1))]  # fmt: skip
    name = study.data.replace(" ", "-")
    conclusions = Shown(report.conclusions_table(study), f"Conclusions{where}", f"conclusions-{name}")
    sections = [Section(f"Conclusions{where}", words, tables=[conclusions], nav=f"Conclusions{where}")]
    evidence = [Shown(report.evidence_table(c), f"{c.name}, by ranker", f"evidence-{name}-{i}")
                for i, c in enumerate(study.conclusions) if c.name.startswith("training") and c.evidence]  # fmt: skip
    if evidence:
        sections.append(Section(f"By ranker{where}", tables=evidence))
    curves = [_training(study, ranker) for ranker in study.rankers[:_MANY]] + [_rankers(study, g) for g in study.alike]
    words = ["A whisker is one standard error. Point at a line to let the others fade."]
    sections.append(Section(f"Curves{where}", words, [figure for figure in curves if figure.rows]))
    table = Shown(report.tools_table(study), f"NDCG@{LAST} under every tool", f"tools-{name}")
    return [*sections, Section(f"NDCG@{LAST} under every tool{where}", tables=[table], nav=f"Tools{where}")]


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
