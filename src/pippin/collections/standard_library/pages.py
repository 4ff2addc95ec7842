"""The pages of the standard library, their names, and the links between them.

A page is a module, class, function or method with a docstring, or one of the topics on the language in `pydoc`; a
module without docstring has a page if there are pages below it. The name of a page is the one that users import: what a
package re-exports from its own modules belongs to the package (`json.JSONDecoder`, defined in `json.decoder`), and what
a module re-exports from a private one belongs to the module (`os.listdir`, `collections.deque`). Names with a leading
underscore are left out; special methods written in Python are pages (the docstrings of those in C are all the same).

A page links to its members (a module to its classes and functions, a package to its modules, a class to its methods), a
class to its bases, a module to its imports, and a text to the names in it: `json.loads`, ``JSONDecoder``, loads(), "the
json module". Only names that are dotted, called, in backquotes or spelt like an identifier count, because functions
have names that are also English words. Names are resolved in the class, the module, the built-ins, the whole library.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pippin.collections.collection import Link
from pippin.collections.standard_library.modules import (
    PLATFORM,
    Definition,
    Import,
    Module,
    bare_modules,
    library,
    load_module,
    parse_module,
    public,
    source_modules,
    source_of,
)
from pippin.errors import DataError

NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
IDENTIFIER = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z][A-Z]|[A-Z]{2,}[a-z]")
MODULE = re.compile(r"\b(?:module ([a-z_][\w.]*\w)|([a-z_][\w.]*\w) (?:module|package))\b")
SECTION = re.compile(r"\b[Ss]ection\s+(\S[^.,;:()]*)")


def find_links(pages: Pages) -> dict[str, tuple[Link, ...]]:
    """Return the links of each page: members, then bases or imports, then names in its text, without itself."""
    members = members_of(pages.pages)
    headings = {heading(page): page.name for page in pages.pages.values() if page.kind == "topic"}
    links = {}
    for name, page in pages.pages.items():
        targets = [(member, member.rpartition(".")[2]) for member in members.get(name, ())]
        scopes = ("",) if page.kind == "module" else _scopes(page)  # imports are absolute
        targets += [(target, used) for used in page.uses if (target := _look_up(used, scopes, pages.aliases))]
        targets += _mentions(page, pages, headings)
        unique = dict.fromkeys(pair for pair in targets if pair[0] != name)
        links[name] = tuple(Link(pages.pages[target].url, text) for target, text in unique)
    return links


def members_of(pages: Mapping[str, Page]) -> dict[str, list[str]]:
    """Return the pages below each page, sorted; a page belongs to the nearest page above it."""
    members: dict[str, list[str]] = {}
    for name in pages:
        parent = name.rpartition(".")[0]
        while parent and parent not in pages:
            parent = parent.rpartition(".")[0]
        if parent:
            members.setdefault(parent, []).append(name)
    return members


def heading(page: Page) -> str:
    """Return the heading of a topic, by which other topics cite it."""
    return page.doc.partition("\n")[0].strip().lower()


def _mentions(page: Page, pages: Pages, headings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the references in the text of a page: target and text."""
    text, scopes = page.doc, _scopes(page)
    for match in NAME.finditer(text):
        word = match.group()
        quoted = text[match.start() - 1 : match.start()] == "`" and text[match.end() : match.end() + 1] == "`"
        called = text[match.end() : match.end() + 1] == "("
        if "." in word or quoted or called or IDENTIFIER.search(word):
            target = _look_up(word, scopes, pages.aliases)
            if target:
                yield target, word
    for match in MODULE.finditer(text):
        word = match.group(1) or match.group(2)
        target = pages.aliases.get(word, "")
        if target and pages.pages[target].kind == "module":
            yield target, word
    for match in SECTION.finditer(text) if page.kind == "topic" else ():
        cited = " ".join(match.group(1).split())
        if target := headings.get(cited.lower(), ""):
            yield target, cited


def _scopes(page: Page) -> tuple[str, ...]:
    """Return the scopes in which a name on a page is resolved, in this order."""
    inner = page.name if page.kind in ("class", "module") else page.name.rpartition(".")[0]
    return inner, page.module, page.module.rpartition(".")[0], "builtins", ""


