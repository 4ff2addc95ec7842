"""`pippin train`: fit a ranker on a data set and write the model."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pippin.cli.options import flag, old, only, shared
from pippin.cli.output import say
from pippin.clicks.preference import DEBIASING
from pippin.data.dataset import Dataset
from pippin.data.grouped import WEIGHT, weights_beside
from pippin.errors import DataError, UnknownName

if TYPE_CHECKING:
    from pippin.rankers.base import Ranker

HELP = """Train a ranker and write its model.

With --select its grid is tried, and the best on the validation set kept. On a cluster (--dask) DATA are partitions, as
`pippin convert --partitions` writes them. With --clicks, a log of clicks takes the place of labels (lambdamart and
ranksvm). `--ranker auto` tries many rankers and says what it took, and why."""
EXAMPLES = (
    "pippin train train.txt --ranker lambdamart --valid vali.txt --out model.json",
    "pippin train train.txt --ranker ranksvm --valid vali.txt --select MAP --out model.json",
    "pippin train train.txt --ranker auto --budget 60s --valid vali.txt --out auto.json",
)


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_ROUNDS = ("trees", "epochs", "iterations")  # what others call rounds


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", help="LETOR file, table or store")
    flag(parser, "ranker", required=True)
    flag(parser, "out", metavar="MODEL", required=True)
    parser.add_argument("--valid", metavar="FILE", help="the validation set")
    flag(parser, "measure", "here one: what training, stopping and selection look at")
    shared(parser, "convention", "select")
    parser.add_argument("--clicks", metavar="LOG", help="learn from this log of clicks in the place of labels")
    parser.add_argument(
        "--debias", choices=DEBIASING, default=DEBIASING[0],
        help="how clicks are taken: weighed by one over the propensity of their rank, by pairs, or at their word "
        "(default: ips)",
    )  # fmt: skip
    parser.add_argument(
        "--propensities", metavar="HOW", default="em",
        help="of --debias ips: em, swaps, regression, or the propensities themselves from rank 1 on, joined by commas "
        "(default: em)",
    )  # fmt: skip
    flag(parser, "set", "trees and epochs are understood as rounds", default=[])
    parser.add_argument(
        "--budget", metavar="TIME", help="how long a ranker that can be timed (auto) may take: 60s, 5m, 1h"
    )
    flag(parser, "relations", "scores are spread along it, as far as --valid finds best")
    parser.add_argument("--no-documents", action="store_true", help="leave out of the model's file the 1,000 documents "
                        "of the training set that exports are checked with")  # fmt: skip
    shared(parser, "dask", "quiet", absent="zero")
    old(parser, "--output", "--out")


def run(options: argparse.Namespace) -> int:
    """Train and write."""
    from pippin.data.store import digest
    from pippin.rankers import Auto, models
    from pippin.rankers import ranker as find_ranker

    for name in ("ranker", "measure", "convention"):
        setattr(options, name, only(getattr(options, name), f"--{name}"))
    find_ranker(options.ranker).check_packages()
    if options.dask is not None:
        return run_on_dask(options)
    train = read_data(options.data, options.absent)
    valid = None if options.valid is None else read_data(options.valid, options.absent)
    ranker, weights, traced, judged = make(options), weights_beside(options.data), digest(train), train
    if options.clicks is not None:
        train = learned_from(options, train)
    if options.select is not None:
        if valid is None:
            raise DataError("--select needs a validation set, --valid FILE")
        if weights is not None:
            raise DataError(
                "--select weighs all queries alike; train with chosen parameters to use these",
                f"{options.data}{WEIGHT}",
            )
        from pippin.rankers.selection import select

        chosen = select(
            ranker, train, valid, measure=options.select, convention=options.convention or "official",
            verbose=not options.quiet,
        )  # fmt: skip
        ranker = chosen.ranker
        shown = ", ".join(f"{k}={v}" for k, v in chosen.parameters.items()) or "its defaults"
        say(f"selected {shown}: {options.select} {chosen.value:.4f} on {valid.name}")
    else:
        ranker.fit(train, eval_set=valid, sample_weight=weights)
    if options.relations is not None:
        say(choose_weight(ranker, valid, options))
    models.save(ranker, options.output, traced, sample=not options.no_documents)
    if isinstance(ranker, Auto) and not options.quiet:
        print(ranker.table().render(), file=sys.stderr)
    if reasons := getattr(ranker, "reasons_", ""):
        say(reasons)
    say(f"{options.output}: {ranker.name}, trained on {_sizes(judged)}")
    if options.relations is None:  # where scores are spread, the validation set said what that gives
        say(values_of(ranker, options, [judged, *([valid] if valid is not None else [])]))
    return 0


def _sizes(data: Dataset) -> str:
    sizes = f"{len(data.query_ids):,} queries, {len(data):,} documents, {data.features.shape[1]} features"
    return f"{data.name} ({sizes})"


def values_of(ranker: Ranker, options: argparse.Namespace, parts: Sequence[Dataset]) -> str:
    """What the model gives on what it was trained and validated with, by the measure that it looks at."""
    from pippin.evaluation.evaluate import evaluate
    from pippin.rankers.training import rank

    measure = options.select or options.measure or ranker.get_params().get("measure") or "NDCG@10"
    tool = options.convention or "official"
    values = [f"{evaluate(data, rank(ranker, data), measure, tool)[measure]:.4f} on {data.name}" for data in parts]
    return f"{measure} under {tool}: {', '.join(values)}"


def learned_from(options: argparse.Namespace, train: Dataset) -> Dataset:
    """The training set with the pairs that clicks prefer."""
    from pippin.clicks.files import read
    from pippin.rankers.parts.preferred import clicked

    log = read(options.clicks)
    say(f"learning from {log}, {options.debias}")
    return clicked(train, log, debias=options.debias, propensities=propensities_of(options.propensities))


def propensities_of(text: str) -> Any:
    """How propensities are found, or the propensities themselves.

    >>> propensities_of("em"), propensities_of("1,0.5,0.25")
    ('em', [1.0, 0.5, 0.25])
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text


