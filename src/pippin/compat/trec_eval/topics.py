"""Topics and measure values of trec_eval 9 and 10, for each format of judgements of `-R`.

The original goes from topic to topic and stops at the first invalid one. The topics before it are evaluated, and
`failure` is the error that follows them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pippin.compat.trec_eval import inputs
from pippin.compat.trec_eval.measures import RequestedMeasure, Version, without_nan
from pippin.compat.trec_eval.options import Column, Options, TrecError, Values, as_long, emulated_crash
from pippin.compat.trec_eval.preferences import Contradiction, Preferences, count_preferences
from pippin.data.qrels import Qrels, Run
from pippin.data.streaming import LazyRun, RankedRun, SortRule, is_large
from pippin.evaluation.ranking import Ranking, offsets_of
from pippin.evaluation.tools import TOOLS
from pippin.kernels import ranking as kernel
from pippin.kernels.measures import UNJUDGED, Rules
from pippin.kernels.ranking import find_duplicate, order_lists
from pippin.kernels.strings import StringColumn
from pippin.records import FrozenRecord

Flags = NDArray[np.bool_]
TIES = "id-descending"


class RankingFilter(FrozenRecord, eq=False):
    """Masks of the documents of a ranking: within the depth, in the pool, judged."""

    ranking: Ranking
    depth: int

    @cached_property
    def within_depth(self) -> Flags | None:
        """The documents within the depth; None for all."""
        if self.depth >= self.ranking.sizes().max(initial=0):
            return None
        ranks = np.arange(len(self.ranking.labels)) - np.repeat(self.ranking.offsets[:-1], self.ranking.sizes())
        return ranks < self.depth

    @property
    def pooled(self) -> Flags:
        """The documents within the depth and in the pool."""
        in_pool: Flags = self.ranking.labels != UNJUDGED
        return in_pool if self.within_depth is None else self.within_depth & in_pool

    @property
    def judged(self) -> Flags:
        """The documents within the depth that are judged."""
        has_label: Flags = self.ranking.labels >= 0
        return has_label if self.within_depth is None else self.within_depth & has_label

    def select(self, keep: Flags | None) -> Ranking:
        """Return the ranking of the documents of a mask."""
        if keep is None or keep.all():
            return self.ranking
        offsets = np.concatenate(([0], np.cumsum(keep))).astype(np.int64)[self.ranking.offsets]
        return replace(self.ranking, labels=self.ranking.labels[keep], tied=self.ranking.tied[keep], offsets=offsets)


def rank_topics(judgements: Qrels, run: Run | RankedRun, topics: list[tuple[str, str]], float32: bool) -> Ranking:
    """Rank topics, given as pairs of ids in the judgements and in the run: by score, ties by descending document."""
    run_index = {topic: i for i, topic in enumerate(run.query_ids)}
    judgement_index = {topic: i for i, topic in enumerate(judgements.query_ids)}
    run_indices = np.array([run_index.get(topic, -1) for _, topic in topics], np.int64)
    judgement_indices = np.array([judgement_index[topic] for topic, _ in topics], np.int64)
    run_sizes = np.append(np.diff(run.offsets), 0)  # topic -1, missing from the run, has none
    offsets = offsets_of(run_sizes[run_indices])
    pool_offsets = offsets_of(np.diff(judgements.offsets)[judgement_indices])
    if isinstance(run, RankedRun):
        labels, tied = run.lists(run_indices, offsets)
    else:
        scores = run.document_ids, run.scores, run.offsets
        labels_by_id = judgements.document_ids, judgements.labels, judgements.offsets
        labels, tied, _ = kernel.judge_and_rank(
            scores, labels_by_id, run_indices, judgement_indices, offsets, TIES, float32
        )
    pool = kernel.sort_pools(judgements.labels, judgements.offsets, judgement_indices, pool_offsets)
    return Ranking(tuple(topic for topic, _ in topics), labels, offsets, tied, pool, pool_offsets, False)


def with_unjudged(ranking: Ranking, is_empty: list[bool]) -> Ranking:
    """Add one unjudged document to each of these topics, which are empty."""
    counts = np.array(is_empty, np.int64)
    positions = ranking.offsets[:-1][counts > 0]
    offsets = ranking.offsets + np.concatenate(([0], np.cumsum(counts)))
    labels, tied = np.insert(ranking.labels, positions, UNJUDGED), np.insert(ranking.tied, positions, 0)
    return replace(ranking, labels=labels, tied=tied, offsets=offsets.astype(np.int64))


def with_pools_before(ranking: Ranking) -> Ranking:
    """Give topics without a label of 0 or more the pool of the topic before.

    The original adds the judgements of such a topic to a table that still has the counts of the last topic.
    """
    ranges = list(pairwise(ranking.pool_offsets.tolist()))
    pools = [ranking.pool[first:last] for first, last in ranges]
    if all(len(pool) and pool[0] >= 0 for pool in pools):
        return ranking
    for i, pool in enumerate(pools):
        if i and len(pool) and pool[0] < 0:
            pools[i] = pools[i - 1]
    return replace(
        ranking, pool=np.concatenate(pools), pool_offsets=offsets_of(np.array(list(map(len, pools)), np.int64))
    )


def rules_of(
    ranking: Ranking, level: int, *, cutoff: int = 0, parameter: float = 0.0, recall_level_rounding: str = "up"
) -> Rules:
    """Return the rules of a kernel for a level of relevance, with labels as gains."""
    largest = np.iinfo(np.int32).max
    gains = np.arange(max(ranking.largest_label, 0) + 1, dtype=np.float64)
    return Rules(
        gains, np.empty(0), np.empty(0), cutoff=cutoff, relevance_threshold=min(max(level, -largest), largest),
        parameter=parameter, recall_level_rounding=recall_level_rounding,
    )  # fmt: skip


# Measures whose value is 0 for a topic that -c adds with one unjudged document.
_ZERO_IF_ADDED = ("num_ret", "utility", "rbp_resid")


class Fault(Exception):
    """The error message for an invalid topic, to be followed by the measure that cannot be calculated."""


class JudgementFormat(ABC):
    """Judgements in one format, and results."""

    name: str
    wrong_format: str  # the error message of a measure that needs this format
    ids_ascending = False  # the order of ties

    def __init__(self, version: Version, options: Options) -> None:
        self.version, self.options = version, options
        convention = TOOLS[version.convention].convention
        self.float32 = convention.score_precision == "float32"
        self.recall_level_rounding = convention.recall_level_rounding
        self.read_judgements(options.files[0])
        if options.results_format != "trec_results":
            raise TrecError(2, f"trec_eval: Illegal retrieval results format '{options.results_format}'")
        self.run = self.read_results(options.files[1])
        self.topics: list[str] = []
        self.added: set[str] = set()  # topics without results that -c adds (version 10)
        self.failure: TrecError | None = None

    @abstractmethod
    def read_judgements(self, path: str) -> None:
        """Read the judgements."""

    def read_results(self, path: str) -> Run | RankedRun:
        """Read the results."""
        return inputs.results(path, self.version.comments)

    @property
    def columns_of_run(self) -> Run:
        """The results with their columns."""
        return self.run.load() if isinstance(self.run, RankedRun) else self.run

    @abstractmethod
    def topic_ids(self) -> Collection[str]:
        """Return the topics that have judgements."""

    @abstractmethod
    def check(self, topic: str) -> None:
        """Raise `Fault` or `TrecError` if a topic is invalid."""

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the columns, once the topics are known."""

    @abstractmethod
    def values(self, measure: RequestedMeasure, place: int) -> Values:
        """Return the values of a measure with its parameter of this index, by topic."""

    def count_relevant(self) -> int:
        """Return the number of judgements above 0 of all topics."""
        return 0

    def choose_topics(self, requested: list[RequestedMeasure]) -> None:
        """Set the topics, in the order of their names, up to the first invalid one."""
        self._repeats = False
        if isinstance(self.run, Run):  # a run that was ranked while it was read has no NaN and no duplicates
            self.run = without_nan(self.run, self.float32, self.ids_ascending)
            self._repeats = find_duplicate(self.run.document_ids, self.run.offsets)[1] >= 0
        self.in_run = {topic: i for i, topic in enumerate(self.run.query_ids)}
        topics = set(self.topic_ids())
        if self.options.topic is not None:
            topics &= {self.options.topic}
        if not self.version.walks_judgements:
            topics &= self.in_run.keys()
        for topic in sorted(topics, key=inputs.raw):
            if topic not in self.in_run:
                if not self.options.complete:
                    self.failure = TrecError(4, f"trec_eval: result qid '{topic}' not found in qrels")
                    break
                self.added.add(topic)
            self.failure = self._failure(topic, requested)
            if self.failure is not None:
                break
            self.topics.append(topic)
        self.prepare()

    def _failure(self, topic: str, requested: list[RequestedMeasure]) -> TrecError | None:
        """Return the error of an invalid topic, which names the first measure that needs it."""
        checked = False
        for measure in requested:
            fault: str | None = None
            if measure.entry.formats and self.name not in measure.entry.formats:
                fault = SOURCES[measure.entry.formats[0]].wrong_format + "\n"
            elif measure.entry.formats and not checked:
                checked = True
                try:
                    self.check(topic)
                except Fault as error:
                    fault = str(error)
                except TrecError as error:
                    return error
            if fault is None and measure.entry.name == "utility" and len(measure.values) != 4:
                fault = "trec_eval.calc_utility: improper number of coefficients\n"
            if fault is not None:
                return TrecError(4, *f"{fault}trec_eval: Can't calculate measure '{measure.entry.name}'".split("\n"))
        return None

    def rows_in_rank_order(self, topic: str) -> NDArray[np.int64]:
        """Return the rows of a topic's results within the depth, in rank order."""
        run = self.columns_of_run
        first, last = run.offsets[self.in_run[topic]], run.offsets[self.in_run[topic] + 1]
        order = order_lists(
            run.scores[first:last], np.zeros(last - first, np.int32), np.array([0, last - first], np.int64),
            run.document_ids.slice(int(first), int(last)),
            "id-ascending" if self.ids_ascending else "id-descending", self.float32,
        )  # fmt: skip
        rows: NDArray[np.int64] = first + order[: self.options.depth]
        return rows

    def check_results(self, topic: str, function: str) -> None:
        """Raise if the results of a topic within the depth repeat a document."""
        if topic in self.added:
            return
        if self.options.depth < 0:
            raise emulated_crash(139, "-M is below 0")
        if self._repeats:
            documents = sorted(self.columns_of_run.document_ids.raw(int(r)) for r in self.rows_in_rank_order(topic))
            repeated = _first_repeated(documents)
            if repeated is not None:
                raise Fault(f"{function}: duplicate docs {inputs.text(repeated)}")

    def first_results(self) -> Run | RankedRun:
        """Return the run; a run with duplicate documents is cut at the depth."""
        if not self._repeats:
            return self.run
        run = self.columns_of_run
        rows = [self.rows_in_rank_order(topic) for topic in self.run.query_ids]
        offsets = offsets_of(np.array(list(map(len, rows)), np.int64))
        kept_rows = np.concatenate(rows)
        documents, scores = run.document_ids.take(kept_rows), run.scores[kept_rows]
        return replace(run, offsets=offsets, document_ids=documents, scores=scores)

    def columns(self, measure: RequestedMeasure) -> list[Column]:
        """Return the printed columns of a measure."""
        entry = measure.entry
        if entry.name == "runid":
            return [Column("runid", np.empty(0), average="none", per_topic=False, summary_text=self.run.tag)]
        if entry.name == "num_q":
            return [Column("num_q", np.ones(len(self.topics)), True, "topics", per_topic=False)]
        return [
            Column(
                name,
                self._clear_added(name, self.values(measure, place)),
                entry.is_integer,
                entry.average,
                entry.per_topic,
            )
            for place, name in enumerate(measure.names())
        ]

    def _clear_added(self, name: str, values: Values) -> Values:
        if self.added and (name in _ZERO_IF_ADDED or name.startswith("unj")):
            values = np.where([topic in self.added for topic in self.topics], 0.0, values)
        return values


