"""What does each line of research do to a ranker? The directions of LETOR's §5 as benchmarks, in one place.

Most directions hold chains against a baseline, on the same folds, with intervals and corrected tests (`versus`); one
may also come to a path, a learning curve, or a table of its own. `research` runs them all, and `docs/research.md` is
filled with what comes out. A direction more is a function under `@direction(…)` here, or in a module of a plug-in's.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pippin.bench.click_tables import gap_table, peers_table, propensities_table
from pippin.bench.diversity import diversity_table
from pippin.bench.inputs import Input, InputOptions, check_inputs, find_inputs, is_collection, opened_folds
from pippin.bench.mixing import mixed, unnormalised, won_back
from pippin.bench.paths import Learning, Selection, borrows, learning, selection
from pippin.bench.plan import Experiment, first_seeds
from pippin.bench.research_tables import nearest_table, tournament_costs
from pippin.bench.runner import check_extras, run
from pippin.bench.store import Results
from pippin.bench.versus import Versus, versus
from pippin.collection.collection import Collection
from pippin.collection.named import open_collection
from pippin.errors import DataError
from pippin.rankers.written import canonical
from pippin.registry import Registry
from pippin.tables import Table

MEASURE = "NDCG@10"
DISTILLATION = "TD"  # the task whose topics are wide enough to be subtopics
Finding = Sequence[Versus] | Sequence[Selection] | Sequence[Learning] | Table  # what a direction comes to
Lines = tuple[str, Sequence[str]]  # a baseline, and what is held against it


@dataclass(frozen=True)
class Direction:
    """A line of research: what it asks, and how that is found out."""

    name: str
    title: str
    question: str
    findings: Callable[[Laboratory], Iterator[Finding]]
    chains: tuple[
        str, ...
    ] = ()  # that want more than others do to be installed, which is said before anything is begun


DIRECTIONS: Registry[Direction] = Registry("direction of research", "pippin.directions", Direction)


def direction(
    name: str, title: str, question: str, chains: tuple[str, ...] = ()
) -> Callable[[Callable[[Laboratory], Iterator[Finding]]], Any]:
    """Function decorator: put a direction on the shelf; the function finds something out in a laboratory."""

    def put(findings: Callable[[Laboratory], Iterator[Finding]]) -> Callable[[Laboratory], Iterator[Finding]]:
        DIRECTIONS.register(name, Direction(name, title, question, findings, chains))
        return findings

    return put


@dataclass(frozen=True)
class Laboratory:
    """Where directions are tried: data sets, a folder of results, and how benchmarks run in it."""

    arguments: tuple[str, ...]
    output: str | os.PathLike[str]
    quick: bool = True
    sample: int = 100
    folds: int = 5
    dense: str | None = None  # the folder of a sentence-transformers model
    how: Mapping[str, Any] = field(default_factory=dict)  # of `bench.runner.run`

    def inputs(self) -> list[Input]:
        """The data sets, built where they are collections."""
        return find_inputs(self.arguments, self._options())

    def richer(self, features: str) -> list[Input]:
        """The collections among the data sets with more features, and dense ones where there is a model of them.

        They are other data sets, with `+` behind their names: nearest documents stand beside BM25's best. What was
        built already has the features that it has, and is left out.
        """
        options = replace(self._options(), features=features, dense=self.dense)
        texts = list(self.collections())
        return [replace(source, data=f"{source.data}+") for source in find_inputs(texts, options)]

    def collections(self) -> dict[str, str]:
        """The arguments that are collections still to be built, and where these stand."""
        from pippin.collection.build import is_built

        paths = {text: text.rpartition("=")[2] for text in self.arguments}
        return {text: path for text, path in paths.items() if is_collection(path) and not is_built(Path(path))}

    def tasks(self, features: str) -> dict[str, list[Input]]:
        """The collections of several tasks with these features as they are: by name, the data sets of their tasks."""
        options = replace(self._options(), features=features)
        found = [find_inputs([text], options) for text in self.collections()]
        return {
            tasks[0].data.rpartition("-")[0]: [unnormalised(one) for one in tasks] for tasks in found if len(tasks) > 1
        }

    def distilled(self) -> Iterator[tuple[Path, Collection]]:
        """The collections that have topics, and where they are built."""
        for text, path in self.collections().items():
            collection = open_collection(path)
            if DISTILLATION in collection.tasks:
                yield Path(find_inputs([text], self._options())[0].path).parents[1], collection

    @property
    def cache(self) -> Path:
        """Where collections are built."""
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
        """A benchmark of data sets by their names; what it learns from is taken along."""
        places = {source.data: source.path for source in inputs or self.inputs()}
        experiment = Experiment(
            tuple(f"{name}={places[name]}" for name in data), rankers=tuple(dict.fromkeys(map(canonical, rankers))),
            tools=("official",), measures=(MEASURE, "MAP"), select=MEASURE, quick=self.quick, folds=self.folds,
            seeds=first_seeds(seeds), **plan,
        )  # fmt: skip
        return run(experiment, self.output, **self.how).results

    def against(
        self, lines: Callable[[str, Sequence[str]], Sequence[Lines]], *, seeds: int = 1, inputs: Sequence[Input] = (),
        **plan: Any,
    ) -> list[Versus]:  # fmt: skip
        """Each data set's chains against their baselines; `lines` says which, given it and all data sets.

        `inputs` are other data sets than the laboratory's own.
        """
        found: list[Versus] = []
        names = [source.data for source in inputs] if inputs else self.data
        for data in names:
            for baseline, contenders in lines(data, names):
                rankers = [canonical(text) for text in (baseline, *contenders)]
                others = [name for name in names if name != data and borrows(rankers, name)]
                results = self.bench([data, *others], rankers, seeds=seeds, inputs=inputs, **plan)
                held = versus(results, data, rankers[0], rankers[1:], MEASURE)
                lacking = [name for name in dict.fromkeys(rankers) if name not in {one.ranker for one in held}]
                found += [*held, *(Versus(data, name, *[math.nan] * 8) for name in lacking)]
        return found

    def path_options(self) -> dict[str, Any]:
        """What paths of features and of queries are run with."""
        return {"quick": self.quick, "folds": self.folds, "sample": self.sample, **self.how}


def research(
    data: Sequence[str], output: str | os.PathLike[str], *, only: Sequence[str] = (), quick: bool = True,
    sample: int = 100, folds: int = 5, dense: str | None = None, **how: Any,
) -> list[tuple[Direction, list[Finding]]]:  # fmt: skip
    """Every direction (or those named) with what it found; what was computed before is not computed again.

    data    folders with folds, files with features, collections; NAME=PATH calls one otherwise
    only    the names of directions
    dense   the folder of a sentence-transformers model, for feature extraction
    how     goes to `bench.runner.run`
    """
    chosen = [DIRECTIONS[name] for name in only] or DIRECTIONS.values()
    if not data:
        raise DataError("research needs a data set")
    check_inputs(data)
    check_extras([chain for one in chosen for chain in one.chains])
    place = Laboratory(tuple(data), output, quick, sample, folds, dense, how)
    return [(one, list(one.findings(place))) for one in chosen]


@direction("selection", "Feature selection", "How many features are enough, and does leaving some out help?")
def _selection(place: Laboratory) -> Iterator[Finding]:
    """Each way to keep ten features, and the path of GAS."""
    ways = ["gas(k=10)", "elimination(k=10)", "l1(k=10)", "permutation(k=10)", "forward(k=5)"]
    yield place.against(lambda *_: [
        ("ranksvm", [f"{way} > ranksvm" for way in ways]),
        ("lambdamart", [f"{way} > lambdamart" for way in ("gas(k=10)", "permutation(k=10,ranker=ranksvm)")]),
    ])  # fmt: skip
    paths = selection(place.arguments, place.output, step="gas", sizes=(1, 3, 5, 10, 20), **place.path_options())
    yield paths


@direction("reduction", "Dimensionality reduction", "Do a few directions carry what all features do?")
def _reduction(place: Laboratory) -> Iterator[Finding]:
    """Each way to make ten numbers of all features."""
    ways = ["pca(10)", "pca(10,within=all)", "pair-lda(10)", "pair-lda(1)", "random-projection(10)"]
    yield place.against(lambda *_: [("ranksvm", [f"{way} > ranksvm" for way in ways])])


@direction("transfer", "Multitask and transfer ranking", "With ten labelled queries, does another data set help?")
def _transfer(place: Laboratory) -> Iterator[Finding]:
    """Each way to borrow, for every data set that shares features with another; and curves with and without it."""
    ways = ["transfer", "finetune", "multitask", "density-ratio", "tradaboost"]

    def lines(data: str, names: Sequence[str]) -> list[Lines]:
        source = _source_of(data, names)
        if source is None:
            return []
        borrowed = [f"{way}({source}{',rounds=4' if way == 'tradaboost' else ''})" for way in ways]
        return [("queries(10) > ranksvm", [f"queries(10) > {way} > ranksvm" for way in borrowed])]

    yield place.against(lines)
    names, curves = place.data, list[Learning]()
    for data in names:
        source = _source_of(data, names)
        if source is not None:
            rankers = ("ranksvm", f"transfer({source}) > ranksvm", f"finetune({source}) > ranksvm")
            curves += learning(place.arguments, place.output, rankers=rankers, sizes=(5, 10, 20, 40), seeds=1,
                               shown=(data,), **place.path_options())  # fmt: skip
    yield curves


def _source_of(data: str, names: Sequence[str]) -> str | None:
    """What a data set borrows from, as a step is told: another task of its collection, or one with the same features.

    OHSUMED and MQ2008 number their features in published orders, which name them.

    >>> _source_of("stdlib-NP", ["stdlib-TD", "stdlib-HP", "stdlib-NP"]), _source_of("ohsumed", ["cacm", "ohsumed"])
    ('from=stdlib-HP', 'from=cacm,names=ohsumed')
    """
    partners = {"stdlib-TD": "stdlib-NP", "stdlib-HP": "stdlib-NP", "stdlib-NP": "stdlib-HP", "cacm": "cran",
                "cran": "cacm", "ohsumed": "cacm", "mq2008": "stdlib-TD"}  # fmt: skip
    orders = {"ohsumed": ",names=ohsumed", "mq2008": ",names=letor4"}
    found = partners.get(data)
    return f"from={found}{orders.get(data, '')}" if found in names else None


@direction("little-data", "Little data", "From how many queries on do trees overtake weighted sums? Do unlabelled "
           "queries help?")  # fmt: skip
def _little_data(place: Laboratory) -> Iterator[Finding]:
    """Learning curves, and self-training beside training on the labelled queries alone."""
    curves = learning(place.arguments, place.output, sizes=(5, 20, 80, 320), seeds=1,
                      **place.path_options())  # fmt: skip
    yield curves
    yield place.against(lambda *_: [
        ("queries(10) > ranksvm", ["self-training(10) > ranksvm"]),
    ])  # fmt: skip


@direction("bagging", "Bagging", "Does the mean of rankers trained on samples of the queries beat one ranker?")
def _bagging(place: Laboratory) -> Iterator[Finding]:
    """Bags of a weighted sum and of trees."""
    yield place.against(lambda *_: [
        ("ranksvm", ["bag(10) > ranksvm"]), ("lambdamart", ["bag(5) > lambdamart"]),
    ])  # fmt: skip


@direction("clicks", "Learning from clicks", "What do people's clicks teach in the place of labels, and what wins back "
           "what they hide?")  # fmt: skip
def _clicks(place: Laboratory) -> Iterator[Finding]:
    """Clicks at their word against debiased ones and against labels, of people who look by position, and who do not."""
    trees = ["clicks(ips) > lambdamart", "clicks(pairwise) > lambdamart"]
    cascade = [f"clicks({debias},people=cascade) > lambdamart" for debias in ("ips", "pairwise")]
    yield place.against(lambda *_: [
        ("clicks(naive) > lambdamart", [*trees, "lambdamart"]),
        ("clicks(naive) > ranksvm", ["clicks(ips) > ranksvm", "ranksvm"]),
        ("clicks(naive,people=cascade) > lambdamart", cascade),
    ])  # fmt: skip
    results, inputs = Results.open(place.output), place.inputs()
    yield gap_table(results, inputs, [
        ("clicks(naive) > lambdamart", trees, "lambdamart"),
        ("clicks(naive) > ranksvm", ["clicks(ips) > ranksvm"], "ranksvm"),
        ("clicks(naive,people=cascade) > lambdamart", cascade, "lambdamart"),
    ], MEASURE)  # fmt: skip
    yield peers_table(results, inputs, ["clicks(naive) > lambdamart", *trees], "lambdamart", MEASURE)
    yield propensities_table(inputs)


@direction("query-dependent", "Query-dependent ranking", "Is a ranker better that learned from queries like this one?")
def _query_dependent(place: Laboratory) -> Iterator[Finding]:
    """Nearest queries, clusters of them, and models chosen by the query; and the tasks of a collection in one set."""
    ways = ["knn(60)", "clusters(3)", "choose"]
    yield place.against(lambda *_: [("ranksvm", [f"{way} > ranksvm" for way in ways])])
    # Without knn, which would normalise and train for each of hundreds of training queries.
    baseline, chains = "norm > ranksvm", [f"{way} > norm > ranksvm" for way in (*ways[1:], "classes")]
    for name, tasks in place.tasks("auto query proximity positions").items():
        mixture = mixed(tasks, place.cache, f"{name}-mixed")
        yield place.against(lambda *_: [(baseline, chains)], inputs=[mixture])
        results = place.bench([one.data for one in tasks], [baseline], inputs=tasks)
        yield won_back(results, mixture, tasks, baseline, chains, MEASURE)


@direction("beyond-scores", "Beyond scores", "Is a function of two documents, or of all, better than a score?",
           ("attention > listnet",))  # fmt: skip
def _beyond_scores(place: Laboratory) -> Iterator[Finding]:
    """Tournaments of pairs beside the same trees alone, attention beside the network without it; and what they cost."""
    yield place.against(lambda *_: [
        ("mart", ["tournament > mart", "tournament(sort) > mart"]), ("listnet", ["attention > listnet"]),
    ])  # fmt: skip
    yield tournament_costs(opened_folds(place.inputs()[0]).data)
    for built, collection in place.distilled():
        yield diversity_table(built, collection, DISTILLATION)


@direction("extraction", "Feature extraction", "Do products, proximity, links and vectors say what features do not?")
def _extraction(place: Laboratory) -> Iterator[Finding]:
    """Products and ratios found on validation; and groups of features of a collection, each put to the plain ones."""
    yield place.against(lambda *_: [("ranksvm", ["products > ranksvm"])])
    richer = place.richer("auto proximity positions")
    if not richer:
        return
    groups = {"proximity": "*_distance@*+smallest_window@*+*ordered_bigrams@*",
              "positions": "first_position@*+bm25_proximity@*"}  # fmt: skip
    groups |= {} if place.dense is None else {"dense": "dense_*"}

    def lines(data: str, names: Sequence[str]) -> list[Lines]:
        plain = f"without({'+'.join(groups.values())})"
        more = [f"without({'+'.join(text for other, text in groups.items() if other != name)})" for name in groups]
        links = [f"{plain} > without({_LINKS})"] if data.startswith("stdlib") else []
        return [(f"{plain} > {ranker}", [*(f"{way} > {ranker}" for way in (*more, *links)), ranker])
                for ranker in ("ranksvm", "lambdamart")]  # fmt: skip

    yield place.against(lines, inputs=richer)
    if place.dense is not None:
        yield nearest_table(place.inputs(), richer, MEASURE)


_LINKS = "sitemap_*+score_*+feature_*+authority+hub+*rank+topical_*+*links"  # what only links tell
