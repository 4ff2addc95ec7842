"""Renderers of results for terminals, notebooks and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pippin.display.tables import Paragraph, Table, format_number, render_all
from pippin.errors import ConventionError, UnknownName
from pippin.reports import specs
from pippin.reports.figures import Figure
from pippin.reports.html import Block, Chart, render_fragment
from pippin.reports.specs import Spec

Figures = Mapping[str, tuple[Callable[[Any], Spec], str]]


@dataclass(frozen=True)
class Renderer:
    """How one class of results is shown.

    `blocks` are paragraphs and tables. `text` replaces them on a terminal, `notebook` in a notebook, `paper` in
    Markdown and LaTeX. `figures` maps the kind of a figure to the function that draws it and its title.
    """

    blocks: Callable[[Any], Sequence[Block]]
    text: Callable[[Any], str] | None = None
    figures: Figures = field(default_factory=dict)
    notebook: Callable[[Any], Sequence[Block]] | None = None
    paper: Callable[[Any, str], str] | None = None


def text(result: Any) -> str:
    """Return a result as text for a terminal."""
    renderer = renderer_for(result)
    if renderer.text is not None:
        return renderer.text(result)
    blocks = [block for block in renderer.blocks(result) if not isinstance(block, Chart)]
    return "\n\n".join(block if isinstance(block, str) else block.render() for block in blocks)


def html(result: Any) -> str:
    """Return a result as HTML for a notebook."""
    renderer = renderer_for(result)
    return render_fragment((renderer.notebook or renderer.blocks)(result))


def document(result: Any, format: str) -> str:
    """Return a result as Markdown or LaTeX."""
    renderer = renderer_for(result)
    if renderer.paper is not None:
        return renderer.paper(result, format)
    blocks = [Paragraph(block) if isinstance(block, str) else block for block in renderer.blocks(result)]
    return render_all([block for block in blocks if not isinstance(block, Chart)], format)


def figure(result: Any, kind: str | None = None) -> Figure:
    """Return a figure of a result: of the kind, or the first."""
    figures = renderer_for(result).figures
    if kind is None:
        kind = next(iter(figures))
    if kind not in figures:
        raise UnknownName(f"picture of {type(result).__name__}", kind, figures)
    draw, title = figures[kind]
    return Figure(draw(result), title)


def renderer_for(result: Any) -> Renderer:
    """Return the renderer of a result's class, or of a base class."""
    for cls in type(result).__mro__:
        if cls.__name__ in RENDERERS:
            return RENDERERS[cls.__name__]()
    raise ConventionError(f"no renderer registered for {type(result).__name__}")


def _evaluation() -> Renderer:
    from pippin.reports import evaluation as report
    from pippin.reports import notebook

    figures: Figures = {"queries": (specs.query_values, "the value of every query, best first")}
    return Renderer(lambda e: [report.table([e])], figures=figures, notebook=notebook.evaluation)


def _evaluations() -> Renderer:
    from pippin.reports import evaluation as report
    from pippin.reports import notebook

    def blocks(evaluations: Any) -> list[Block]:
        return [report.table(list(evaluations.values())), *_left_out(evaluations)]

    return Renderer(
        blocks, figures={"tools": (specs.means_by_tool, "the mean under every tool")},
        notebook=lambda evaluations: [*notebook.by_tool(evaluations), *blocks(evaluations)],
    )  # fmt: skip


def _system_evaluations() -> Renderer:
    from pippin.reports import evaluation as report

    def draw(result: Any) -> Spec:
        return specs.means_by_tool({f"{e.name} ({e.tool.name})": e for e in result.evaluations})

    return Renderer(
        lambda result: [report.table(list(result.evaluations)), *_left_out(result)],
        figures={"tools": (draw, "the mean of every system under every tool")},
    )


def _left_out(results: Any) -> list[Block]:
    return [f"{tool} is left out: {reason}" for tool, reason in results.left_out.items()]


def _comparison() -> Renderer:
    from pippin.reports import comparison as report
    from pippin.reports import notebook

    return Renderer(
        report.parts,
        lambda comparison: report.text(comparison, "table"),
        {
            "means": (specs.comparison_means, "means with intervals and the range over orders of tied documents"),
            "pairs": (specs.pairs, "the difference of every pair"),
            "tools": (specs.comparison_by_tool, "every system under every tool"),
            "agreement": (specs.agreement, "rank correlation between the leaderboards of every two tools"),
        },
        notebook.comparison,
        lambda comparison, format: report.PaperTable([comparison]).render(format),
    )


def _comparisons() -> Renderer:
    from pippin.reports import comparison as report
    from pippin.reports import notebook

    return Renderer(
        lambda comparisons: [part for comparison in comparisons.values() for part in report.parts(comparison)],
        lambda comparisons: report.all_text(list(comparisons.values())),
        notebook=lambda comparisons: [
            b for comparison in comparisons.values() for b in notebook.comparison(comparison)
        ],
        paper=lambda comparisons, format: report.PaperTable(list(comparisons.values())).render(format),
    )


