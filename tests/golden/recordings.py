"""Packed values of current evaluators on the inputs of `tests/golden`.

`modern.tsv` says how each recorded number is computed, in the columns that the checker beside the data sets knows.
`modern-rest.tsv` has the numbers of TensorFlow Ranking, which shuffles tied documents: a value must lie between those
of the worst order and the best. `compare` looks at all values that the original gave.

    python -m tests.golden.recordings        how many of each evaluator's numbers are compared, as a table
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import shlex
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden import HERE

from pippin.cli.main import main

SHUFFLED = "modern-rest.tsv"
ARCHIVE = HERE / "modern" / "recordings.tar.xz"
KEPT = ("mean", "per_query", "unstable", "unstable_mean")
MEAN = "the mean"  # where else the id of a query stands
Row = dict[str, str]


def rows(name: str) -> list[Row]:
    """Return the rows of a mapping file."""
    with (HERE / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def pack(outputs: Path, forms: Path) -> None:
    """Keep the recordings of a folder, without what no comparison looks at."""
    with tarfile.open(ARCHIVE, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in [forms, *sorted(outputs.glob("*/*.json"))]:
            content = path.read_bytes()
            if path.suffix == ".json":
                full = json.loads(content)
                content = json.dumps({key: full[key] for key in KEPT if key in full}, separators=(",", ":")).encode()
            entry = tarfile.TarInfo(path.name if path == forms else path.relative_to(outputs).as_posix())
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def recordings() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield each recording: program, case, input form and content."""
    with tarfile.open(ARCHIVE) as archive:
        forms: dict[str, str] = {}
        for entry in archive:
            file = archive.extractfile(entry)
            assert file is not None
            content = file.read().decode()
            if entry.name == "forms.tsv":
                forms = {line.split("\t")[0]: line.split("\t")[1] for line in content.splitlines()}
                continue
            folder, _, name = entry.name.partition("/")
            form = "trec" if ".trec." in name else forms[folder]
            yield folder, name.partition(".")[0], form, json.loads(content)


def run_eval(inputs: Path, case: str, form: str, tool: str, options: str, measures: list[str]) -> Any:
    """Return the JSON of `pippin eval`."""
    ends = ("letor4.txt", "scores") if form == "letor" else ("qrels", "run")
    files = [str(inputs / f"{case}.{end}") for end in ends]
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    arguments = [word for measure in measures for word in ("-m", measure)]
    with contextlib.redirect_stdout(out):
        status = main(
            ["eval", *files, "--tool", tool, *shlex.split(options), "--per-query", "--format", "json", *arguments]
        )
    assert status == 0, (case, tool, options, measures)
    return json.loads(out.buffer.getvalue())


def near(ours: Any, theirs: Any, tolerance: float) -> bool:
    """Compare two numbers with the tolerance of the golden checker."""
    missing = [value is None or (isinstance(value, float) and math.isnan(value)) for value in (ours, theirs)]
    return all(missing) if any(missing) else abs(ours - theirs) <= tolerance * max(1.0, abs(theirs))


def between(ours: list[Any], theirs: Any, tolerance: float) -> bool:
    """Return whether a value equals ours, or lies between ours if there are two."""
    if len(ours) == 1 or None in (*ours, theirs) or near(ours[0], theirs, tolerance):
        return near(ours[0], theirs, tolerance)
    return near(ours[1], theirs, tolerance) or min(ours) < theirs < max(ours)


def unstable(recording: dict[str, Any], field: str, key: str) -> set[str]:
    """Return the queries (or means) whose value depends on the order of the input."""
    listed = recording.get(field, [])
    if isinstance(listed, dict):
        listed = listed.get(key, [])
    return set(map(str, listed)) if isinstance(listed, list) else {key} if listed else set()


