"""Descriptions of what is registered: tools, measures, rankers, features, data sets and export targets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pippin.display.tables import BulletList, Heading, KeyValues, Paragraph, Renderable, Table
from pippin.evaluation.convention import AXES, changes_text
from pippin.evaluation.measures import MEASURE_DEFINITIONS, Measure, MeasureDefinition
from pippin.evaluation.measures.notation import parse
from pippin.evaluation.tools import GROUPS, TOOLS, Tool, is_single_tool, resolve_tools, tools_in_group

if TYPE_CHECKING:
    from pippin.data.published import PublishedDataset

Record = dict[str, Any]
_CLASSES = {"Q": "the query alone", "D": "the document alone", "Q-D": "query and document"}
_CHAINS = "Steps come before a ranker in a chain: gas(n_features=20) > ranksvm."


@dataclass(frozen=True)
class Entry:
    """What a look-up shows: tables and text, a JSON record, and the rows of a CSV file."""

    parts: Callable[[], Sequence[Renderable]]
    record: Callable[[], Any]
    rows: Callable[[], Table] | None = None


def tools(name: str | None) -> Entry:
    """Describe a tool, or list a group of tools side by side."""
    if name is not None and is_single_tool(name):
        tool = TOOLS[name]
        return Entry(lambda: tool_parts(tool), lambda: tool_record(tool), lambda: axes_table(tool))
    group = resolve_tools("classic" if name is None else name)
    return Entry(lambda: [tools_table(group)], lambda: [tool_record(tool) for tool in group])


def tools_table(tools: Sequence[Tool]) -> Table:
    """Return a row per tool and a column per axis; the notes name the other groups."""
    axes = [name for name, axis in AXES.items() if axis.heading]
    rows = []
    for tool in tools:
        values = {name: AXES[name].text(getattr(tool.convention, name)) for name in axes}
        max_label = tool.convention.max_valid_label
        values["gain"] += f" ≤{max_label}" if max_label is not None else ""
        values["relevance_threshold"] = f"≥{values['relevance_threshold']}"
        rows.append([tool.name, tool.version, *values.values()])
    headers = ["tool", "version", *(AXES[name].heading for name in axes)]
    groups = [group for group in GROUPS if group not in {tool.group for tool in tools}]
    notes = [f"{group}, {GROUPS[group]}: {', '.join(tool.name for tool in tools_in_group(group))}" for group in groups]
    if groups:
        notes.append(f"`pippin tools {groups[0]}` lists a group, `pippin tools {tools[-1].name}` describes a tool.")
    return Table(headers, rows, text_columns=len(headers), notes=notes)


def tool_parts(tool: Tool) -> list[Renderable]:
    """Return the choices of a tool, its source and version, and its known traps."""
    version = [("version", tool.version)] if tool.version else []
    facts = [("group", tool.group), *version, ("source", tool.source), ("measures", ", ".join(tool.measures))]
    parts: list[Renderable] = [Heading(f"{tool.name} — {tool.title}"), KeyValues(facts)]
    differing = differing_axes(tool)
    for title, names in (("Different from official", differing), ("Same as official", set(AXES) - differing)):
        parts += [Heading(title, ""), axes_table(tool, names)] if names else []
    departures = [f"{', '.join(d['measures'])}: {d['changes']} ({d['reason']})" for d in _departures(tool)]
    for title, lines in (("Departures", departures), ("Caveats", tool.caveats), ("Not supported", tool.unsupported)):
        if lines:
            parts += [Heading(title, ""), BulletList(lines)]
    return parts


def differing_axes(tool: Tool) -> set[str]:
    """Return the axes on which a tool differs from `official`."""
    return set(TOOLS["official"].convention.differences(tool.convention))


def axes_table(tool: Tool, names: Collection[str] = tuple(AXES)) -> Table:
    """Return the choice of a tool on these axes."""
    rows = [
        [name, axis.text(getattr(tool.convention, name)), axis.description]
        for name, axis in AXES.items()
        if name in names
    ]
    return Table(["axis", "choice", "meaning"], rows, text_columns=3)


def tool_record(tool: Tool) -> Record:
    """Return a tool as a JSON record."""
    return {
        "name": tool.name, "group": tool.group, "title": tool.title, "version": tool.version, "source": tool.source,
        "measures": list(tool.measures), "convention": tool.convention.as_dict(), "departures": _departures(tool),
        "caveats": list(tool.caveats), "unsupported": list(tool.unsupported),
    }  # fmt: skip


def _departures(tool: Tool) -> list[Record]:
    """Return for which measures a tool departs from its own convention, how, and why."""
    return [
        {"measures": _measures_of(variant.applies), "changes": changes_text(variant.changes), "reason": variant.reason}
        for variant in tool.variants
    ]


def _measures_of(applies: Callable[[Measure], bool]) -> list[str]:
    """Return the measures that a predicate accepts, without and with a cutoff and an exponential gain."""
    measures = []
    for kind in MEASURE_DEFINITIONS:
        exponential = (("gain", "exp2"),)
        candidates = (Measure(kind), Measure(kind, 10), Measure(kind, None, (), exponential),
                      Measure(kind, 10, (), exponential))  # fmt: skip
        accepted = next((m for m in candidates if applies(m)), None)
        if accepted is not None:
            is_plain = accepted.cutoff is None and not accepted.overrides
            measures.append(kind if is_plain else accepted.text.replace("@10", "@k"))
    return measures


def measures(name: str | None) -> Entry:
    """Describe a measure, or list all."""
    if name is None:
        return Entry(
            lambda: [_measures_table()], lambda: [_measure_record(kind) for kind in MEASURE_DEFINITIONS.values()]
        )
    # A listed name needs no cutoff here, though an evaluation may require one.
    text, kind = name, MEASURE_DEFINITIONS[name] if name in MEASURE_DEFINITIONS else None  # noqa: SIM401 - a registry
    if kind is None:
        measure = parse(name)
        text, kind = measure.text, MEASURE_DEFINITIONS[measure.kind]
    return Entry(
        lambda: _measure_parts(text, kind), lambda: {"text": text, **_measure_record(kind)}, lambda: _axes_of(kind)
    )


def _measures_table() -> Table:
    rows = [[k.name, k.cutoff, ", ".join(k.aliases), k.description, k.formula] for k in MEASURE_DEFINITIONS.values()]
    return Table(["measure", "cutoff", "aliases", "description", "formula"], rows, text_columns=5)


def _measure_parts(text: str, kind: MeasureDefinition) -> list[Renderable]:
    facts = [
        ("formula", kind.formula), ("source", kind.source), ("notations", ", ".join((kind.name, *kind.aliases))),
        ("cutoff", kind.cutoff),
        ("values", f"from {kind.range[0]:g} to {kind.range[1]:g}"), ("over queries", kind.aggregate),
        ("ties=expected", "exact, in closed form" if kind.supports_expected_ties else "not known in closed form"),
    ]  # fmt: skip
    if kind.parameters:
        facts.append(("parameters", ", ".join(f"{k}={v:g}" for k, v in kind.parameters.items())))
    facts.append(("tools", ", ".join(_tools_with(kind)) or "none"))
    return [Heading(f"{text} — {kind.description}"), KeyValues(facts), _axes_of(kind)]


def _axes_of(kind: MeasureDefinition) -> Table:
    """Return the axes of a convention that change the measure."""
    rows = [[name, axis.description] for name, axis in AXES.items() if kind.depends_on(name)]
    return Table(["depends on", "meaning"], rows, text_columns=2)


def _tools_with(kind: MeasureDefinition) -> list[str]:
    return [tool.name for tool in TOOLS.values() if kind.name in tool.measures]


def _measure_record(kind: MeasureDefinition) -> Record:
    return {
        "name": kind.name, "aliases": list(kind.aliases), "description": kind.description, "formula": kind.formula,
        "source": kind.source, "cutoff": kind.cutoff, "range": list(kind.range),
        "aggregate": kind.aggregate, "expected": bool(kind.supports_expected_ties),
        "parameters": dict(kind.parameters), "changed_by": [name for name in AXES if kind.depends_on(name)],
        "tools": _tools_with(kind),
    }  # fmt: skip


def rankers(name: str | None) -> Entry:
    """Describe a ranker or a step, or list all."""
    from pippin.rankers import list_rankers
    from pippin.rankers.steps import names as step_names

    if name is not None:
        return Entry(lambda: _ranker_parts(name), lambda: _ranker_record(name), lambda: _parameters_table(name))
    view = list_rankers()
    return Entry(
        lambda: [view.table(), Paragraph(_CHAINS), _steps_table(step_names())],
        lambda: [_ranker_record(each) for each in (*sorted(view), *step_names())],
        view.table,
    )


def _steps_table(names: Sequence[str]) -> Table:
    rows = [[step["name"], step["about"], "yes" if step["allow_nan"] else "no", step["source"]]
            for step in map(_ranker_record, names)]  # fmt: skip
    return Table(["step", "what it is", "takes NULL", "source"], rows, text_columns=4)


def _ranker_parts(name: str) -> list[Renderable]:
    """Return what a ranker is, its parameters, its source and its validation grid."""
    from pippin.rankers import stage

    cls = stage(name)
    parts: list[Renderable] = [Heading(f"{name} — {cls.__name__}")]
    parts += [Paragraph(" ".join(paragraph.split("\n"))) for paragraph in cls.summary.split("\n\n")]
    parts += [KeyValues([("source", cls.source)]), _parameters_table(name)]
    if cls.grid:
        grid = [(key, ", ".join(map(str, values))) for key, values in cls.grid.items()]
        parts += [Heading("values tried by --select", ""), KeyValues(grid)]
    return parts


def _parameters_table(name: str) -> Table:
    rows = [[p["name"], repr(p["default"]), p["meaning"]] for p in _ranker_record(name)["parameters"]]
    return Table(["parameter", "default", "meaning"], rows, text_columns=3)


def _ranker_record(name: str) -> Record:
    from pippin.rankers import stage
    from pippin.rankers.steps import Step

    cls = stage(name)
    meanings, defaults = {p: parameter.meaning for p, parameter in cls.parameters.items()}, cls().get_params()
    return {
        "name": name, "kind": "step" if issubclass(cls, Step) else "ranker", "class": cls.__name__,
        "about": cls.summary.split("\n")[0], "source": cls.source,
        "uses_measure": "measure" in defaults, "allow_nan": bool(cls.allow_nan),
        "parameters": [{"name": p, "default": value, "meaning": meanings.get(p, "")} for p, value in defaults.items()],
        "grid": cls.grid,
    }  # fmt: skip


def features(name: str | None) -> Entry:
    """Describe a feature or a set of features, or list all."""
    from pippin.collections.features import FEATURES, SETS

    if name is None:
        return Entry(
            _features_parts,
            lambda: {"features": list(map(_feature_record, FEATURES)), "sets": list(map(_set_record, SETS))},
        )
    if name.partition("@")[0] in SETS:
        return Entry(lambda: _set_parts(name), lambda: _set_record(name), lambda: _members_table(name))
    return Entry(lambda: _feature_parts(name), lambda: _feature_record(name))


def _features_parts() -> list[Renderable]:
    from pippin.collections.features import SETS
    from pippin.collections.features.base import features

    rows = [[s.name, str(len(s)), s.meaning, ", ".join(s.fields), s.source] for s in SETS.values()]
    return [features.table(), Table(["set", "features", "what it is", "fields", "source"], rows, text_columns=5)]


def _set_parts(text: str) -> list[Renderable]:
    from pippin.collections.features import SETS

    feature_set = SETS[text.partition("@")[0]]
    facts = [("source", feature_set.source), ("fields", ", ".join(feature_set.fields))]
    facts += [("left out", feature_set.left_out)] if feature_set.left_out else []
    return [Heading(f"{feature_set.name} — {feature_set.meaning}"), KeyValues(facts), _members_table(text)]


def _members_table(text: str) -> Table:
    """Return the features of a set with their numbers."""
    from pippin.collections.features import parse_features

    rows = [
        [str(number), bound.text, bound.feature.kind, bound.feature.formula, bound.feature.missing_when]
        for number, bound in enumerate(parse_features(text), 1)
    ]
    return Table(["id", "feature", "class", "formula", "NULL"], rows, text_columns=5, repeated_columns=2)


def _set_record(text: str) -> Record:
    from pippin.collections.features import SETS, parse_features

    feature_set = SETS[text.partition("@")[0]]
    names = ("name", "meaning", "source", "fields", "left_out")
    return {
        **{name: getattr(feature_set, name) for name in names},
        "features": [bound.text for bound in parse_features(text)],
    }


def _feature_parts(text: str) -> list[Renderable]:
    """Return the formula, class, source, parameters and NULL rule of a feature, and the sets that contain it."""
    feature = _feature_record(text)
    null = feature["null"]
    if null != "never":
        null += f" (Feature-min writes {'0' if feature['fill'] == 'zero' else 'the minimum of the query'} there)"
    facts = [
        ("formula", feature["formula"]), ("class", f"{feature['class']}: depends on {_CLASSES[feature['class']]}"),
        ("field", f"one, as in {feature['name']}@title" if feature["needs_field"] else "none"),
        ("source", feature["source"]), ("NULL", null), ("in the sets", ", ".join(feature["sets"]) or "none"),
    ]  # fmt: skip
    parts: list[Renderable] = [Heading(f"{text} — {feature['meaning']}"), KeyValues(facts)]
    if feature["parameters"]:
        rows = [[p["name"], str(p["value"]), str(p["default"]), p["allowed"]] for p in feature["parameters"]]
        parts.append(Table(["parameter", "value", "default", "allowed"], rows, text_columns=4))
    return parts


def _feature_record(text: str) -> Record:
    from pippin.collections.features import FEATURES, SETS, parse_features

    bound = None if text in FEATURES else parse_features(text)[0]
    feature = FEATURES[text] if bound is None else bound.feature
    values = {**feature.parameters, **({} if bound is None else dict(bound.parameters))}
    return {
        "name": feature.name, "meaning": inspect.getdoc(feature.compute) or "", "formula": feature.formula,
        "class": feature.kind, "needs_field": feature.needs_field, "source": feature.source,
        "null": feature.missing_when, "fill": feature.fill,
        "parameters": [
            {"name": key, "value": values[key], "default": default, "allowed": feature.limits.get(key, "[0, inf)")}
            for key, default in feature.parameters.items()
        ],
        "sets": [s.name for s in SETS.values()
                 if any(t.partition("@")[0].partition("(")[0] == feature.name for t in s.texts)],
    }  # fmt: skip


def datasets(name: str | None) -> Entry:
    """Describe a published data set, or list all, and the formats of collections."""
    from pippin.collections.readers import READERS
    from pippin.data.published import PUBLISHED_DATASETS

    if name is not None:
        source = PUBLISHED_DATASETS[name]
        return Entry(lambda: _dataset_parts(source), lambda: _dataset_record(source), lambda: _counts_table(source))
    collections = [(name, READERS[name].description) for name in READERS]
    rows = [
        [s.name, s.title, _number(s.features), _labels(s), str(len(s.folds)), *map(_number, s.total)]
        for s in PUBLISHED_DATASETS.values()
    ]
    headers = ["data set", "title", "features", "labels", "folds", "queries", "documents"]
    return Entry(
        lambda: [Table(headers, rows, text_columns=2), Table(["collection", "files"], collections, text_columns=2)],
        lambda: {
            "datasets": [_dataset_record(source) for source in PUBLISHED_DATASETS.values()],
            "collections": [{"name": name, "description": description} for name, description in collections],
        },
    )


def _dataset_parts(source: PublishedDataset) -> list[Renderable]:
    files = "; ".join(f"{part}: {' or '.join(names)}" for part, names in source.parts.items())
    facts = [
        ("from", source.origin), ("features", _number(source.features)), ("labels", _labels(source)),
        ("folders", ", ".join(source.folds) if any(source.folds) else "one"), ("files", files),
        ("aliases", ", ".join(source.aliases) or "–"),
    ]  # fmt: skip
    return [Heading(f"{source.name} — {source.title}"), KeyValues(facts), _counts_table(source)]


def _counts_table(source: PublishedDataset) -> Table:
    """Return the declared queries and documents of every part, – where the source does not state them."""
    rows = [
        [fold or "–", part, *map(_number, source.count(fold, part))] for fold in source.folds for part in source.parts
    ]
    return Table(["fold", "part", "queries", "documents"], rows, text_columns=2)


def _dataset_record(source: PublishedDataset) -> Record:
    return {
        "name": source.name, "title": source.title, "origin": source.origin, "features": source.features,
        "labels": list(source.labels), "folds": list(source.folds), "aliases": list(source.aliases),
        "files": {part: list(names) for part, names in source.parts.items()}, "total": source.total._asdict(),
        "counts": [
            {"fold": fold, "part": part, **source.count(fold, part)._asdict()}
            for fold in source.folds for part in source.parts
        ],
    }  # fmt: skip


def _number(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _labels(source: PublishedDataset) -> str:
    return f"{min(source.labels)} … {max(source.labels)}" if source.labels else "–"


def targets() -> Entry:
    """List the targets of `pippin export`."""
    from pippin.models.exporters.base import EXPORTERS

    exporters = [EXPORTERS[name] for name in sorted(EXPORTERS)]
    records = [
        {"name": e.name, "title": e.title, "takes": list(e.kinds), "scoring": e.describe_scoring(),
         "source": e.source, "checked_by": e.checked_by(),
         "options": {name: {"default": o.default, "choices": list(o.choices), "help": o.help}
                     for name, o in e.options.items()}}
        for e in exporters
    ]  # fmt: skip
    rows = [
        [e.name, e.title, ", ".join(e.kinds), e.describe_scoring(), e.checked_by(),
         "; ".join(f"{name}={'|'.join(o.choices) or o.default}" for name, o in e.options.items())]
        for e in exporters
    ]  # fmt: skip
    headers = ["target", "format", "models", "scoring", "checked by", "options"]
    return Entry(lambda: [Table(headers, rows, text_columns=6)], lambda: records)


def axis_values(name: str) -> tuple[str, ...]:
    """Return the values that a shell completes for an axis of a convention; none for other options."""
    return tuple(AXES[name].values) if name in AXES else ()


def registered_names(kind: str) -> tuple[str, ...]:
    """Return the names that a shell completes for an option of this kind."""
    from pippin.collections.features import FEATURES, SETS
    from pippin.data.published import PUBLISHED_DATASETS
    from pippin.evaluation.correlation import COEFFICIENTS
    from pippin.evaluation.paired_tests import CORRECTIONS, TESTS
    from pippin.rankers import names

    measures = dict.fromkeys(name for kind in MEASURE_DEFINITIONS.values() for name in (kind.name, *kind.aliases))
    return {
        "tools": ("all", *GROUPS, *TOOLS), "measures": tuple(measures), "rankers": tuple(names()),
        "features": (*SETS, *FEATURES), "tests": tuple(TESTS), "corrections": tuple(CORRECTIONS),
        "coefficients": tuple(COEFFICIENTS), "datasets": tuple(PUBLISHED_DATASETS),
    }[kind]  # fmt: skip
