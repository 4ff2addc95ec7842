"""`pippin features`: the learning features, those of a set in its order, or all about one."""

from __future__ import annotations

import argparse

from pippin.tables import Table

HELP = """List the features and the published sets, show a set, or tell all about one feature.

  pippin features
  pippin features ohsumed
  pippin features bm25
  pippin features "bm25(k1=0.9,b=0.4)@title"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="SET|NAME", help="a feature set, or a feature")
    parser.add_argument("-f", "--format", choices=("table", "markdown", "latex", "csv"), default="table")


def run(options: argparse.Namespace) -> int:
    """Print the list, one set, or one feature."""
    from pippin.collection.features import SETS

    if options.name is None:
        print(overview(options.format))
    elif options.name.partition("@")[0] in SETS:
        print(show_set(options.name, options.format))
    else:
        print(describe(options.name))
    return 0


def overview(form: str) -> str:
    """One row a feature, then one row a set."""
    from pippin.collection.features import FEATURES, SETS

    rows = [[f.name, f.kind, f.formula, f.source, f.null] for f in FEATURES.values()]
    features = Table(["feature", "class", "formula", "source", "NULL"], rows, names=5).render(form)
    rows = [[s.name, str(len(s)), s.meaning, ", ".join(s.streams), s.source] for s in SETS.values()]
    sets = Table(["set", "features", "what it is", "streams", "source"], rows, names=5).render(form)
    return f"{features}\n\n{sets}"


def show_set(text: str, form: str) -> str:
    """The features of a set with their numbers."""
    from pippin.collection.features import SETS, parse_features

    chosen = SETS[text.partition("@")[0]]
    rows = []
    for number, bound in enumerate(parse_features(text), 1):
        feature = bound.feature
        rows.append([str(number), bound.text, feature.kind, feature.formula, feature.null])
    lines = [f"{chosen.name} — {chosen.meaning}", f"source   {chosen.source}", f"streams  {', '.join(chosen.streams)}"]
    lines += [f"left out {chosen.left_out}"] if chosen.left_out else []
    return "\n".join(lines) + "\n\n" + Table(["id", "feature", "class", "formula", "NULL"], rows, names=5).render(form)


def describe(text: str) -> str:
    """A feature's formula, class, source, parameters and NULL rule, and the sets that have it."""
    import inspect

    from pippin.collection.features import FEATURES, SETS, parse_features

    plain = text in FEATURES
    feature = FEATURES[text] if plain else parse_features(text)[0].feature
    given = {} if plain else dict(parse_features(text)[0].parameters)
    classes = {"Q": "the query alone", "D": "the document alone", "Q-D": "query and document"}
    streams = f"one, as in {feature.name}@title" if feature.needs_stream else "none"
    lines = [
        f"{text} — {inspect.getdoc(feature.compute) or ''}",
        f"formula  {feature.formula}",
        f"class    {feature.kind}, of {classes[feature.kind]}",
        f"stream   {streams}",
        f"source   {feature.source}",
        f"NULL     {feature.null}",
    ]
    if feature.null != "never":
        lines.append(f"         Feature-min puts {'0' if feature.fill == 'zero' else 'the least of the query'} there")
    if feature.parameters:
        rows = [
            [key, str(given.get(key, usual)), str(usual), feature.limits.get(key, "[0, inf)")]
            for key, usual in feature.parameters.items()
        ]
        lines += ["", Table(["parameter", "value", "default", "allowed"], rows, names=4).render()]
    holding = [s.name for s in SETS.values() if any(_is(t, feature.name) for t in s.texts)]
    return "\n".join([*lines, "", f"in the sets: {', '.join(holding) or 'none'}"])


def _is(text: str, name: str) -> bool:
    """Whether a feature's text is of the feature of this name."""
    return text.partition("@")[0].partition("(")[0] == name
