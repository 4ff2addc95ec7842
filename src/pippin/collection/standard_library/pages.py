"""Which pages does the standard library make, and under which name does a reader look for each?

A page is a module, class, function or method with a docstring, or one of the topics on the language that `pydoc`
carries; a module without one has a page when there are pages below it, to list them. A page is called by the name that
a reader imports: what a package takes over from its own modules belongs to the package (`json.JSONDecoder`, defined in
`json.decoder`), and what a module takes over from a private one belongs to the module (`os.listdir`,
`collections.deque`). Names with a leading underscore have no page; special methods that are written in Python do
(those written in C all say the same).
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

from pippin.collection.standard_library.modules import (
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

Place = tuple[str, str]  # a module, and a name at its top
HOST = "stdlib"  # a word that no query says: what stands in every url would count against the page
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
    home: str = ""  # the module that it is defined in
    uses: tuple[str, ...] = ()  # names that it refers to outside its text: bases, or imported modules


@dataclass(frozen=True, eq=False)
class Pages:
    """All pages by name, sorted; and every other name that leads to one, the pages' own included."""

    pages: Mapping[str, Page]
    aliases: Mapping[str, str]


class Library:
    """The modules of the standard library; the private ones are read when a public one takes something from them."""

    def __init__(self) -> None:
        self.folder = library()
        self.public = {name: parse_module(name, file) for name, file in source_modules(self.folder)}
        for name in bare_modules(self.folder):
            if (module := load_module(name, self.folder)) is not None:
                self.public[name] = module
        self._private: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """A module by name; None for what is not of the library, or not of this build."""
        if name in self.public:
            return self.public[name]
        if not hidden(name):
            return None
        if name not in self._private:
            file = source_of(name, self.folder)
            self._private[name] = parse_module(name, file) if file else load_module(name, self.folder)
        return self._private[name]

    def doc(self, name: str) -> str:
        """The documentation of a module; some, as `decimal`, import it from a private one."""
        module = self.public[name]
        names = [imported.module for imported in module.imports if imported.local == "__doc__"]
        names.sort(key=lambda origin: source_of(origin, self.folder) is None)
        origins = [module, *(origin for name in names if (origin := self.module(name)))]
        return next((origin.definitions[""].doc for origin in origins if origin.definitions[""].doc), "")

    def origin(self, module: str, name: str, seen: frozenset[Place] = frozenset()) -> Place | None:
        """Where a name at the top of a module is defined, through all imports; source is preferred to C."""
        held = self.module(module)
        if held is None or (module, name) in seen:
            return None
        if name in held.definitions and held.definitions[name].doc:
            return module, name
        seen |= {(module, name)}
        taken = [imported for imported in held.imports if imported.local in (name, "*")]
        places = [self.origin(i.module, name if i.name == "*" else i.name, seen) for i in taken]
        known = [place for place in places if place is not None]
        itself = (module, name) if name in held.definitions else None
        return min(known, key=lambda place: source_of(place[0], self.folder) is None, default=itself)

    def offered(self, name: str, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, Place]]:
        """The public names of a module that are its own, or taken over from modules that are its inner ones."""
        module = self.module(name)
        if module is None or name in seen:
            return
        for key in module.definitions:
            if key and "." not in key and public(key):
                yield key, (name, key)
        for imported in module.imports:
            if imported.module == name or hidden(imported.module) or imported.module.startswith(name + "."):
                yield from self._taken(module, imported, seen | {name})

    def _taken(self, module: Module, imported: Import, seen: frozenset[str]) -> Iterator[tuple[str, Place]]:
        star = imported.name == "*"
        names = [key for key, _ in self.offered(imported.module, seen)] if star else [imported.local]
        for key in names:
            if star or module.offers(key):
                place = self.origin(module.name, key)
                if place is not None:
                    yield key, place


def hidden(module: str) -> bool:
    """Whether readers never name a module: private, or one platform's half of `os`."""
    return not public(module) or module in PLATFORM


def split_words(name: str) -> str:
    """A dotted name as words, each as it stands and, where it is made of several, in parts.

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
    """Module → section, from the table in `sections.toml`."""
    table = tomllib.loads(resources.files(__package__).joinpath("sections.toml").read_text("utf-8"))
    return {module: section for section, entry in table.items() for module in entry["modules"]}


def section_of(module: str) -> str:
    """The section of a module; what a later Python adds is part of its runtime until the table names it."""
    return sections().get(module.partition(".")[0], "runtime")


def gather() -> Pages:
    """All pages of the running Python's library."""
    library = Library()
    pages: dict[str, Page] = {}
    aliases: dict[str, str] = {}
    for (home, top), known in sorted(_names(library).items()):
        best = known[0]
        module = library.module(home)
        for key, definition in module.definitions.items() if module else ():
            if definition.doc and (key == top or key.startswith(top + ".")):
                inner = key[len(top) :]
                name = ".".join(best) + inner
                pages.setdefault(name, _page(name, definition, best[0], home))
                aliases |= {".".join(other) + inner: name for other in [*known, (home, top)]}
    pages |= {page.name: page for page in _module_pages(library, set(pages))}
    pages |= {page.name: page for page in _topics(library.folder)}
    return Pages(dict(sorted(pages.items())), _imported(library, aliases | {name: name for name in pages}))


def _module_pages(library: Library, members: set[str]) -> Iterator[Page]:
    """The modules that are documented, or have pages below them: a page without text lists what there is."""
    folders = {name[:i] for name in members for i, letter in enumerate(name) if letter == "."}
    docs = {name: library.doc(name) for name in library.public}
    folders |= {name.rpartition(".")[0] for name, doc in docs.items() if doc}
    for name, doc in docs.items():
        if doc or name in folders:
            yield _page(name, replace(library.public[name].definitions[""], doc=doc), name, name)


def _names(library: Library) -> dict[Place, list[Place]]:
    """For each definition the public places that offer it, the shortest and the one of its own name first."""
    names: dict[Place, set[Place]] = {}
    for module in library.public:
        for key, place in library.offered(module):
            names.setdefault(place, set()).add((module, key))
    return {
        place: sorted(known, key=lambda other: (other[0].count("."), other[1] != place[1], other))
        for place, known in names.items()
    }


def _imported(library: Library, aliases: dict[str, str]) -> dict[str, str]:
    """The aliases, with those that imports between modules make: `posixpath.exists` is `genericpath.exists`."""
    more = dict(aliases)
    for name, module in library.public.items():
        for imported in module.imports:
            target = aliases.get(f"{imported.module}.{imported.name}")
            if target is not None:
                more.setdefault(f"{name}.{imported.local}", target)
    prefix = "posixpath."
    more |= {f"os.path.{name[len(prefix) :]}": to for name, to in more.items() if name.startswith(prefix)}
    return {**more, **({"os.path": "posixpath"} if "posixpath" in more else {})}


def _page(name: str, definition: Definition, module: str, home: str) -> Page:
    section = section_of(module)
    folder = "" if definition.kind == "function" else "/"  # what has members is their index page
    url = f"http://{section}.{HOST}/{name.replace('.', '/')}{folder}"
    kind, doc = definition.kind, definition.doc
    return Page(name, kind, split_words(name), definition.signature, doc, section, url, home, definition.uses)


def _topics(folder: Path) -> Iterator[Page]:
    """The topics on the language. A topic begins with its heading, underlined."""
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
