"""`pippin rankers`: the learning algorithms, or all about one (or about a model file)."""

from __future__ import annotations

import argparse
from pathlib import Path

from pippin.tables import Table, number

HELP = """List the rankers, tell all about one, or show a model.

  pippin rankers
  pippin rankers lambdamart
  pippin rankers model.json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("ranker", nargs="?", help="a name, or a model file")
    parser.add_argument("-f", "--format", choices=("table", "markdown", "latex", "csv"), default="table")


def run(options: argparse.Namespace) -> int:
    """Print the list, one ranker, or one model."""
    if options.ranker is None:
        print(overview(options.format))
    elif Path(options.ranker).is_file():
        print(show_model(options.ranker, options.format))
    else:
        print(describe(options.ranker, options.format))
    return 0


def overview(form: str) -> str:
    """One row a ranker."""
    from pippin.rankers import names, ranker

    rows = []
    for name in names():
        cls = ranker(name)
        about = cls.words.split("\n")[0]
        looks = "yes" if "measure" in cls().get_params() else "no"
        rows.append([name, about, looks, "yes" if cls.takes_null else "no", cls.source])
    return Table(["ranker", "what it is", "looks at a measure", "takes NULL", "source"], rows, names=5).render(form)


def describe(name: str, form: str = "table") -> str:
    """What a ranker is, its parameters, its source and its validation grid."""
    from pippin.rankers import ranker

    cls = ranker(name)
    lines = [f"{name} — {cls.__name__}", cls.words, "", f"source  {cls.source}", ""]
    lines.append(parameters(name).render(form))
    if cls.grid:
        lines += ["", "tried on validation:", *(f"  {key}: {', '.join(map(str, v))}" for key, v in cls.grid.items())]
    return "\n".join(lines)


def parameters(name: str) -> Table:
    """A ranker's parameters with their defaults and meanings."""
    from pippin.rankers import ranker

    cls = ranker(name)
    known = cls.parameters
    rows = [[key, repr(value), known[key].meaning if key in known else ""] for key, value in cls().get_params().items()]
    return Table(["parameter", "default", "meaning"], rows, names=3)


def show_model(path: str, form: str) -> str:
    """A model's parameters and what its features count."""
    from pippin.rankers import models

    model = models.load(path)
    linear = "coef_" in vars(model)
    weights = dict(zip(model.feature_names_, vars(model)["coef_"], strict=True)) if linear else model.importance()
    rows = [[name, number(value, 6)] for name, value in sorted(weights.items(), key=lambda item: -abs(item[1]))]
    shown = ", ".join(f"{k}={v}" for k, v in model.get_params().items())
    title = "weight" if linear else "importance"
    return f"{model.name}: {shown}\n\n" + Table(["feature", title], rows).render(form)