def _reconciliation() -> Renderer:
    from pippin.reports import notebook
    from pippin.reports import reconciliation as report

    def draw(reconciliation: Any) -> Spec:
        return specs.waterfalls([reconciliation])

    def blocks(reconciliation: Any, *charts: Block) -> list[Block]:
        return [reconciliation.sentence(), *charts, report.table([reconciliation])]

    return Renderer(
        blocks, report.terminal, {"waterfall": (draw, "from one tool's value to the other's")},
        lambda reconciliation: blocks(reconciliation, notebook.waterfall(reconciliation)),
    )  # fmt: skip


def _reconciliations() -> Renderer:
    from pippin.reports import reconciliation as report

    def blocks(results: Any) -> list[Block]:
        reconciliations = list(results.values())
        return [report.table(reconciliations), *(r.sentence() for r in reconciliations), *_left_out(results)]

    def draw(results: Any) -> Spec:
        return specs.waterfalls(list(results.values()))

    return Renderer(blocks, figures={"waterfall": (draw, "from one tool's value to every other's")})


def _audit() -> Renderer:
    from pippin.reports import audit as report

    def blocks(audit: Any) -> list[Block]:
        effects = [b for f in audit.findings if f.effects for b in (f.sentence, report.effects_table(f))]
        return [f"{audit.name}: {audit.about}", report.findings_table(audit), *effects, report.closing(audit)]

    return Renderer(blocks, report.audit_text)


def _pairwise_tests() -> Renderer:
    from pippin.reports.comparison import pairs_table

    def blocks(tests: Any) -> list[Block]:
        note = f"{tests.test} ({tests.method}), {tests.alternative}; correction: {tests.correction}."
        return [pairs_table(tests, [note, *tests.notes])]

    return Renderer(blocks, figures={"differences": (specs.differences, "the difference of every pair")})


def _anova() -> Renderer:
    def blocks(anova: Any) -> list[Block]:
        rows = [
            [r.source, f"{r.sum_of_squares:.6g}", str(r.df), f"{r.mean_square:.6g}", format_number(r.f, 3),
             format_number(r.p, 4)]
            for r in (anova.systems, anova.queries, anova.residual)
        ]  # fmt: skip
        headers = ["source", "sum of squares", "df", "mean square", "F", "p"]
        return [Table(headers, rows, notes=[anova.reason] if anova.reason else [])]

    return Renderer(blocks)


def _bounds() -> Renderer:
    from pippin.reports import judgements as report

    return Renderer(lambda bounds: [report.means([bounds]), report.sentence(bounds)])


def _agreement() -> Renderer:
    from pippin.reports import judgements as report

    return Renderer(report.agreement_parts)


def _correlation() -> Renderer:
    return Renderer(lambda correlation: [str(correlation)])


def _correlations() -> Renderer:
    return Renderer(lambda correlations: [str(correlation) for correlation in correlations.values()])


def _leaderboard() -> Renderer:
    from pippin.reports import leaderboard as report
    from pippin.reports import notebook

    return Renderer(
        lambda board: [f"{board.data} under {board.tool}", report.board_table(board), *report.gap_notes([board])],
        figures={"means": (specs.leaderboard, "means with their intervals")},
        notebook=notebook.leaderboard,
    )


def _built() -> Renderer:
    def blocks(built: Any) -> list[Block]:
        columns = built.to_dict()
        rows = [
            [str(cell) if isinstance(cell, str) else f"{cell:,}" for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        collection = built.manifest["collection"]
        sentence = (f"{collection['name']}: {collection['documents']:,} documents, "
                    f"{len(built.manifest['features'])} features, in {built.folder}")  # fmt: skip
        return [sentence, Table(list(columns), rows, notes=["lost: relevant documents that are not in the samples"])]

    return Renderer(blocks)


def _registry() -> Renderer:
    return Renderer(lambda view: [view.table()])


def _tool() -> Renderer:
    from pippin.reports.catalogue import axes_table, differing_axes

    def blocks(tool: Any) -> list[Block]:
        sentence = f"{tool.name}: {tool.full_title} ({tool.source}); measures {', '.join(tool.measures)}"
        differing = differing_axes(tool)
        return [sentence, *([axes_table(tool, differing)] if differing else []), *tool.caveats]

    return Renderer(blocks)


# Class of a result → its renderer; by name, so that showing one class does not import the modules of the others.
RENDERERS: dict[str, Callable[[], Renderer]] = {
    "Anova": _anova,
    "AssessorAgreement": _agreement,
    "Audit": _audit,
    "Bounds": _bounds,
    "Built": _built,
    "Comparison": _comparison,
    "Comparisons": _comparisons,
    "Correlation": _correlation,
    "CorrelationInterval": _correlation,
    "Correlations": _correlations,
    "Evaluation": _evaluation,
    "Evaluations": _evaluations,
    "Leaderboard": _leaderboard,
    "PairwiseTests": _pairwise_tests,
    "Reconciliation": _reconciliation,
    "Reconciliations": _reconciliations,
    "RegistryView": _registry,
    "SystemEvaluations": _system_evaluations,
    "Tool": _tool,
}