class QrelsFormat(JudgementFormat):
    """Standard judgements."""

    name = "qrels"
    wrong_format = "trec_eval.form_res_qrels: rel_info format not qrels or results format not trec_results"

    def read_judgements(self, path: str) -> None:
        """Read the judgements."""
        self.judgements = inputs.qrels(path, self.version.comments)
        qrels = self.judgements
        self._place = {topic: i for i, topic in enumerate(qrels.query_ids)}
        self._highest = np.maximum.reduceat(qrels.labels, qrels.offsets[:-1])
        self._judged_twice = find_duplicate(qrels.document_ids, qrels.offsets)[1] >= 0

    def read_results(self, path: str) -> Run | RankedRun:
        """Read the results; large ones are ranked while they are read, unless they have NaN or duplicates."""
        if is_large(path):
            file = LazyRun(path, lenient=True, comments=self.version.comments)
            result = file.rank(self.judgements, self.judgements.labels, SortRule(TIES, self.float32))
            if result is not None:
                return result
        return super().read_results(path)

    def topic_ids(self) -> Collection[str]:
        """Return the topics that have judgements."""
        return self.judgements.query_ids

    def count_relevant(self) -> int:
        """Return the number of judgements above 0 of all topics."""
        return int((self.judgements.labels > 0).sum())

    def check(self, topic: str) -> None:
        """Raise if a document is repeated or all labels are below 0."""
        self.check_results(topic, "trec_eval.form_res_qrels")
        place = self._place[topic]
        if self._judged_twice:
            rows = range(*self.judgements.offsets[place : place + 2].tolist())
            repeated = _first_repeated(sorted(self.judgements.document_ids.raw(row) for row in rows))
            if repeated is not None:
                raise Fault(f"trec_eval.form_res_rels: duplicate docs {inputs.text(repeated)}\n")
        if self._highest[place] < 0 and not self.topics:
            raise Fault("")
        if self._highest[place] < -1:
            raise emulated_crash(139, "all labels of a topic are below -1")

    def prepare(self) -> None:
        """Rank the results of all topics."""
        self.make_rankings(self.judgements, [(topic, topic) for topic in self.topics], self.added)

    def make_rankings(self, judgements: Qrels, topics: list[tuple[str, str]], added: set[str]) -> None:
        """Rank these topics, with the depth and filter of the options."""
        ranking = rank_topics(judgements, self.first_results(), topics, self.float32)
        if added:
            ranking = with_unjudged(ranking, [topic in added for _, topic in topics])
        keep = RankingFilter(ranking, self.options.depth)
        self.ranking = keep.select(keep.judged if self.options.judged_only else keep.within_depth)
        self.gain_ranking = with_pools_before(self.ranking)

    def columns(self, measure: RequestedMeasure) -> list[Column]:
        """Return the printed columns of a measure."""
        if measure.entry.name != "relstring":
            return super().columns(measure)
        name = measure.names()[0]
        texts = _relevance_strings(self.ranking, measure.values[0])
        if name == "relstring":
            texts = ["''" if topic in self.added else t for topic, t in zip(self.topics, texts, strict=True)]
        return [Column(name, np.zeros(len(self.topics)), average="none", texts=texts)]

    def values(self, measure: RequestedMeasure, place: int) -> Values:
        """Return the values of a measure with its parameter of this index, by topic."""
        return self.compute_values(measure, place)

    def compute_values(self, measure: RequestedMeasure, place: int) -> Values:
        """Return the values of a measure by ranking; undefined values are 0."""
        entry, level = measure.entry, self.options.level
        ranking = self.gain_ranking if entry.parameters == "pairs" and entry.name != "Rndcg" else self.ranking
        rules = rules_of(
            ranking, level, parameter=float(measure.values[place]), recall_level_rounding=self.recall_level_rounding
        )
        if entry.parameters == "cutoffs":
            rules = replace(rules, cutoff=int(measure.values[place]))
        elif entry.parameters == "pairs":
            rules = replace(rules, numbers=self._gains(measure), parameter=_last(measure, "p", rules.parameter))
        elif entry.name == "utility":
            rules = replace(rules, numbers=np.array([*measure.values, self.options.collection], np.float64))
        elif entry.parameters == "levels" or entry.name == "11pt_avg":
            rules = replace(rules, numbers=np.array(measure.values, np.float64), parameter=float(place))
        return _replace_undefined(ranking.compute(entry.kernel, rules))

    def _gains(self, measure: RequestedMeasure) -> NDArray[np.float64]:
        """Return labels and gains alternately."""
        gains = [(name, gain) for name, gain in measure.pairs if not self.version.gain_names or _is_integer(name)]
        return np.array([value for name, gain in gains for value in (float(as_long(name)), gain)], np.float64)


