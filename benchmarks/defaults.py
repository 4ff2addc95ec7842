"""Choose default parameters on many data sets without using labels of test sets.

    python benchmarks/defaults.py judge NAME=DATA … --try "lambdamart" --try "lambdamart(num_leaves=31)" [--keep FILE]
    python benchmarks/defaults.py test NAME=DATA … [--try …] [--peers] [--keep FILE]

DATA is what `pippin bench` takes; `synthetic`, `mslr-like` and the sets of `synthetic_sets.py` are made here. A data
set has five parts. `judge` hands the settings four of them; the fifth, the test part of Fold1, is not read. In each
of four turns a setting is trained on two parts, may stop by a third, and is judged on the fourth, so that every query
of the four is judged once. The table has the mean NDCG@10 of each set, the mean rank over sets with its 95% interval
(queries drawn again within each set), the mean difference from the first setting with its interval, and processor
seconds. The best mean rank is what the data say; a setting that is not told from it by the interval and costs less is
what is taken.

`test` is the table of the documentation: five folds, trained on three parts, stopped and selected on one, and tested on
the last. `grid:NAME` is the choice among a ranker's grid. `--keep FILE` holds what was computed, line by line: nothing
is computed twice. Settings are known there by all their parameters, not by the code that they run.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peers import PEERS, available_peers
from synthetic_sets import heavy, letor_like

from pippin.benchmarks.inputs import resolve_inputs
from pippin.data.dataset import Dataset, concatenate
from pippin.data.folds import Folds, make_folds
from pippin.data.synthetic import make_dataset
from pippin.display.tables import Table
from pippin.evaluation.objective import Objective
from pippin.rankers import ranker
from pippin.rankers.chains import parse_parameters
from pippin.rankers.training import select

MEASURE, CONVENTION = "NDCG@10", "official"
DRAWS = 2000  # of queries, for intervals
F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Turn:
    """What a setting learns from, what it may stop and choose by, and what it is judged on."""

    name: str
    train: Dataset
    valid: Dataset
    judged: Dataset


def development(folds: Folds) -> list[Dataset]:
    """The parts of a data set but the first fold's test part, which nothing here reads."""
    return [folds[i].test for i in range(1, len(folds))]


def turns(parts: Sequence[Dataset]) -> list[Turn]:
    """Every part judged once, by what learned from the two before the one before it."""
    k = len(parts)
    return [
        Turn(f"turn {i}", concatenate([parts[(i + j) % k] for j in range(k - 2)]), parts[(i - 2) % k], parts[i - 1])
        for i in range(k)
    ]


def tests(folds: Folds) -> list[Turn]:
    """The folds as they are published."""
    return [Turn(fold.name, fold.train, fold.vali, fold.test) for fold in folds]


def identity(setting: str) -> str:
    """A setting by all its parameters, so that another default is another setting."""
    if setting in PEERS:
        return setting
    kind, _, name = setting.rpartition(":")
    cls = ranker(name)
    given = json.dumps({**cls().get_params(), **parse_parameters(name)}, sort_keys=True, default=str)
    grid = json.dumps(cls.grid, sort_keys=True, default=str) if kind else ""
    return f"{kind}{cls.name} {given} {grid}"


def processor() -> float:
    """Processor seconds of this process and of those that it waited for, as RankLib's."""
    return sum(os.times()[:4])


def scores(setting: str, turn: Turn) -> tuple[F64, float]:
    """Scores of the judged part, and the processor seconds of the training."""
    start = processor()
    if setting in PEERS:
        scorer = PEERS[setting](turn.train, turn.valid)
        return scorer(turn.judged.features), processor() - start
    kind, _, name = setting.rpartition(":")
    model = ranker(name)(**parse_parameters(name))
    if kind == "grid":
        model = select(model, turn.train, turn.valid, measure=MEASURE, convention=CONVENTION).ranker
    else:
        model.fit(turn.train, eval_set=turn.valid)
    return model.predict(turn.judged), processor() - start


@dataclass
class StoredValues:
    """What was computed: by data set, turn and setting the values of the judged queries, and seconds."""

    file: Path | None = None
    found: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is not None and self.file.exists():
            for line in self.file.read_text().splitlines():
                record = json.loads(line)
                self.found[record["key"]] = record

    def value(self, data: str, setting: str, turn: Turn) -> tuple[list[float], float]:
        """The values of a turn's judged queries that count, and seconds."""
        key = f"{data} | {turn.name} | {identity(setting)}"
        if key not in self.found:
            given, seconds = scores(setting, turn)
            values = Objective(turn.judged, MEASURE, CONVENTION).values(given)
            self.found[key] = {"key": key, "seconds": seconds, "values": values[~np.isnan(values)].round(12).tolist()}
            if self.file is not None:
                with self.file.open("a") as out:
                    out.write(json.dumps(self.found[key]) + "\n")
        return self.found[key]["values"], self.found[key]["seconds"]


