"""trec_eval 8.1: run a command line and print its lines; values and sums are single precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pippin.compat.trec_eval import inputs
from pippin.compat.trec_eval.measures import CUTOFFS, MULTIPLES, without_nan
from pippin.compat.trec_eval.options import FLOOR, TrecError, as_double, as_long, format_value, line_writer
from pippin.compat.trec_eval.topics import RankingFilter, rank_topics, rules_of
from pippin.data.qrels import Qrels, Run
from pippin.errors import DataError
from pippin.evaluation.measures.trec_eval import RECALL_LEVELS
from pippin.evaluation.ranking import Ranking
from pippin.kernels.ranking import find_duplicate
from pippin.records import FrozenRecord

F32 = NDArray[np.float32]
USAGE = (
    "Usage: trec_eval [-h] [-q] [-a] [-o] [-v] trec_rel_file trec_top_file",
    "   -h: Give full help information, including other options",
    "   -q: In addition to summary evaluation, give evaluation for each query",
    "   -a: Print all evaluation measures, instead of just official measures",
    "   -o: Print requested measures in old non-relational format",
)
_FALLOUTS = tuple(142 * step // 10 for step in range(11))


class Entry(FrozenRecord):
    """One printed measure: its kernel and parameters, its format and its average."""

    name: str
    kernel: str
    cutoff: int = 0
    parameter: float = 0.0
    official: bool = False
    is_integer: bool = False
    average: str = "mean"  # "mean", "sum", "geometric", "relevant" (over relevant documents) or "none"
    per_topic: bool = True


def _plain(names: str, **more: object) -> tuple[Entry, ...]:
    return tuple(Entry(name, f"v8_{name}", **more) for name in names.split())  # type: ignore[arg-type]


def _at_cutoffs(name: str, kernel: str, official: bool = False) -> tuple[Entry, ...]:
    return tuple(Entry(f"{name}{k}", kernel, cutoff=k, official=official) for k in CUTOFFS)


def _at(form: str, kernel: str, values: Iterable[float], official: bool = False) -> tuple[Entry, ...]:
    return tuple(Entry(form.format(v), kernel, parameter=v, official=official) for v in values)


SINGLE = (
    *_plain("num_ret num_rel num_rel_ret", official=True, is_integer=True, average="sum"),
    *_plain("map", official=True),
    Entry("gm_ap", "v8_map", official=True, average="geometric", per_topic=False),
    *_plain("R-prec bpref recip_rank", official=True),
    *_plain("num_nonrel_judged_ret", is_integer=True, average="sum"),
    *_plain("exact_prec exact_recall 11-pt_avg 3-pt_avg"),
    *_plain("avg_doc_prec", average="relevant"),
    *_plain("exact_relative_prec avg_relative_prec exact_unranked_avg_prec exact_relative_unranked_avg_prec map_at_R "
            "int_map exact_int_R_rcl_prec int_map_at_R bpref_allnonrel bpref_retnonrel bpref_topnonrel "
            "bpref_top5Rnonrel bpref_top10Rnonrel bpref_top10pRnonrel bpref_top25pRnonrel bpref_top50pRnonrel "
            "bpref_top25p2Rnonrel bpref_retall bpref_5 bpref_10 bpref_num_all bpref_num_ret"),
    *_plain("bpref_num_correct bpref_num_possible", is_integer=True, average="sum"),
    *_plain("old_bpref old_bpref_top10pRnonrel infAP"),
    Entry("gm_bpref", "v8_bpref", average="geometric", per_topic=False),
    *_plain("rank_first_rel", is_integer=True, average="none"),
)  # fmt: skip
PARAMETERISED = (
    *_at("ircl_prn.{:4.2f}", "v8_ircl_prn", RECALL_LEVELS, official=True),
    *_at_cutoffs("P", "v8_P", official=True),
    *_at_cutoffs("recall", "v8_recall"),
    *_at("{:4.2f}R-prec", "v8_Rprec_mult", MULTIPLES),
    *_at_cutoffs("relative_prec", "v8_relative_prec"),
    *_at_cutoffs("unranked_avg_prec", "v8_unranked_avg_prec"),
    *_at_cutoffs("relative_unranked_avg_prec", "v8_relative_unranked_avg_prec"),
    Entry("utility_", "v8_utility"),  # its coefficients are printed with the name
    *_plain("rcl_at_142_nonrel"),
    *_at("fallout_recall_{}", "v8_fallout_recall", _FALLOUTS),
    *_at("int_{:4.2f}R-prec", "v8_int_Rprec_mult", MULTIPLES),
)
MICRO = (
    ("micro_prec", "num_rel_ret", "num_ret"),
    ("micro_recall", "num_rel_ret", "num_rel"),
    ("micro_bpref", "bpref_num_correct", "bpref_num_possible"),
)


@dataclass
class Options:
    """The parsed command line."""

    per_topic: bool = False
    everything: bool = False
    old_format: bool = False
    complete: bool = False
    judged_only: bool = False
    level: int = 1
    collection: int = 0
    depth: int = 2147483647
    help: bool = False
    version: bool = False
    worth: dict[str, float] = field(default_factory=lambda: {"a": 1.0, "b": -1.0, "c": 0.0, "d": 0.0})
    files: list[str] = field(default_factory=list)


def read_options(arguments: list[str]) -> Options:
    """Parse the options in front of the file names; numbers follow their letter directly, as in -l2."""
    options = Options()
    flags = {"q": "per_topic", "a": "everything", "o": "old_format", "c": "complete", "J": "judged_only",
             "h": "help", "v": "version"}  # fmt: skip
    numbers = {"l": "level", "N": "collection", "M": "depth"}
    remaining = list(arguments)
    while remaining and remaining[0].startswith("-"):
        letter, value = remaining[0][1:2], remaining[0][2:]
        remaining.pop(0)
        if letter in flags:
            setattr(options, flags[letter], True)
            if letter in "hv":
                return options
        elif letter in numbers:
            setattr(options, numbers[letter], as_long(value))
        elif letter == "U" and value[:1] in options.worth:
            options.worth[value[0]] = as_double(value[1:])
        else:
            raise TrecError(1, *USAGE)
    if len(remaining) != 2:
        raise TrecError(1, *USAGE)
    options.files = remaining
    return options


def run(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run version 8.1 with these arguments and return the exit status."""
    options = read_options(arguments)
    if options.version:
        err.write("trec_eval version 8.1\n")
        return 0
    if options.help:
        out.write(_help())
        return 0
    judgements, results = _read(options.files[0], options.files[1])
    if judgements is None or results is None:
        return 255
    results = without_nan(results, float32=True, from_file=True)
    judged_topics = set(judgements.query_ids)
    topics = [topic for topic in results.query_ids if topic in judged_topics]
    topics, fault = _up_to_fault(judgements, results, topics)
    if not topics and fault is None:
        return 255
    ranking = rank_topics(judgements, results, [(topic, topic) for topic in topics], float32=True)
    keep = RankingFilter(ranking, options.depth)
    ranking = keep.select(keep.pooled if options.judged_only else keep.within_depth)
    evaluation = Evaluation(options, topics, ranking, len(judged_topics))
    write = evaluation.old_lines if options.old_format else evaluation.lines
    out.write("".join(write(summary=fault is None)))
    if fault is not None:
        raise _complaint(3, "form_tr_vec", fault)
    return 0


