"""Read the definitions and docstrings of the standard library.

Modules with source are parsed, never imported, because imports run code (`antigravity` opens a browser). Modules
without source are imported: the built-in ones, and the extension modules in the library's folder. Everything is read in
sorted order and from the library's folder only, so that the same Python gives the same definitions in any environment.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import inspect
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pippin.errors import DataError

# Programs, demonstrations, jokes and tests.
LEFT_OUT = frozenset({"antigravity", "idlelib", "lib2to3", "pydoc_data", "test", "this", "turtledemo"})
PLATFORM = frozenset({"nt", "posix"})  # `os` exports their names
TESTS = frozenset({"test", "tests", "idle_test", "__main__", "__pycache__"})
# `_tkinter` needs the libraries of a display, and `readline` changes how `input` reads.
NOT_LOADED = frozenset({"_tkinter", "readline"})


@dataclass(frozen=True, slots=True)
class Definition:
    """A module, class or function; `doc` is empty without docstring."""

    kind: str  # "module", "class" or "function"
    doc: str
    signature: str = ""
    uses: tuple[str, ...] = ()  # the bases of a class, the imports of a module, as written


@dataclass(frozen=True, slots=True)
class Import:
    """`from module import name as local`; the name `*` means all public names."""

    module: str
    name: str
    local: str


@dataclass(frozen=True, eq=False)
class Module:
    """The definitions (by dotted name; the empty name is the module), imports and exports of a module."""

    name: str
    definitions: Mapping[str, Definition]
    imports: tuple[Import, ...] = ()
    exports: frozenset[str] | None = None  # the literal part of `__all__`; None without it

    def offers(self, name: str) -> bool:
        """Return whether an imported name is part of the module's public names."""
        return public(name) and (self.exports is None or name in self.exports)


def public(name: str) -> bool:
    """Return whether no part of a dotted name is private.

    >>> public("json.decoder"), public("_json"), public("os._exit")
    (True, False, False)
    """
    return not any(part.startswith("_") for part in name.split("."))


def library() -> Path:
    """Return the folder of the standard library's source."""
    folder = Path(sysconfig.get_path("stdlib"))
    if not (folder / "os.py").is_file():
        raise DataError("the source of the standard library is missing; stdlib is built from it", folder)
    return folder


