"""Site pages beyond the Markdown of docs/: executable pages, formulas, reference, gallery and llms.txt.

They are generated while the site is built, from parsers, docstrings and registries, so they always match the program.
"""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import reference_pages
import tutorials

_RUN = ("tutorials", "explain")  # folders of pages that run
_SOURCE = re.compile(rf"\]\(((?:{'|'.join(_RUN)})/\w+)\.py")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([^)#]*)(?:#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    docs = Path(config.docs_dir)
    for source in sorted(path for folder in _RUN for path in (docs / folder).glob("*.py")):
        directory = source.parent.name
        files.remove(files.get_file_from_path(f"{directory}/{source.name}"))
        cells = tutorials.cells_of(source.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            tutorials.run(cells, Path(folder))
        _add(files, config, f"{directory}/{source.stem}.ipynb", tutorials.notebook(cells))
        _add(files, config, f"{directory}/{source.stem}.md", tutorials.page(cells, source.stem))
        for name, picture in tutorials.pictures(cells, source.stem).items():
            _add(files, config, f"{directory}/{name}", picture)
    for name, text in reference_pages.pages().items():
        _add(files, config, f"reference/{name}.md", text)
    page, pictures = gallery.make()
    _add(files, config, "gallery.md", page)
    for name, picture in pictures.items():
        _add(files, config, f"images/gallery/{name}", picture)
    _add(files, config, "llms.txt", llms(docs, config.nav))
    _add(files, config, "site.css", (Path(__file__).parent / "site.css").read_text(encoding="utf-8"))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Link to the output of pages that run; replace links to files outside the site by their names."""
    markdown = _SOURCE.sub(r"](\1.md", markdown)
    if page.file.src_uri.startswith((*_RUN, "reference/")):
        return markdown
    return _OUTSIDE.sub(lambda match: f"{match[1]} (`{match[2].rstrip('/')}` in the repository)", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Convert formulas to MathML, which browsers draw without a script."""
    return _FORMULA.sub(_to_mathml, html)


def _to_mathml(match: re.Match[str]) -> str:
    """Return a formula as MathML; displayed formulas may be wider than the screen and are scrollable by keyboard."""
    if match[1] == "span":
        return convert(unescape(match[2]))
    return convert(unescape(match[2]), display="block").replace("<math", '<math tabindex="0"', 1)


def on_post_page(output: str, **_: Any) -> str:
    """Inline the script for offline search, which the theme would load from another server."""
    script = (Path(__file__).parent / "offline.js").read_text(encoding="utf-8")
    output = output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)  # missing in the theme
    return re.sub(
        r'<script src="https://[^"]*iframe-worker[^"]*"></script>', lambda _: f"<script>{script}</script>", output
    )


def on_post_template(output_content: str, **_: Any) -> str:
    """Do the same for the page of status 404."""
    return on_post_page(output_content)


def _add(files: Files, config: Any, path: str, content: str) -> None:
    files.append(File.generated(config, path, content=content))


def llms(docs: Path, nav: Any) -> str:
    """Return llms.txt: what Pippin is, and what each page answers."""
    head = (
        "# Pippin\n\n> A learning-to-rank workbench in Python: evaluates rankings exactly as any tool would ("
        "trec_eval, LETOR, RankLib and many more), explains why tools disagree, tests systems for significance, "
        "trains rankers, builds data sets from documents, benchmarks rankers, and exports models to search engines.\n"
    )
    lines = [head]
    for title, path in _pages(nav):
        first = next((_summary(file) for file in (docs / path, (docs / path).with_suffix(".py")) if file.exists()), "")
        lines.append(f"- [{title}]({path.removesuffix('.md')}.html){': ' + first if first else ''}")
    return "\n".join(lines) + "\n"


def _summary(file: Path) -> str:
    """Return the first sentences of a page."""
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
