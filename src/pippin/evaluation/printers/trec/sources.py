"""Judgements and results brought together as trec_eval 9 and 10 do it: which topics count, and a measure's columns.

There is a source for each format of judgements that `-R` names. The original goes from topic to topic and stops at the
first one that is at fault; the topics before it are evaluated, and `failure` says what comes after them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pippin.data.run_file import Order, RankedRun, RunFile, is_large
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.evaluation.measures import compute
from pippin.evaluation.printers.trec import inputs, shape
from pippin.evaluation.printers.trec.columns import Column, TrecError, Values, crash
from pippin.evaluation.printers.trec.options import Options, as_long
from pippin.evaluation.printers.trec.preferences import Contradiction, Preferences, count_preferences
from pippin.evaluation.printers.trec.sorting import without_nan
from pippin.evaluation.printers.trec.table import Version, Wanted
from pippin.evaluation.ranking import UNJUDGED, Ranking
from pippin.evaluation.tools import TOOLS
from pippin.kernels.rank import find_duplicate, order_lists

# Names whose value is 0 for a topic that -c makes up with one unjudged document.
_CLEARED = ("num_ret", "utility", "rbp_resid")


class Fault(Exception):
    """What trec_eval says of a topic before it names the measure that it cannot calculate."""


class JudgementForm(ABC):
    """Judgements in one format, and results."""

    name: str
    wrong_format: str  # what trec_eval says of a measure that needs this format and does not get it
    ids_ascending = False  # how ties stand in the rankings

    def __init__(self, version: Version, options: Options) -> None:
        self.version, self.options = version, options
        convention = TOOLS[version.convention].convention
        self.float32, self.recall_cut = convention.precision == "float32", convention.recall_cut
        self.read_judged(options.files[0])
        if options.results_format != "trec_results":
            raise TrecError(2, f"trec_eval: Illegal retrieval results format '{options.results_format}'")
        self.run = self.read_results(options.files[1])
        self.topics: list[str] = []
        self.made_up: set[str] = set()  # topics without results that -c makes up (version 10)
        self.failure: TrecError | None = None

    @abstractmethod
    def read_judged(self, path: str) -> None:
        """Read the judgements."""

    def read_results(self, path: str) -> Run | RankedRun:
        """Read the results."""
        return inputs.results(path, self.version.comments)

    @property
    def columns_of_run(self) -> Run:
        """The results with their columns."""
        return self.run.whole() if isinstance(self.run, RankedRun) else self.run

    @abstractmethod
    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""

    @abstractmethod
    def check(self, topic: str) -> None:
        """Raise the fault of a topic, if it has one."""

    @abstractmethod
    def settle(self) -> None:
        """Make what the columns need, once the topics are known."""

    @abstractmethod
    def values(self, want: Wanted, place: int) -> Values:
        """The values of one measure with the parameter at that place, by topic."""

    def relevant_judged(self) -> int:
        """Judgements above 0 of all topics."""
        return 0

    def choose_topics(self, wanted: list[Wanted]) -> None:
        """Settle the topics, in the order of their names, up to the first one that is at fault."""
        self._repeats = False
        if isinstance(self.run, Run):  # what was ranked as it was read has neither
            self.run = without_nan(self.run, self.float32, self.ids_ascending)
            self._repeats = find_duplicate(self.run.document_ids, self.run.offsets)[1] >= 0
        self.in_run = {topic: i for i, topic in enumerate(self.run.query_ids)}
        judged = set(self.judged_topics())
        if self.options.topic is not None:
            judged &= {self.options.topic}
        if not self.version.walks_judgements:
            judged &= self.in_run.keys()
        for topic in sorted(judged, key=inputs.raw):
            if topic not in self.in_run:
                if not self.options.complete:
                    self.failure = TrecError(4, f"trec_eval: result qid '{topic}' not found in qrels")
                    break
                self.made_up.add(topic)
            self.failure = self._failure(topic, wanted)
            if self.failure is not None:
                break
            self.topics.append(topic)
        self.settle()

    def _failure(self, topic: str, wanted: list[Wanted]) -> TrecError | None:
        """How a topic fails: at the first measure that needs it."""
        checked = False
        for want in wanted:
            fault: str | None = None
            if want.entry.judged and self.name not in want.entry.judged:
                fault = SOURCES[want.entry.judged[0]].wrong_format + "\n"
            elif want.entry.judged and not checked:
                checked = True
                try:
                    self.check(topic)
                except Fault as error:
                    fault = str(error)
                except TrecError as error:
                    return error
            if fault is None and want.entry.name == "utility" and len(want.values) != 4:
                fault = "trec_eval.calc_utility: improper number of coefficients\n"
            if fault is not None:
                return TrecError(4, *f"{fault}trec_eval: Can't calculate measure '{want.entry.name}'".split("\n"))
        return None

    def rows_in_rank_order(self, topic: str) -> NDArray[np.int64]:
        """The rows of a topic's results, within the depth."""
        run = self.columns_of_run
        first, last = run.offsets[self.in_run[topic]], run.offsets[self.in_run[topic] + 1]
        order = order_lists(
            run.scores[first:last], np.zeros(last - first, np.int32), np.array([0, last - first], np.int64),
            run.document_ids.slice(int(first), int(last)),
            "id-ascending" if self.ids_ascending else "id-descending", self.float32,
        )  # fmt: skip
        rows: NDArray[np.int64] = first + order[: self.options.depth]
        return rows

    def check_results(self, topic: str, who: str) -> None:
        """A document may stand only once among the first results of a topic."""
        if topic in self.made_up:
            return
        if self.options.depth < 0:
            raise crash(139, "-M is below 0")
        if self._repeats:
            documents = sorted(self.columns_of_run.document_ids.raw(int(r)) for r in self.rows_in_rank_order(topic))
            repeated = _first_repeated(documents)
            if repeated is not None:
                raise Fault(f"{who}: duplicate docs {inputs.text(repeated)}")

    def first_results(self) -> Run | RankedRun:
        """The run; if a document stands twice in it, without what stands below the depth."""
        if not self._repeats:
            return self.run
        run = self.columns_of_run
        rows = [self.rows_in_rank_order(topic) for topic in self.run.query_ids]
        offsets = np.concatenate(([0], np.cumsum(list(map(len, rows))))).astype(np.int64)
        taken = np.concatenate(rows)
        documents, scores = run.document_ids.take(taken), run.scores[taken]
        return replace(run, offsets=offsets, document_ids=documents, scores=scores)

    def columns(self, want: Wanted) -> list[Column]:
        """The printed columns of a measure."""
        entry = want.entry
        if entry.name == "runid":
            return [Column("runid", np.empty(0), average="none", per_topic=False, summary_text=self.run.tag)]
        if entry.name == "num_q":
            return [Column("num_q", np.ones(len(self.topics)), True, "topics", per_topic=False)]
        return [
            Column(name, self._cleared(name, self.values(want, place)), entry.whole, entry.average, entry.per_topic)
            for place, name in enumerate(want.names())
        ]

    def _cleared(self, name: str, values: Values) -> Values:
        if self.made_up and (name in _CLEARED or name.startswith("unj")):
            values = np.where([topic in self.made_up for topic in self.topics], 0.0, values)
        return values


