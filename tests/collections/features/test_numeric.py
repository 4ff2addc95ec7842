"""Numeric fields of documents: how they are read, stored, and become features."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from pippin.cli.main import main
from pippin.collections.collection import Collection, Document, Query
from pippin.collections.document_stream import with_cache
from pippin.collections.features import extract
from pippin.collections.index.index import build_index, open_index
from pippin.collections.letor.sampling import choose_features
from pippin.collections.readers import read_collection
from pippin.data.qrels import Qrels
from pippin.errors import ConventionError, DataError

NAN = float("nan")
ROWS: list[dict[str, Any]] = [
    {"id": "a", "title": "red apples", "price": 2.5, "stock": True, "published": "2024-05-01", "owner_id": 7},
    {"id": "b", "title": "green pears", "price": None, "stock": False, "published": "2024-05-03T12:00:00Z",
     "owner_id": 8},
    {"id": "c", "title": "red pears", "price": 4, "stock": True, "published": "", "owner_id": 9},
]  # fmt: skip
MAY_1 = (date(2024, 5, 1) - date(1970, 1, 1)).days


def write(folder: Path, suffix: str) -> Path:
    """Write the rows as a table."""
    path = folder / f"fruit.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif suffix == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ROWS[0], delimiter="\t" if suffix == "tsv" else ",")
            writer.writeheader()
            writer.writerows({**row, "stock": int(row["stock"])} for row in ROWS)
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_every_table_has_the_same_numbers(suffix: str, tmp_path: Path) -> None:
    collection = read_collection(write(tmp_path, suffix))
    assert collection.numeric_fields == {"price": "number", "stock": "number", "published": "date"}
    assert "numeric fields: price (number), stock (number), published (date)" in list(collection.diagnostics)
    assert [document.numbers for document in collection] == [
        {"price": 2.5, "stock": 1.0, "published": MAY_1},
        {"stock": 0.0, "published": MAY_1 + 2.5},
        {"price": 4.0, "stock": 1.0},
    ]
    cached = with_cache(collection)
    assert [list(cached), list(cached)] == [list(collection)] * 2


def test_named_fields_select_numbers_too(tmp_path: Path) -> None:
    collection = read_collection(write(tmp_path, "jsonl"), fields=["title", "price"])
    assert (collection.fields, dict(collection.numeric_fields)) == (("title",), {"price": "number"})


def test_a_number_that_becomes_a_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "docs.csv"
    path.write_text("id,text,price\n" + "".join(f"{i},apples,{i}\n" for i in range(1000)) + "x,pears,cheap\n")
    with pytest.raises(DataError, match=r"docs.csv:1002: the field 'price' was a number so far, not 'cheap'"):
        list(read_collection(path))


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return read_collection(write(tmp_path, "jsonl"))


def test_features_of_numbers_and_dates(collection: Collection, tmp_path: Path) -> None:
    features = [bound.text for bound in choose_features("auto", collection)]
    assert features[-3:] == ["value@price", "value@stock", "age@published"]
    assert len(features) == 15 * len(collection.all_fields) + 3
    build_index(collection, tmp_path / "index")
    index = open_index(tmp_path / "index", verify=True)
    texts = "value@price value@published age@published age(on=2024-06-01)@published"
    expected = np.array([
        [2.5, MAY_1, 2.5, 31],
        [NAN, MAY_1 + 2.5, 0, 28.5],
        [4, NAN, NAN, NAN],
    ])  # fmt: skip
    query = Query("q", "pears")
    np.testing.assert_array_equal(extract(index.candidates(query, [0, 1, 2], [0, 0, 0]), texts), expected)
    documents = [replace(document, id=document.id + "2") for document in collection]
    np.testing.assert_array_equal(extract(index.unindexed_candidates(query, documents), texts), expected)
    for wrong, message in {
        "value@title": "needs the numeric field 'title'",
        "age@price": "needs a field of dates",
        "age(on=tomorrow)@published": "on must be a date such as 2026-12-31",
    }.items():
        with pytest.raises(ConventionError, match=message):
            extract(index.candidates(query, [0], [0]), wrong)


def orchard() -> Collection:
    """Return documents whose relevance is their price."""
    pages = [
        Document(f"d{i}", {"title": "red apples" if i % 2 else "apples"}, numbers={"price": float(i % 7)})
        for i in range(40)
    ]
    queries = tuple(Query(f"q{i}", "apples") for i in range(6))
    qrels = Qrels.from_dict(
        {query.id: {page.id: int(page.numbers["price"] > 3) for page in pages} for query in queries}
    )
    return Collection("orchard", ("title",), lambda: iter(pages), queries, qrels, numeric_fields={"price": "number"})


def test_a_build_for_an_engine_has_raw_values_of_its_features_only(tmp_path: Path) -> None:
    pippin.build(orchard(), tmp_path / "all", engine="solr", folds=3)
    mapping = json.loads((tmp_path / "all" / "mapping.json").read_text())
    assert list(mapping) == ["length@title", "bm25@title", "boolean@title", "value@price"]
    features = "tf@title length@title value@price"
    built = pippin.build(orchard(), tmp_path / "letor", engine="solr", folds=3, features=features)
    assert built.manifest["features"] == ["length@title", "value@price"]
    assert built.manifest["unsupported"]["tf@title"] == "the engine has no such statistic"
    assert "features that solr cannot compute: 1, such as tf@title" in built.summary()
    mapping = json.loads((tmp_path / "letor" / "mapping.json").read_text())
    assert [(name, entry["number"]) for name, entry in mapping.items()] == [
        (name, number) for number, name in enumerate(built.manifest["features"], 1)
    ]
    assert [folder.name for folder in sorted((tmp_path / "letor").glob("*/Fold1"))] == ["Fold1"]
    data = built.folds().data
    prices = data.features[:, data.feature_names.index("value@price")]
    assert sorted(set(prices.tolist())) == [0, 1, 2, 3, 4, 5, 6]
    model = pippin.train(data, "best-feature")
    assert model.feature_version_ != "QueryLevelNorm"
    export = pippin.export(model, "solr", tmp_path / "solr.json", features=mapping)
    assert "FieldValueFeature" in Path(export.files[1]).read_text()
    pipeline = pippin.Pipeline(tmp_path / "letor", model)
    new = [Document(name, {"title": "apples"}, numbers={"price": price}) for name, price in (("x", 1.0), ("y", 9.0))]
    assert [name for name, _ in pipeline.rerank("apples", new)] == ["y", "x"]


def test_no_feature_for_an_engine_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="solr cannot compute any of the features: tf@title"):
        pippin.build(orchard(), tmp_path / "letor", features="tf@title", engine="solr")
    path = write(tmp_path, "jsonl")
    (tmp_path / "queries.tsv").write_text("".join(f"q{i}\tpears\n" for i in range(5)))
    (tmp_path / "qrels").write_text("".join(f"q{i} 0 b 1\nq{i} 0 c 0\n" for i in range(5)))
    arguments = ["--queries", str(tmp_path / "queries.tsv"), "--qrels", str(tmp_path / "qrels")]
    assert (
        main(
            [
                "build",
                str(path),
                *arguments,
                "--for",
                "vespa",
                "--features",
                "tf@title bm25@title value@price",
                "-o",
                str(tmp_path / "out"),
                "--quiet",
            ]
        )
        == 0
    )
    assert "features that vespa cannot compute" in capsys.readouterr().out