def choose_weight(ranker: Ranker, valid: Dataset | None, options: argparse.Namespace) -> str:
    """Let the validation set choose how far scores are spread; what it chose."""
    from pippin.collection.relations import similar
    from pippin.rankers.relational import Relational

    if valid is None:
        raise DataError("--relations needs a validation set, --valid FILE")
    wrapper = Relational.around(ranker)
    wrapper.measure, wrapper.convention = options.measure or wrapper.measure, options.convention or wrapper.convention
    wrapper.choose(valid, similar(valid, options.relations))
    values = dict(wrapper.candidates_)
    return (
        f"relations weigh {wrapper.weight_:g}: {wrapper.measure} {values[wrapper.weight_]:.4f} on {valid.name}, "
        f"{values[0.0]:.4f} without"
    )


def run_on_dask(options: argparse.Namespace) -> int:
    """Train on the workers of a cluster, each of which reads its own partitions."""
    from pippin.bench.dask.memory import train_partitions
    from pippin.data.partitions import open_partitions
    from pippin.rankers import models

    if options.relations is not None:
        raise DataError("--relations is not for a cluster; the pairs of documents are held in one memory")
    if options.select is not None:
        raise DataError(
            "--select is not for a cluster; choose parameters on a part of the data, and give them by --set"
        )
    if options.clicks is not None:
        raise DataError("--clicks is not for a cluster; the pairs of documents are held in one memory")
    whole = open_partitions(options.data)
    valid = None if options.valid is None else read_data(options.valid, options.absent)
    ranker = make(options)
    with cluster(options.dask) as client:
        train_partitions(ranker, options.data, client, valid)
    models.save(ranker, options.output, whole.digest(), sample=not options.no_documents)
    say(f"{ranker.name} trained on {whole}: {options.output}")
    return 0


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of one made here (`local`); None where none is asked for."""
    if address is None:
        yield None
        return
    from pippin.bench.dask.cluster import connected
    from pippin.kernels import threads

    with connected(address, threads(), None) as client:
        yield client


def read_data(path: str, absent: str = "zero") -> Dataset:
    """A data set with features from a file of any form."""
    from pippin.data.load import as_judged

    data = as_judged(path, absent=absent)
    if not isinstance(data, Dataset):
        raise DataError("judgements have no features to learn from", path)
    return data


def seconds_of(text: str) -> float:
    """A time as people write it, in seconds.

    >>> seconds_of("90"), seconds_of("60s"), seconds_of("1.5m"), seconds_of("2h")
    (90.0, 60.0, 90.0, 7200.0)
    """
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < math.inf:
        raise DataError(f"a time is written 60s, 5m or 1h, not {text!r}")
    return seconds


def make(options: argparse.Namespace) -> Any:
    """The ranker with the parameters that were set."""
    from pippin.rankers import ranker
    from pippin.rankers.written import settings, value_of

    cls = ranker(options.ranker)
    known = cls().get_params()
    given: dict[str, Any] = settings(options.ranker)
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise DataError(f"--set takes NAME=VALUE, not {text!r}")
        if name not in known and name in _ROUNDS and "rounds" in known:
            name = "rounds"
        given[name] = value_of(value)
    if options.budget is not None:
        if "budget" not in known:
            raise DataError(
                f"--budget is for rankers that can be timed, such as auto; {cls.name} is trained to its end"
            )
        given["budget"] = seconds_of(options.budget)
    for name in ("measure", "convention"):
        if getattr(options, name) is not None and (name in known or options.select is None):
            given[name] = getattr(options, name)
    if "verbose" in known and not options.quiet:
        given.setdefault("verbose", True)
    for name in given:
        if name not in known:
            raise UnknownName(f"parameter of {cls.name}", name, known)
    return cls(**given)