def _complaint(status: int, where: str, message: str) -> TrecError:
    return TrecError(status, f"trec_eval: {where} error: in trec_eval: '{message}' Illegal parameter value - Quit")


def _read(qrels_file: str, results_file: str) -> tuple[Qrels | None, Run | None]:
    """Read both files; an empty file is None."""
    try:
        judgements = None if _is_empty(qrels_file) else inputs.read_qrels(qrels_file, comments=False)
    except inputs.MalformedLine as error:
        raise _complaint(2, "input", f"{'M' if error.columns < 4 else 'm'}alformed qrels line") from None
    except DataError:
        raise _complaint(2, "input", "Cannot read qrels file") from None
    try:
        return judgements, None if _is_empty(results_file) else inputs.read_results(results_file, comments=False)
    except inputs.MalformedLine:
        raise _complaint(2, "input", "malformed top results line") from None
    except DataError:
        raise _complaint(2, "input", "Cannot read results file") from None


def _is_empty(path: str) -> bool:
    return Path(path).is_file() and not Path(path).stat().st_size


def _up_to_fault(judgements: Qrels, results: Run, topics: list[str]) -> tuple[list[str], str | None]:
    """Return the topics before the first one with a repeated document, and the error message of that one."""
    twice_retrieved, twice_judged = _with_repetitions(results), _with_repetitions(judgements)
    for i, topic in enumerate(topics):
        if topic in twice_retrieved:
            return topics[:i], "Duplicate top docs docno"
        if topic in twice_judged:
            return topics[:i], "Duplicate qrels docno"
    return topics, None


