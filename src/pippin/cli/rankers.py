"""`pippin rankers`: the learning algorithms, or all about one (or about a model file)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pippin.cli.options import printing
from pippin.cli.output import write
from pippin.tables import Facts, Heading, Part, Prose, Table, number

HELP = """List the rankers and the steps of chains, tell all about one, or show a model.

With --on a model's features are shown by what rankings of these data lose without each."""
EXAMPLES = ("pippin rankers", "pippin rankers lambdamart", "pippin rankers model.json --on test.txt")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("ranker", metavar="RANKER|MODEL", nargs="?", help="a name, or a model file")
    parser.add_argument("--on", metavar="DATA", help="of a model: what NDCG@10 on these labelled data loses without "
                        "each feature, with intervals, and the sizes of SHAP values where there are trees")  # fmt: skip
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
        if options.on is not None:
            write(form, output, lambda: explained(model, options.on), lambda: explained_record(model, options.on))
            return 0
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


def explained(model: Any, data: str) -> list[Part]:
    """What features are worth to a model on data: permutation importance, and SHAP values of trees."""
    about = explained_record(model, data)
    shap = about["shap"] or {}
    rows = [
        [one["feature"], f"{one['mean']:+.4f}", f"{one['low']:+.4f} … {one['high']:+.4f}",
         *([f"{shap[one['feature']]:.4f}"] if shap else [])]
        for one in about["permutation"]
    ]  # fmt: skip
    heads = ["feature", f"{about['measure']} lost", "95% interval", *(["mean |SHAP|"] if shap else [])]
    notes = ["Lost: where the feature is shuffled within queries. SHAP: what it moves documents of a query apart by."]
    return [Table(heads, rows, notes=notes if shap else [notes[0].partition(" SHAP")[0]])]


def explained_record(model: Any, data: str) -> dict[str, Any]:
    """The same as JSON holds it."""
    from dataclasses import asdict

    from pippin.cli.train import read_data
    from pippin.errors import DataError
    from pippin.rankers.explaining import permutation_importance, shap_importance

    judged, measure = read_data(data), "NDCG@10"
    effects = [asdict(one) for one in permutation_importance(model, judged, measure)]
    try:
        shap = shap_importance(model, judged)
    except DataError:
        shap = None
    return {"ranker": model.name, "measure": measure, "permutation": effects, "shap": shap}


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