class GroupedQrels(QrelsFormat):
    """Judgements of several groups of users; a value is the mean over the groups of a topic."""

    name = "qrels_jg"
    wrong_format = "trec_eval: rel_info format not qrels_jg or results format not trec_results"

    def read_judgements(self, path: str) -> None:
        """Read the judgements."""
        self.grouped = inputs.grouped_qrels(path, self.version.comments)

    def read_results(self, path: str) -> Run | RankedRun:
        """Read the results, which are not ranked here because each group has its own judgements."""
        return JudgementFormat.read_results(self, path)

    def topic_ids(self) -> Collection[str]:
        """Return the topics that have judgements."""
        return self.grouped.keys()

    def count_relevant(self) -> int:
        """Return 0: no measure of this format counts them."""
        return 0

    def check(self, topic: str) -> None:
        """Raise if a document is repeated."""
        self.check_results(topic, "trec_eval.form_res_qrels")

    def prepare(self) -> None:
        """Rank the results of each topic for each of its groups."""
        pairs = {f"{topic} {group}": topic for topic in self.topics for group in self.grouped[topic]}
        groups = [self.grouped[topic][group] for topic in self.topics for group in self.grouped[topic]]
        judgements = _judgements(list(pairs), groups)
        self.make_rankings(judgements, list(pairs.items()), self.added)
        self.topic_of = list(pairs.values())

    def values(self, measure: RequestedMeasure, place: int) -> Values:
        """Return the values of a measure with its parameter of this index, by topic."""
        totals = dict.fromkeys(self.topics, 0.0)
        for topic, value in zip(self.topic_of, self.compute_values(measure, place).tolist(), strict=True):
            totals[topic] += value
        return np.array([total / len(self.grouped[topic]) for topic, total in totals.items()])


