"""Judgements and results brought together as trec_eval 9 and 10 do it: which topics count, and a measure's columns.

There is a source for each format of judgements that `-R` names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from pippin.data.dataset import rows_of
from pippin.data.trec import Judgements, Run
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import KINDS, Measure, compute, rules
from pippin.evaluation.printers.trec import inputs
from pippin.evaluation.printers.trec.columns import Column, Uncomputable, Values
from pippin.evaluation.printers.trec.options import Options, as_long
from pippin.evaluation.printers.trec.preferences import count_preferences
from pippin.evaluation.printers.trec.shape import chosen, cut, nothing_retrieved, with_unjudged
from pippin.evaluation.printers.trec.table import Version, Wanted
from pippin.evaluation.ranking import UNJUDGED, Ranking, rank
from pippin.evaluation.tools import TOOLS
from pippin.evaluation.trec_measures import average_interpolated, interpolated_precision
from pippin.kernels.rank import order_lists

# Names whose value is 0 for a topic that -c makes up with one unjudged document.
_CLEARED = ("num_ret", "utility", "rbp_resid")


class Source(ABC):
    """Judgements in one format, and results."""

    wrong_format: str  # what trec_eval says of a measure that needs this format and does not get it

    def __init__(self, version: Version, options: Options) -> None:
        self.version, self.options = version, options
        self.read_judged(options.files[0])
        self.run = inputs.results(options.files[1])
        self.topics: list[str] = []
        self.made_up: set[str] = set()  # topics without results that -c makes up (version 10)
        self.stopped_at: str | None = None  # the topic without results at which version 10 stops

    @abstractmethod
    def read_judged(self, path: str) -> None:
        """Read the judgements."""

    @abstractmethod
    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""

    @abstractmethod
    def settle(self) -> None:
        """Make what the columns need, once the topics are known."""

    @abstractmethod
    def values(self, want: Wanted, parameter: float) -> Values:
        """The values of one measure with one parameter, by topic."""

    def relevant_judged(self) -> int:
        """Judgements above 0 of all topics."""
        return 0

    def choose_topics(self) -> None:
        """Settle the topics, in the order of their names."""
        judged, retrieved = set(self.judged_topics()), set(self.run.query_ids)
        if self.options.topic is not None:
            judged &= {self.options.topic}
        if not self.version.walks_judgements:
            judged &= retrieved
        for topic in sorted(judged):
            if topic not in retrieved:
                if not self.options.complete:
                    self.stopped_at = topic
                    break
                self.made_up.add(topic)
            self.topics.append(topic)
        self.settle()

    def columns(self, want: Wanted) -> list[Column]:
        """The printed columns of a measure."""
        entry = want.entry
        if entry.name == "runid":
            return [Column("runid", np.empty(0), average="none", per_topic=False, summary_text=self.run.tag)]
        if entry.name == "num_q":
            return [Column("num_q", np.ones(len(self.topics)), True, "topics", per_topic=False)]
        one_each = entry.parameters in ("cutoffs", "levels")
        return [
            Column(name, self._cleared(name, self.values(want, parameter)), entry.whole, entry.average, entry.per_topic)
            for name, parameter in zip(want.names(), want.values if one_each else want.values[:1], strict=True)
        ]

    def _cleared(self, name: str, values: Values) -> Values:
        if self.made_up and (name in _CLEARED or name.startswith("unj")):
            values = np.where([topic in self.made_up for topic in self.topics], 0.0, values)
        return values

    def convention(self) -> Convention:
        """The convention of this version with the level asked for."""
        return TOOLS[self.version.convention].convention.replace(relevant_at=self.options.level, queries="judged")


class Qrels(Source):
    """Standard judgements."""

    wrong_format = "trec_eval.form_res_qrels: rel_info format not qrels or results format not trec_results"

    def read_judged(self, path: str) -> None:
        """Read the judgements."""
        self.judgements = inputs.qrels(path)

    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""
        return self.judgements.query_ids

    def relevant_judged(self) -> int:
        """Judgements above 0 of all topics."""
        return int((self.judgements.labels > 0).sum())

    def settle(self) -> None:
        """Rank the results of all topics."""
        self.ranking = self.ranked(self.judgements, self.run, self.topics, self.made_up)

    def ranked(self, judgements: Judgements, results: Run, queries: list[str], made_up: set[str]) -> Ranking:
        """The rankings of these queries, cut and filtered as the options say."""
        position = {query: i for i, query in enumerate(judgements.query_ids)}
        judged = chosen(judgements, np.array([position[query] for query in queries], np.int64))
        ranking = nothing_retrieved(judged)
        if set(queries) & set(results.query_ids):
            try:
                ranking = rank(judged, results, self.convention())
            except DataError as error:
                found = inputs.DUPLICATE.search(error.message)
                raise Uncomputable(f"trec_eval.form_res_qrels: duplicate docs {found[1] if found else ''}") from None
        if made_up:
            ranking = with_unjudged(ranking, [query in made_up for query in queries])
        keep = cut(ranking, self.options.depth)
        return keep.ranking(keep.judged if self.options.judged_only else keep.within)

    def columns(self, want: Wanted) -> list[Column]:
        """The printed columns of a measure."""
        if want.entry.name != "relstring":
            return super().columns(want)
        name = want.names()[0]
        texts = _relevance_strings(self.ranking, max(int(want.values[0]), 0))
        if name == "relstring":
            texts = ["''" if topic in self.made_up else t for topic, t in zip(self.topics, texts, strict=True)]
        return [Column(name, np.zeros(len(self.topics)), average="none", texts=texts)]

    def values(self, want: Wanted, parameter: float) -> Values:
        """The values of one measure with one parameter, by topic."""
        return self.measured(want, parameter)

    def measured(self, want: Wanted, parameter: float) -> Values:
        """The values of a measure by ranking, 0 where it is undefined."""
        convention, entry = self.convention(), want.entry
        if entry.name == "11pt_avg":
            return _defined(average_interpolated(self.ranking, convention, tuple(sorted(want.values))))
        if entry.name == "utility":
            return self._utility(convention, want.values)
        if want.pairs:
            return _defined(self._with_gains(convention, want, parameter))
        measure = entry.measure(parameter) if entry.measure is not None else Measure(entry.name)
        function = interpolated_precision if entry.name == "iprec_at_recall" else KINDS[measure.kind].function
        return _defined(function(self.ranking, convention, measure))

    def _utility(self, convention: Convention, worth: tuple[float, ...]) -> Values:
        if len(worth) != 4:
            raise Uncomputable("trec_eval.calc_utility: improper number of coefficients\n", "utility")
        ruling = rules(self.ranking, convention, Measure("utility"))
        return compute("utility", self.ranking, replace(ruling, numbers=np.array([*worth, self.options.collection])))

    def _with_gains(self, convention: Convention, want: Wanted, parameter: float) -> Values:
        """A measure with gains given label by label; `p` is a parameter of its own."""
        gains = [(name, gain) for name, gain in want.pairs if not self.version.gain_names or _is_whole(name)]
        numbers = np.array([value for name, gain in gains for value in (float(as_long(name)), gain)], np.float64)
        parameter = dict(want.pairs).get("p", parameter)
        ruling = rules(self.ranking, convention, Measure("G"), parameter)
        return compute(want.entry.gains, self.ranking, replace(ruling, numbers=numbers))


class GroupedQrels(Qrels):
    """Judgements of several groups of users; a value is the mean over the groups of a topic."""

    wrong_format = "trec_eval: rel_info format not qrels_jg or results format not trec_results"

    def read_judged(self, path: str) -> None:
        """Read the judgements."""
        self.grouped = inputs.grouped_qrels(path)

    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""
        return self.grouped.keys()

    def relevant_judged(self) -> int:
        """No measure of this format counts them."""
        return 0

    def settle(self) -> None:
        """Rank the results of each topic once for each of its groups."""
        pairs = {f"{topic} {group}": (topic, group) for topic in self.topics for group in sorted(self.grouped[topic])}
        judgements = Judgements.of({key: self.grouped[topic][group] for key, (topic, group) in pairs.items()})
        position = {topic: i for i, topic in enumerate(self.run.query_ids)}
        found = {key: position[topic] for key, (topic, _) in pairs.items() if topic in position}
        queries = np.array(list(found.values()), np.int64)
        rows = rows_of(self.run.offsets, queries)
        offsets = np.concatenate(([0], np.cumsum(np.diff(self.run.offsets)[queries]))).astype(np.int64)
        results = Run(tuple(found), offsets, self.run.document_ids.take(rows), self.run.scores[rows])
        made_up = {key for key, (topic, _) in pairs.items() if topic in self.made_up}
        self.ranking = self.ranked(judgements, results, list(pairs), made_up)
        self.topic_of = [topic for topic, _ in pairs.values()]

    def values(self, want: Wanted, parameter: float) -> Values:
        """The values of one measure with one parameter, by topic."""
        totals = dict.fromkeys(self.topics, 0.0)
        for topic, value in zip(self.topic_of, self.measured(want, parameter).tolist(), strict=True):
            totals[topic] += value
        return np.array([total / len(self.grouped[topic]) for topic, total in totals.items()])


class Prefs(Source):
    """Preferences between documents."""

    wrong_format = (
        "trec_eval.form_prefs_info: prefs_info format not (prefs or qrels_prefs) or results format not trec_results"
    )
    subgroups = True

    def read_judged(self, path: str) -> None:
        """Read the judgements."""
        self.judged = inputs.preferences(path, self.subgroups)

    def judged_topics(self) -> Collection[str]:
        """The topics that have judgements."""
        return self.judged.keys()

    def settle(self) -> None:
        """Count the preferences of all topics. Unlike elsewhere, ties stand in ascending order of document ids."""
        order = order_lists(
            self.run.scores, np.zeros(len(self.run.scores), np.int32), self.run.offsets, self.run.document_ids,
            "id-ascending", self.convention().precision == "float32",
        )  # fmt: skip
        position = {topic: i for i, topic in enumerate(self.run.query_ids)}
        self.counted = []
        for topic in self.topics:
            rows = np.empty(0, np.int64)
            if topic in position:
                first, last = self.run.offsets[position[topic]], self.run.offsets[position[topic] + 1]
                rows = order[first:last][: self.options.depth]
            try:
                self.counted.append(count_preferences(self.judged[topic], list(self.run.document_ids.take(rows))))
            except DataError as error:
                raise Uncomputable(f"trec_eval.form_prefs_counts: {error.message}\n") from None

    def values(self, want: Wanted, parameter: float) -> Values:
        """The values of one measure by topic."""
        name = want.entry.name.removeprefix("prefs_")
        return np.array([preferences.value(name) for preferences in self.counted])


class QrelsPrefs(Prefs):
    """Preferences from standard judgements: each label is a level."""

    subgroups = False


SOURCES: dict[str, type[Source]] = {
    "qrels": Qrels,
    "qrels_jg": GroupedQrels,
    "prefs": Prefs,
    "qrels_prefs": QrelsPrefs,
}


def _defined(values: Values) -> Values:
    """0 where a measure is undefined; a NaN that trec_eval prints is a negative one."""
    return np.where(np.isnan(values) & ~np.signbit(values), 0.0, values)


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").removeprefix("+").isdigit()


def _relevance_strings(ranking: Ranking, length: int) -> list[str]:
    """The first labels of each topic, one character each."""
    ends = np.minimum(ranking.offsets[:-1] + length, ranking.offsets[1:]).tolist()
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
