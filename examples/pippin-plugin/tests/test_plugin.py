"""One test for each thing that the package brings. Pippin must find it by its name alone."""

from __future__ import annotations

import io
import mailbox
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pytest

from pippin.collections.features import extract
from pippin.collections.index.index import build_index
from pippin.collections.readers import read_collection
from pippin.compat import EMULATORS
from pippin.data.fold_files import read_folds
from pippin.errors import DataError
from pippin.evaluation.evaluate import evaluate
from pippin.rankers import models, ranker

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 0, "e": 0}}
RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"d": 2.0, "e": 1.0}}


def mean(run: dict[str, dict[str, float]], measure: str, tool: str = "official") -> float:
    return evaluate(QRELS, run, measure=[measure], tool=tool).columns[0].mean


def test_the_measure_counts_pairs() -> None:
    # a > c and a > b are right, c > b is wrong; q2 has no pair, and counts 0 under the official convention.
    assert mean(RUN, "PairAccuracy") == pytest.approx(2 / 3 / 2)
    tied = {**RUN, "q1": {"a": 3.0, "b": 1.0, "c": 1.0}}
    assert mean(tied, "pairwise_accuracy") == pytest.approx((1 + 1 + 0.5) / 3 / 2)


def test_the_tool_leaves_out_searches_without_a_purchase() -> None:
    assert mean(RUN, "RR", "shop") == 1.0
    assert mean({**RUN, "q1": {"a": 1.0, "b": 2.0, "c": 3.0}}, "P@1", "shop") == 0.0  # c was only clicked
    assert mean(RUN, "NDCG@2", "shop") == pytest.approx(2 / (2 + 1 / np.log2(3)))


def test_the_ranker_learns_saves_and_loads(tmp_path: Path) -> None:
    features = np.array([[1.0, 5.0], [0.0, 4.0], [1.0, 0.0], [0.0, 1.0]])
    model = ranker("rocchio")().fit(features, [1, 0, 1, 0], qid=[1, 1, 2, 2])
    assert model.coef_[0] == pytest.approx(1 / 0.5)  # the difference is 1 in both queries, the deviation a half
    assert model.coef_[1] == pytest.approx(0.0)  # it is +1 in one query and −1 in the other
    models.save(model, tmp_path / "model.json")
    assert models.load(tmp_path / "model.json").predict(features).tolist() == model.predict(features).tolist()


def mail(folder: Path) -> Path:
    """An archive of three messages."""
    archive = mailbox.mbox(folder / "mail.mbox")
    for number, body in enumerate(("apple pie", "apple plum", "pear")):
        message = EmailMessage()
        message["Message-ID"], message["Subject"] = f"<{number}@x>", "fruit"
        if number:
            message["In-Reply-To"] = "<0@x>"
        message.set_content(body)
        archive.add(message)
    archive.close()
    (folder / "queries.tsv").write_text("1\tapple plum\n")
    (folder / "qrels.txt").write_text("1 0 <1@x> 1\n")
    return folder / "mail.mbox"


def test_the_reader_reads_mail(tmp_path: Path) -> None:
    collection = read_collection(mail(tmp_path))
    documents = list(collection)
    assert [document.id for document in documents] == ["<0@x>", "<1@x>", "<2@x>"]
    assert documents[1].fields["body"].strip() == "apple plum"
    assert documents[1].links[0].target == "<0@x>"
    assert [query.text for query in collection.queries] == ["apple plum"]


def test_the_feature_weighs_rare_words(tmp_path: Path) -> None:
    collection = read_collection(mail(tmp_path))
    index = build_index(collection, tmp_path / "index")
    result = index.candidates(collection.queries[0], np.arange(3), np.zeros(3, np.int32))
    apple, plum = np.log(3 / 2), np.log(3 / 1)
    assert extract(result, "idf_coverage@body")[:, 0] == pytest.approx([apple / (apple + plum), 1.0, 0.0])
    assert np.isnan(extract(result, "idf_coverage@subject")).all()  # no subject has a word of the query


def test_the_drop_in_prints_the_mean_reciprocal_rank(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1\t0\t7\t1\n2\t0\t8\t1\n")
    (tmp_path / "run").write_text("1\t9\t1\n1\t7\t2\n3\t7\t1\n")
    out = io.StringIO()
    assert EMULATORS["msmarco_mrr"].main([str(tmp_path / "qrels"), str(tmp_path / "run")], out, out) == 0
    frame = "#####################"
    assert out.getvalue() == f"{frame}\nMRR @10: 0.25\nQueriesRanked: 2\n{frame}\n"


def fruits(folder: Path, queries: int = 30) -> Path:
    """Three folds: label 2 for the first document of a query, 1 for the second, 0 for two others."""
    rows = []
    for q in range(queries):
        lines = (f"{label} qid:{q} 1:{label + q % 3} 2:{(7 * q + i) % 5}\n" for i, label in enumerate((2, 1, 0, 0)))
        rows.append("".join(lines))
    thirds = [rows[part::3] for part in range(3)]
    for fold in range(3):
        place = folder / "fruits" / f"Fold{fold + 1}"
        place.mkdir(parents=True)
        for part, name in enumerate(("train", "vali", "test")):
            (place / f"{name}.txt").write_text("".join(thirds[(fold + part) % 3]))
    return folder / "fruits"


def test_the_data_set_is_recognised_and_counted(tmp_path: Path) -> None:
    assert read_folds(fruits(tmp_path)).source.title == "fruits, three folds"
    with pytest.raises(DataError, match="27 queries, but fruits, three folds has 30"):
        read_folds(fruits(tmp_path / "fewer", queries=27))
