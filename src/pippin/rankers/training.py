"""Train, select and apply rankers: `train`, `select` and `rank`."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.logs import ClickLog
from pippin.clicks.logs import read as read_log
from pippin.data.buffers import WEIGHT, read_weights
from pippin.data.dataset import Dataset
from pippin.data.digest import digest as dataset_digest
from pippin.data.inputs import Predictor, coerce_judgements, coerce_scores, is_predictor, predict_scores
from pippin.data.letor import write_scores
from pippin.data.qrels import Run, write_run
from pippin.display.terminal import ProgressBar
from pippin.errors import ConventionError, DataError, PippinWarning
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import aggregate
from pippin.evaluation.measures.notation import text_of
from pippin.evaluation.objective import Objective
from pippin.kernels import one_thread, threads
from pippin.rankers import ranker as find_ranker
from pippin.rankers.base import Ranker
from pippin.rankers.chains import Chain, parse_parameters
from pippin.rankers.models import align_features, is_pippin_model, load
from pippin.rankers.parameters import resolve_names
from pippin.rankers.training_data import from_clicks


@dataclass(frozen=True)
class TrainingSummary:
    """What `train` did: data, selection, scores; `str` gives the sentences that `pippin train` prints.

    Attributes
    ----------
    ranker : str
        Name of the ranker or chain.
    data : str
        Name and size of the training set.
    data_digest : str
        Digest of the training set, which `save` writes into the model file.
    measure, tool : str
        Measure and convention of `values`.
    values : tuple of (str, float)
        The measure of the training set and of the validation set, with their names; empty with
        relations and on partitions.
    selection : SelectionResult or None
        Every grid point that `select` tried.
    notes : tuple of str
        Sentences about clicks, selection, relations and parameters that follow from the size of the data.
    """

    ranker: str
    data: str
    data_digest: str
    measure: str = ""
    tool: str = ""
    values: tuple[tuple[str, float], ...] = ()
    selection: SelectionResult | None = None
    notes: tuple[str, ...] = ()

    def sentences(self, place: str = "") -> list[str]:
        """Return the summary as sentences; `place` is where the model was written."""
        lines = [*self.notes, f"{place}: {self.ranker}, trained on {self.data}" if place else
                 f"{self.ranker}, trained on {self.data}"]  # fmt: skip
        if self.values:
            values = ", ".join(f"{value:.4f} on {name}" for name, value in self.values)
            lines.append(f"{self.measure} under {self.tool}: {values}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.sentences())


class PartitionExecutor(Protocol):
    """Trains and scores on partitions that one machine need not hold; `pippin.distributed.partitions` has one."""

    def train(self, ranker: Ranker, data: Any, valid: Dataset | None) -> tuple[str, str]:
        """Fit the ranker; return name and digest of the data."""

    def score(self, model: Any, data: Any, out: str) -> str:
        """Write the scores of every partition to a folder; return its description."""


def train(
    data: Any,
    ranker: str | type[Ranker] | Ranker = "lambdamart",
    *,
    valid: Any = None,
    measure: Any = None,
    convention: Any = None,
    select: Any = None,
    clicks: Any = None,
    debias: str = "ips",
    propensities: Any = "em",
    relations: Any = None,
    budget: float | str | None = None,
    executor: PartitionExecutor | None = None,
    missing_value: str = "zero",
    verbose: bool = False,
    **parameters: Any,
) -> Ranker:
    """Train a ranker; with `select`, the best point of its grid.

    Parameters
    ----------
    data : Dataset, path or data frame
        Training documents with features, labels and query ids.
    ranker : str, type or Ranker, default "lambdamart"
        A name from `pippin.rankers`, a chain such as ``"gas(10) > ranksvm"``, a class, or a ranker with its parameters.
    valid : same types as `data`, optional
        Validation set for early stopping, `select` and `relations`.
    measure : str, optional
        Measure that training and early stopping look at. Default: the ranker's own.
    convention : str or Convention, optional
        Tool under whose rules measures are computed in training and selection. Default: "official".
    select : str, optional
        Try the ranker's grid, and keep the point with the best value of this measure on `valid`.
    clicks : ClickLog or path, optional
        Learn from this click log instead of labels (lambdamart and ranksvm).
    debias : {"ips", "dr", "pairwise", "naive"}, default "ips"
        How clicks are weighted; see `pippin.clicks.preferences`.
    propensities : {"em", "swaps", "regression"}, str or sequence of float, default "em"
        For `debias="ips"` and `"dr"`: how examination propensities are estimated, or their values from rank 1 on
        (in a string, separated by commas).
    relations : Relations or path, optional
        Similarities of the documents of `valid`, along which scores are propagated. The validation set chooses how far.
    budget : float or str, optional
        Time limit of a ranker that has one (auto): seconds, or text such as "60s", "5m" or "1h".
    executor : PartitionExecutor, optional
        Trains on partitions; `data` is then their folder.
    missing_value : {"zero", "null"}, default "zero"
        Value of features that a LETOR line leaves out.
    verbose : bool, default False
        Show progress.
    **parameters
        Parameters of the ranker; ``pippin rankers NAME`` explains them. Common names of scikit-learn and LightGBM are
        understood, for example ``n_estimators`` and ``random_state``.

    Returns
    -------
    Ranker
        The fitted ranker. ``training_summary_`` holds sizes, scores and the result of `select`.

    Raises
    ------
    UnknownName
        If the ranker or a parameter does not exist.
    DataError
        If the data have no features or no relevant document, or a value is invalid.
    MissingDependency
        If the ranker needs a package that is not installed.

    Examples
    --------
    >>> import pippin
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5], [1.5]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> data = pippin.Dataset.from_arrays(X, y, qid, name="five")
    >>> model = train(data, "ranksvm", C=0.1)
    >>> pippin.evaluate(data, pippin.rank(model, data), "NDCG@3").mean
    {'NDCG@3': 1.0}
    >>> print(model.training_summary_)
    ranksvm, trained on five (2 queries, 5 documents, 1 features)
    NDCG@10 under official: 1.0000 on five
    """
    if budget is not None:
        parameters["budget"] = parse_seconds(budget)
    shared = {"measure": measure, "convention": convention, "verbose": verbose or None}
    learner = _make(ranker, {k: v for k, v in shared.items() if v is not None}, select is not None, parameters)
    learner.check_packages()
    valid_set = None if valid is None else as_dataset(valid, missing_value)
    if executor is not None:
        refuse_on_partitions(relations=relations, select=select, clicks=clicks)
        learner.training_summary_ = TrainingSummary(learner.name, *executor.train(learner, data, valid_set))
        return learner
    if valid_set is None and (select is not None or relations is not None):
        raise DataError(f"{'relations' if select is None else 'select'} needs a validation set: pass valid")
    labelled = train_set = as_dataset(data, missing_value)
    digest = dataset_digest(labelled)
    _check_validation(learner, valid_set, len(labelled), digest)
    weights = read_weights(data) if isinstance(data, (str, os.PathLike)) else None
    if weights is not None and select is not None:
        raise DataError("select ignores query weights: train with fixed parameters to use them", f"{data}{WEIGHT}")
    notes: list[str] = []
    if clicks is not None:
        log = as_log(clicks)
        notes.append(f"learning from {log}, {debias}")
        train_set = from_clicks(train_set, log, debias=debias, propensities=_parse_propensities(propensities))
    selection = None
    tool = convention or "official"
    if select is not None and valid_set is not None:
        selection = _select(learner, train_set, valid_set, select, tool, verbose)
        learner = selection.ranker
        point = ", ".join(f"{k}={v}" for k, v in selection.parameters.items()) or "its defaults"
        notes.append(f"selected {point}: {text_of(select)} {selection.value:.4f} on {valid_set.name}")
    else:
        learner.fit(train_set, eval_set=valid_set, sample_weight=weights)
    if relations is not None and valid_set is not None:
        notes.append(_choose_relation_weight(learner, valid_set, relations, measure, convention))
    last = learner.ranker_ if isinstance(learner, Chain) else learner
    notes += [note for name in ("reasons_", "stopping_") if (note := getattr(last, name, ""))]
    measure_text = text_of(select or measure or learner.get_params().get("measure") or "NDCG@10")
    values: list[tuple[str, float]] = []
    if relations is None:  # with relations, the note states the values
        for part in (labelled, *([] if valid_set is None else [valid_set])):
            values.append((part.name, evaluate(part, learner.predict(part), measure_text, tool)[measure_text]))
    learner.training_summary_ = TrainingSummary(
        learner.name, _describe(labelled), digest, measure_text,
        tool if isinstance(tool, str) else "this convention", tuple(values), selection, tuple(notes),
    )  # fmt: skip
    return learner


def _check_validation(ranker: Ranker, valid: Dataset | None, documents: int, digest: str) -> None:
    """Raise DataError if the validation set is the training set; warn if early stopping needs one."""
    if valid is not None:
        if len(valid) == documents and dataset_digest(valid) == digest:
            raise DataError("the validation set is identical to the training set: pass other queries", valid.name)
        return
    name = f"{ranker.labels[-1]}__rounds" if isinstance(ranker, Chain) else "rounds"
    if ranker.is_iterative and ranker.get_params()[name] == ranker.parameters[name].default:
        warnings.warn(
            f"{ranker.name} keeps all {ranker.get_params()[name]:,} rounds and may overfit: pass a validation set "
            "(--valid) for early stopping, or set rounds",
            PippinWarning,
            stacklevel=3,
        )


def refuse_on_partitions(**options: Any) -> None:
    """Raise DataError if an option is set that needs all documents in one memory."""
    for name, value in options.items():
        if value is not None:
            raise DataError(f"{name} is not available on partitions: it needs all documents in one memory")


def _describe(data: Dataset) -> str:
    sizes = f"{len(data.query_ids):,} queries, {len(data):,} documents, {data.features.shape[1]} features"
    return f"{data.name} ({sizes})"


def _choose_relation_weight(ranker: Ranker, valid: Dataset, relations: Any, measure: Any, convention: Any) -> str:
    """Let the validation set choose how far scores are propagated; return a sentence about it."""
    from pippin.rankers.relational import Relational, as_relations

    wrapper = Relational.around(ranker)
    wrapper.measure, wrapper.convention = measure or wrapper.measure, convention or wrapper.convention
    wrapper.choose(valid, as_relations(relations, valid))
    values = dict(wrapper.candidates_)
    return (
        f"relations weigh {wrapper.weight_:g}: {wrapper.measure} {values[wrapper.weight_]:.4f} on {valid.name}, "
        f"{values[0.0]:.4f} without"
    )


def _select(
    ranker: Ranker, train_set: Dataset, valid_set: Dataset, measure: Any, convention: Any, verbose: bool
) -> SelectionResult:
    return select(ranker, train_set, valid_set, measure=text_of(measure), convention=convention, verbose=verbose)


def _make(
    ranker: str | type[Ranker] | Ranker, shared: dict[str, Any], is_selected: bool, parameters: dict[str, Any]
) -> Ranker:
    """Return the ranker with its parameters, not yet trained.

    `shared` are arguments of `train` that many rankers have as parameters. Without one of them a ranker is refused,
    unless `select` uses it or it is `verbose`.
    """
    kind: Any = find_ranker(ranker) if isinstance(ranker, str) else ranker
    template: Ranker = kind if isinstance(kind, Ranker) else kind()
    defaults = template.get_params()
    text_parameters = parse_parameters(ranker) if isinstance(ranker, str) else {}
    if "measure" in shared and "measure" not in defaults and not is_selected:
        raise ConventionError(
            f"{template.name} does not optimise or validate a measure: omit measure, or use select to choose "
            "parameters by it"
        )
    shared_parameters = {k: v for k, v in shared.items() if k in defaults or not (is_selected or k == "verbose")}
    resolved = resolve_names(template.name, {**text_parameters, **parameters}, defaults)
    result: Ranker = type(template)(
        **{**defaults, **resolve_names(template.name, shared_parameters, defaults), **resolved}
    )
    return result


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_seconds(text: str | float) -> float:
    """Return a duration in seconds.

    >>> parse_seconds("90"), parse_seconds("60s"), parse_seconds("1.5m"), parse_seconds("2h"), parse_seconds(5)
    (90.0, 60.0, 90.0, 7200.0, 5.0)
    """
    text_value = str(text)
    number, unit = (text_value[:-1], text_value[-1:]) if text_value[-1:] in _SECONDS else (text_value, "s")
    try:
        seconds = float(number) * _SECONDS[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < math.inf:
        raise DataError(f"invalid duration {text!r}: write 60s, 5m or 1h")
    return seconds


def _parse_propensities(propensities: Any) -> Any:
    """Return a method's name as it is, and numbers in a string as a list."""
    try:
        return [float(part) for part in propensities.split(",")] if isinstance(propensities, str) else propensities
    except ValueError:
        return propensities