def _with_repetitions(data: Qrels | Run) -> set[str]:
    """Return the topics with a repeated document."""
    if find_duplicate(data.document_ids, data.offsets)[1] < 0:
        return set()
    ranges = zip(data.query_ids, pairwise(data.offsets.tolist()), strict=True)
    return {
        topic
        for topic, (first, last) in ranges
        if len({data.document_ids.raw(row) for row in range(first, last)}) < last - first
    }


def _help() -> str:
    return (
        "pippin as trec_eval, as version 8.1 prints\n"
        "trec_eval [-h] [-q] [-a] [-o] [-c] [-l<num>] [-N<num>] [-M<num>] [-Ua<num>] [-Ub<num>] [-Uc<num>] [-Ud<num>] "
        "[-J] judgements results\n"
        "-q values of each topic too; -a all measures; -o the old form; -c average over all judged topics;\n"
        "-l smallest label that is relevant; -N size of the collection; -M documents taken per topic;\n"
        "-U worth of documents in utility; -J pooled documents only\n"
    )


class Evaluation:
    """The values of all measures by topic, in the order of the results, and their summary."""

    def __init__(self, options: Options, topics: list[str], ranking: Ranking, n_judged_topics: int) -> None:
        self.options, self.topics, self.ranking = options, topics, ranking
        self.counted = ranking.sizes() > 0  # topics without documents are printed but not averaged
        self.queries = n_judged_topics if options.complete else int(self.counted.sum())
        self._columns: dict[Entry, F32] = {}

    def column(self, entry: Entry) -> F32:
        """Return the values of a measure by topic."""
        if entry not in self._columns:
            numbers = np.array([*self.options.worth.values(), self.options.collection], np.float64)
            rules = rules_of(self.ranking, self.options.level, cutoff=entry.cutoff, parameter=entry.parameter)
            values = self.ranking.compute(entry.kernel, replace(rules, numbers=numbers))
            self._columns[entry] = values.astype(np.float32)
        return self._columns[entry]

    def total(self, entry: Entry) -> np.float32:
        """Return the sum over the topics in single precision."""
        values = self.column(entry)
        if entry.average == "geometric":
            values = np.array([math.log(max(float(value), FLOOR)) for value in values], np.float32)
        return _sum(values[self.counted])

    def summary(self, entry: Entry) -> float:
        """Return the value of the summary."""
        total, queries = self.total(entry), np.float32(self.queries)
        if entry.average == "mean":
            return float(total / queries)
        if entry.average == "relevant":
            relevant = self.total(SINGLE[1])
            return float(total / relevant if relevant > 0 else total)
        if entry.average == "geometric":
            missing = (self.queries - int(self.counted.sum())) if self.options.complete else 0
            total = np.float32(float(total) + missing * math.log(FLOOR))
            return float(np.float32(math.exp(float(total / queries))))
        return float(total)

    def entries(self) -> list[Entry]:
        """Return the printed measures."""
        return [entry for entry in (*SINGLE, *PARAMETERISED) if self.options.everything or entry.official]

    def name(self, entry: Entry) -> str:
        """Return the printed name."""
        if entry.kernel != "v8_utility":
            return entry.name
        return entry.name + "_".join(f"{value:3.1f}" for value in self.options.worth.values())

    def lines(self, summary: bool) -> list[str]:
        """Return the lines of the topics and, if requested, of the summary."""
        line = line_writer("", 15)
        lines: list[str] = []
        if self.options.per_topic:
            columns = [
                (self.name(e), [format_value(value, e.is_integer) for value in self._by_topic(e)])
                for e in self.entries() if e.per_topic
            ]  # fmt: skip
            for i, topic in enumerate(self.topics):
                name_of_topic = inputs.text(inputs.raw(topic)[:20])
                lines.extend(line(name, name_of_topic, texts[i]) for name, texts in columns)
        return [*lines, *self._summary_lines()] if summary else lines

    def _summary_lines(self) -> list[str]:
        line = line_writer("", 15)
        lines: list[str] = []
        lines.append(line("num_q", "all", str(self.queries)))
        for entry in self.entries():
            if entry.average != "none":
                lines.append(line(self.name(entry), "all", format_value(self.summary(entry), entry.is_integer)))
        if self.options.everything:
            totals = {entry.name: entry for entry in SINGLE}
            for name, above, below in MICRO:
                with np.errstate(all="ignore"):
                    share = self.total(totals[above]) / self.total(totals[below])
                lines.append(line(name, "all", format_value(float(share))))
        return lines

    def _by_topic(self, entry: Entry) -> list[float]:
        values = self.column(entry)
        if entry.average == "relevant":
            relevant = self.column(SINGLE[1])
            values = np.divide(values, relevant, out=values.copy(), where=relevant > 0)
        return [float(value) for value in values]

    def old_lines(self, summary: bool) -> list[str]:
        """Return the old format: one block per topic and, if requested, one for all."""

        def of_topic(i: int) -> Callable[[Entry], float]:
            return lambda entry: float(self.column(entry)[i])

        topics = self.topics if self.options.per_topic else []
        blocks = [self._old_block(topic, of_topic(i)) for i, topic in enumerate(topics)]
        return [*blocks, self._old_block("All", self.summary)] if summary else blocks

    def _old_block(self, topic: str, value: Callable[[Entry], float]) -> str:
        by_name = {entry.name: entry for entry in (*SINGLE, *PARAMETERISED)}
        counts = zip(("Retrieved:", "Relevant: ", "Rel_ret:  "), ("num_ret", "num_rel", "num_rel_ret"), strict=True)
        lines = [f"\nQueryid (Num):\t{topic}", "Total number of documents over all queries"]
        lines += [f"    {title}    {int(value(by_name[name])):5d}" for title, name in counts]
        lines.append("Interpolated Recall - Precision Averages:")
        lines += [f"    at {v:4.2f}       {format_value(value(by_name[f'ircl_prn.{v:4.2f}']))} " for v in RECALL_LEVELS]
        lines.append("Average precision (non-interpolated) for all rel docs(averaged over queries)")
        lines.append(f"                  {format_value(value(by_name['map']))} ")
        lines.append("Precision:")
        lines += [f"  At {k:4d} docs:   {format_value(value(by_name[f'P{k}']))}" for k in CUTOFFS]
        lines.append("R-Precision (precision after R (= num_rel for a query) docs retrieved):")
        lines.append(f"    Exact:        {format_value(value(by_name['R-prec']))}")
        return "\n".join(lines) + "\n"


def _sum(values: F32) -> np.float32:
    return np.float32(np.cumsum(values, dtype=np.float32)[-1]) if len(values) else np.float32(0)
