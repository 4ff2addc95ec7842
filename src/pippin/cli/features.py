"""`pippin features`: the learning features, those of a set in its order, or all about one."""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.options import flag, printing
from pippin.cli.output import say, write, write_text
from pippin.errors import DataError
from pippin.tables import Facts, Heading, Part, Table

HELP = """List the features and the published sets, show a set, or tell all about one feature.

With --to, a mapping of features for `pippin export --mapping`: how Elasticsearch and OpenSearch (es), Solr or Vespa
compute those that they can, with what differs; the others are named with the reason."""
EXAMPLES = ("pippin features", "pippin features ohsumed", "pippin features ohsumed --to es --out mapping.json")

_CLASSES = {"Q": "the query alone", "D": "the document alone", "Q-D": "query and document"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="SET|FEATURE", nargs="?", help="a feature set, or a feature")
    flag(parser, "to", "the engine that a mapping is for", metavar="es|solr|vespa")
    printing(parser)


def run_mapping(options: argparse.Namespace) -> int:
    """Write a mapping for an engine, and name the features that it cannot compute."""
    import json

    from pippin.deploy.templates import templates

    if options.name is None:
        raise DataError("name the features, or a set of them, that the engine is to compute")
    made = templates(options.name, options.to)
    write_text(json.dumps(made.mapping, indent=1, ensure_ascii=False), options.output, "json")
    for feature, reason in made.refused.items():
        say(f"{options.to} cannot compute {feature}: {reason}", aside=True)
    return 0


def run(options: argparse.Namespace) -> int:
    """Print the list, one set, or one feature."""
    if options.to is not None:
        return run_mapping(options)
    from pippin.collection.features import FEATURES, SETS

    form, output, name = options.format, options.output, options.name
    if name is None:
        records = [[record(each) for each in FEATURES], [set_record(each) for each in SETS]]
        write(form, output, overview, lambda: dict(zip(("features", "sets"), records, strict=True)))
    elif name.partition("@")[0] in SETS:
        write(form, output, lambda: show_set(name), lambda: set_record(name), lambda: members(name))
    else:
        write(form, output, lambda: describe(name), lambda: record(name))
    return 0


def overview() -> list[Part]:
    """One row a feature, then one row a set."""
    from pippin.collection.features import FEATURES, SETS

    rows = [[f.name, f.kind, f.formula, f.source, f.null] for f in FEATURES.values()]
    features = Table(["feature", "class", "formula", "source", "NULL"], rows, names=5)
    rows = [[s.name, str(len(s)), s.meaning, ", ".join(s.streams), s.source] for s in SETS.values()]
    return [features, Table(["set", "features", "what it is", "streams", "source"], rows, names=5)]


def show_set(text: str) -> list[Part]:
    """A set's source and streams, and its features."""
    from pippin.collection.features import SETS

    chosen = SETS[text.partition("@")[0]]
    facts = [("source", chosen.source), ("streams", ", ".join(chosen.streams))]
    facts += [("left out", chosen.left_out)] if chosen.left_out else []
    return [Heading(f"{chosen.name} — {chosen.meaning}"), Facts(facts), members(text)]


def members(text: str) -> Table:
    """The features of a set with their numbers."""
    from pippin.collection.features import parse_features

    rows = [
        [str(number), bound.text, bound.feature.kind, bound.feature.formula, bound.feature.null]
        for number, bound in enumerate(parse_features(text), 1)
    ]
    return Table(["id", "feature", "class", "formula", "NULL"], rows, names=5, keys=2)


def set_record(text: str) -> dict[str, Any]:
    """A set as JSON holds it."""
    from pippin.collection.features import SETS, parse_features

    chosen = SETS[text.partition("@")[0]]
    return {
        "name": chosen.name, "meaning": chosen.meaning, "source": chosen.source, "streams": chosen.streams,
        "left_out": chosen.left_out, "features": [bound.text for bound in parse_features(text)],
    }  # fmt: skip


def describe(text: str) -> list[Part]:
    """A feature's formula, class, source, parameters and NULL rule, and the sets that have it."""
    feature = record(text)
    null = feature["null"]
    if null != "never":
        null += f" (Feature-min puts {'0' if feature['fill'] == 'zero' else 'the least of the query'} there)"
    facts = [
        ("formula", feature["formula"]), ("class", f"{feature['class']}, of {_CLASSES[feature['class']]}"),
        ("stream", f"one, as in {feature['name']}@title" if feature["needs_stream"] else "none"),
        ("source", feature["source"]), ("NULL", null), ("in the sets", ", ".join(feature["sets"]) or "none"),
    ]  # fmt: skip
    parts: list[Part] = [Heading(f"{text} — {feature['meaning']}"), Facts(facts)]
    if feature["parameters"]:
        rows = [[p["name"], str(p["value"]), str(p["default"]), p["allowed"]] for p in feature["parameters"]]
        parts.append(Table(["parameter", "value", "default", "allowed"], rows, names=4))
    return parts


def record(text: str) -> dict[str, Any]:
    """All about a feature as JSON holds it; its parameters as they were given."""
    import inspect

    from pippin.collection.features import FEATURES, SETS, parse_features

    plain = text in FEATURES
    feature = FEATURES[text] if plain else parse_features(text)[0].feature
    given = {} if plain else dict(parse_features(text)[0].parameters)
    return {
        "name": feature.name, "meaning": inspect.getdoc(feature.compute) or "", "formula": feature.formula,
        "class": feature.kind, "needs_stream": feature.needs_stream, "source": feature.source, "null": feature.null,
        "fill": feature.fill,
        "parameters": [
            {"name": key, "value": given.get(key, usual), "default": usual,
             "allowed": feature.limits.get(key, "[0, inf)")}
            for key, usual in feature.parameters.items()
        ],
        "sets": [s.name for s in SETS.values() if any(_is(t, feature.name) for t in s.texts)],
    }  # fmt: skip


def _is(text: str, name: str) -> bool:
    """Whether a feature's text is of the feature of this name."""
    return text.partition("@")[0].partition("(")[0] == name
