"""Commands parse arguments, call one public function and render its result."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pippin
from pippin.cli.main import COMMANDS

CLI = Path(pippin.__file__).parent / "cli"
# Command module → the public functions that its commands call. A look-up calls none: it renders a registry.
VERBS: dict[str, tuple[str, ...]] = {
    "as_tool": ("pippin.compat.run",),
    "audit": ("pippin.audit",),
    "bench": ("pippin.bench",),
    "boards": (
        "pippin.boards.create", "pippin.boards.list_boards", "pippin.boards.show", "pippin.boards.invite",
        "pippin.boards.close", "pippin.boards.reveal", "pippin.boards.export", "pippin.boards.verify",
        "pippin.boards.submit", "pippin.boards.serve",
    ),
    "build": ("pippin.build", "pippin.explain_collection"),
    "catalogue": ("pippin.load", "pippin.rankers.explain"),
    "clicks": (
        "pippin.clicks.simulate", "pippin.clicks.propensities", "pippin.clicks.interleave",
        "pippin.clicks.compare_log",
    ),
    "compare": ("pippin.compare", "pippin.check_reported"),
    "completion": (),
    "convert": ("pippin.convert",),
    "correlate": ("pippin.correlate",),
    "demo": ("pippin.demo", "pippin.synthetic"),
    "engine": ("pippin.engines.connect", "pippin.engines.make_templates", "pippin.engines.serve_model"),
    "evaluate": ("pippin.evaluate",),
    "judgements": ("pippin.bounds", "pippin.agree"),
    "leaderboard": ("pippin.Results.open", "pippin.Results.watch"),
    "links": ("pippin.links",),
    "models": ("pippin.export", "pippin.rankers.import_model", "pippin.save"),
    "rank": ("pippin.rank",),
    "reconcile": ("pippin.reconcile",),
    "report": ("pippin.report",),
    "retrieval": ("pippin.index", "pippin.search", "pippin.rerank", "pippin.diversify"),
    "study": (
        "pippin.studies.feature_curve", "pippin.studies.learning_curves", "pippin.studies.compare_conventions",
        "pippin.studies.research",
    ),
    "train": ("pippin.train", "pippin.save"),
    "verify": ("pippin.verify",),
}  # fmt: skip
MODULES = {module for module, _ in COMMANDS.values()}
# Modules of Pippin that a command may import from, besides `pippin` itself.
RENDERING = (
    "pippin.cli",
    "pippin.reports",
    "pippin.display.tables",
    "pippin.display",
    "pippin.display.terminal",
    "pippin.errors",
)


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Yield every imported module of Pippin, imports in functions included, those for type checkers excluded."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [f"pippin.{alias.name}" for alias in node.names] if node.module == "pippin" else [node.module or ""]
            yield from names
        yield from imported_modules(node)


def called_names(tree: ast.AST) -> set[str]:
    """Return the dotted names of all calls."""
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def is_rendering(module: str) -> bool:
    return module == "pippin" or any(module == name or module.startswith(f"{name}.") for name in RENDERING)


def test_every_command_module_names_its_public_functions() -> None:
    assert set(VERBS) == MODULES


@pytest.mark.parametrize("module", VERBS)
def test_a_command_imports_options_and_rendering_only(module: str) -> None:
    tree = ast.parse((CLI / f"{module}.py").read_text())
    names = [name for name in imported_modules(tree) if name.split(".")[0] == "pippin"]
    assert [name for name in names if not is_rendering(name)] == []


@pytest.mark.parametrize(("module", "verbs"), VERBS.items(), ids=VERBS)
def test_a_command_calls_its_public_function(module: str, verbs: tuple[str, ...]) -> None:
    tree = ast.parse((CLI / f"{module}.py").read_text())
    for verb in verbs:
        function = pippin
        for name in verb.split(".")[1:]:
            function = getattr(function, name)
        assert callable(function)
        assert verb in called_names(tree)


def test_the_rules_can_fail() -> None:
    tree = ast.parse(
        "from pippin.storage import files\ndef run():\n    from pippin.data.read import read\n    read('x')"
    )
    assert list(imported_modules(tree)) == ["pippin.storage", "pippin.data.read"]
    assert not any(map(is_rendering, imported_modules(tree)))
    assert called_names(tree) == {"read"}
