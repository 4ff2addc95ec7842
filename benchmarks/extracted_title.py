"""Measure how often the title extracted from the layout of a page equals its known title.

python benchmarks/extracted_title.py [--each 200] FOLDER …

Real pages: the <title> is known and is taken away before the page is read, so that only the page itself can say it. The
answer is right if its words are those of the title or of its first part (Ownership – The Book) up to a Jaccard
coefficient of 0.7, or those and at most four others (2.1 Ownership). Redirections are left out. Generated pages: the
title is drawn, and stands among logos, menus, dates and body text in one of several old and new styles.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pippin.collections.text.title_extraction import extract_title

TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
PARTS = re.compile(r"\s+[-–—|·:»]\s+|:\s+|\s+\(")
WORDS = re.findall(
    r"\w+",
    "apple orchard federal report water budget mars rover health agency guide law space review annual forest energy "
    "grant program safety research ocean climate school survey index policy",
)


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def is_right(found: str, title: str) -> bool:
    ours = words(found)
    for expected in (words(title), words(PARTS.split(title)[0])):
        if expected and (
            len(ours & expected) / len(ours | expected) >= 0.7 or (expected <= ours and len(ours - expected) <= 4)
        ):
            return True
    return False


def generate_pages(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Pages without <title>, and their titles."""
    draw = random.Random(seed)
    styles = (
        "<h1>{}</h1>", "<h2>{}</h2>", "<center><h1>{}</h1></center>",
        '<p align="center"><font size="+2"><b>{}</b></font>',
        '<div style="font-size: 24px; font-weight: bold">{}</div>', "<table><tr><td><font size=5>{}</font></table>",
        "<h1><a href=#top>Home</a></h1><h2>{}</h2>",
    )  # fmt: skip
    before = (
        "", "<img src=logo.gif alt=Logo>", "<p><b>Department of Fruit</b>",
        "<ul><li><a href=/>Home</a><li>News today</ul>",
        "<p><a href=/>Home page</a> | <a href=/about>About this agency</a>", "<p>Last updated: May 3, 2001",
        "<nav><h2>Site navigation menu</h2></nav>",
    )  # fmt: skip
    for _ in range(count):
        title = " ".join(draw.choices(WORDS, k=draw.randint(2, 9))).capitalize()
        body = "".join(
            f"<p>{' '.join(draw.choices(WORDS, k=draw.randint(8, 60)))}." for _ in range(draw.randint(3, 30))
        )
        middle = "".join(
            f"<h3>{' '.join(draw.choices(WORDS, k=3))}</h3><p>More words here." for _ in range(draw.randint(0, 4))
        )
        yield draw.choice(before) + draw.choice(styles).format(title) + body + middle, title


def real(folder: Path, most: int) -> Iterator[tuple[str, str]]:
    files = sorted(folder.rglob("*.html"))
    for file in files[:: max(1, len(files) // most)][:most]:
        text = file.read_text("utf-8", "replace")
        match = TITLE.search(text)
        if match and words(match[1]) and "redirect" not in match[1].lower():
            yield TITLE.sub("", text, count=1), " ".join(match[1].split())


def show(name: str, pages: list[tuple[str, str]]) -> int:
    start = time.perf_counter()
    results = [extract_title(page) for page, _ in pages]
    seconds = time.perf_counter() - start
    right = sum(is_right(f.text, title) for f, (_, title) in zip(results, pages, strict=True))
    ways = Counter(f.source for f in results)
    shares = ", ".join(f"{way} {100 * n / len(pages):.0f} %" for way, n in ways.most_common())
    print(f"{name:24}{len(pages):7,} pages{100 * right / len(pages):8.1f} % right   {shares}   "
          f"{1e3 * seconds / len(pages):.1f} ms a page")  # fmt: skip
    return right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--each", type=int, default=200)
    options = parser.parse_args()
    show("generated", list(generate_pages(1000)))
    every = [(folder, list(real(folder, options.each))) for folder in options.folders]
    right = total = 0
    for folder, pages in every:
        if pages:
            right += show(folder.name, pages)
            total += len(pages)
    if total:
        print(f"all real pages: {100 * right / total:.1f} % of {total:,}")


if __name__ == "__main__":
    main()