class Prefs(JudgementFormat):
    """Preferences between documents, with ties in ascending order of document ids."""

    name = "prefs"
    wrong_format = (
        "trec_eval.form_prefs_info: prefs_info format not (prefs or qrels_prefs) or results format not trec_results"
    )
    ids_ascending = True
    subgroups = True

    def read_judgements(self, path: str) -> None:
        """Read the judgements."""
        self.judged = inputs.preferences(path, self.subgroups, self.version.comments)
        self.counted: dict[str, Preferences] = {}

    def topic_ids(self) -> Collection[str]:
        """Return the topics that have judgements."""
        return self.judged.keys()

    def check(self, topic: str) -> None:
        """Raise if a document is repeated or preferences contradict each other."""
        function = "trec_eval.form_prefs_counts"
        self.check_results(topic, function)
        ranked: list[str] = []
        if topic in self.in_run:
            ranked = [
                inputs.text(self.columns_of_run.document_ids.raw(int(row))) for row in self.rows_in_rank_order(topic)
            ]
        judgements = self.judged[topic]
        if self.float32:
            with np.errstate(over="ignore"):
                judgements = [j._replace(level=float(np.float32(j.level))) for j in judgements]
        try:
            self.counted[topic] = count_preferences(judgements, ranked)
        except Contradiction as error:
            if error.aborts:
                raise TrecError(134, f"{function}: {error}") from None
            raise Fault(f"{function}: {error}\n") from None

    def prepare(self) -> None:
        """Do nothing: preferences are counted when topics are checked."""

    def values(self, measure: RequestedMeasure, place: int) -> Values:
        """Return the values of a measure by topic."""
        name = measure.entry.name.removeprefix("prefs_")
        return np.array([self.counted[topic].value(name) for topic in self.topics])