def compare(inputs: Path, name: str) -> dict[str, list[str]]:
    """Misses by evaluator."""
    rows_by_tool: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows(name):
        rows_by_tool[row["recorded"], row["form"]].append(row)
    misses: dict[str, list[str]] = defaultdict(list)
    for folder, case, form, recording in recordings():
        groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows_by_tool[folder, form]:
            if row["key"] in (recording.get("mean") or {}) or row["key"] in (recording.get("per_query") or {}):
                groups[row["tool"], row["options"]].append(row)
        for (tool, options), group in groups.items():
            orders = [" --ties worst", " --ties best"] if name == SHUFFLED else [""]
            measures = sorted({row["measure"] for row in group})
            evaluation = [run_eval(inputs, case, form, tool, options + order, measures) for order in orders]
            for row in group:
                misses[folder] += [
                    f"{case} {row['key']}: {miss}" for miss in _misses(row, recording, evaluation, name == SHUFFLED)
                ]
    return misses


def coverage() -> str:
    """Return, by evaluator, its numbers, those that are compared partly or not at all, and all values."""
    full, shuffled = (
        {(row["recorded"], row["key"], row["form"]) for row in rows(name)} for name in ("modern.tsv", SHUFFLED)
    )
    recorded: dict[str, set[str]] = defaultdict(set)
    refused: dict[str, set[str]] = defaultdict(set)
    is_compared: dict[str, list[bool]] = defaultdict(list)  # of every value whether it is compared
    for folder, _, form, recording in recordings():
        for key in {**(recording.get("mean") or {}), **(recording.get("per_query") or {})}:
            recorded[folder].add(key)
            if _has_error(recording, key):
                refused[folder].add(key)
            number = folder, key, form
            values = list(_comparable_values(key, recording, number in shuffled))
            is_compared[folder] += [number in full | shuffled] * len(values)
    lines = ["| evaluator | numbers | compared | share | errors | not | values | share |"]
    lines.append("| --- |" + " ---: |" * 7)
    for folder, keys in sorted(recorded.items()):
        compared = {key for name, key, _ in full | shuffled if name == folder}
        lines.append(
            f"| {folder} | {len(keys)} | {len(compared)} | {len(compared) / len(keys):.0%} | "
            f"{len(refused[folder])} | {len(keys - compared)} | {len(is_compared[folder]):,} | "
            f"{sum(is_compared[folder]) / len(is_compared[folder]):.0%} |"
        )
    return "\n".join(lines)


def _has_error(recording: dict[str, Any], key: str) -> bool:
    """Return whether the original raised an error for a query, or for the mean, of this number."""
    values = ((recording.get("per_query") or {}).get(key) or {}).values()
    return any(isinstance(value, dict) for value in (*values, (recording.get("mean") or {}).get(key)))


def _comparable_values(key: str, recording: dict[str, Any], shuffles: bool) -> Iterator[tuple[str, Any]]:
    """Return the values of a number that can be compared: by query, and the mean.

    Those that depend on the order of the input cannot, unless the tool shuffles it; nor can errors.
    """
    skip = set() if shuffles else unstable(recording, "unstable", key)
    for query, value in ((recording.get("per_query") or {}).get(key) or {}).items():
        if query not in skip and not isinstance(value, dict):
            yield query, value
    means = recording.get("mean") or {}
    hangs = skip or key in unstable(recording, "unstable_mean", key)
    if key in means and not hangs and not isinstance(means[key], dict):
        yield MEAN, means[key]


def _misses(row: Row, recording: dict[str, Any], value: list[Any], shuffles: bool) -> Iterator[str]:
    """Return where our values, under each order of ties, differ from the recorded ones."""
    measure, tolerance = row["measure"], float(row["tolerance"])
    for what, theirs in _comparable_values(row["key"], recording, shuffles):
        ours = [item["mean"][measure] if what == MEAN else item["per_query"][measure].get(what) for item in value]
        if not between(ours, theirs, tolerance):
            yield f"{what}: {ours}, recorded {theirs}"


if __name__ == "__main__":
    print(coverage())