@dataclass(frozen=True)
class Judgement:
    """Values [setting, query] of every data set, and seconds [set, setting] of one training."""

    settings: tuple[str, ...]
    values: Mapping[str, F64]
    seconds: F64

    def means(self) -> F64:
        """[set, setting]."""
        return np.array([table.mean(axis=1) for table in self.values.values()])

    def draws(self, seed: int = 1) -> F64:
        """[draw, set, setting]: means over queries that were drawn again."""
        generator = np.random.default_rng(seed)
        drawn = np.empty((DRAWS, len(self.values), len(self.settings)))
        for s, table in enumerate(self.values.values()):
            for d in range(DRAWS):
                drawn[d, s] = table[:, generator.integers(0, table.shape[1], table.shape[1])].mean(axis=1)
        return drawn

    def best(self) -> str:
        """The setting of the best mean rank."""
        return self.settings[int(np.argmin(ranks(self.means()).mean(axis=0)))]


def ranks(means: F64) -> F64:
    """Ranks from 1 along the last axis, the largest first, equals in the middle of their places."""
    above = (means[..., None, :] > means[..., :, None]).sum(axis=-1)
    same = (means[..., None, :] == means[..., :, None]).sum(axis=-1)
    return 1 + above + (same - 1) / 2


def judge(
    asked: Sequence[str], sets: Iterable[tuple[str, Sequence[Turn]]], kept: StoredValues, say: Callable[[str], None]
) -> Judgement:
    """Every setting on every turn of every set; one set is held at a time."""
    values, seconds = {}, []
    for data, todo in sets:
        table, spent = [], []
        for setting in asked:
            results = [kept.value(data, setting, turn) for turn in todo]
            table.append(np.concatenate([value for value, _ in results]))
            spent.append(float(np.mean([second for _, second in results])))
            say(f"{data:12} {setting:60} {table[-1].mean():.4f} {spent[-1]:8.2f} s")
        values[data], seconds = np.array(table), [*seconds, spent]
    return Judgement(tuple(asked), values, np.array(seconds))


def table_of(judged: Judgement) -> Table:
    """Settings × sets, mean ranks and differences from the first setting with intervals, seconds."""
    means, sample = judged.means(), judged.draws()
    mean_ranks, drawn_ranks = ranks(means).mean(axis=0), ranks(sample).mean(axis=1)
    gains = (sample - sample[:, :, :1]).mean(axis=1)
    rows = []
    for i in np.argsort(mean_ranks, kind="stable"):
        low, high = np.quantile(drawn_ranks[:, i], [0.025, 0.975])
        less, more = np.quantile(gains[:, i], [0.025, 0.975])
        gain = float((means[:, i] - means[:, 0]).mean())
        rows.append([
            judged.settings[i], *(f"{mean:.4f}" for mean in means[:, i]), f"{mean_ranks[i]:.2f}",
            f"{low:.2f}–{high:.2f}", f"{gain:+.4f}", f"{less:+.4f} … {more:+.4f}",
            f"{judged.seconds[:, i].mean():.2f}",
        ])  # fmt: skip
    headers = ["setting", *judged.values, "mean rank", "95%", f"against {judged.settings[0]}", "95%", "seconds"]
    return Table(headers, rows)


MADE: Mapping[str, Callable[[], Folds]] = {
    "synthetic": lambda: make_folds(_fill_missing(make_dataset(400, 40, 20, 5))),
    "mslr-like": lambda: make_folds(_mslr_like()),
    "heavy": lambda: make_folds(heavy(21)),
    "heavy-normalised": lambda: make_folds(heavy(22, normalised=True)),
    "heavy-null": lambda: make_folds(heavy(23, 600, nulls=True)),
    "few-long": lambda: make_folds(heavy(31, 100, 30, sizes=(1000, 1300), normalised=True)),
    "many-short": lambda: make_folds(heavy(32, 8000, 30, sizes=(4, 16), normalised=True)),
    "many-features": lambda: make_folds(heavy(33, 300, 400, sizes=(20, 60), normalised=True)),
    "letor-like": lambda: make_folds(letor_like(11)),
}


def _fill_missing(data: Dataset) -> Dataset:
    """NULL as 0, which every ranker takes."""
    return replace(data, features=np.nan_to_num(data.features))


def _mslr_like() -> Dataset:
    """150,000 documents whose labels follow a few of 46 features, some of them together; see `lambdamart.py`."""
    from lambdamart import synthetic

    return synthetic(150_000, 46)


def open_datasets(arguments: Sequence[str]) -> Iterator[tuple[str, Folds]]:
    """The data sets that were named, in their order."""
    for text in arguments:
        if text in MADE:
            yield text, MADE[text]()
        else:
            yield from ((source.data, source.read()) for source in resolve_inputs([text]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("judge", "test"))
    parser.add_argument("data", nargs="+", metavar="NAME=DATA")
    parser.add_argument("--try", dest="tried", action="append", required=True, metavar="SETTING")
    parser.add_argument("--peers", action="store_true", help="the other libraries that are installed, too")
    parser.add_argument("--keep", metavar="FILE", help="what was computed; what is there is not computed again")
    parser.add_argument("--turns", type=int, help="turns or folds at most, for a first look")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    settings = [*options.tried, *(available_peers() if options.peers else ())]
    dealt = (lambda folds: turns(development(folds))) if options.mode == "judge" else tests
    sets = ((name, dealt(folds)[: options.turns]) for name, folds in open_datasets(options.data))
    qrels = judge(
        settings, sets, StoredValues(Path(options.keep) if options.keep else None), lambda line: print(line, flush=True)
    )
    print(table_of(qrels).render("markdown"))


if __name__ == "__main__":
    main()
