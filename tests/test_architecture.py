"""Imports go down the list of rooms only, one room knows the native module, and the surface is what it says."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pippin
from pippin.shelf import Shelf

SOURCE = Path(__file__).resolve().parent.parent / "src" / "pippin"
# Lower rooms first; a module may import from its own room and from lower ones.
ROOMS = (
    "errors", "frozen", "modules", "extras", "machine", "plugins", "registry", "terminal", "layout", "progress",
    "tables", "shown", "shelf", "files", "limits", "packed", "kernels", "blocks", "manifest", "data", "evaluation",
    "clicks", "forms", "rankers", "collection", "deploy", "bench", "report", "boards", "serve", "cli",
)  # fmt: skip
FACES = ("correlation", "metrics")  # short public names for a room's content, above all rooms; no room imports one
HEAVY = ("polars", "pyarrow", "scipy", "pandas", "sklearn", "numba", "lightgbm", "torch")
MODULES = sorted(SOURCE.rglob("*.py"))


def names_of(path: Path) -> list[str]:
    return list(path.relative_to(SOURCE).with_suffix("").parts)


def room_of(parts: list[str]) -> str | None:
    """The room of a module of Pippin: None for `__init__`, `__main__` and faces, which stand above all."""
    return None if parts[0].startswith("__") or parts[0] in FACES else parts[0]


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(tree: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Imported modules with whether the import stands in a function. Those for type checkers alone do not count."""
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node):
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from ((f"{node.module}.{alias.name}", inside) for alias in node.names)
        else:
            yield from imports(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def allowed(importer: str, imported: str) -> bool:
    return ROOMS.index(imported) <= ROOMS.index(importer)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(names_of(p)))
def test_imports_go_down(path: Path) -> None:
    room = room_of(names_of(path))
    if room is None:
        return
    assert room in ROOMS, f"a room without a place: {room}"
    for name, _ in imports(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] == "pippin" and len(parts) > 1:
            assert parts[1] not in FACES, f"{room} imports {name}"
        if parts[0] == "pippin" and len(parts) > 1 and parts[1] in ROOMS:
            assert allowed(room, parts[1]), f"{room} imports {name}"


def test_the_rule_itself_can_say_no() -> None:
    assert not allowed("kernels", "data")
    assert not allowed("data", "evaluation")
    assert not allowed("evaluation", "report")
    assert not allowed("report", "cli")
    tree = ast.parse("import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    from c import d")
    assert list(imports(tree)) == [("a", False), ("c.d", True)]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(names_of(p)))
def test_only_kernels_know_the_native_module(path: Path) -> None:
    found = [name for name, _ in imports(ast.parse(path.read_text())) if "_native" in name]
    assert not found or room_of(names_of(path)) == "kernels"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(names_of(p)))
def test_heavy_packages_are_imported_when_they_are_needed(path: Path) -> None:
    top = {name.split(".")[0] for name, inside in imports(ast.parse(path.read_text())) if not inside}
    assert not top & set(HEAVY)


def loaded(statement: str) -> set[str]:
    """Top-level packages that a statement loads in a fresh interpreter."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    ["import pippin", "import pippin.evaluation.evaluate", "import pippin.rankers.models", "import pippin.cli.main"],
)
def test_imports_stay_light(statement: str) -> None:
    assert not loaded(statement) & set(HEAVY)


def test_importing_the_package_alone_loads_not_even_numpy() -> None:
    assert "numpy" not in loaded("import pippin")


# What an evaluation of two files has no use for, though something that it imports once did.
UNUSED = {
    "difflib", "lzma", "numpy.ma", "numpy.random", "random", "selectors", "shutil", "signal", "subprocess", "tempfile",
    "pippin.manifest",
}  # fmt: skip


@pytest.mark.parametrize("command", [["eval"], ["as", "trec_eval"]], ids=lambda command: command[0])
def test_a_command_that_evaluates_starts_with_what_it_needs(command: list[str], tmp_path: Path) -> None:
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    run.write_text("1 Q0 a 1 2.0 r\n1 Q0 b 2 1.0 r\n")
    code = f"""import json, sys, numpy
