"""The embedded collection: reproducible pages, links, queries and judgements."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from pippin.collections.collection import Collection, Document
from pippin.collections.standard_library import TASKS, first_sentence, stdlib, topics, words
from pippin.collections.standard_library.modules import library, parse_module, source_modules
from pippin.collections.standard_library.pages import section_of, sections
from pippin.errors import DataError, UnknownName


@pytest.fixture(scope="module")
def collection() -> Collection:
    return stdlib()


@pytest.fixture(scope="module")
def documents(collection: Collection) -> dict[str, Document]:
    return {document.id: document for document in collection}


def labels_by_query(collection: Collection) -> dict[str, dict[str, int]]:
    qrels = collection.qrels
    assert qrels is not None
    ids, labels, offsets = qrels.document_ids, qrels.labels, qrels.offsets
    return {
        query: {ids.at(row): int(labels[row]) for row in range(offsets[i], offsets[i + 1])}
        for i, query in enumerate(qrels.query_ids)
    }


def digest(collection: Collection) -> str:
    """Return the digest of the full content of the collection."""
    documents = [
        (d.id, d.url, sorted(d.fields.items()), [(link.target, link.text) for link in d.links]) for d in collection
    ]
    queries = [(q.id, q.text, sorted(q.fields.items()), q.task) for q in collection.queries]
    content = [documents, queries, labels_by_query(collection), sorted(collection.topics.items())]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def test_there_are_thousands_of_pages_of_every_kind(documents: dict[str, Document]) -> None:
    assert 6_000 <= len(documents) <= 14_000
    for name in (
        "json", "json.loads", "json.JSONDecoder.raw_decode", "os.listdir", "collections.deque", "builtins.str.join",
        "decimal.Decimal", "asyncio.run", "hashlib", "topics.assert", "pathlib", "unittest.TestCase.assertEqual",
    ):  # fmt: skip
        assert name in documents, name
    for absent in ("json.decoder.JSONDecoder", "_collections.deque", "posix.listdir", "os.Mapping", "os._exit"):
        assert absent not in documents, absent
    assert not [name for name in documents if name.startswith(("test.", "idlelib", "site-packages", "pippin", "numpy"))]


def test_a_page_has_title_signature_and_documentation(documents: dict[str, Document]) -> None:
    page = documents["json.JSONDecoder.raw_decode"]
    assert page.fields["title"] == "json JSONDecoder JSON Decoder raw_decode raw decode"
    assert page.fields["body"].startswith("raw_decode(s, idx=0)\n\nDecode a JSON document")
    assert page.url == "http://markup.stdlib/json/JSONDecoder/raw_decode"
    assert page.fields["url"] == "markup.stdlib/json/JSONDecoder/raw_decode"
    assert "anchor" not in page.fields
    assert "raw_decode" in documents["json.JSONDecoder"].fields["body"].split()
    assert all(document.fields["title"] and document.fields["body"] for document in documents.values())


def test_urls_are_the_dotted_path(documents: dict[str, Document]) -> None:
    urls = [document.url for document in documents.values()]
    assert len(set(urls)) == len(urls)
    for name, document in documents.items():
        above = documents.get(name.rpartition(".")[0])
        if above is not None:
            assert above.url.endswith("/")
            assert document.url.startswith(above.url) or section_of(above.id) != section_of(name)


def test_links_lead_to_other_pages(documents: dict[str, Document]) -> None:
    urls = {document.url: document.id for document in documents.values()}
    incoming: Counter[str] = Counter()
    for document in documents.values():
        for link in document.links:
            assert urls[link.target] != document.id
            assert link.text
            incoming[urls[link.target]] += 1
    assert incoming["builtins.ValueError"] > 50
    assert sum(incoming[name] == 0 for name in documents) < 0.03 * len(documents)


def test_links_are_members_bases_imports_and_mentions(documents: dict[str, Document]) -> None:
    links = {name: {(link.target, link.text) for link in page.links} for name, page in documents.items()}
    url = {name: page.url for name, page in documents.items()}
    assert (url["json.loads"], "loads") in links["json"]
    assert (url["json.decoder"], "decoder") in links["json"]
    assert (url["json.JSONDecoder.decode"], "decode") in links["json.JSONDecoder"]
    assert (url["builtins.ValueError"], "ValueError") in links["json.JSONDecodeError"]
    assert (url["re"], "re") in links["json.decoder"]
    assert (url["decimal.Decimal"], "decimal.Decimal") in links["json.loads"]
    assert (url["json.JSONDecoder"], "JSONDecoder") in links["json.loads"]


def test_twelve_sections_hold_all_modules(collection: Collection, documents: dict[str, Document]) -> None:
    assert set(collection.topics) == set(documents)
    assert set(collection.topics.values()) == set(sections().values())
    assert len(set(sections().values())) == 12
    tops = {name.partition(".")[0] for name, _ in source_modules(library())}
    if sys.version_info < (3, 14):
        assert tops <= set(sections()), tops - set(sections())
    assert section_of("a_module_of_python_9") == "runtime"


def test_query_sets(collection: Collection, documents: dict[str, Document]) -> None:
    assert collection.tasks == TASKS == ("TD", "HP", "NP")
    sizes = Counter(query.task for query in collection.queries)
    assert sizes["TD"] >= 60
    assert sizes["HP"] >= 100
    assert sizes["NP"] == 150
    assert len({query.id for query in collection.queries}) == len(collection.queries)
    answers = labels_by_query(collection)
    for query in collection.queries:
        assert len(words(query.text)) >= (2 if query.task == "TD" else 3)
        if query.task != "TD":
            assert list(answers[query.id].values()) == [1]
            assert set(answers[query.id]) <= set(documents)


def test_query_words_do_not_occur_in_relevant_pages(collection: Collection, documents: dict[str, Document]) -> None:
    anchors = defaultdict(list)
    for document in documents.values():
        for link in document.links:
            anchors[link.target].append(link.text)
    texts = [
        f" {' '.join(words(text))} "
        for page in documents.values()
        for text in (page.fields["body"], page.fields["title"], " ".join(anchors[page.url]))
    ]
    everything = "\n".join(texts)
    for query in collection.queries:
        if query.task != "TD":
            assert f" {' '.join(words(query.text))} " not in everything, query


def test_sentence_is_removed_only_for_its_query(collection: Collection) -> None:
    only = stdlib(["TD"])
    assert only.tasks == ("TD",)
    full = {page.id: page.fields["body"] for page in only}
    cut = {page.id: page.fields["body"] for page in collection}
    queries = {
        name for query, names in labels_by_query(collection).items() if not query.startswith("TD") for name in names
    }
    changed = {name for name, body in full.items() if body != cut[name]}
    assert changed == queries
    assert all(len(full[name]) > len(cut[name]) for name in changed)


def test_judged_pages_exist(documents: dict[str, Document], capsys: pytest.CaptureFixture[str]) -> None:
    names = {name for topic in topics() for name in topic.qrels}
    missing = sorted(names - set(documents))
    with capsys.disabled():
        if missing:
            print(f"\njudged, but not in this Python's library: {' '.join(missing)}")
    absent = {name for name in missing if name.partition(".")[0] not in documents}  # a part that is not installed
    assert len(missing) - len(absent) <= 0.02 * len(names)


def test_topics_are_judged_in_three_grades() -> None:
    assert len(topics()) >= 60
    assert len({topic.title for topic in topics()}) == len(topics())
    relevant = 0
    for topic in topics():
        grades = Counter(topic.qrels.values())
        assert grades[2] >= 2, topic
        assert grades[0] >= 2, topic
        assert set(grades) <= {0, 1, 2}
        assert topic.description.endswith((".", "?"))
        relevant += grades[1] + grades[2]
    assert relevant >= 5 * len(topics())


def test_another_process_says_the_same_and_runs_no_module(collection: Collection, tmp_path: Path) -> None:
    script = tmp_path / "digest_it.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent.parent.parent)!r})\n"
        "import numpy, pippin.collections.collection\n"
        "import tests.collections.test_standard_library as this_test\n"
        "before = set(sys.modules)\n"
        "print(this_test.digest(this_test.stdlib()))\n"
        "print(' '.join(sorted(set(sys.modules) - before)))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "11", "LC_ALL": "C", "PYTHONOPTIMIZE": "2", "TZ": "Asia/Tokyo"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    theirs, loaded = done.stdout.splitlines()
    assert theirs == digest(collection)
    ran = set(loaded.split()) & {"this", "antigravity", "tkinter", "turtle", "idlelib", "turtledemo", "asyncio.runners"}
    assert not ran


def test_unknown_task() -> None:
    with pytest.raises(UnknownName, match="no task of the standard library is called 'NQ'; did you mean NP"):
        stdlib(["NQ"])


def test_a_library_without_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(DataError, match="the source of the standard library is missing"):
        library()


def test_a_module_that_does_not_parse(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def (:")
    with pytest.raises(DataError, match="the module broken of the standard library cannot be read"):
        parse_module("broken", file)


def test_parsing_never_runs_a_module(tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    file.write_text(
        '"""Loud."""\nraise SystemExit\n__all__ = ["f"]\n__all__ += ["K"]\n__all__.append("g")\n'
        "try:\n    from _fast import *\nexcept ImportError:\n    def f(a, *, b=1):\n        'Do.'\n"
        "from .inner import x as g\nclass K(Base):\n    'A class.'\n    def __init__(self, n):\n        'Made of n.'\n"
        "    def m(self):\n        'Method.'\n    def _p(self):\n        'Private.'\n"
        "    def __len__(self):\n        'Size.'\n"
    )
    module = parse_module("package.loud", file)
    results = {name: (d.kind, d.signature, d.doc) for name, d in module.definitions.items() if d.doc}
    assert results == {
        "": ("module", "", "Loud."),
        "f": ("function", "f(a, *, b=1)", "Do."),
        "K": ("class", "K(n)", "A class.\n\nMade of n."),
        "K.m": ("function", "m()", "Method."),
        "K.__len__": ("function", "__len__()", "Size."),
    }
    assert module.exports == frozenset({"f", "K", "g"})
    assert [(i.module, i.name, i.local) for i in module.imports] == [("_fast", "*", "*"), ("package.inner", "x", "g")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("No stop here\n\nNext paragraph.", "No stop here"),
        ("Over\n  two lines. Then.", "Over\n  two lines."),
        ("See json.loads, e.g. here. More.", "See json.loads, e.g. here."),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    start, stop = first_sentence(text)
    assert text[start:stop] == sentence
