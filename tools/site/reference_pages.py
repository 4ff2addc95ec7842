"""The reference pages of the site, generated from parsers, docstrings and registries."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
from collections.abc import Callable, Iterator
from typing import Any

# A small example on which most axes make a difference: ties, an empty query, a short list, an unjudged document, labels
# up to 3 and below 0, a query that was not retrieved.
_EXAMPLE = """qrels = {
    "q1": {"a": 3, "b": 1, "c": 0, "d": 0, "e": 2, "q1": 1},
    "q2": {"f": 0, "g": 0},
    "q3": {"h": 1, "i": -1, "j": 2},
    "q4": {"k": 1},
}
run = {
    "q1": {"c": 0.9, "a": 0.7, "b": 0.7, "x": 0.5, "q1": 0.4, "d": 0.30000001, "e": 0.3},
    "q2": {"g": 0.2, "f": 0.1},
    "q3": {"i": 0.8, "h": 0.8, "j": -0.1},
}
"""
_MEASURES = ("NDCG@5", "AP", "P@5", "RR", "ERR@5", "Recall@5", "Bpref", "RBP", "DCG@5", "IPrec@0.1", "alpha-nDCG@5")


def pages() -> dict[str, str]:
    """Return page name → Markdown of every reference page."""
    result = {"commands": commands(), "axes": axes(), **python(), "rankers": rankers()}
    for registry in ("tools", "measures", "features"):
        result[registry] = registry_page(registry)
    return result


def _capture_output(call: Callable[[], object]) -> str:
    """Return what a call prints."""
    out = io.StringIO()
    os.environ["COLUMNS"], os.environ["NO_COLOR"] = "100", "1"
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        call()
    return out.getvalue().rstrip()


def commands() -> str:
    """Return every command with its help."""
    from pippin.cli.main import GROUPS, main

    parts = ["# Commands\n\nThe output of `pippin help COMMAND` for every command."]
    for group, members in GROUPS.items():
        parts.append(f"## {group.capitalize()}")
        for name, (_, about) in members.items():
            text = _capture_output(lambda name=name: main(["help", name]))
            parts.append(f"### pippin {name}\n\n{about.capitalize()}.\n\n```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def axes() -> str:
    """Return every axis of a convention with its values, the tools that choose them, and an example."""
    from pippin.evaluation.convention import AXES, Convention
    from pippin.evaluation.tools import TOOLS

    names: dict[str, Any] = {}
    exec(_EXAMPLE, names)
    default = Convention()
    parts = [
        "# Axes of a convention\n\nAn axis is one choice of an evaluation tool. Every axis is a keyword argument of "
        "`pippin.evaluate` and an option of `pippin eval`, and changes that choice of the tool. The default is that of "
        "`official`. The examples use these data, on which most axes make a difference:\n\n"
        f"```python\n{_EXAMPLE}```"
    ]
    for name, axis in AXES.items():
        value = axis.text(getattr(default, name))
        changed: dict[str, list[str]] = {}
        for tool in TOOLS.values():
            choice = axis.text(getattr(tool.convention, name))
            if choice != value:
                changed.setdefault(choice, []).append(f"`{tool.name}`")
        parts += [
            f"## {name}", f"{axis.description[0].upper()}{axis.description[1:]}.",
            f"Values: `{axis.placeholder.replace('|', '` · `')}`. Default: `{value}`. Option: `{axis.flag}`.",
        ]  # fmt: skip
        if changed:
            rows = "\n".join(f"| `{choice}` | {', '.join(tools)} |" for choice, tools in changed.items())
            parts.append(f"| value | tools |\n|---|---|\n{rows}")
        parts.append(_axis_example(axis, names["qrels"], names["run"]))
    return "\n\n".join(parts) + "\n"


def _axis_example(axis: Any, qrels: Any, run: Any) -> str:
    """Evaluate a measure under the values of an axis; prefer a measure on which they differ."""
    import pippin

    values = list(axis.values.values()) or [0, 1, 2]
    best: list[str] = []
    for measure in _MEASURES:
        numbers = []
        for value in values:
            with contextlib.suppress(pippin.PippinError):
                mean = pippin.evaluate(qrels, run, measure, **{axis.name: value}).mean
                numbers.append((value, round(next(iter(mean.values())), 4)))
        if len({number for _, number in numbers}) > 1 or (numbers and not best):
            lines = []
            for value, number in numbers[:6]:
                lines += [f'>>> pippin.evaluate(qrels, run, "{measure}", {axis.name}={value!r}).mean["{measure}"]',
                          str(number)]  # fmt: skip
            best = lines
        if len({number for _, number in numbers}) > 1:
            break
    if not best:
        return f"For example: `pippin eval qrels.txt run.txt {axis.flag} {axis.placeholder.partition('|')[0]}`"
    return "```python\n" + "\n".join(best) + "\n```"


def python() -> dict[str, str]:
    """Return the pages of every public function and class."""
    import pippin

    functions, classes = [], []
    for name, path in _public_names(pippin):
        (classes if name[0].isupper() else functions).append((f"pippin.{name}", path))
    contents = {
        "python": ("Functions", "The functions of `pippin`.", functions),
        "results": ("Data and results", "The classes of `pippin`, with fields and inherited methods.", classes),
    }
    paths = {path for _, path in (*functions, *classes)}
    for title, *packages in (
        ("Ranker classes", "rankers"), ("Clicks", "clicks"), ("Boards", "boards"),
        ("Correlation and scorers", "correlation", "metrics"),
    ):  # fmt: skip
        members = []
        for package in packages:
            for member, path in _public_names(getattr(pippin, package)):
                if path not in paths:  # an object has one entry, on the first page
                    members.append((f"pippin.{package}.{member}", path))
                    paths.add(path)
        packages_text = " and ".join(f"`pippin.{package}`" for package in packages)
        contents[f"python-{packages[0]}"] = title, f"The public names of {packages_text}.", members
    return {
        page: "\n\n".join([f"# {title}\n\n{about}", *(_entry(*member) for member in members)]) + "\n"
        for page, (title, about, members) in contents.items()
    }


def _entry(name: str, path: str) -> str:
    """Return the directive that mkdocstrings replaces; for a ranker, with its table of parameters."""
    from pippin.rankers import names, ranker
    from pippin.reports import catalogue

    entry = f"::: {path}\n    options:\n      heading: {name}\n      toc_label: {name.rsplit('.', 1)[1]}"
    registered = {f"pippin.rankers.{ranker(each).__name__}": each for each in names()}.get(name)
    if not registered:
        return entry
    table = catalogue.rankers(registered).rows
    return f"{entry}\n\n{table().render('markdown')}" if table else entry


def _public_names(package: Any) -> Iterator[tuple[str, str]]:
    """Yield every public function and class of a package with the path of its definition."""
    for name in sorted(getattr(package, "__all__", None) or dir(package), key=str.lower):
        item = getattr(package, name)
        if hasattr(item, "__qualname__"):
            yield name, f"{item.__module__}.{item.__qualname__}"


def rankers() -> str:
    """Return every ranker with its parameters."""
    from pippin.cli.main import main
    from pippin.rankers import names

    parts = [
        "# Rankers\n\nThe output of `pippin rankers NAME` for every ranker. Each is a class of "
        "[`pippin.rankers`](python-rankers.md); [the mathematics](../mathematics.md) compares their formulas."
    ]
    for name in names():
        text = _capture_output(lambda name=name: main(["rankers", name, "--format", "markdown"]))
        parts.append(text.replace("- **source**", f"- [formula](../mathematics.md#{name})\n- **source**", 1))
    return "\n\n".join(parts) + "\n"


def registry_page(registry: str) -> str:
    """Return every item of a registry, as its command prints it."""
    from pippin.cli.main import main

    parts = [f"# {registry.capitalize()}\n\nThe output of `pippin {registry} NAME` for every name."]
    for name in getattr(importlib.import_module("pippin"), registry):
        text = _capture_output(lambda name=name: main([registry, name]))
        parts.append(f"## {name}\n\n```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"
