"""What the site has beyond the pages of docs/: pages that are run, formulas, the reference, the gallery, and llms.txt.

All of it is made while the site is built, from the commands' own parsers, the names of `dir(pippin)` and the shelves,
so that it cannot say anything else than the program does.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import tutorials

_RUN = ("tutorials", "explain")  # folders of pages that are run
_SOURCE = re.compile(rf"\]\(((?:{'|'.join(_RUN)})/\w+)\.py")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([^)#]*)(?:#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    docs = Path(config.docs_dir)
    for source in sorted(path for folder in _RUN for path in (docs / folder).glob("*.py")):
        place = source.parent.name
        files.remove(files.get_file_from_path(f"{place}/{source.name}"))
        cells = tutorials.cells_of(source.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            tutorials.run(cells, Path(folder))
        _add(files, config, f"{place}/{source.stem}.ipynb", tutorials.notebook(cells))
        _add(files, config, f"{place}/{source.stem}.md", tutorials.page(cells, source.stem))
        for name, picture in tutorials.pictures(cells, source.stem).items():
            _add(files, config, f"{place}/{name}", picture)
    for name, text in (
        ("commands", commands()), *python().items(), ("rankers", rankers()), ("tools", listed("tools")),
        ("measures", listed("measures")), ("features", listed("features")),
    ):  # fmt: skip
        _add(files, config, f"reference/{name}.md", text)
    page, pictures = gallery.make()
    _add(files, config, "gallery.md", page)
    for name, picture in pictures.items():
        _add(files, config, f"images/gallery/{name}", picture)
    _add(files, config, "llms.txt", llms(docs, config.nav))
    _add(files, config, "site.css", (Path(__file__).parent / "site.css").read_text(encoding="utf-8"))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to pages that are run lead to what came out; those to files that are no pages become their names."""
    markdown = _SOURCE.sub(r"](\1.md", markdown)
    if page.file.src_uri.startswith((*_RUN, "reference/")):
        return markdown
    return _OUTSIDE.sub(lambda match: f"{match[1]} (`{match[2].rstrip('/')}` in the repository)", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Formulas become MathML, which browsers draw themselves, without a script."""
    return _FORMULA.sub(_drawn, html)


def _drawn(found: re.Match[str]) -> str:
    """A formula; one with lines of its own may be wider than a telephone, and is scrolled by keys as well."""
    if found[1] == "span":
        return convert(unescape(found[2]))
    return convert(unescape(found[2]), display="block").replace("<math", '<math tabindex="0"', 1)


def on_post_page(output: str, **_: Any) -> str:
    """What lets the search work from disk is asked of another's server by the theme; our own stands in the page."""
    own = (Path(__file__).parent / "offline.js").read_text(encoding="utf-8")
    output = output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)  # which the theme forgets
    return re.sub(
        r'<script src="https://[^"]*iframe-worker[^"]*"></script>', lambda _: f"<script>{own}</script>", output
    )


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page of what is not found."""
    return on_post_page(output_content)


def _add(files: Files, config: Any, path: str, content: str) -> None:
    files.append(File.generated(config, path, content=content))


def _printed(call: Callable[[], object]) -> str:
    """What a call prints."""
    out = io.StringIO()
    os.environ["COLUMNS"], os.environ["NO_COLOR"] = "100", "1"
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        call()
    return out.getvalue().rstrip()


def commands() -> str:
    """Every command with its help."""
    from pippin.cli.main import GROUPS, main

    parts = ["# Commands\n\n`pippin help COMMAND` prints what stands here."]
    for group, members in GROUPS.items():
        parts.append(f"## {group.capitalize()}")
        for name, (_, about) in members.items():
            said = _printed(lambda name=name: main(["help", name]))
            parts.append(f"### pippin {name}\n\n{about.capitalize()}.\n\n```text\n{said}\n```")
    return "\n\n".join(parts) + "\n"


def python() -> dict[str, str]:
    """Every public name, the verbs first: by page."""
    import pippin

    verbs, nouns = [], []
    for name, where in _homes(pippin):
        (nouns if name[0].isupper() else verbs).append((f"pippin.{name}", where))
    pages = {
        "python": ("Verbs", "What Pippin does: the functions of `dir(pippin)`.", verbs),
        "results": ("Data and results", "What the verbs take and give: the classes of `dir(pippin)`.", nouns),
    }
    for title, *packages in (
        ("Ranker classes", "rankers"), ("Clicks", "clicks"), ("Correlation and scorers", "correlation", "metrics"),
    ):  # fmt: skip
        members = [
            (f"pippin.{package}.{member}", where)
            for package in packages for member, where in _homes(getattr(pippin, package))
        ]  # fmt: skip
        named = " and ".join(f"`pippin.{package}`" for package in packages)
        pages[f"python-{packages[0]}"] = title, f"The public names of {named}.", members
    return {
        page: "\n\n".join([f"# {title}\n\n{about}", *(_entry(*member) for member in members)]) + "\n"
        for page, (title, about, members) in pages.items()
    }


def _entry(name: str, where: str) -> str:
    """A name's place on a page, for mkdocstrings to fill; a ranker's parameters stand below it."""
    from pippin.cli.rankers import parameters
    from pippin.rankers import names, ranker

    entry = f"::: {where}\n    options:\n      heading: {name}\n      toc_label: {name.rsplit('.', 1)[1]}"
    called = {f"pippin.rankers.{ranker(each).__name__}": each for each in names()}.get(name)
    return f"{entry}\n\n{parameters(called).render('markdown')}" if called else entry


def _homes(package: Any) -> Iterator[tuple[str, str]]:
    """Every public name that has a docstring of its own, and where it is defined."""
    for name in sorted(getattr(package, "__all__", None) or dir(package), key=str.lower):
        thing = getattr(package, name)
        verb = getattr(thing, "_verb", None)  # a package that is called itself
        if verb:
            yield name, ".".join(verb)
        elif hasattr(thing, "__qualname__"):
            yield name, f"{thing.__module__}.{thing.__qualname__}"


def rankers() -> str:
    """Every ranker's class."""
    from pippin.cli.main import main
    from pippin.rankers import names

    parts = [
        "# Rankers\n\nAs `pippin rankers NAME` tells. Each is a class of [`pippin.rankers`](python-rankers.md); "
        "their formulas stand side by side in [the mathematics](../mathematics.md)."
    ]
    for name in names():
        said = _printed(lambda name=name: main(["rankers", name, "--format", "markdown"]))
        parts.append(said.replace("- **source**", f"- [formula](../mathematics.md#{name})\n- **source**", 1))
    return "\n\n".join(parts) + "\n"


