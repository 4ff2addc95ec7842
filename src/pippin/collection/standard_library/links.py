"""Which pages does a page refer to, and with which words?

A page leads to its members (a module to its classes and functions, a package to its modules, a class to its methods),
a class to its bases, a module to those it imports, and any text to what it names: `json.loads`, ``JSONDecoder``,
loads(), "the json module". A plain word of English is not a reference, though a function may be called the same: only
what is dotted, called, quoted in backquotes or spelt like an identifier counts. Names are looked up as a reader would:
in the class, in the module, among the built-ins, in the whole library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pippin.collection.collection import Link
from pippin.collection.standard_library.pages import Page, Pages

NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
IDENTIFIER = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z][A-Z]|[A-Z]{2,}[a-z]")
MODULE = re.compile(r"\b(?:module ([a-z_][\w.]*\w)|([a-z_][\w.]*\w) (?:module|package))\b")
SECTION = re.compile(r"\b[Ss]ection\s+(\S[^.,;:()]*)")


def find_links(pages: Pages) -> dict[str, tuple[Link, ...]]:
    """The links of each page: members first, then bases or imports, then the references of its text; none to itself."""
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
    """The pages below each page, by the nearest page above; sorted."""
    members: dict[str, list[str]] = {}
    for name in pages:
        above = name.rpartition(".")[0]
        while above and above not in pages:
            above = above.rpartition(".")[0]
        if above:
            members.setdefault(above, []).append(name)
    return members


def heading(page: Page) -> str:
    """The heading of a topic, as other topics cite it."""
    return page.doc.partition("\n")[0].strip().lower()


def _mentions(page: Page, pages: Pages, headings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The references in the text of a page: target and words."""
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
    """Where a reader looks for a name that stands on a page, in this order."""
    inside = page.name if page.kind in ("class", "module") else page.name.rpartition(".")[0]
    return inside, page.home, page.home.rpartition(".")[0], "builtins", ""


def _look_up(name: str, scopes: tuple[str, ...], aliases: Mapping[str, str]) -> str:
    """The page that a name means; empty where it means none."""
    name = name.removeprefix("self.")
    for scope in scopes:
        target = aliases.get(f"{scope}.{name}" if scope else name)
        if target is not None:
            return target
    return ""
