"""Research directions of LETOR section 5 as benchmarks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pippin.benchmarks.inputs import Input, InputOptions, check_inputs, is_collection, open_source_folds, resolve_inputs
from pippin.benchmarks.plan import Experiment, first_seeds
from pippin.benchmarks.runner import check_extras, run
from pippin.benchmarks.store import Results
from pippin.benchmarks.studies.baselines import BaselineComparison, compare_with_baseline
from pippin.benchmarks.studies.clicks import gap_table, peers_table, propensities_table
from pippin.benchmarks.studies.curves import FeatureCurve, LearningCurves, feature_curve, learning_curves, uses_source
from pippin.benchmarks.studies.retrieval import diversity_table, nearest_table, tournament_costs
from pippin.benchmarks.studies.task_mixture import mix_tasks, raw_features, share_recovered
from pippin.collections.collection import Collection
from pippin.collections.sources import open_collection
from pippin.display.tables import Table
from pippin.errors import DataError
from pippin.rankers.chains import canonical
from pippin.registry import Registry

MEASURE = "NDCG@10"
DISTILLATION = "TD"  # the task whose topics serve as subtopics of diversification
Finding = Sequence[BaselineComparison] | Sequence[FeatureCurve] | Sequence[LearningCurves] | Table
Lines = tuple[str, Sequence[str]]  # a baseline, and the rankers to compare with it


@dataclass(frozen=True)
class ResearchDirection:
    """A research question, and the function that answers it."""

    name: str
    title: str
    question: str
    findings: Callable[[StudyContext], Iterator[Finding]]
    chains: tuple[str, ...] = ()  # chains that need optional packages, which are checked first


DIRECTIONS: Registry[ResearchDirection] = Registry("direction of research", "pippin.directions", ResearchDirection)


def direction(
    name: str, title: str, question: str, chains: tuple[str, ...] = ()
) -> Callable[[Callable[[StudyContext], Iterator[Finding]]], Any]:
    """Register the decorated function, which yields findings, as a direction."""

    def register(findings: Callable[[StudyContext], Iterator[Finding]]) -> Callable[[StudyContext], Iterator[Finding]]:
        DIRECTIONS.register(name, ResearchDirection(name, title, question, findings, chains))
        return findings

    return register


@dataclass(frozen=True)
class StudyContext:
    """The data sets of a study, its folder of results, and the options of its benchmarks."""

    arguments: tuple[str, ...]
    output: str | os.PathLike[str]
    quick: bool = True
    sample: int = 100
    folds: int = 5
    dense: str | None = None  # folder of a sentence-transformers model
    run_options: Mapping[str, Any] = field(default_factory=dict)  # of `pippin.benchmarks.runner.run`

    def inputs(self) -> list[Input]:
        """Return the data sets; collections are built."""
        return resolve_inputs(self.arguments, self._options())

    def with_features(self, features: str) -> list[Input]:
        """Return the collections with these features, and dense ones if there is a model, named with a final `+`.

        They are separate data sets, because dense retrieval adds candidates. Built collections are left out.
        """
        options = replace(self._options(), features=features, dense=self.dense)
        texts = list(self.collections())
        return [replace(source, data=f"{source.data}+") for source in resolve_inputs(texts, options)]

    def collections(self) -> dict[str, str]:
        """Return the paths of the arguments that are collections to be built."""
        from pippin.collections.build import is_built

        paths = {text: text.rpartition("=")[2] for text in self.arguments}
        return {text: path for text, path in paths.items() if is_collection(path) and not is_built(Path(path))}

    def tasks(self, features: str) -> dict[str, list[Input]]:
        """Return the tasks of each collection with several tasks, with these features without normalisation."""
        options = replace(self._options(), features=features)
        groups = [resolve_inputs([text], options) for text in self.collections()]
        return {
            tasks[0].data.rpartition("-")[0]: [raw_features(task) for task in tasks]
            for tasks in groups
            if len(tasks) > 1
        }

    def topic_collections(self) -> Iterator[tuple[Path, Collection]]:
        """Yield the collections with topic distillation and the folders where they are built."""
        for text, path in self.collections().items():
            collection = open_collection(path)
            if DISTILLATION in collection.tasks:
                yield Path(resolve_inputs([text], self._options())[0].path).parents[1], collection

    @property
    def cache(self) -> Path:
        """The folder where collections are built."""
        return Results.create(self.output).path / "collections"

    def _options(self) -> InputOptions:
        return InputOptions(self.folds, sample=self.sample, cache=self.cache)

    @property
    def data(self) -> list[str]:
        """The names of the data sets."""
        return [source.data for source in self.inputs()]

    def bench(
        self, data: Sequence[str], rankers: Sequence[str], *, seeds: int = 1, inputs: Sequence[Input] = (), **plan: Any
    ) -> Results:
        """Run a benchmark of data sets by their names."""
        paths = {source.data: source.path for source in inputs or self.inputs()}
        experiment = Experiment(
            tuple(f"{name}={paths[name]}" for name in data), rankers=tuple(dict.fromkeys(map(canonical, rankers))),
            tools=("official",), measures=(MEASURE, "MAP"), select=MEASURE, quick=self.quick, folds=self.folds,
            seeds=first_seeds(seeds), **plan,
        )  # fmt: skip
        return run(experiment, self.output, **self.run_options).results

    def compare(
        self, lines: Callable[[str, Sequence[str]], Sequence[Lines]], *, seeds: int = 1, inputs: Sequence[Input] = (),
        **plan: Any,
    ) -> list[BaselineComparison]:  # fmt: skip
        """Compare chains with their baselines on each data set.

        `lines` returns baselines and chains for a data set and the names of all. `inputs` replace the data sets of the
        study.
        """
        comparisons: list[BaselineComparison] = []
        names = [source.data for source in inputs] if inputs else self.data
        for data in names:
            for baseline, chains in lines(data, names):
                rankers = [canonical(text) for text in (baseline, *chains)]
                sources = [name for name in names if name != data and uses_source(rankers, name)]
                results = self.bench([data, *sources], rankers, seeds=seeds, inputs=inputs, **plan)
                compared = compare_with_baseline(results, data, rankers[0], rankers[1:], MEASURE)
                failed = [
                    name
                    for name in dict.fromkeys(rankers)
                    if name not in {comparison.ranker for comparison in compared}
                ]
                comparisons += [*compared, *(BaselineComparison(data, name, *[math.nan] * 8) for name in failed)]
        return comparisons

    def curve_options(self) -> dict[str, Any]:
        """Return the options of feature and learning curves."""
        return {"quick": self.quick, "folds": self.folds, "sample": self.sample, **self.run_options}


def research(
    data: Sequence[str], output: str | os.PathLike[str], *, only: Sequence[str] = (), quick: bool = True,
    sample: int = 100, folds: int = 5, dense: str | None = None, **run_options: Any,
) -> list[tuple[ResearchDirection, list[Finding]]]:  # fmt: skip
    """Run research directions and return their findings; finished cells are not computed again.

    Parameters
    ----------
    data : sequence of str
        DATA arguments as of `pippin.bench`.
    output : path
        Folder of the results.
    only : sequence of str, default all
        Names of directions.
    quick, sample, folds
        As of `pippin.bench`.
    dense : str, optional
        Folder of a sentence-transformers model, for feature extraction.
    **run_options
        Further arguments of `pippin.benchmarks.runner.run`.

    Returns
    -------
    list of tuple
        Each direction with its findings.

    Examples
    --------
    >>> findings = research(["stdlib"], "results", only=["feature-selection"])  # doctest: +SKIP
    """
    selected = [DIRECTIONS[name] for name in only] or DIRECTIONS.values()
    if not data:
        raise DataError("no data set given")
    check_inputs(data)
    check_extras([chain for study in selected for chain in study.chains])
    context = StudyContext(tuple(data), output, quick, sample, folds, dense, run_options)
    return [(study, list(study.findings(context))) for study in selected]


@direction("selection", "Feature selection", "How many features are enough, and does leaving some out help?")
def _selection(context: StudyContext) -> Iterator[Finding]:
    """Compare selection steps at ten features, and compute the feature curve of GAS."""
    steps = [*(f"{step}(n_features=10)" for step in ("gas", "elimination", "l1", "permutation")),
             "forward(n_features=5)"]  # fmt: skip
    yield context.compare(lambda *_: [
        ("ranksvm", [f"{step} > ranksvm" for step in steps]),
        ("lambdamart", [
            f"{step} > lambdamart" for step in ("gas(n_features=10)", "permutation(n_features=10,ranker=ranksvm)")
        ]),
    ])  # fmt: skip
    paths = feature_curve(
        context.arguments, context.output, step="gas", sizes=(1, 3, 5, 10, 20), **context.curve_options()
    )
    yield paths


@direction("reduction", "Dimensionality reduction", "Are a few dimensions as good as all features?")
def _reduction(context: StudyContext) -> Iterator[Finding]:
    """Compare steps that reduce all features to ten."""
    steps = ["pca(10)", "pca(10,within=all)", "pair-lda(10)", "pair-lda(1)", "random-projection(10)"]
    yield context.compare(lambda *_: [("ranksvm", [f"{step} > ranksvm" for step in steps])])


@direction("transfer", "Multitask and transfer ranking", "With ten labelled queries, does another data set help?")
def _transfer(context: StudyContext) -> Iterator[Finding]:
    """Compare transfer steps on data sets that share features, and learning curves with and without transfer."""
    steps = ["transfer", "finetune", "multitask", "density-ratio", "tradaboost"]

    def lines(data: str, names: Sequence[str]) -> list[Lines]:
        source = _source_of(data, names)
        if source is None:
            return []
        transfers = [f"{step}({source}{',rounds=4' if step == 'tradaboost' else ''})" for step in steps]
        return [("queries(10) > ranksvm", [f"queries(10) > {step} > ranksvm" for step in transfers])]

    yield context.compare(lines)
    names, curves = context.data, list[LearningCurves]()
    for data in names:
        source = _source_of(data, names)
        if source is not None:
            rankers = ("ranksvm", f"transfer({source}) > ranksvm", f"finetune({source}) > ranksvm")
            curves += learning_curves(
                context.arguments, context.output, rankers=rankers, sizes=(5, 10, 20, 40), seeds=1, targets=(data,),
                **context.curve_options(),
            )  # fmt: skip
    yield curves


def _source_of(data: str, names: Sequence[str]) -> str | None:
    """Return the parameters of a transfer step for a data set: a task or collection with the same features.

    OHSUMED and MQ2008 number their features in published orders, which give them names.

    >>> _source_of("stdlib-NP", ["stdlib-TD", "stdlib-HP", "stdlib-NP"]), _source_of("ohsumed", ["cacm", "ohsumed"])
    ('source_data=stdlib-HP', 'source_data=cacm,feature_order=ohsumed')
    """
    partners = {"stdlib-TD": "stdlib-NP", "stdlib-HP": "stdlib-NP", "stdlib-NP": "stdlib-HP", "cacm": "cran",
                "cran": "cacm", "ohsumed": "cacm", "mq2008": "stdlib-TD"}  # fmt: skip
    orders = {"ohsumed": ",feature_order=ohsumed", "mq2008": ",feature_order=letor4"}
    partner = partners.get(data)
    return f"source_data={partner}{orders.get(data, '')}" if partner in names else None


@direction("little-data", "Little data", "From how many queries on do trees overtake weighted sums? Do unlabelled "
           "queries help?")  # fmt: skip
def _little_data(context: StudyContext) -> Iterator[Finding]:
    """Compute learning curves, and compare self-training with training on the labelled queries."""
    curves = learning_curves(context.arguments, context.output, sizes=(5, 20, 80, 320), seeds=1,
                      **context.curve_options())  # fmt: skip
    yield curves
    yield context.compare(lambda *_: [
        ("queries(10) > ranksvm", ["self-training(10) > ranksvm"]),
    ])  # fmt: skip


@direction("bagging", "Bagging", "Does the mean of rankers trained on samples of the queries beat one ranker?")
def _bagging(context: StudyContext) -> Iterator[Finding]:
    """Compare bags of linear rankers and of trees with one ranker."""
    yield context.compare(lambda *_: [
        ("ranksvm", ["bag(10) > ranksvm"]), ("lambdamart", ["bag(5) > lambdamart"]),
    ])  # fmt: skip


@direction("clicks", "Learning from clicks", "How good are rankers trained on clicks instead of labels, and does "
           "correcting their bias help?")  # fmt: skip
def _clicks(context: StudyContext) -> Iterator[Finding]:
    """Compare naive clicks, debiased clicks and labels, for position-based and cascade users."""
    trees = ["clicks(ips) > lambdamart", "clicks(pairwise) > lambdamart"]
    cascade = [f"clicks({debias},click_model=cascade) > lambdamart" for debias in ("ips", "pairwise")]
    yield context.compare(lambda *_: [
        ("clicks(naive) > lambdamart", [*trees, "lambdamart"]),
        ("clicks(naive) > ranksvm", ["clicks(ips) > ranksvm", "ranksvm"]),
        ("clicks(naive,click_model=cascade) > lambdamart", cascade),
    ])  # fmt: skip
    results, inputs = Results.open(context.output), context.inputs()
    yield gap_table(results, inputs, [
        ("clicks(naive) > lambdamart", trees, "lambdamart"),
        ("clicks(naive) > ranksvm", ["clicks(ips) > ranksvm"], "ranksvm"),
        ("clicks(naive,click_model=cascade) > lambdamart", cascade, "lambdamart"),
    ], MEASURE)  # fmt: skip
    yield peers_table(results, inputs, ["clicks(naive) > lambdamart", *trees], "lambdamart", MEASURE)
    yield propensities_table(inputs)


@direction("query-dependent", "Query-dependent ranking", "Is a ranker better that learned from queries like this one?")
def _query_dependent(context: StudyContext) -> Iterator[Finding]:
    """Compare query-dependent steps on each data set, and on the mixed tasks of a collection."""
    steps = ["knn(60)", "clusters(3)", "choose"]
    yield context.compare(lambda *_: [("ranksvm", [f"{step} > ranksvm" for step in steps])])
    # Without knn, which would normalise and train for each of hundreds of training queries.
    baseline, chains = "norm > ranksvm", [f"{step} > norm > ranksvm" for step in (*steps[1:], "classes")]
    for name, tasks in context.tasks("auto query proximity positions").items():
        mixture = mix_tasks(tasks, context.cache, f"{name}-mixed")
        yield context.compare(lambda *_: [(baseline, chains)], inputs=[mixture])
        results = context.bench([task.data for task in tasks], [baseline], inputs=tasks)
        yield share_recovered(results, mixture, tasks, baseline, chains, MEASURE)


@direction("beyond-scores", "Beyond scores", "Is a function of two documents, or of all, better than a score?",
           ("attention > listnet",))  # fmt: skip
def _beyond_scores(context: StudyContext) -> Iterator[Finding]:
    """Compare tournaments and attention with the same rankers without them, and measure their cost."""
    yield context.compare(lambda *_: [
        ("mart", ["tournament > mart", "tournament(sort) > mart"]), ("listnet", ["attention > listnet"]),
    ])  # fmt: skip
    yield tournament_costs(open_source_folds(context.inputs()[0]).data)
    for built, collection in context.topic_collections():
        yield diversity_table(built, collection, DISTILLATION)


@direction(
    "extraction", "Feature extraction", "Do products, proximity, links and vectors improve on the plain features?"
)
def _extraction(context: StudyContext) -> Iterator[Finding]:
    """Compare products of features, and groups of features of a collection, with the plain features."""
    yield context.compare(lambda *_: [("ranksvm", ["products > ranksvm"])])
    richer = context.with_features("auto proximity positions")
    if not richer:
        return
    groups = {"proximity": "*_distance@*+smallest_window@*+*ordered_bigrams@*",
              "positions": "first_position@*+bm25_proximity@*"}  # fmt: skip
    groups |= {} if context.dense is None else {"dense": "dense_*"}

    def lines(data: str, names: Sequence[str]) -> list[Lines]:
        plain = f"without({'+'.join(groups.values())})"
        more = [f"without({'+'.join(text for group, text in groups.items() if group != name)})" for name in groups]
        links = [f"{plain} > without({_LINKS})"] if data.startswith("stdlib") else []
        return [(f"{plain} > {ranker}", [*(f"{step} > {ranker}" for step in (*more, *links)), ranker])
                for ranker in ("ranksvm", "lambdamart")]  # fmt: skip

    yield context.compare(lines, inputs=richer)
    if context.dense is not None:
        yield nearest_table(context.inputs(), richer, MEASURE)


_LINKS = "sitemap_*+score_*+feature_*+authority+hub+*rank+topical_*+*links"  # features of links
