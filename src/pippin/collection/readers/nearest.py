"""What to do with files that no reader knows? The form that is nearest, and one line that gets there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from pippin.collection.files import decode_text, first_files, head
from pippin.collection.records import form_of
from pippin.errors import PippinError

PANDAS = """python -c "import pandas{more}; pandas.{read}.to_csv('documents.csv', index=False)\""""
SQLITE = "read_sql('SELECT * FROM TABLE', sqlite3.connect('{name}'))"
WAYS = {  # endings → one line for such a file
    (".7z", ".rar"): "7z x {name} -o{stem}",
    (".sql",): "load it into its database, and write each table as CSV with headings",
    (".db", ".sqlite", ".sqlite3"): PANDAS.format(more=", sqlite3", read=SQLITE),
    (".xlsx", ".xls", ".ods"): PANDAS.format(more="", read="read_excel('{name}')"),
    (".pkl", ".pickle"): PANDAS.format(more="", read="DataFrame(pandas.read_pickle('{name}'))"),
    (".pdf",): 'for f in *.pdf; do pdftotext "$f"; done',
    (".doc", ".docx", ".odt", ".epub", ".tex", ".org"): "pandoc {name} -o {stem}.md",
    (".bib",): "pandoc {name} -t csljson -o documents.json",
}
RECORDS = """write its documents as JSON lines, {"id": "7", "text": "…"}, with the program that it comes from"""
LINES = (
    """python -c "import json; [print(json.dumps({'id': i, 'text': t})) for i, t in enumerate(open('FILE'))]" """
    "> documents.jsonl"
)
FEATURES = re.compile(rb"-?\d+ +qid:\S+ +\d+:")


def no_format(path: Path) -> str:
    """The sentence about a path that no reader knows."""
    files = list(first_files(path))
    if not files:
        return "no format of documents is recognised here; there is no file with content"
    if any(map(are_features, files)):
        return "these are no documents but features of a data set that is built already: pippin bench takes it as it is"
    for file in files:
        for endings, way in WAYS.items():
            if ending := next((end for end in endings if file.name.lower().endswith(end)), None):
                line = way.format(name=file.name, stem=file.name[: -len(ending)])
                return f"documents in {ending} are not read; {line}"
    if is_binary(files[0]):
        return f"{files[0].name} is no text; {RECORDS}"
    if all(form_of(file) is not None for file in files):
        return f"{files[0].name} holds no documents by its fields (an id, and texts), and nothing else does; {RECORDS}"
    seen = ", ".join(end for end, _ in Counter(file.suffix.lower() or file.name for file in files).most_common(3))
    return f"no format of documents is recognised here; the files are {seen}. Make it JSON lines: {LINES}"


def is_binary(path: Path) -> bool:
    """Whether a file holds something else than text."""
    try:
        decode_text(start := head(path), path)
    except PippinError:
        return True
    return b"\0" in start


def are_features(path: Path) -> bool:
    """Whether a file holds features of documents, as LETOR has them."""
    try:
        return FEATURES.match(head(path)) is not None
    except PippinError:
        return False