class Qrels(JudgementForm):
    """Standard judgements."""

    name = "qrels"
    wrong_format = "trec_eval.form_res_qrels: rel_info format not qrels or results format not trec_results"

    def read_judged(self, path: str) -> None:
        """Read the judgements."""
        self.judgements = inputs.qrels(path, self.version.comments)
        judged = self.judgements
        self._place = {topic: i for i, topic in enumerate(judged.query_ids)}
        self._highest = np.maximum.reduceat(judged.labels, judged.offsets[:-1])
        self._judged_twice = find_duplicate(judged.document_ids, judged.offsets)[1] >= 0

    def read_results(self, path: str) -> Run | RankedRun:
        """Rank large results as they are read; what they should not have, their columns tell."""
        if is_large(path):
            file = RunFile(path, lenient=True, comments=self.version.comments)
            found = file.ranked(self.judgements, self.judgements.labels, Order(shape.TIES, self.float32))
            if found is not None:
                return found
        return super().read_results(path)

    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""
        return self.judgements.query_ids

    def relevant_judged(self) -> int:
        """Judgements above 0 of all topics."""
        return int((self.judgements.labels > 0).sum())

    def check(self, topic: str) -> None:
        """No document stands twice, and some label is 0 or above."""
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
            raise crash(139, "all labels of a topic are below -1")

    def settle(self) -> None:
        """Rank the results of all topics."""
        self.make_rankings(self.judgements, [(topic, topic) for topic in self.topics], self.made_up)

    def make_rankings(self, judgements: Judgements, topics: list[tuple[str, str]], made_up: set[str]) -> None:
        """The rankings of these topics, cut and filtered as the options say."""
        ranking = shape.ranked(judgements, self.first_results(), topics, self.float32)
        if made_up:
            ranking = shape.with_unjudged(ranking, [topic in made_up for _, topic in topics])
        keep = shape.Cut(ranking, self.options.depth)
        self.ranking = keep.ranking(keep.judged if self.options.judged_only else keep.within)
        self.gain_ranking = shape.with_pools_before(self.ranking)

    def columns(self, want: Wanted) -> list[Column]:
        """The printed columns of a measure."""
        if want.entry.name != "relstring":
            return super().columns(want)
        name = want.names()[0]
        texts = _relevance_strings(self.ranking, want.values[0])
        if name == "relstring":
            texts = ["''" if topic in self.made_up else t for topic, t in zip(self.topics, texts, strict=True)]
        return [Column(name, np.zeros(len(self.topics)), average="none", texts=texts)]

    def values(self, want: Wanted, place: int) -> Values:
        """The values of one measure with the parameter at that place, by topic."""
        return self.measured(want, place)

    def measured(self, want: Wanted, place: int) -> Values:
        """The values of a measure by ranking, 0 where it is undefined."""
        entry, level = want.entry, self.options.level
        ranking = self.gain_ranking if entry.parameters == "pairs" and entry.name != "Rndcg" else self.ranking
        rules = shape.ruling(ranking, level, parameter=float(want.values[place]), recall_cut=self.recall_cut)
        if entry.parameters == "cutoffs":
            rules = replace(rules, cutoff=int(want.values[place]))
        elif entry.parameters == "pairs":
            rules = replace(rules, numbers=self._gains(want), parameter=_last(want, "p", rules.parameter))
        elif entry.name == "utility":
            rules = replace(rules, numbers=np.array([*want.values, self.options.collection], np.float64))
        elif entry.parameters == "levels" or entry.name == "11pt_avg":
            rules = replace(rules, numbers=np.array(want.values, np.float64), parameter=float(place))
        return _defined(compute(entry.kernel, ranking, rules))

    def _gains(self, want: Wanted) -> NDArray[np.float64]:
        """Labels and gains, one after the other."""
        gains = [(name, gain) for name, gain in want.pairs if not self.version.gain_names or _is_whole(name)]
        return np.array([value for name, gain in gains for value in (float(as_long(name)), gain)], np.float64)


