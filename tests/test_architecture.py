"""Import layers, import cycles, start-up, and the public surface."""

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
from pippin.display.registry_view import RegistryView

SOURCE = Path(__file__).resolve().parent.parent / "src" / "pippin"
# A module may import from its own layer and from earlier ones.
LAYERS = (
    "_version", "errors", "records", "dependencies", "system", "plugins", "registry", "display", "kernels",
    "storage", "data", "evaluation",
    "compat", "clicks", "models", "rankers", "collections", "engines", "benchmarks", "distributed",
    "reports", "boards", "cli",
)  # fmt: skip
FACADES = ("correlation", "metrics")  # public modules above all layers, which no layer imports
HEAVY = ("polars", "pyarrow", "scipy", "pandas", "sklearn", "numba", "lightgbm", "torch")
MODULES = sorted(SOURCE.rglob("*.py"))


def module_parts(path: Path) -> list[str]:
    return list(path.relative_to(SOURCE).with_suffix("").parts)


def layer_of(parts: list[str]) -> str | None:
    """Return the layer of a module; None for `__init__`, `__main__` and facades, which are above all layers."""
    return None if parts[0].startswith("__") or parts[0] in FACADES else parts[0]


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(tree: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield imported modules and whether the import is inside a function; imports for type checkers are skipped."""
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


def is_allowed(importer: str, imported: str) -> bool:
    return LAYERS.index(imported) <= LAYERS.index(importer)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(module_parts(p)))
def test_imports_go_down(path: Path) -> None:
    layer = layer_of(module_parts(path))
    if layer is None:
        return
    assert layer in LAYERS, f"{layer} is missing in LAYERS"
    for name, _ in imports(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] == "pippin" and len(parts) > 1:
            assert parts[1] not in FACADES, f"{layer} imports {name}"
        if parts[0] == "pippin" and len(parts) > 1 and parts[1] in LAYERS:
            assert is_allowed(layer, parts[1]), f"{layer} imports {name}"


def import_graph() -> dict[str, set[str]]:
    """Return module → imported modules of Pippin, imports inside functions included."""
    modules = {".".join(["pippin", *module_parts(path)]).removesuffix(".__init__"): path for path in MODULES}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = [name for name, _ in imports(ast.parse(path.read_text()))]
        targets = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = {target for target in targets if target in modules and target != module}
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of one import cycle, or an empty list."""
    finished: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module in finished:
            return []
        for target in sorted(graph[module]):
            if cycle := visit(target, [*path, module]):
                return cycle
        finished.add(module)
        return []

    return next((cycle for module in sorted(graph) if (cycle := visit(module, []))), [])


def test_modules_import_each_other_without_cycles() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    graph = {module: targets for module, targets in import_graph().items() if not module.startswith("pippin.rankers")}
    assert not find_cycle({module: targets & set(graph) for module, targets in graph.items()})


def test_the_layer_rule_rejects_upward_imports() -> None:
    assert not is_allowed("kernels", "data")
    assert not is_allowed("data", "evaluation")
    assert not is_allowed("evaluation", "reports")
    assert not is_allowed("reports", "cli")
    tree = ast.parse("import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    from c import d")
    assert list(imports(tree)) == [("a", False), ("c.d", True)]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(module_parts(p)))
def test_only_kernels_import_the_native_module(path: Path) -> None:
    native = [name for name, _ in imports(ast.parse(path.read_text())) if "_native" in name]
    assert not native or layer_of(module_parts(path)) == "kernels"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(module_parts(p)))
def test_heavy_packages_are_imported_lazily(path: Path) -> None:
    top = {name.split(".")[0] for name, inside in imports(ast.parse(path.read_text())) if not inside}
    assert not top & set(HEAVY)


def packages_loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that a statement loads in a new interpreter."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(completed.stdout))


@pytest.mark.parametrize(
    "statement",
    ["import pippin", "import pippin.evaluation.evaluation", "import pippin.rankers.models", "import pippin.cli.main"],
)
def test_imports_stay_light(statement: str) -> None:
    assert not packages_loaded_by(statement) & set(HEAVY)


def test_importing_the_package_does_not_load_numpy() -> None:
    assert "numpy" not in packages_loaded_by("import pippin")


# Modules that an evaluation of two files does not need.
UNNEEDED = {
    "difflib", "lzma", "numpy.ma", "numpy.random", "random", "selectors", "shutil", "signal", "subprocess", "tempfile",
    "pippin.storage.manifest",
}  # fmt: skip