before = set(sys.modules)
from pippin.cli.main import main
assert main({[*command, str(qrels), str(run)]!r}) == 0
ours = [thing for name in sys.modules if name.startswith("pippin") for thing in vars(sys.modules[name]).values()]
made = {{thing for thing in ours if isinstance(thing, type) and "__dataclass_params__" in vars(thing)}}
frozen = [one.__qualname__ for one in made if one.__dataclass_params__.frozen]
print(json.dumps([sorted(set(sys.modules) - before), frozen]))"""
    plain = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # a screen has to be measured
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=plain)
    modules, compiled = json.loads(done.stdout.splitlines()[-1])
    assert not UNUSED & set(modules)
    assert not compiled, "each of these takes as long as four of `pippin.frozen`"


def test_the_public_surface_is_what_it_says() -> None:
    assert pippin.__all__ == sorted(pippin.__all__)
    assert set(pippin.__all__) == {*pippin._HOMES, *pippin._PACKAGES}
    for name, home in pippin._HOMES.items():
        thing = getattr(pippin, name)
        assert thing is getattr(importlib.import_module(home), name)
        if not isinstance(thing, Shelf):
            assert thing.__name__ == name
            assert thing.__module__ == home
    for name in pippin._PACKAGES:
        assert getattr(pippin, name) is importlib.import_module(f"pippin.{name}")


def test_people_see_exactly_the_public_surface() -> None:
    """Also after rooms have been opened, which Python notes in the package."""
    code = "import pippin, pippin.cli.main, pippin.kernels; print(*dir(pippin))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == pippin.__all__


def test_type_checkers_see_the_same_surface() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if is_type_checking(node))
    shown = {alias.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert shown == set(pippin.__all__)


VERBS = [name for name in pippin.__all__ if inspect.isfunction(getattr(pippin, name)) or name in ("bench", "report")]


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_typed_and_documented_with_an_example_that_runs(name: str) -> None:
    """The examples themselves are run as doctests."""
    verb = getattr(pippin, name)
    signature = inspect.signature(verb)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(taken.annotation is not inspect.Parameter.empty for taken in signature.parameters.values())
    home = {"bench": "pippin.bench.benchmark", "report": "pippin.report.make"}.get(name) or pippin._HOMES[name]
    function = getattr(importlib.import_module(home), name)
    assert function.__doc__
    assert doctest.DocTestParser().get_examples(function.__doc__), f"{name} has no example"


def test_packages_that_are_verbs_can_be_called_and_hold_their_modules() -> None:
    from pippin.bench import plan
    from pippin.bench.benchmark import bench

    assert pippin.bench.plan is plan  # type: ignore[attr-defined]
    assert inspect.signature(pippin.bench) == inspect.signature(bench)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'data'"):
        pippin.bench()  # type: ignore[call-arg]


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pippin' has no attribute 'nothing'"):
        pippin.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(names_of(p)))
def test_every_module_says_which_question_it_answers(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_every_arrow_of_the_drawing_is_a_function() -> None:
    drawing = (SOURCE.parent.parent / "docs" / "architecture.md").read_text().split("```")[1]
    arrows = re.findall(r"([a-z_/]+\.py):([A-Za-z_.]+)", drawing)
    assert len(arrows) > 20
    for file, name in arrows:
        scope: list[ast.stmt] = ast.parse((SOURCE / file).read_text()).body
        for part in name.split("."):
            found = [node for node in scope if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
            assert found or _imported(scope, part), f"{file} has no {name}"
            scope = found[0].body if found else []


def _imported(scope: list[ast.stmt], name: str) -> bool:
    """Whether a package's face takes a name from one of its files."""
    return any(alias.name == name for node in scope if isinstance(node, ast.ImportFrom) for alias in node.names)


def test_no_two_kernels_give_one_name_to_two_types() -> None:
    """All share a namespace, and a linker takes either of two types of one name for both."""
    homes: dict[str, str] = {}
    for path in sorted((SOURCE.parent / "kernels").glob("*.hpp")):
        for name in re.findall(r"^(?:struct|class|enum class) (\w+)[^;\n]*\{", path.read_text(), re.MULTILINE):
            assert homes.setdefault(name, path.name) == path.name, f"{name} is in {homes[name]} and in {path.name}"
    assert "Forest" in homes