def as_log(clicks: Any) -> ClickLog:
    """Return a click log from a ClickLog or a file."""
    if isinstance(clicks, ClickLog):
        return clicks
    if not isinstance(clicks, str | os.PathLike):
        raise DataError(f"clicks must be a ClickLog or a path, got {type(clicks).__name__}")
    return read_log(clicks)


def as_dataset(data: Any, missing_value: str = "zero") -> Dataset:
    """Return a data set with features from a Dataset, a file or a data frame.

    Parameters
    ----------
    data : Dataset, path or data frame
        The documents.
    missing_value : {"zero", "null"}, default "zero"
        Value of a feature that a line of LETOR text omits: 0, or missing (NaN).

    Returns
    -------
    Dataset
        The documents with features and labels.

    Examples
    --------
    >>> as_dataset(Dataset.from_arrays([[1.0], [2.0]], [0, 1], [1, 1])).queries
    1
    """
    dataset = (
        coerce_judgements(data, missing_value=missing_value)
        if isinstance(data, (str, os.PathLike))
        else coerce_judgements(data)
    )
    if not isinstance(dataset, Dataset):
        raise DataError(f"{dataset.name} has labels but no features: pass a data set with features")
    return dataset


def document_scores(source: str | os.PathLike[str], data: Dataset) -> NDArray[np.float64]:
    """Return a score per document: those of a score file, or the predictions of a model file.

    Parameters
    ----------
    source : path
        A score file or a model.
    data : Dataset
        The documents.

    Returns
    -------
    array of shape (documents,)
        The scores.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> _ = file.write_text("0.5\\n0.25\\n")
    >>> document_scores(file, Dataset.from_arrays([[1.0], [2.0]], [0, 1], [1, 1])).tolist()
    [0.5, 0.25]
    """
    if is_pippin_model(source):
        return rank(source, data)
    scores = coerce_scores(source, data)
    if isinstance(scores, Run):
        raise DataError("expected a score per document or a model, found a run", source)
    return scores


