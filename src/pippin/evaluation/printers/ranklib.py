"""What does RankLib's Evaluator print when it evaluates a file, in its own order or by a file of scores?

`-test FILE [-score SCORES] -metric2T METRIC [-idv OUT] [-qrel QRELS] [-gmax LABEL] [-hr]`, with options in any case.
The lines are those of its log without the date; RankLib logs to standard error, here they go to standard output, where
a drop-in's result is looked for. A query lasts as long as its id is repeated: one that comes back is a list of its
own, and in NDCG it is measured against the ideal of the first list of that id, which RankLib keeps. Of features only
the form is looked at. Source: ciir.umass.edu.eval.Evaluator and ciir.umass.edu.metric of RankLib 2.10 (codelibs).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, PippinError
from pippin.evaluation.evaluate import Values, aggregate
from pippin.evaluation.printers import _ranklib_metrics as metrics
from pippin.evaluation.printers._java import as_integer, parse_double, parse_integer, round_half_up, show, trimmed_lines
from pippin.evaluation.printers._lists import comparable, write_text
from pippin.evaluation.printers._ranklib_metrics import Lists
from pippin.evaluation.printers._stop import Stop, ending

FAILED = 1  # an exception nobody catches
PROGRESS = 10000  # entries from one line of progress to the next
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
_NO_DOUBLE = 1024  # the power of 2 that no double holds
_FEATURES = re.compile(rb"(?:[1-9]\d{0,8}:-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?:\s+|$))*")  # as nearly all are
_FLAGS = {"-hr", "-keep", "-sparse", "-missingzero", "-noeq"}
_ELSEWHERE = ("-train", "-load", "-rank")  # training, models and ranking are not evaluation


def _fail(message: str) -> Stop:
    return Stop(FAILED, err=f'Exception in thread "main" {message}\n')


@dataclass
class Options:
    """What the command line asks for."""

    values: dict[str, str] = field(default_factory=dict)  # by option, in lower case; the last one counts
    flags: set[str] = field(default_factory=set)

    def get(self, option: str, default: str = "") -> str:
        """The value of an option."""
        return self.values.get(option, default)


def parse_options(arguments: list[str]) -> Options:
    """Options of RankLib, which match in any case, so that -metric2t and -metric2T are one."""
    options, rest = Options(), iter(arguments)
    for argument in rest:
        name = argument.lower()
        if name in _FLAGS:
            options.flags.add(name)
        elif name in _WITH_VALUE:
            value = next(rest, None)
            if value is None:
                raise _fail("java.lang.ArrayIndexOutOfBoundsException")
            options.values[name] = value
        else:
            raise _fail(f"ciir.umass.edu.utilities.RankLibError: Unknown command-line parameter: {argument}")
    for name in _ELSEWHERE:
        if options.get(name):
            raise PippinError(f"pippin as ranklib evaluates a file with -test; {name} is left to RankLib")
    if options.get("-norm").lower() not in ("", "sum", "zscore", "linear"):
        raise _fail(f"ciir.umass.edu.utilities.RankLibError: Unknown normalizor: {options.get('-norm')}")
    return options


def read_lists(path: str, only_with_relevant: bool, log: Callable[[str], None]) -> Lists:
    """Lists of labels in the order of the file; `only_with_relevant` drops the others as they are read."""
    labels: list[float] = []
    starts: list[int] = []
    ids: list[str] = []
    known: dict[bytes, float] = {}
    last = b""
    try:
        for line in trimmed_lines(path):
            if not line or line.startswith(b"#"):
                continue
            if len(labels) % PROGRESS == 0:
                log(f"Reading feature file [{path}]: 0... ")
            words = line.split(b"#", 1)[0].split(None, 2)
            if words[0] not in known:
                known[words[0]] = _label(words[0])
            if len(words) > 2 and not _FEATURES.fullmatch(words[2]):
                _check_features(words[2])
            query = words[1].rsplit(b":", 1)[-1]
            if not labels or (query != last and last):
                starts.append(len(labels))
                ids.append(query.decode("utf-8", "surrogateescape"))
            last = query
            labels.append(known[words[0]])
    except PippinError:  # our own refusal, not the original's
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
    if label > metrics.LARGEST_LABEL:
        raise ConventionError(f"label {text.decode()} is too large")  # RankLib would not end
    return 0.0 if math.isnan(label) else label  # NaN is neither above 0 nor has it a whole part


def _check_features(text: bytes) -> None:
    """A feature is a whole number above 0, a colon and a number."""
    for pair in text.split():
        if b":" not in pair:
            raise ValueError("begin 0, end -1, length " + str(len(pair)))
        if parse_integer(pair.split(b":", 1)[0].decode("utf-8", "replace")) <= 0:
            raise ValueError("Cannot use feature numbering less than or equal to zero. Start your features at 1.")
        parse_double(pair.rsplit(b":", 1)[1])


def parse_scores(texts: list[bytes], wanted: int, file: str) -> NDArray[np.float64]:
    """As many scores as there are documents; surplus scores are ignored."""
    try:
        scores = np.fromiter(map(parse_double, texts), np.float64, len(texts))
    except ValueError as error:
        raise _fail(f"java.lang.NumberFormatException: {error}") from None
    if len(scores) < wanted:
        raise _fail(f"java.lang.IndexOutOfBoundsException: Index {len(scores)} out of bounds for length {len(scores)}")
    return comparable(scores[:wanted], file)


def _highest_gain(text: str) -> float:
    """2 to the power of -gmax."""
    label = parse_double(text.encode())
    return 0.0 if label == -math.inf else math.inf if label >= _NO_DOUBLE else 2.0**label


def _warn(lists: Lists, highest: float, warn: Callable[[str], None]) -> None:
    """ERR is a probability only while no label is above -gmax."""
    largest = as_integer(float(lists.labels.max(initial=0)))
    if not metrics.gain(largest) <= highest:
        warn(f"label {largest} is above -gmax, so RankLib's ERR is no probability: the number below means nothing")


def _evaluate(options: Options, log: Callable[[str], None], warn: Callable[[str], None]) -> None:
    highest = _highest_gain(options.get("-gmax", "4"))
    log("Keep orig. features" if "-keep" in options.flags else "Discard orig. features")
    asked = options.get("-metric2t", "ERR@10")
    metric = metrics.parse(asked)
    judged = None
    if options.get("-qrel") and metric.kind in ("AP", "NDCG"):
        judged = metrics.read_judged(options.get("-qrel"), metric)
        for _ in ("training", "testing"):  # each has a metric of its own, and each says so
            log(f"Relevance judgment file loaded. [#q={len(judged)}]")
    log("Model file: ")
    log(f"Feature normalization: {options.get('-norm').lower() or 'No'}")
    log(f"Test metric: {asked}")
    if asked.startswith("ERR"):
        shown = -math.inf if highest == 0 else math.log(highest) / math.log(2.0)
        log(f"Highest relevance label (to compute ERR): {as_integer(shown)}")
    scored = options.get("-score")
    # RankLib opens the scores first, and fails before it reads a list, but reads them last.
    texts = [line for line in trimmed_lines(scored) if line] if scored else []
    lists = read_lists(options.get("-test"), "-hr" in options.flags, log)
    scores = parse_scores(texts, len(lists.labels), scored) if scored else np.zeros(len(lists.labels))
    if metric.kind == "ERR":
        _warn(lists, highest, warn)
    values = metrics.values(lists, scores, metric, highest, judged)
    mean = aggregate(values, "mean")
    log(f"{metric.name} on test data: {show(round_half_up(mean))}")
    if options.get("-idv") and not scored:
        write_text(options.get("-idv"), _individual(metric.name, lists, values, mean))
        log(f"Per-ranked list performance saved to: {options.get('-idv')}")


def _individual(name: str, lists: Lists, values: Values, mean: float) -> str:
    rows = [*zip(lists.ids, values.tolist(), strict=True), ("all", mean)]
    return "".join(f"{name}   {query}   {show(value)}\n" for query, value in rows)


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Evaluator -test FILE [-score SCORES] -metric2T METRIC [-idv OUT]."""

    def log(text: str) -> None:
        out.write(f"INFO: {text}\n")

    def warn(text: str) -> None:
        err.write(f"pippin as ranklib: {text}\n")

    def work() -> None:
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

    return ending(work, out, err)