class GroupedQrels(Qrels):
    """Judgements of several groups of users; a value is the mean over the groups of a topic."""

    name = "qrels_jg"
    wrong_format = "trec_eval: rel_info format not qrels_jg or results format not trec_results"

    def read_judged(self, path: str) -> None:
        """Read the judgements."""
        self.grouped = inputs.grouped_qrels(path, self.version.comments)

    def read_results(self, path: str) -> Run | RankedRun:
        """Read the results, which each group judges anew."""
        return JudgementForm.read_results(self, path)

    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""
        return self.grouped.keys()

    def relevant_judged(self) -> int:
        """No measure of this format counts them."""
        return 0

    def check(self, topic: str) -> None:
        """No document stands twice."""
        self.check_results(topic, "trec_eval.form_res_qrels")

    def settle(self) -> None:
        """Rank the results of each topic once for each of its groups."""
        pairs = {f"{topic} {group}": topic for topic in self.topics for group in self.grouped[topic]}
        groups = [self.grouped[topic][group] for topic in self.topics for group in self.grouped[topic]]
        judgements = _judgements(list(pairs), groups)
        self.make_rankings(judgements, list(pairs.items()), self.made_up)
        self.topic_of = list(pairs.values())

    def values(self, want: Wanted, place: int) -> Values:
        """The values of one measure with the parameter at that place, by topic."""
        totals = dict.fromkeys(self.topics, 0.0)
        for topic, value in zip(self.topic_of, self.measured(want, place).tolist(), strict=True):
            totals[topic] += value
        return np.array([total / len(self.grouped[topic]) for topic, total in totals.items()])