def rank(
    model: Predictor | str | os.PathLike[str],
    data: Any,
    relations: Any = None,
    *,
    out: str | os.PathLike[str] | None = None,
    tag: str | None = None,
    executor: PartitionExecutor | None = None,
    missing_value: str = "zero",
) -> NDArray[np.float64]:
    """Score documents with a trained ranker.

    Parameters
    ----------
    model : Ranker, path, or fitted model of another library
        A trained ranker, its file, or an object with a method `predict`, such as LGBMRanker, XGBRanker, CatBoostRanker,
        or an estimator or pipeline of scikit-learn. A classifier of two classes ranks by its decision function or by
        the probability of the second class.
    data : Dataset, path, data frame or array of shape (documents, features)
        Features are matched by name, except in an array.
    relations : Relations or path, optional
        Similarities of the documents, for a model that was trained with them.
    out : path, optional
        Write the scores to this file: one per line ("-": standard output), or a TREC run if its name ends in ``.run``.
        With `executor`, a folder.
    tag : str, optional
        Name of the system in a TREC run; by default the name of the ranker.
    executor : PartitionExecutor, optional
        Scores partitions; `data` and `out` are then folders.
    missing_value : {"zero", "null"}, default "zero"
        Value of features that a LETOR line leaves out.

    Returns
    -------
    ndarray of float64, shape (documents,)
        Higher is better within a query. Empty with `executor`.

    Raises
    ------
    DataError
        If a feature of the model is missing, or the model needs relations.

    Examples
    --------
    >>> import pippin
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> rank(pippin.train(data, "ranksvm"), data).argsort().tolist()
    [0, 1, 2]
    """
    if tag is not None and not (out is not None and os.fspath(out).endswith(".run")):
        raise ConventionError(f"a tag ({tag}) names a TREC run: pass an output file that ends in .run")
    if executor is not None:
        refuse_on_partitions(relations=relations)
        if out is None or out == "-":
            raise DataError("scores of partitions are written to a folder: pass out (-o FOLDER/)")
        executor.score(model, data, os.fspath(out))
        return np.empty(0)
    ranker = load(model) if isinstance(model, (str, os.PathLike)) else model
    if not isinstance(ranker, Ranker):
        if not is_predictor(ranker) or relations is not None:
            raise DataError(f"{type(model).__name__} is not a ranker{'' if relations is None else ' with relations'}")
        table = data if isinstance(data, (np.ndarray, list)) else as_dataset(data, missing_value)
        scores = predict_scores(ranker, table)
        if out is not None:
            _write_scores(table, scores, out, tag or type(ranker).__name__)
        return scores
    is_array = isinstance(data, (np.ndarray, list))
    documents = data if is_array else align_features(ranker, as_dataset(data, missing_value))
    if relations is not None:
        from pippin.rankers.relational import Relational, as_relations

        scores = Relational.around(ranker).predict(documents, as_relations(relations, documents))
    elif ranker.relation_weight_:
        raise ConventionError("this model needs document relations: pass relations (--relations FILE)")
    else:
        scores = ranker.predict(documents)
    if out is not None:
        _write_scores(documents, scores, out, tag or ranker.name)
    return scores


