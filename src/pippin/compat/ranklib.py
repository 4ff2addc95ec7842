"""Emulator of RankLib's Evaluator, for a file in its own order or ranked by a file of scores.

`-test FILE [-score SCORES] -metric2T METRIC [-idv OUT] [-qrel QRELS] [-gmax LABEL] [-hr]`, with options in any case. It
prints the lines of RankLib's log, without the date, to standard output instead of standard error. A query consists of
consecutive lines with the same id; an id that occurs again later is a list of its own, whose NDCG uses the ideal list
of the first one, because RankLib caches it. Features are only validated.
Source: ciir.umass.edu.eval.Evaluator and ciir.umass.edu.metric of RankLib 2.10 (codelibs).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pippin.compat import ranklib_metrics as metrics
from pippin.compat.common import ToolExit, comparable, run_emulator, write_text
from pippin.compat.ranklib_metrics import (
    Lists,
    as_integer,
    parse_double,
    parse_integer,
    round_half_up,
    show,
    trimmed_lines,
)
from pippin.errors import ConventionError, PippinError
from pippin.evaluation.evaluation import Values, aggregate

FAILED = 1  # status of an uncaught exception
PROGRESS_INTERVAL = 10000  # entries between two lines of progress
USAGE = (
    "Usage: java -jar RankLib.jar <Params>\n"
    "Params: -test <file> [-score <file>] [-metric2T <metric>] [-idv <file>] [-qrel <file>] [-gmax <label>] [-hr]\n"
)

_WITH_VALUE = {
    "-test", "-score", "-metric2t", "-idv", "-qrel", "-gmax", "-norm", "-feature", "-save", "-thread", "-ranker",
    "-validate", "-tts", "-tvs", "-kcv", "-kcvmd", "-kcvmn", "-epoch", "-layer", "-node", "-lr", "-tc", "-max", "-r",
    "-i", "-round", "-reg", "-tolerance", "-tree", "-leaf", "-shrinkage", "-mls", "-estop", "-bag", "-srate", "-frate",
    "-rtype", "-l2", "-nf", "-t", "-indri", "-train", "-load", "-rank",
}  # fmt: skip
_MAX_EXPONENT = 1024  # 2 to this power overflows a double
_FEATURES = re.compile(rb"(?:[1-9]\d{0,8}:-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?:\s+|$))*")  # the usual format
_FLAGS = {"-hr", "-keep", "-sparse", "-missingzero", "-noeq"}
_UNSUPPORTED = ("-train", "-load", "-rank")  # training, models and ranking


def _fail(message: str) -> ToolExit:
    return ToolExit(FAILED, err=f'Exception in thread "main" {message}\n')


@dataclass
class Options:
    """The parsed command line."""

    values: dict[str, str] = field(default_factory=dict)  # by option in lower case; the last one counts
    flags: set[str] = field(default_factory=set)

    def get(self, option: str, default: str = "") -> str:
        """Return the value of an option."""
        return self.values.get(option, default)


def parse_options(arguments: list[str]) -> Options:
    """Parse the options, which are matched in any case."""
    options, remaining = Options(), iter(arguments)
    for argument in remaining:
        name = argument.lower()
        if name in _FLAGS:
            options.flags.add(name)
        elif name in _WITH_VALUE:
            value = next(remaining, None)
            if value is None:
                raise _fail("java.lang.ArrayIndexOutOfBoundsException")
            options.values[name] = value
        else:
            raise _fail(f"ciir.umass.edu.utilities.RankLibError: Unknown command-line parameter: {argument}")
    for name in _UNSUPPORTED:
        if options.get(name):
            raise PippinError(f"pippin as ranklib does not support {name}; it evaluates a file given by -test")
    if options.get("-norm").lower() not in ("", "sum", "zscore", "linear"):
        raise _fail(f"ciir.umass.edu.utilities.RankLibError: Unknown normalizor: {options.get('-norm')}")
    return options


def read_lists(path: str, only_with_relevant: bool, log: Callable[[str], None]) -> Lists:
    """Read lists of labels in the order of the file; `only_with_relevant` drops lists without a label above 0."""
    labels: list[float] = []
    starts: list[int] = []
    ids: list[str] = []
    label_of: dict[bytes, float] = {}
    last = b""
    try:
        for line in trimmed_lines(path):
            if not line or line.startswith(b"#"):
                continue
            if len(labels) % PROGRESS_INTERVAL == 0:
                log(f"Reading feature file [{path}]: 0... ")
            words = line.split(b"#", 1)[0].split(None, 2)
            if words[0] not in label_of:
                label_of[words[0]] = _label(words[0])
            if len(words) > 2 and not _FEATURES.fullmatch(words[2]):
                _check_features(words[2])
            query = words[1].rsplit(b":", 1)[-1]
            if not labels or (query != last and last):
                starts.append(len(labels))
                ids.append(query.decode("utf-8", "surrogateescape"))
            last = query
            labels.append(label_of[words[0]])
    except PippinError:  # not an error of the original
        raise
    except (OSError, ValueError, IndexError) as error:
        raise _fail(f"ciir.umass.edu.utilities.RankLibError: Error in FeatureManager::readInput(): {error}") from None
    lists = Lists(np.array(labels, np.float64), np.diff([*starts, len(labels)]), ids)
    if only_with_relevant:
        lists = lists.with_relevant()
    log(f"Reading feature file [{path}]...")
    log(f"({len(lists.ids)} ranked lists, {len(labels)} entries read)")
    return lists


def _label(text: bytes) -> float:
    with np.errstate(over="ignore"):
        label = float(np.float32(parse_double(text)))
    if label < 0:
        raise ValueError("Relevance label cannot be negative. System will now exit.")
    if label > metrics.MAX_LABEL:
        raise ConventionError(f"label {text.decode()} is too large")  # RankLib would not terminate
    return 0.0 if math.isnan(label) else label  # RankLib treats NaN as 0


def _check_features(text: bytes) -> None:
    """Raise unless each feature is a positive integer, a colon and a number."""
    for pair in text.split():
        if b":" not in pair:
            raise ValueError("begin 0, end -1, length " + str(len(pair)))
        if parse_integer(pair.split(b":", 1)[0].decode("utf-8", "replace")) <= 0:
            raise ValueError("Cannot use feature numbering less than or equal to zero. Start your features at 1.")
        parse_double(pair.rsplit(b":", 1)[1])


def parse_scores(texts: list[bytes], requested: int, file: str) -> NDArray[np.float64]:
    """Parse as many scores as there are documents; surplus scores are ignored."""
    try:
        scores = np.fromiter(map(parse_double, texts), np.float64, len(texts))
    except ValueError as error:
        raise _fail(f"java.lang.NumberFormatException: {error}") from None
    if len(scores) < requested:
        raise _fail(f"java.lang.IndexOutOfBoundsException: Index {len(scores)} out of bounds for length {len(scores)}")
    return comparable(scores[:requested], file)


def _highest_gain(text: str) -> float:
    """Return 2 to the power of -gmax."""
    label = parse_double(text.encode())
    return 0.0 if label == -math.inf else math.inf if label >= _MAX_EXPONENT else 2.0**label


def _warn(lists: Lists, highest: float, warn: Callable[[str], None]) -> None:
    """Warn if a label is above -gmax, because RankLib's stopping probabilities then exceed 1."""
    largest = as_integer(float(lists.labels.max(initial=0)))
    if not metrics.gain(largest) <= highest:
        warn(f"label {largest} is above -gmax: RankLib's ERR is meaningless")