def listed(shelf: str) -> str:
    """A list of things, and all about each."""
    from pippin.cli.main import main

    parts = [f"# {shelf.capitalize()}\n\nAs `pippin {shelf} NAME` tells."]
    for name in getattr(importlib.import_module("pippin"), shelf):
        said = _printed(lambda name=name: main([shelf, name]))
        parts.append(f"## {name}\n\n```text\n{said}\n```")
    return "\n\n".join(parts) + "\n"


def llms(docs: Path, nav: Any) -> str:
    """What a language model reads first: what Pippin is, and which page answers what."""
    head = (
        "# Pippin\n\n> A learning-to-rank workbench in Python: evaluates rankings exactly as any tool would ("
        "trec_eval, LETOR, RankLib and many more), says why tools disagree, compares systems with significance tests, "
        "trains rankers, builds data sets from documents, benches all of it, and exports models to search engines.\n"
    )
    lines = [head]
    for title, path in _pages(nav):
        first = next((_begins(file) for file in (docs / path, (docs / path).with_suffix(".py")) if file.exists()), "")
        lines.append(f"- [{title}]({path.removesuffix('.md')}.html){': ' + first if first else ''}")
    return "\n".join(lines) + "\n"


def _begins(file: Path) -> str:
    """The first sentences of a page, or of one that is run."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        text = next(cell.source for cell in tutorials.cells_of(text) if cell.is_text)
    text = re.sub(r"^```.*?^```$|^#.*?$", "\n", text, flags=re.MULTILINE | re.DOTALL)
    first = next((part for part in re.split(r"\n{2,}", text) if part[:1].isalpha() or part.startswith("**")), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first).replace("**", "")
    return textwrap.shorten(plain, 220, placeholder=" …")


def _pages(nav: Any) -> Iterator[tuple[str, str]]:
    for entry in nav:
        for title, value in entry.items():
            if isinstance(value, str):
                yield title, value
            else:
                yield from _pages(value)