class QrelsPrefs(Prefs):
    """Preferences from standard judgements: each label is a level."""

    name = "qrels_prefs"
    subgroups = False


SOURCES: dict[str, type[JudgementFormat]] = {
    source.name: source for source in (QrelsFormat, GroupedQrels, Prefs, QrelsPrefs)
}


def _first_repeated(texts: list[bytes]) -> bytes | None:
    """Return the first repeated text of a sorted list."""
    return next((b for a, b in pairwise(texts) if a == b), None)


def _judgements(names: list[str], groups: list[dict[str, int]]) -> Qrels:
    """Build qrels from dicts of labels by document."""
    documents = [inputs.raw(document) for group in groups for document in group]
    lengths = np.array(list(map(len, documents)), np.int32)
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1].astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum([len(group) for group in groups]))).astype(np.int64)
    labels = np.array([label for group in groups for label in group.values()], np.int32)
    buffer = np.frombuffer(b"".join(documents), np.uint8)
    return Qrels(tuple(names), offsets, StringColumn(buffer, starts, lengths), labels)


def _replace_undefined(values: Values) -> Values:
    """Replace NaN by 0, except for a negative NaN, which trec_eval prints."""
    return np.where(np.isnan(values) & ~np.signbit(values), 0.0, values)


def _last(measure: RequestedMeasure, name: str, default: float) -> float:
    """Return the last gain of a name."""
    return dict(measure.pairs).get(name, default)


def _is_integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit()


def _relevance_strings(ranking: Ranking, length: float) -> list[str]:
    """Return the first labels of each topic, one character each."""
    n_characters = int(length) if -(2.0**63) <= length < 2.0**63 else 0
    ends = np.minimum(ranking.offsets[:-1] + max(min(n_characters, 2**31), 0), ranking.offsets[1:]).tolist()
    labels = ranking.labels.tolist()
    return [
        "'" + "".join(map(_character, labels[first:last])) + "'"
        for first, last in zip(ranking.offsets[:-1].tolist(), ends, strict=True)
    ]


def _character(label: int) -> str:
    """Return a label as one character: `-` if unjudged, `.` if in the pool without a label."""
    if label < 0:
        return "-" if label == UNJUDGED else "."
    return str(label) if label <= 9 else ">"
