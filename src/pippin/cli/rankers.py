"""`pippin rankers`: the learning algorithms, or all about one (or about a model file)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pippin.cli.options import printing
from pippin.cli.output import write
from pippin.tables import Facts, Heading, Part, Prose, Table, number

HELP = "List the rankers, tell all about one, or show a model."
EXAMPLES = ("pippin rankers", "pippin rankers lambdamart", "pippin rankers model.json --format json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("ranker", metavar="RANKER|MODEL", nargs="?", help="a name, or a model file")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Print the list, one ranker, or one model."""
    form, output, name = options.format, options.output, options.ranker
    if name is None:
        from pippin.rankers import names
        from pippin.rankers.steps import names as steps

        write(form, output, lambda: [overview(), Prose(_CHAINS), step_overview()],
              lambda: [record(each) for each in (*names(), *steps())], overview)  # fmt: skip
    elif Path(name).is_file():
        from pippin.rankers import models

        model = models.load(name)
        write(form, output, lambda: show_model(model), lambda: model_record(model), lambda: weights(model))
    else:
        write(form, output, lambda: describe(name), lambda: record(name), lambda: parameters(name))
    return 0


def overview() -> Table:
    """One row a ranker."""
    from pippin.rankers import names

    rows = []
    for each in map(record, names()):
        looks, null = ("yes" if each[key] else "no" for key in ("looks_at_measure", "takes_null"))
        rows.append([each["name"], each["about"], looks, null, each["source"]])
    return Table(["ranker", "what it is", "looks at a measure", "takes NULL", "source"], rows, names=5)


_CHAINS = "Steps stand before a ranker in a chain: gas(k=20) > ranksvm."


def step_overview() -> Table:
    """One row a step."""
    from pippin.rankers.steps import names

    rows = [[each["name"], each["about"], "yes" if each["takes_null"] else "no", each["source"]]
            for each in map(record, names())]  # fmt: skip
    return Table(["step", "what it is", "takes NULL", "source"], rows, names=4)


def describe(name: str) -> list[Part]:
    """What a ranker is, its parameters, its source and its validation grid."""
    from pippin.rankers import stage

    cls = stage(name)
    paragraphs = cls.words.split("\n\n")
    parts: list[Part] = [Heading(f"{name} — {cls.__name__}")]
    parts += [Prose(" ".join(paragraph.split("\n"))) for paragraph in paragraphs]
    parts += [Facts([("source", cls.source)]), parameters(name)]
    if cls.grid:
        tried = [(key, ", ".join(map(str, values))) for key, values in cls.grid.items()]
        parts += [Heading("tried on validation", ""), Facts(tried)]
    return parts


def parameters(name: str) -> Table:
    """A ranker's parameters with their defaults and meanings."""
    rows = [[p["name"], repr(p["default"]), p["meaning"]] for p in record(name)["parameters"]]
    return Table(["parameter", "default", "meaning"], rows, names=3)


def record(name: str) -> dict[str, Any]:
    """All about a ranker as JSON holds it."""
    from pippin.rankers import stage
    from pippin.rankers.steps import Step

    cls = stage(name)
    meaning, known = {p: parameter.meaning for p, parameter in cls.parameters.items()}, cls().get_params()
    return {
        "name": name, "kind": "step" if issubclass(cls, Step) else "ranker", "class": cls.__name__,
        "about": cls.words.split("\n")[0], "source": cls.source,
        "looks_at_measure": "measure" in known, "takes_null": bool(cls.takes_null),
        "parameters": [{"name": p, "default": value, "meaning": meaning.get(p, "")} for p, value in known.items()],
        "grid": cls.grid,
    }  # fmt: skip


def show_model(model: Any) -> list[Part]:
    """A model's parameters, what the steps of a chain learned, and what its features count."""
    from pippin.rankers import Chain

    shown = ", ".join(f"{k}={v}" for k, v in model.get_params().items())
    learned = model.words_of_model() if isinstance(model, Chain) else []
    return [Prose(f"{model.name}: {shown}"), *map(Prose, learned), weights(model)]


def weights(model: Any) -> Table:
    """What the features count in a model, the weightiest first."""
    about = model_record(model)
    return Table(["feature", about["counts"]], [[name, number(value, 6)] for name, value in about["features"].items()])


def model_record(model: Any) -> dict[str, Any]:
    """A model as JSON holds it: its ranker, its parameters, and what its features count."""
    linear = "coef_" in vars(model)
    counted = dict(zip(model.feature_names_, vars(model)["coef_"], strict=True)) if linear else model.importance()
    return {
        "ranker": model.name, "parameters": model.get_params(), "counts": "weight" if linear else "importance",
        "features": dict(sorted(counted.items(), key=lambda item: -abs(item[1]))),
    }  # fmt: skip