def source_modules(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield names and files of the public modules that have source, sorted."""
    for top in sorted(sys.stdlib_module_names - LEFT_OUT - PLATFORM):
        if not public(top):
            continue
        files = [folder / f"{top}.py"] if (folder / f"{top}.py").is_file() else sorted((folder / top).rglob("*.py"))
        modules = {}
        for file in files:
            parts = file.relative_to(folder).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            # The modules of encodings are tables, one per character set.
            if public(name) and not TESTS & set(parts) and not name.startswith("encodings."):
                modules[name] = file
        yield from sorted(modules.items())


def bare_modules(folder: Path) -> Iterator[str]:
    """Yield the public modules that have no source, sorted."""
    for name in sorted(sys.stdlib_module_names - LEFT_OUT - PLATFORM):
        if public(name) and source_of(name, folder) is None:
            yield name


def source_of(name: str, folder: Path) -> Path | None:
    """Return the source file of a module, if it has one."""
    path = folder.joinpath(*name.split("."))
    for file in (path.with_name(path.name + ".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def parse_module(name: str, file: Path) -> Module:
    """Parse a module without running it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old modules hold invalid escapes
            tree = ast.parse(file.read_bytes(), str(file))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"the module {name} of the standard library cannot be read: {error}", file) from None
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    definitions: dict[str, Definition] = {}
    imports: list[Import] = []
    used: list[str] = []
    for node in _statements(tree.body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _define(node, "", definitions)
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(node, package)
            imports += [Import(origin, alias.name, alias.asname or alias.name) for alias in node.names]
            used.append(origin)
        elif isinstance(node, ast.Import):
            used += [alias.name for alias in node.names]
        else:
            imports += _aliases(node, name)
    definitions[""] = Definition("module", _module_doc(tree), uses=tuple(dict.fromkeys(used)))
    return Module(name, definitions, tuple(imports), _exports(tree))


def _module_doc(tree: ast.Module) -> str:
    """Return a module's docstring; some modules, such as `hashlib`, assign it."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__doc__")], value=ast.Constant(value=str(text))):
                return inspect.cleandoc(text)
    return ast.get_docstring(tree) or ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module or class, including those inside `if`, `try` and `with`."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            blocks = [node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])]
            blocks += [handler.body for handler in getattr(node, "handlers", [])]
            for block in blocks:
                yield from _statements(block)


def _define(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, inside: str, definitions: dict[str, Definition]
) -> None:
    """Add a definition and its public members; of several with one name, the first documented one counts."""
    name = f"{inside}.{node.name}" if inside else node.name
    doc = ast.get_docstring(node) or ""
    if not isinstance(node, ast.ClassDef):
        new = Definition("function", doc, _signature(node.name, node))
    else:
        constructors = [n for n in _statements(node.body) if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        signature = _signature(node.name, constructors[0]) if constructors else node.name
        texts = [doc, *(ast.get_docstring(constructor) or "" for constructor in constructors)]
        bases = tuple(ast.unparse(base) for base in node.bases)
        new = Definition("class", "\n\n".join(filter(None, texts)), signature, bases)
        for member in _statements(node.body):
            if isinstance(member, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _has_page(member.name):
                _define(member, name, definitions)
    if name not in definitions or (new.doc and not definitions[name].doc):
        definitions[name] = new


def _has_page(member: str) -> bool:
    """Return whether a member has a page: public and special methods, except `__init__`, which is part of the class."""
    special = member.startswith("__") and member.endswith("__") and member != "__init__"
    return public(member) or special


def _signature(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the signature of a function, such as `loads(s, *, cls=None)`."""
    arguments = ast.unparse(node.args)
    for first in ("self", "cls"):
        if arguments == first or arguments.startswith(first + ", "):
            arguments = arguments[len(first) + 2 :]
    return f"{name}({arguments})"


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """Return the absolute name of the module of an import."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _aliases(node: ast.stmt, module: str) -> list[Import]:
    """Return assignments such as `Lock = _allocate_lock` and `socketpair = _socket.socketpair` as imports."""
    match node:
        case ast.Assign(targets=[ast.Name(id=local)], value=ast.Name(id=name)):
            return [Import(module, name, local)]
        case ast.Assign(targets=[ast.Name(id=local)], value=ast.Attribute(value=ast.Name(id=origin), attr=name)):
            return [Import(origin, name, local)]
    return []


def _exports(tree: ast.Module) -> frozenset[str] | None:
    """Return the literal names in `__all__`; None without it."""
    values = [value for node in _statements(tree.body) if (value := _all_value(node)) is not None]
    names: set[str] = set()
    for value in values:
        try:
            literal = ast.literal_eval(value)
        except ValueError:  # computed, as in `os`
            continue
        names |= {literal} if isinstance(literal, str) else set(literal)
    return frozenset(names) if values else None


def _all_value(node: ast.stmt) -> ast.expr | None:
    """Return the value that a statement adds to `__all__` by `=`, `+=`, `.extend(…)` or `.append(…)`."""
    match node:
        case (
            ast.Assign(targets=[ast.Name(id="__all__")], value=value)
            | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
            | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            | ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend" | "append"), args=[value])
            )
        ):
            return value
    return None


def load_module(name: str, folder: Path) -> Module | None:
    """Return a module without source, from its docstrings; None if this Python was built without it."""
    module = None if name in NOT_LOADED else _import(name, folder)
    if module is None:
        return None
    definitions = {"": Definition("module", inspect.cleandoc(module.__doc__ or ""))}
    for key in sorted(vars(module)):
        # Hooks may be replaced; `sys` keeps the originals as `__excepthook__` and similar names.
        value = vars(module).get(f"__{key}__", vars(module)[key])
        if not public(key) or getattr(value, "__name__", None) not in (key, None):
            continue
        if inspect.isclass(value) and (name == "builtins" or value.__module__ != "builtins"):
            definitions |= _describe_class(key, value)
        elif inspect.isbuiltin(value):
            definitions[key] = _describe(key, value)
    return Module(name, definitions)


def _import(name: str, folder: Path) -> ModuleType | None:
    """Import a built-in module, or an extension module from the library's folder."""
    if name in sys.builtin_module_names:
        return importlib.import_module(name)
    folders = [str(folder / "lib-dynload"), str(Path(sys.base_prefix) / "DLLs")]
    spec = importlib.machinery.PathFinder.find_spec(name, folders)
    if spec is None or not isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        return None
    if name not in sys.modules:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                module = importlib.util.module_from_spec(spec)
                sys.modules[name] = module
                spec.loader.exec_module(module)
        except ImportError:  # a shared library is missing
            sys.modules.pop(name, None)
            return None
    return sys.modules[name]


def _describe_class(name: str, kind: type) -> dict[str, Definition]:
    bases = tuple(base.__name__ for base in kind.__bases__ if base is not object)
    definitions = {name: Definition("class", _doc(kind), name + _text_signature(kind), bases)}
    for key, value in sorted(vars(kind).items()):
        member = getattr(value, "__func__", value)
        if public(key) and inspect.isroutine(member):
            definitions[f"{name}.{key}"] = _describe(key, member)
    return definitions


def _describe(name: str, value: Any) -> Definition:
    return Definition("function", _doc(value), name + _text_signature(value))


def _doc(value: Any) -> str:
    return inspect.cleandoc(value.__doc__) if isinstance(value.__doc__, str) else ""


def _text_signature(value: Any) -> str:
    """Return the signature of a C function without markers: `($self, x, /)` becomes `(x, /)`."""
    text = getattr(value, "__text_signature__", None)
    if not isinstance(text, str):
        return ""
    parts = [part.strip() for part in text[1:-1].split(",")]
    arguments = [part for part in parts if part and not part.startswith("$")]
    return f"({', '.join(arguments[1:] if arguments[:1] == ['/'] else arguments)})"