def _evaluate(options: Options, log: Callable[[str], None], warn: Callable[[str], None]) -> None:
    highest = _highest_gain(options.get("-gmax", "4"))
    log("Keep orig. features" if "-keep" in options.flags else "Discard orig. features")
    metric_name = options.get("-metric2t", "ERR@10")
    metric = metrics.parse(metric_name)
    judgements = None
    if options.get("-qrel") and metric.kind in ("AP", "NDCG"):
        judgements = metrics.read_judgements(options.get("-qrel"), metric)
        for _ in ("training", "testing"):  # each has its own metric, which logs this line
            log(f"Relevance judgment file loaded. [#q={len(judgements)}]")
    log("Model file: ")
    log(f"Feature normalization: {options.get('-norm').lower() or 'No'}")
    log(f"Test metric: {metric_name}")
    if metric_name.startswith("ERR"):
        max_label = -math.inf if highest == 0 else math.log(highest) / math.log(2.0)
        log(f"Highest relevance label (to compute ERR): {as_integer(max_label)}")
    score_file = options.get("-score")
    # RankLib opens the scores before it reads the lists, and parses them afterwards.
    texts = [line for line in trimmed_lines(score_file) if line] if score_file else []
    lists = read_lists(options.get("-test"), "-hr" in options.flags, log)
    scores = parse_scores(texts, len(lists.labels), score_file) if score_file else np.zeros(len(lists.labels))
    if metric.kind == "ERR":
        _warn(lists, highest, warn)
    values = metrics.values(lists, scores, metric, highest, judgements)
    mean = aggregate(values, "mean")
    log(f"{metric.name} on test data: {show(round_half_up(mean))}")
    if options.get("-idv") and not score_file:
        write_text(options.get("-idv"), _individual(metric.name, lists, values, mean))
        log(f"Per-ranked list performance saved to: {options.get('-idv')}")


def _individual(name: str, lists: Lists, values: Values, mean: float) -> str:
    rows = [*zip(lists.ids, values.tolist(), strict=True), ("all", mean)]
    return "".join(f"{name}   {query}   {show(value)}\n" for query, value in rows)


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run Evaluator -test FILE [-score SCORES] -metric2T METRIC [-idv OUT]."""

    def log(text: str) -> None:
        out.write(f"INFO: {text}\n")

    def warn(text: str) -> None:
        err.write(f"pippin as ranklib: {text}\n")

    def emulate() -> None:
        if len(arguments) < 2:
            for line in USAGE.splitlines():
                log(line)
            return
        try:
            _evaluate(parse_options(arguments), log, warn)
        except OSError as error:
            raise _fail(f"java.io.FileNotFoundException: {error.filename} ({error.strerror})") from None
        except PippinError:
            raise
        except (ValueError, OverflowError, EOFError) as error:
            raise _fail(f"java.lang.RuntimeException: {error}") from None

    return run_emulator(emulate, out, err)