def _look_up(name: str, scopes: tuple[str, ...], aliases: Mapping[str, str]) -> str:
    """Return the page of a name; empty if there is none."""
    name = name.removeprefix("self.")
    for scope in scopes:
        target = aliases.get(f"{scope}.{name}" if scope else name)
        if target is not None:
            return target
    return ""


QualifiedName = tuple[str, str]  # a module, and a top-level name in it
HOST = "stdlib"  # a word of no query, because it occurs in every URL
WORD_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True, slots=True)
class Page:
    """One page, before its links are known."""

    name: str
    kind: str  # "module", "class", "function" or "topic"
    title: str
    signature: str
    doc: str
    section: str
    url: str
    module: str = ""  # in which it is defined
    uses: tuple[str, ...] = ()  # names of its bases, or imported modules


@dataclass(frozen=True, eq=False)
class Pages:
    """All pages by name, sorted, and the page of every name, aliases included."""

    pages: Mapping[str, Page]
    aliases: Mapping[str, str]


class Library:
    """The modules of the standard library; private ones are read when a public one imports from them."""

    def __init__(self) -> None:
        self.folder = library()
        self.public = {name: parse_module(name, file) for name, file in source_modules(self.folder)}
        for name in bare_modules(self.folder):
            if (module := load_module(name, self.folder)) is not None:
                self.public[name] = module
        self._private: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """Return a module by name; None if it is not part of the library or of this build."""
        if name in self.public:
            return self.public[name]
        if not is_hidden(name):
            return None
        if name not in self._private:
            file = source_of(name, self.folder)
            self._private[name] = parse_module(name, file) if file else load_module(name, self.folder)
        return self._private[name]

    def doc(self, name: str) -> str:
        """Return the documentation of a module; some, such as `decimal`, import it from a private one."""
        module = self.public[name]
        names = [imported.module for imported in module.imports if imported.local == "__doc__"]
        names.sort(key=lambda origin: source_of(origin, self.folder) is None)
        origins = [module, *(origin for name in names if (origin := self.module(name)))]
        return next((origin.definitions[""].doc for origin in origins if origin.definitions[""].doc), "")

    def origin(self, module: str, name: str, visited: frozenset[QualifiedName] = frozenset()) -> QualifiedName | None:
        """Return where a top-level name of a module is defined, through all imports; source is preferred to C."""
        content = self.module(module)
        if content is None or (module, name) in visited:
            return None
        if name in content.definitions and content.definitions[name].doc:
            return module, name
        visited |= {(module, name)}
        imports = [imported for imported in content.imports if imported.local in (name, "*")]
        origins = [self.origin(i.module, name if i.name == "*" else i.name, visited) for i in imports]
        resolved = [origin for origin in origins if origin is not None]
        own_definition = (module, name) if name in content.definitions else None
        return min(resolved, key=lambda origin: source_of(origin[0], self.folder) is None, default=own_definition)

    def exports(self, name: str, visited: frozenset[str] = frozenset()) -> Iterator[tuple[str, QualifiedName]]:
        """Yield the public names of a module that it defines or re-exports from its own submodules."""
        module = self.module(name)
        if module is None or name in visited:
            return
        for key in module.definitions:
            if key and "." not in key and public(key):
                yield key, (name, key)
        for imported in module.imports:
            if imported.module == name or is_hidden(imported.module) or imported.module.startswith(name + "."):
                yield from self._reexports(module, imported, visited | {name})

    def _reexports(
        self, module: Module, imported: Import, visited: frozenset[str]
    ) -> Iterator[tuple[str, QualifiedName]]:
        is_star = imported.name == "*"
        names = [key for key, _ in self.exports(imported.module, visited)] if is_star else [imported.local]
        for key in names:
            if is_star or module.offers(key):
                origin = self.origin(module.name, key)
                if origin is not None:
                    yield key, origin


def is_hidden(module: str) -> bool:
    """Return whether a module is private, or the platform part of `os`."""
    return not public(module) or module in PLATFORM


def split_words(name: str) -> str:
    """Return a dotted name as words, each followed by its parts if it has several.

    >>> split_words("json.JSONDecoder.raw_decode")
    'json JSONDecoder JSON Decoder raw_decode raw decode'
    """
    words = []
    for part in name.split("."):
        parts = WORD_PARTS.findall(part)
        words += [part, *parts] if len(parts) > 1 else [part]
    return " ".join(words)


