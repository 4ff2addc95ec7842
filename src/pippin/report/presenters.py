"""How each kind of result looks: in words and tables for a terminal or a notebook, and as pictures.

The front door introduces this module to the results (`pippin.shown`), which know nothing of the room it is in. What a
kind needs is imported when a result of that kind is first shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pippin.errors import ConventionError, UnknownName
from pippin.report.figure import Figure, Spec
from pippin.report.page import Drawing, piece
from pippin.tables import Table, number

Blocks = Sequence[str | Table]  # paragraphs and tables


@dataclass(frozen=True)
class Presenter:
    """The looks of one kind of result."""

    blocks: Callable[[Any], Blocks]
    text: Callable[[Any], str] | None = None  # where a terminal can do better than the blocks
    figures: Mapping[str, tuple[Callable[[Any], Spec], str]] = field(default_factory=dict)  # kind → picture, its title
    pieces: Callable[[Any], Sequence[str | Table | Drawing]] | None = None  # in a notebook, where that shows more


def text(result: Any) -> str:
    """A result for a terminal."""
    presenter = presenter_of(result)
    if presenter.text is not None:
        return presenter.text(result)
    return "\n\n".join(block if isinstance(block, str) else block.render() for block in presenter.blocks(result))


def html(result: Any) -> str:
    """A result for a notebook."""
    presenter = presenter_of(result)
    return piece((presenter.pieces or presenter.blocks)(result))


def figure(result: Any, kind: str | None = None) -> Figure:
    """A picture of a result: the first, or the one of that kind."""
    figures = presenter_of(result).figures
    if kind is None:
        kind = next(iter(figures))
    if kind not in figures:
        raise UnknownName(f"picture of {type(result).__name__}", kind, figures)
    draw, title = figures[kind]
    return Figure(draw(result), title)


def presenter_of(result: Any) -> Presenter:
    """Who shows a result: found by its class, or one that it is derived from."""
    for kind in type(result).__mro__:
        if kind.__name__ in PRESENTERS:
            return PRESENTERS[kind.__name__]()
    raise ConventionError(f"nobody shows {type(result).__name__}")


def _evaluation() -> Presenter:
    from pippin.report import evaluation as report
    from pippin.report import evaluation_figures as figures
    from pippin.report import pieces

    return Presenter(
        lambda e: [report.table([e])], figures={"queries": (figures.queries, "the value of every query, best first")},
        pieces=lambda e: [pieces.evaluation_words(e), report.table([e]), *pieces.query_values(e)],
    )  # fmt: skip


def _evaluations() -> Presenter:
    from pippin.report import evaluation as report
    from pippin.report import evaluation_figures as figures
    from pippin.report import pieces

    return Presenter(
        lambda evaluations: [report.table(list(evaluations.values())), *_left_out(evaluations)],
        figures={"tools": (figures.tools, "the mean under every tool")},
        pieces=lambda evaluations: [
            *pieces.by_tool(evaluations),
            report.table(list(evaluations.values())),
            *_left_out(evaluations),
        ],
    )


def _left_out(results: Any) -> list[str]:
    return [f"{tool} is left out: {reason}" for tool, reason in results.left_out.items()]


def _comparison() -> Presenter:
    from pippin.report import compare as report
    from pippin.report import compare_figures as figures
    from pippin.report import pieces

    return Presenter(
        report.blocks,
        lambda comparison: report.text(comparison, "table"),
        {
            "means": (figures.means, "means with intervals, and how far ties alone move them"),
            "pairs": (figures.pairs, "the difference of every pair"),
            "tools": (figures.tools, "every system under every tool"),
            "agreement": (figures.agreement, "rank correlation between the leaderboards of every two tools"),
        },
        pieces=pieces.comparison,
    )


def _reconciliation() -> Presenter:
    from pippin.report import pieces
    from pippin.report import reconcile as report

    return Presenter(
        lambda reconciliation: [reconciliation.sentence(), report.table([reconciliation])],
        report.terminal,
        {
            "waterfall": (
                lambda reconciliation: report.figure([reconciliation]),
                "from one tool's number to the other's",
            )
        },
        lambda reconciliation: [
            reconciliation.sentence(),
            pieces.waterfall(reconciliation),
            report.table([reconciliation]),
        ],
    )


def _reconciliations() -> Presenter:
    from pippin.report import reconcile as report

    def blocks(reconciliations: Any) -> Blocks:
        several = list(reconciliations.values())
        return [report.table(several), *(one.sentence() for one in several), *_left_out(reconciliations)]

    drawing = (
        lambda reconciliations: report.figure(list(reconciliations.values())),
        "from one tool's number to every other's",
    )
    return Presenter(blocks, figures={"waterfall": drawing})


def _audit() -> Presenter:
    from pippin.report import audit as report

    def blocks(audit: Any) -> Blocks:
        effects = [b for f in audit.findings if f.effects for b in (f.sentence, report.effects_table(f))]
        return [f"{audit.name}: {audit.about}", report.findings_table(audit), *effects, report.closing(audit)]

    return Presenter(blocks, report.audit_text)


def _tested() -> Presenter:
    from pippin.report import evaluation_figures as figures
    from pippin.report.compare import pairs_table

    def blocks(tested: Any) -> Blocks:
        note = f"{tested.test} ({tested.method}), {tested.alternative}; correction: {tested.correction}."
        return [pairs_table(tested, [note, *tested.notes])]

    return Presenter(blocks, figures={"differences": (figures.differences, "the difference of every pair")})


def _anova() -> Presenter:
    def blocks(anova: Any) -> Blocks:
        rows = [
            [r.source, f"{r.sum_of_squares:.6g}", str(r.df), f"{r.mean_square:.6g}", number(r.f, 3), number(r.p, 4)]
            for r in (anova.systems, anova.queries, anova.residual)
        ]
        return [
            Table(
                ["source", "sum of squares", "df", "mean square", "F", "p"],
                rows,
                notes=[anova.reason] * bool(anova.reason),
            )
        ]

    return Presenter(blocks)


def _bounds() -> Presenter:
    from pippin.report import bounds as report

    return Presenter(lambda bounds: [report.means([bounds]), report.sentence(bounds)])


def _judges() -> Presenter:
    from pippin.report import judges as report

    return Presenter(report.blocks)


def _correlation() -> Presenter:
    return Presenter(lambda correlation: [str(correlation)])


def _leaderboard() -> Presenter:
    from pippin.report import evaluation_figures as figures
    from pippin.report import leaderboard as report
    from pippin.report import pieces

    return Presenter(
        lambda board: [f"{board.data} under {board.tool}", report.board_table(board), *report.gap_notes([board])],
        figures={"means": (figures.standings, "means with their intervals")},
        pieces=pieces.leaderboard,
    )


def _built() -> Presenter:
    def blocks(built: Any) -> Blocks:
        columns = built.to_dict()
        rows = [
            [str(cell) if isinstance(cell, str) else f"{cell:,}" for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        collection = built.manifest["collection"]
        words = (f"{collection['name']}: {collection['documents']:,} documents, "
                 f"{len(built.manifest['features'])} features, in {built.folder}")  # fmt: skip
        notes = ["lost: relevant documents that the samples do not have"]
        return [words, Table(list(columns), rows, notes=notes)]

    return Presenter(blocks)


def _shelf() -> Presenter:
    return Presenter(lambda shelf: [shelf.table()])


def _tool() -> Presenter:
    from pippin.report.tools import choices, own_choices

    def blocks(tool: Any) -> Blocks:
        named = f"{tool.name}: {tool.title} {tool.version} ({tool.source}); measures {', '.join(tool.prints)}"
        own = own_choices(tool)
        return [named, *([choices(tool, own)] if own else []), *tool.traps]

    return Presenter(blocks)


PRESENTERS: dict[str, Callable[[], Presenter]] = {
    "Anova": _anova,
    "Audit": _audit,
    "Built": _built,
    "Comparison": _comparison,
    "Bounds": _bounds,
    "Correlation": _correlation,
    "CorrelationInterval": _correlation,
    "Evaluation": _evaluation,
    "Evaluations": _evaluations,
    "Judges": _judges,
    "Leaderboard": _leaderboard,
    "Reconciliation": _reconciliation,
    "Reconciliations": _reconciliations,
    "Shelf": _shelf,
    "TestedPairs": _tested,
    "Tool": _tool,
}
