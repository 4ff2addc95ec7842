"""Digests of registered objects: what changes them and what does not."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

RECIPE = """
import os
from functools import partial
from dataclasses import dataclass
from pippin.registry import Registry

SHELF = Registry("recipe")
K = float(os.environ.get("FROM_OUTSIDE", "1"))
CACHE = {{}}

@dataclass(frozen=True)
class Thing:
    weights: tuple
    function: object

def made(k):
    def inner(x):
        return k * x
    return inner

def plain(x):
    return K * x

def default(x, k=K):
    return k * x

def deep(x):
    return plain(x)

def caching(x):
    return CACHE.setdefault(x, x)

class Learner:
    rate = K
    def fit(self):
        return self.rate

class Child(Learner):
    pass

SHELF.register("field", Thing((K, 2), None))
SHELF.register("closure", made(K))
SHELF.register("default", default)
SHELF.register("global", plain)
SHELF.register("deep", deep)
SHELF.register("partial", partial(max, K))
SHELF.register("class", Child)
SHELF.register("constant", caching)
{more}
"""
OUTSIDE = ("field", "closure", "default", "global", "deep", "partial", "class")


def write(folder: Path, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "recipe.py").write_text(dedent(RECIPE.format(more=more)))
    return folder


def digests(folder: Path, **environment: str) -> dict[str, str]:
    """Return the digests of all registered objects of the module, computed in a new process."""
    code = (
        "import sys; sys.path.append(sys.argv[1]); import recipe\n"
        "recipe.CACHE[len(recipe.CACHE)] = object()\n"
        "for name in recipe.SHELF: print(name, recipe.SHELF.digest(name))"
    )
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=variables, capture_output=True, text=True, check=True
    )
    return dict(line.split() for line in done.stdout.splitlines())


def test_the_same_in_every_process_and_place(tmp_path: Path) -> None:
    first = digests(write(tmp_path / "one"), PYTHONHASHSEED="1")
    other = digests(write(tmp_path / "two"), PYTHONHASHSEED="2", ELSE="x")
    assert first == other
    assert len(set(first.values())) == len(first)


def test_a_value_from_outside_counts_where_it_takes_part(tmp_path: Path) -> None:
    folder = write(tmp_path)
    before, after = digests(folder), digests(folder, FROM_OUTSIDE="2")
    assert [name for name in before if before[name] != after[name]] == list(OUTSIDE)


def test_any_change_of_the_source_counts(tmp_path: Path) -> None:
    before = digests(write(tmp_path))
    after = digests(write(tmp_path, "# a comment"))
    assert not set(before.values()) & set(after.values())


def test_local_imports_change_the_digest(tmp_path: Path) -> None:
    folder = write(tmp_path, "import numpy\nfrom inner.beside import x\nfrom regular import y")
    for name, text in {"inner/beside": "x = 1", "regular/__init__": "y = 2", "regular/deep/data": ""}.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "inner" / "other.py").write_text("")
    observed = [digests(folder)["field"]]
    (folder / "inner" / "other.py").write_text("nobody imports this")
    assert digests(folder)["field"] == observed[0]
    for name in ("inner/beside.py", "regular/__init__.py", "regular/deep/data.py"):
        (folder / name).write_text((folder / name).read_text() + "\n# changed")
        observed.append(digests(folder)["field"])
    (folder / "regular" / "table.csv").write_text("1,2")
    observed.append(digests(folder)["field"])
    assert len(set(observed)) == 5


def test_the_source_is_that_of_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(write(tmp_path)))
    monkeypatch.delitem(sys.modules, "recipe", raising=False)
    recipe = importlib.import_module("recipe")
    write(tmp_path, "# edited after it was imported")
    assert recipe.SHELF.digest("field") == digests(write(tmp_path / "as_it_was"))["field"]


def test_reloaded_module_replaces_its_registrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloaded.py"
    file.write_text("from pippin.registry import Registry\nSHELF = globals().get('SHELF') or Registry('thing')\n"
                    "SHELF.register('x', 1)")  # fmt: skip
    module = importlib.import_module("reloaded")
    before = module.SHELF.digest("x")
    file.write_text(file.read_text().replace("1", "22"))
    importlib.reload(module)
    assert module.SHELF["x"] == 22
    assert module.SHELF.digest("x") != before
    with pytest.raises(ValueError, match="the thing 'x' is registered twice: by reloaded"):
        exec("SHELF.register('x', 3)", vars(module))


def test_without_a_file_the_instructions_count() -> None:
    results = []
    for text in ("x + 1", "x + 2", "x + 1"):
        space = {"__name__": "__main__"}
        made = f"from pippin.registry import Registry\nS = Registry('t')\ndef f(x):\n    return {text}\n"
        exec(made + 2 * "S.register('f', f)\n", space)  # a cell of a notebook may be run again
        results.append(space["S"].digest("f"))  # type: ignore[attr-defined]
    assert results[0] == results[2] != results[1]