@cache
def sections() -> dict[str, str]:
    """Read `sections.toml`: module → section."""
    table = tomllib.loads(resources.files(__package__).joinpath("sections.toml").read_text("utf-8"))
    return {module: section for section, entry in table.items() for module in entry["modules"]}


def section_of(module: str) -> str:
    """Return the section of a module; modules that the table does not have are in the section runtime."""
    return sections().get(module.partition(".")[0], "runtime")


def read_pages() -> Pages:
    """Read all pages of the running Python's library."""
    library = Library()
    pages: dict[str, Page] = {}
    aliases: dict[str, str] = {}
    for (defining_module, top), exported in sorted(_exported_names(library).items()):
        best = exported[0]
        module = library.module(defining_module)
        for key, definition in module.definitions.items() if module else ():
            if definition.doc and (key == top or key.startswith(top + ".")):
                inner = key[len(top) :]
                name = ".".join(best) + inner
                pages.setdefault(name, _page(name, definition, best[0], defining_module))
                aliases |= {".".join(alias) + inner: name for alias in [*exported, (defining_module, top)]}
    pages |= {page.name: page for page in _module_pages(library, set(pages))}
    pages |= {page.name: page for page in _topics(library.folder)}
    return Pages(dict(sorted(pages.items())), _add_import_aliases(library, aliases | {name: name for name in pages}))


def _module_pages(library: Library, members: set[str]) -> Iterator[Page]:
    """Yield the pages of modules that are documented, or have pages below them."""
    folders = {name[:i] for name in members for i, letter in enumerate(name) if letter == "."}
    docs = {name: library.doc(name) for name in library.public}
    folders |= {name.rpartition(".")[0] for name, doc in docs.items() if doc}
    for name, doc in docs.items():
        if doc or name in folders:
            yield _page(name, replace(library.public[name].definitions[""], doc=doc), name, name)


def _exported_names(library: Library) -> dict[QualifiedName, list[QualifiedName]]:
    """Return the public names of each definition: the shortest, then the one that keeps its name first."""
    names: dict[QualifiedName, set[QualifiedName]] = {}
    for module in library.public:
        for key, origin in library.exports(module):
            names.setdefault(origin, set()).add((module, key))
    return {
        origin: sorted(exported, key=lambda name: (name[0].count("."), name[1] != origin[1], name))
        for origin, exported in names.items()
    }


def _add_import_aliases(library: Library, aliases: dict[str, str]) -> dict[str, str]:
    """Add the aliases of imports between modules: `posixpath.exists` is `genericpath.exists`."""
    extended = dict(aliases)
    for name, module in library.public.items():
        for imported in module.imports:
            target = aliases.get(f"{imported.module}.{imported.name}")
            if target is not None:
                extended.setdefault(f"{name}.{imported.local}", target)
    prefix = "posixpath."
    extended |= {f"os.path.{name[len(prefix) :]}": to for name, to in extended.items() if name.startswith(prefix)}
    return {**extended, **({"os.path": "posixpath"} if "posixpath" in extended else {})}


def _page(name: str, definition: Definition, public_module: str, module: str) -> Page:
    section = section_of(public_module)
    slash = "" if definition.kind == "function" else "/"  # a page with members is the index page of a directory
    url = f"http://{section}.{HOST}/{name.replace('.', '/')}{slash}"
    kind, doc = definition.kind, definition.doc
    return Page(name, kind, split_words(name), definition.signature, doc, section, url, module, definition.uses)


def _topics(folder: Path) -> Iterator[Page]:
    """Yield the topics on the language, which begin with an underlined heading."""
    file = folder / "pydoc_data" / "topics.py"
    for key, raw in sorted(_read_topics(file).items()):
        text = inspect.cleandoc(raw)
        lines = text.split("\n")
        heading = lines[0] if len(lines) > 1 and set(lines[1]) <= set("*=-~") else ""
        title = f"{split_words(key)} {heading}".strip()
        yield Page(f"topics.{key}", "topic", title, "", text, "language", f"http://language.{HOST}/{key}")


def _read_topics(file: Path) -> dict[str, Any]:
    try:
        tree = ast.parse(file.read_bytes())
        values = [node.value for node in tree.body if isinstance(node, ast.Assign)]
        topics: dict[str, Any] = ast.literal_eval(values[0])
    except (OSError, SyntaxError, ValueError, IndexError) as error:
        raise DataError(f"the topics of pydoc cannot be read: {error}", file) from None
    return topics