class Prefs(JudgementForm):
    """Preferences between documents. Unlike elsewhere, ties stand in ascending order of document ids."""

    name = "prefs"
    wrong_format = (
        "trec_eval.form_prefs_info: prefs_info format not (prefs or qrels_prefs) or results format not trec_results"
    )
    ids_ascending = True
    subgroups = True

    def read_judged(self, path: str) -> None:
        """Read the judgements."""
        self.judged = inputs.preferences(path, self.subgroups, self.version.comments)
        self.counted: dict[str, Preferences] = {}

    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""
        return self.judged.keys()

    def check(self, topic: str) -> None:
        """No document stands twice, and no preference contradicts another of its group."""
        who = "trec_eval.form_prefs_counts"
        self.check_results(topic, who)
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
                raise TrecError(134, f"{who}: {error}") from None
            raise Fault(f"{who}: {error}\n") from None

    def settle(self) -> None:
        """All is counted where the topics were checked."""

    def values(self, want: Wanted, place: int) -> Values:
        """The values of one measure by topic."""
        name = want.entry.name.removeprefix("prefs_")
        return np.array([self.counted[topic].value(name) for topic in self.topics])


class QrelsPrefs(Prefs):
    """Preferences from standard judgements: each label is a level."""

    name = "qrels_prefs"
    subgroups = False


SOURCES: dict[str, type[JudgementForm]] = {source.name: source for source in (Qrels, GroupedQrels, Prefs, QrelsPrefs)}


def _first_repeated(texts: list[bytes]) -> bytes | None:
    """The first of sorted texts that equals the one before."""
    return next((b for a, b in pairwise(texts) if a == b), None)


def _judgements(names: list[str], groups: list[dict[str, int]]) -> Judgements:
    """Judgements from dicts of documents to labels."""
    documents = [inputs.raw(document) for group in groups for document in group]
    lengths = np.array(list(map(len, documents)), np.int32)
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1].astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum([len(group) for group in groups]))).astype(np.int64)
    labels = np.array([label for group in groups for label in group.values()], np.int32)
    buffer = np.frombuffer(b"".join(documents), np.uint8)
    return Judgements(tuple(names), offsets, Texts(buffer, starts, lengths), labels)


def _defined(values: Values) -> Values:
    """0 where a measure is undefined; a NaN that trec_eval prints is a negative one."""
    return np.where(np.isnan(values) & ~np.signbit(values), 0.0, values)


def _last(want: Wanted, name: str, default: float) -> float:
    """The gain last given to a name."""
    return dict(want.pairs).get(name, default)


def _is_whole(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit()


def _relevance_strings(ranking: Ranking, length: float) -> list[str]:
    """The first labels of each topic, one character each."""
    shown = int(length) if -(2.0**63) <= length < 2.0**63 else 0
    ends = np.minimum(ranking.offsets[:-1] + max(min(shown, 2**31), 0), ranking.offsets[1:]).tolist()
    labels = ranking.labels.tolist()
    return [
        "'" + "".join(map(_character, labels[first:last])) + "'"
        for first, last in zip(ranking.offsets[:-1].tolist(), ends, strict=True)
    ]


def _character(label: int) -> str:
    """A label as one character: `-` where nobody judged, `.` where it was pooled and not judged."""
    if label < 0:
        return "-" if label == UNJUDGED else "."
    return str(label) if label <= 9 else ">"