def _write_scores(data: Any, scores: NDArray[np.float64], out: str | os.PathLike[str], tag: str) -> None:
    """Write a run if the name ends in `.run`, otherwise one score per line."""
    if os.fspath(out).endswith(".run"):
        if not isinstance(data, Dataset) or data.document_ids is None:
            raise DataError("a run needs document ids, which these data do not have", out)
        order = np.lexsort((-scores, data.qid()))
        run = Run(data.query_ids, data.offsets, data.document_ids.take(order), scores[order], data.name, tag)
        write_run(run, out)
    else:
        write_scores(scores, out)


@dataclass(frozen=True)
class Candidate:
    """A grid point and its validation value."""

    parameters: dict[str, Any]
    value: float
    seconds: float = 0.0  # clock time of training
    processor_seconds: float = 0.0  # processor time of training


@dataclass(frozen=True)
class SelectionResult:
    """The selected ranker, fitted, and all candidates."""

    ranker: Ranker
    parameters: dict[str, Any]
    value: float
    candidates: tuple[Candidate, ...]


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of a grid, the last parameter varying fastest.

    scikit-learn's ParameterGrid sorts the parameters by name, which would change which of two equal points wins.

    >>> grid_points({"C": [1, 10]})
    [{'C': 1}, {'C': 10}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean, ignoring NaN; infinite for fewer than two values.

    >>> standard_error(np.array([0.0, 2.0, np.nan]))
    1.0
    """
    defined = values[~np.isnan(values)]
    return math.inf if len(defined) < 2 else float(defined.std(ddof=1)) / math.sqrt(len(defined))


Fitted = tuple[Ranker, float, float]  # a model, clock seconds, processor seconds


def _fit_all(ranker: Ranker, todo: Sequence[dict[str, Any]], train: Dataset, valid: Dataset) -> Iterator[Fitted]:
    """Yield the models of all grid points, in order; in parallel if each fit uses only one core."""
    is_single_threaded = ranker.is_single_threaded(train)
    workers = min(threads(), len(todo)) if is_single_threaded else 1
    at_work = time.process_time if workers <= 1 else time.thread_time
    cache: dict[str, Any] = {}

    def fit(parameters: dict[str, Any]) -> Fitted:
        model = ranker.clone().set_params(**parameters)
        if is_single_threaded:
            model.use_cache(cache)
        start, before = time.perf_counter(), at_work()
        model.fit(train, eval_set=valid)
        return model, time.perf_counter() - start, at_work() - before

    def fit_beside(parameters: dict[str, Any]) -> Fitted:
        with one_thread():
            return fit(parameters)

    if workers <= 1:
        yield from map(fit, todo)
    else:
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(fit_beside, todo)


def select(
    ranker: Ranker,
    train: Dataset,
    valid: Dataset,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    measure: str = "MAP",
    convention: str | Convention = "official",
    verbose: bool = False,
) -> SelectionResult:
    """Fit every point of a grid, and return the best on the validation set.

    Parameters
    ----------
    ranker : Ranker
        A ranker with the parameters that the grid does not set.
    train, valid : Dataset
        Training and validation set.
    grid : dict of lists, optional
        Values by parameter. Default: the ranker's own grid.
    measure : str, default "MAP"
        Measure of the validation set that selects. Early stopping uses the ranker's own measure.
    convention : str or Convention, default "official"
        Convention of the measure.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    SelectionResult
        The fitted ranker, its parameters, and all candidates.

    Examples
    --------
    >>> import pippin
    >>> from pippin.rankers import RankSVM
    >>> train, valid = pippin.read("train.txt"), pippin.read("vali.txt")  # doctest: +SKIP
    >>> best = select(RankSVM(), train, valid, measure="NDCG@10")  # doctest: +SKIP
    """
    judge = Objective(valid, measure, convention)
    tried: list[Candidate] = []
    best: tuple[float, Ranker, dict[str, Any], NDArray[np.float64]] | None = None
    todo = grid_points(ranker.grid if grid is None else grid)
    bar = ProgressBar(len(todo), f"selecting {ranker.name}") if verbose else None
    for parameters, (model, seconds, processor) in zip(todo, _fit_all(ranker, todo, train, valid), strict=True):
        values = judge.values(model.predict(valid))
        value = aggregate(values, "mean")
        tried.append(Candidate(parameters, value, seconds, processor))
        if best is None or value - best[0] > (
            standard_error(values - best[3]) if ranker.one_standard_error_rule else 0.0
        ):
            best = (value, model, parameters, values)
        if bar is not None:
            bar.step(f"{measure} {value:.4f}")
    if bar is not None:
        bar.close()
    if best is None:
        raise DataError("the grid is empty: add at least one point")
    return SelectionResult(best[1], best[2], best[0], tuple(tried))