@pytest.mark.parametrize("command", [["eval"], ["as", "trec_eval"]], ids=lambda command: command[0])
def test_evaluation_commands_load_only_what_they_need(command: list[str], tmp_path: Path) -> None:
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    run.write_text("1 Q0 a 1 2.0 r\n1 Q0 b 2 1.0 r\n")
    code = f"""import json, sys, numpy
before = set(sys.modules)
from pippin.cli.main import main
assert main({[*command, str(qrels), str(run)]!r}) == 0
items = [item for name in sys.modules if name.startswith("pippin") for item in vars(sys.modules[name]).values()]
classes = {{item for item in items if isinstance(item, type) and "__dataclass_params__" in vars(item)}}
frozen = [cls.__qualname__ for cls in classes if cls.__dataclass_params__.frozen]
print(json.dumps([sorted(set(sys.modules) - before), frozen]))"""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    modules, frozen = json.loads(completed.stdout.splitlines()[-1])
    assert not UNNEEDED & set(modules)
    assert not frozen, "frozen dataclasses compile four times as slowly as `pippin.records`"


def test_public_names_come_from_their_modules() -> None:
    assert pippin.__all__ == sorted(pippin.__all__)
    assert set(pippin.__all__) == {*pippin._HOMES, *pippin._PACKAGES}
    for name, home in pippin._HOMES.items():
        item = getattr(pippin, name)
        assert item is getattr(importlib.import_module(home), name)
        if not isinstance(item, RegistryView):
            assert item.__name__ == name
            assert item.__module__ == home
    for name in pippin._PACKAGES:
        assert getattr(pippin, name) is importlib.import_module(pippin._PACKAGES[name])


def test_dir_lists_exactly_the_public_names() -> None:
    """Also after submodules have been imported, which become attributes of the package."""
    code = "import pippin, pippin.cli.main, pippin.kernels; print(*dir(pippin))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.split() == pippin.__all__


def test_type_checkers_see_the_public_names() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if is_type_checking(node))
    names = {alias.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(pippin.__all__)


VERBS = [name for name in pippin.__all__ if inspect.isfunction(getattr(pippin, name))]


@pytest.mark.parametrize("name", VERBS)
def test_public_functions_are_typed_and_have_examples(name: str) -> None:
    """The examples themselves are run as doctests."""
    verb = getattr(pippin, name)
    signature = inspect.signature(verb)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in signature.parameters.values())
    assert verb.__doc__
    assert doctest.DocTestParser().get_examples(verb.__doc__), f"{name} has no example"


def test_a_missing_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pippin' has no attribute 'nothing'"):
        pippin.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(module_parts(p)))
def test_every_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_every_arrow_of_the_architecture_page_is_a_function() -> None:
    diagram = (SOURCE.parent.parent / "docs" / "architecture.md").read_text().split("```")[1]
    arrows = re.findall(r"([a-z_/]+\.py):([A-Za-z_.]+)", diagram)
    assert len(arrows) > 20
    for file, name in arrows:
        scope: list[ast.stmt] = ast.parse((SOURCE / file).read_text()).body
        for part in name.split("."):
            matches = [node for node in scope if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
            assert matches or _imports_name(scope, part), f"{file} has no {name}"
            scope = matches[0].body if matches else []


def _imports_name(scope: list[ast.stmt], name: str) -> bool:
    """Return whether a package imports a name from one of its modules."""
    return any(alias.name == name for node in scope if isinstance(node, ast.ImportFrom) for alias in node.names)


def test_kernels_define_each_type_name_once() -> None:
    """They share a namespace, and a linker merges two types with the same name."""
    headers: dict[str, str] = {}
    for path in sorted((SOURCE.parent / "kernels").rglob("*.hpp")):
        for name in re.findall(r"^(?:struct|class|enum class) (\w+)[^;\n]*\{", path.read_text(), re.MULTILINE):
            assert headers.setdefault(name, path.name) == path.name, f"{name} is in {headers[name]} and in {path.name}"
    assert "Forest" in headers


def test_the_page_states_the_size(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    root = SOURCE.parents[1]
    page = (root / "docs/architecture.md").read_text(encoding="utf-8")
    program = re.search(r"### Size\n.*?```python\n(.*?)```", page, re.DOTALL)
    stated = re.search(r"has (\d+) Python files with ([\d,]+) lines", page)
    assert program
    assert stated
    monkeypatch.chdir(root)
    exec(program[1], {})
    counts = [int(word) for word in capsys.readouterr().out.split()]
    assert counts == pytest.approx([int(word.replace(",", "")) for word in stated.groups()], rel=0.05)
