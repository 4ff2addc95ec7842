"""Conversion between data frames, table files and ranking data without loss."""

from __future__ import annotations

import contextlib
import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.strategies import any_ids, datasets, judgements, runs, same

from pippin.data import columns, frames
from pippin.data.columns import COLUMN_ALIASES
from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.data.store import write_store
from pippin.errors import DataError
from pippin.evaluation.evaluate import evaluate

FORMS = ["parquet", "csv", "arrow"]
drawn = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_docstring_lists_the_names_of_every_role() -> None:
    listed = dict(re.findall(r"^    (no role|\w+) +(\w+(?:, \w+)*)$", columns.__doc__ or "", re.M))
    assert {role or "no role": ", ".join(names) for role, names in COLUMN_ALIASES.items()}.items() <= listed.items()


@pytest.mark.parametrize("form", FORMS)
@given(data=datasets(any_ids))
@drawn
def test_dataset_round_trip(form: str, data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / f"data.{form}"
    frames.write_frame(data, path)
    dtype = data.features.dtype if form == "csv" else None  # text has no precision of its own
    assert same(frames.read_frame(path, dtype=dtype, want="judgements"), data)


@pytest.mark.parametrize("form", FORMS)
@given(data=judgements(any_ids))
@drawn
def test_judgements_round_trip(form: str, data: Qrels, tmp_path: Path) -> None:
    frames.write_frame(data, tmp_path / f"data.{form}")
    assert same(frames.read_frame(tmp_path / f"data.{form}", want="judgements"), data)


@pytest.mark.parametrize("form", FORMS)
@given(data=runs(any_ids))
@drawn
def test_run_round_trip(form: str, data: Run, tmp_path: Path) -> None:
    frames.write_frame(data, tmp_path / f"data.{form}")
    read = frames.read_frame(tmp_path / f"data.{form}", want="scores")
    assert same(read, data)
    assert isinstance(read, Run)
    assert read.tag == data.tag


@pytest.mark.parametrize("form", [*FORMS, "csv.gz", "tsv", "pq", "feather"])
def test_scores_round_trip(form: str, tmp_path: Path) -> None:
    scores = np.array([0.1, -3.0, 1e300, 2.0**-40])
    frames.write_frame(scores, tmp_path / f"s.{form}")
    assert same(frames.read_frame(tmp_path / f"s.{form}", want="scores"), scores)


@given(data=datasets(any_ids))
@drawn
def test_frames_round_trip(data: Dataset) -> None:
    for frame in (data.to_arrow(), data.to_polars(), data.to_polars().lazy()):
        assert same(frames.from_frame(frame, want="judgements"), data)
    assert same(frames.from_frame(data.to_pandas(), want="judgements"), data)


def test_comments_and_feature_names_survive(tmp_path: Path) -> None:
    data = frames.from_frame(
        {
            "qid": ["a", "b"],
            "docno": ["x", "y"],
            "label": [1, 0],
            "bm25": [0.5, 1.5],
            "comment": ["inc = 1", "prob = 2"],
        },
        want="judgements",
    )
    assert isinstance(data, Dataset)
    assert data.feature_names == ("bm25",)
    assert data.comments is not None
    frames.write_frame(data, tmp_path / "d.parquet")
    assert same(frames.read_frame(tmp_path / "d.parquet", want="judgements"), data)


@pytest.mark.parametrize("query", COLUMN_ALIASES["query"])
@pytest.mark.parametrize("document", COLUMN_ALIASES["document"])
def test_every_spelling_is_accepted(query: str, document: str) -> None:
    frame = {query.upper(): [7, 7, 8], document: ["x", "y", "x"]}
    qrels = frames.from_frame({**frame, "rel": [0, 1, 2]}, want="judgements")
    assert same(qrels, Qrels.from_dict({"7": {"x": 0, "y": 1}, "8": {"x": 2}}))
    scored = frames.from_frame({**frame, "Score": [1, 2, 3]}, want="scores")
    assert same(scored, Run.from_dict({"7": {"x": 1, "y": 2}, "8": {"x": 3}}))


def test_ids_go_before_texts_and_leftovers_are_no_features() -> None:
    """A frame as PyTerrier makes it: `query` is a text, `docid` an internal number, `rank` is no feature."""
    frame = pandas.DataFrame(
        {"qid": ["1", "1"], "query": ["apple pie"] * 2, "docid": [17, 4], "docno": ["d17", "d4"],
         "rank": [0, 1], "score": [2.5, 1.5], "label": [1, 0]}
    )  # fmt: skip
    assert same(frames.from_frame(frame, want="judgements"), Qrels.from_dict({"1": {"d17": 1, "d4": 0}}))
    assert same(frames.from_frame(frame, want="scores"), Run.from_dict({"1": {"d17": 2.5, "d4": 1.5}}))


def test_features_by_name_and_lists() -> None:
    frame = {"qid": [1, 1], "label": [0, 1], "a": [1.0, 2.0], "b": [3.0, 4.0]}
    chosen = frames.from_frame(frame, features=["b"], want="judgements")
    assert isinstance(chosen, Dataset)
    assert chosen.feature_names == ("b",)
    assert chosen.features.tolist() == [[3.0], [4.0]]
    lists = pyarrow.table({"qid": [1, 1], "label": [0, 1], "features": [[1.0, 2.0], [3.0, 4.0]]})
    data = frames.from_frame(lists, want="judgements")
    assert isinstance(data, Dataset)
    assert data.features.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(DataError, match=r"row 2: 1 features, but the first row has 2"):
        frames.from_frame(
            pyarrow.table({"qid": [1, 1], "label": [0, 1], "features": [[1.0, 2.0], [3.0]]}), want="judgements"
        )
    with pytest.raises(DataError, match="no column 'c'; the columns are 'qid', 'label', 'a', 'b'"):
        frames.from_frame(frame, features=["c"], want="judgements")


def test_names_of_the_callers_own() -> None:
    frame = {"t": [1, 1], "d": ["x", "y"], "gold": [2, 0]}
    names = {"query": "t", "document": "d", "label": "gold"}
    assert same(frames.from_frame(frame, names=names, want="judgements"), Qrels.from_dict({"1": {"x": 2, "y": 0}}))
    with pytest.raises(DataError, match="unknown role 'topic'"):
        frames.from_frame(frame, names={"topic": "t"}, want="judgements")


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [(["float32"], "float32"), (["float32", "float64"], "float64"), (["float32", "int16"], "float32"),
     (["int64"], "float64"), (["float32", "int32"], "float64"), (["bool"], "float32")],
)  # fmt: skip
def test_precision_follows_the_columns(kinds: list[str], expected: str) -> None:
    features = {f"f{i}": np.array([1, 0]).astype(kind) for i, kind in enumerate(kinds)}
    data = frames.from_frame({"qid": [1, 1], "label": [0, 1], **features}, want="judgements")
    assert isinstance(data, Dataset)
    assert data.features.dtype == expected


def test_null_and_nan_are_no_value() -> None:
    table = polars.DataFrame({"qid": [1, 1, 1], "label": [0, 1, 0], "f": [None, float("nan"), 2.0], "g": [None] * 3})
    data = frames.from_frame(table, want="judgements")
    assert isinstance(data, Dataset)
    assert np.isnan(data.features).tolist() == [[True, True], [True, True], [False, True]]


def test_csv_missing_values_and_texts(tmp_path: Path) -> None:
    text = "qid;label;f;title\n1;1.0; 0.5 ;pie\n1;0;NULL;cake\n\n1;0;;tart\n1;2;nan;\n"
    data = frames.read_frame(write(tmp_path / "d.csv", text), want="judgements")
    assert isinstance(data, Dataset)
    assert data.feature_names == ("f",)
    assert data.labels.tolist() == [1, 0, 0, 2]
    assert np.array_equal(data.features[:, 0], [0.5, np.nan, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("qid,label,f\n1,0,1\n1,one,2\n", 3, "the label 'one' is not a number"),
        ("qid,label,f\n1,0.5,1\n", 2, "the label 0.5 is not a whole number"),
        ("qid,label,f\n1,,1\n", 2, "the label is missing"),
        ("qid,label,f\n1,99999999999,1\n", 2, "the label 1e\\+11 is not a whole number"),
        ("qid,label,f\n1,0,1\n1,1,0.x5\n", 3, "the feature f '0.x5' is not a number"),
        ('qid,docno,label\n"a\nb",x,0\n\n1,x,zero\n', 5, "the label 'zero' is not a number"),
        ("qid,label,f\n1,0,1\n2,0,1\n1,1,1\n", 4, "the rows of query 1 are not contiguous; it was last seen in line 2"),
        ("qid,docno,label\n1,x,0\n1,y,1\n1,x,1\n", 4, "document x is listed twice in query 1"),
        ("qid,label,f\n1,0\n", 2, "2 values for 3 columns"),
        ("qid,label,f\n1,0,1\n1,0,1,1\n", 3, "4 values for 3 columns"),
        ("qid,label,f\n", None, "the table has no rows"),
        ("qid,label,f,f\n1,0,1,1\n", None, "two columns have the name 'f'"),
        ("qid,f\n1,0\n", None, "no label column .* the columns are 'qid', 'f'"),
        ("0.5\n0.7\n", None, "no query column .* the columns are '0.5'"),
        ("", None, "empty"),
    ],
)
def test_bad_csv_names_the_line(text: str, line: int | None, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "bad.csv", text)
    with pytest.raises(DataError, match=message) as caught:
        frames.read_frame(path, want="judgements")
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_bad_bytes_in_csv_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"qid,docno,label\n1,x,0\n1,\xff,0\n")
    with pytest.raises(DataError, match=r"bad.csv:3: invalid UTF-8"):
        frames.read_frame(path, want="judgements")


@pytest.mark.parametrize("score", ["nan", "inf", "-inf", ""])
def test_scores_are_finite(score: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"s.csv:3: the score is (nan|inf|-inf); a score is a finite number"):
        frames.read_frame(write(tmp_path / "s.csv", f'score\n1\n"{score}"\n'), want="scores")


def test_rows_of_frames_are_reported() -> None:
    with pytest.raises(DataError, match="row 3: the rows of query a are not contiguous; it was last seen in row 1"):
        frames.from_frame({"qid": ["a", "b", "a"], "label": [0, 1, 0], "f": [1, 2, 3]}, want="judgements")
    with pytest.raises(DataError, match="row 2: the qid is missing"):
        frames.from_frame(polars.DataFrame({"qid": ["a", None], "label": [0, 1]}), want="judgements")
    with pytest.raises(DataError, match=r"the column 'label' holds .*string; expected numbers"):
        frames.from_frame({"qid": [1], "label": ["no"]}, want="judgements")
    with pytest.raises(DataError, match="the column 'qid' must hold strings or whole numbers"):
        frames.from_frame({"qid": [1.5], "label": [1]}, want="judgements")
    with pytest.raises(DataError, match="set is not a table of columns"):
        frames.from_frame({1, 2}, want="judgements")
    with pytest.raises(DataError, match="the table has no rows"):
        frames.from_frame({"qid": [], "label": []}, want="judgements")


def test_merge_queries_keeps_the_order_of_rows() -> None:
    frame = {"qid": [2, 1, 2, 1], "docno": ["a", "b", "c", "d"], "label": [0, 1, 2, 3], "f": [1.0, 2.0, 3.0, 4.0]}
    data = frames.from_frame(frame, merge_queries=True, want="judgements")
    assert isinstance(data, Dataset)
    assert data.query_ids == ("2", "1")
    assert data.offsets.tolist() == [0, 2, 4]
    assert data.labels.tolist() == [0, 2, 1, 3]
    assert data.features[:, 0].tolist() == [1, 3, 2, 4]
    assert list(data.document_ids or ()) == ["a", "c", "b", "d"]


def test_merged_duplicate_is_reported_by_its_row() -> None:
    frame = {"qid": [2, 1, 2], "docno": ["a", "a", "a"], "label": [0, 1, 2]}
    with pytest.raises(DataError, match="row 3: document a is listed twice in query 2"):
        frames.from_frame(frame, merge_queries=True, want="judgements")


def test_pandas_index_categories_and_floats() -> None:
    frame = pandas.DataFrame({"qid": pandas.Categorical(["b", "b", "a"]), "docno": [3.0, 1.0, 3.0], "label": [1, 0, 2]})
    assert same(
        frames.from_frame(frame.set_index(["qid", "docno"]), want="judgements"),
        Qrels.from_dict({"b": {"3": 1, "1": 0}, "a": {"3": 2}}),
    )
    shuffled = frame.assign(f=[0.1, 0.2, 0.3])
    shuffled.index = pandas.Index([5, 3, 9])
    data = frames.from_frame(shuffled, want="judgements")
    assert isinstance(data, Dataset)
    assert data.feature_names == ("f",)


def test_only_labels_make_a_dataset_without_features() -> None:
    data = frames.from_frame({"qid": [1, 1, 2], "label": [0, 1, 2]}, want="judgements")
    assert isinstance(data, Dataset)
    assert data.features.shape == (3, 0)


def test_own_note_beats_names(tmp_path: Path) -> None:
    """A feature may bear the name of a role where the file can say so; CSV cannot."""
    data = Dataset.from_arrays([[1.0, 2.0]], [1], ["q"], feature_names=["qid", "score"])
    frames.write_frame(data, tmp_path / "d.parquet")
    assert same(frames.read_frame(tmp_path / "d.parquet", want="judgements"), data)
    with pytest.raises(DataError, match="cannot have the reserved name 'qid'"):
        frames.write_frame(data, tmp_path / "d.csv")
    with pytest.raises(DataError, match="the feature 'query' has the name of another column"):
        frames.write_frame(Dataset.from_arrays([[1.0]], [1], ["q"], feature_names=["query"]), tmp_path / "d.parquet")
    # Taking a column away makes the note worthless, not the table.
    left = pyarrow.parquet.read_table(tmp_path / "d.parquet").drop_columns(["qid"])
    remaining = frames.from_frame(left, want="judgements")
    assert isinstance(remaining, Dataset)
    assert remaining.features.shape == (1, 0)
    assert not list(tmp_path.glob(".*")), "nothing half-written is left"


@pytest.mark.parametrize("form", ["parquet", "arrow", "feather"])
@pytest.mark.parametrize("cut", [3, 40, -10])
def test_damaged_files_get_a_sentence(form: str, cut: int, tmp_path: Path) -> None:
    path = tmp_path / f"d.{form}"
    frames.write_frame(Dataset.from_arrays([[1.0], [2.0]], [0, 1], ["q", "q"]), path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"invalid (parquet|arrow) file"):
        frames.read_frame(path, want="judgements")


def test_files_of_other_programs(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"qid": [1, 1], "docno": ["x", "y"], "label": [0, 1], "f": [0.5, None]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    pyarrow.feather.write_feather(pyarrow.Table.from_pandas(frame), str(tmp_path / "a.feather"))
    polars.DataFrame(frame).write_ipc_stream(tmp_path / "a.arrow")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(("\ufeff" + frame.to_csv(index=False)).encode()))
    expected = frames.from_frame(frame, want="judgements")
    for name in ("a.parquet", "a.csv", "a.feather", "a.arrow", "b.csv.gz"):
        assert same(frames.read_frame(tmp_path / name, want="judgements"), expected), name


def test_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the file extensions are \.parquet"):
        frames.read_frame(tmp_path / "d.txt", want="judgements")
    with pytest.raises(DataError, match=r"the file extensions are \.parquet"):
        frames.write_frame(np.zeros(1), tmp_path / "d.txt")
    with pytest.raises(DataError, match="no such file"):
        frames.read_frame(tmp_path / "d.csv", want="judgements")


def test_labels_and_scores_in_one_table(tmp_path: Path) -> None:
    path = write(tmp_path / "both.csv", "qid,docno,label,score\n1,x,1,0.5\n")
    read: Any = frames.read_frame(path, want="any")
    assert same(read, Qrels.from_dict({"1": {"x": 1}}))
    assert same(frames.read_frame(path, want="scores"), Run.from_dict({"1": {"x": 0.5}}))


def mutations(whole: bytes) -> st.SearchStrategy[bytes]:
    """Draw versions of a file with a few bytes changed, removed or inserted."""
    place = st.integers(0, len(whole))
    change = st.tuples(place, st.integers(0, 8), st.binary(max_size=4))

    def apply(changes: list[tuple[int, int, bytes]]) -> bytes:
        data = whole
        for position, length, inserted in changes:
            data = data[:position] + inserted + data[position + length :]
        return data

    return st.lists(change, min_size=1, max_size=4).map(apply)


@pytest.mark.parametrize("form", FORMS)
@given(drawing=st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_data_or_a_sentence(form: str, drawing: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / f"d.{form}"
    frames.write_frame(Dataset.from_arrays([[1.0, 2.0], [3.0, 4.0]], [0, 1], ["q", "q"], document_ids=["a", "b"]), path)
    path.write_bytes(drawing.draw(mutations(path.read_bytes()) | st.binary(max_size=60)))
    for want in ("judgements", "scores"):
        with contextlib.suppress(DataError):
            frames.read_frame(path, want=want)


def test_files_reach_evaluate(tmp_path: Path) -> None:
    """Tables and stores are judged and scored data like any text."""
    qrels, run = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}, {"q1": {"d1": 0.5, "d2": 0.7}, "q2": {"d3": 1.0}}
    frames.write_frame(Qrels.from_dict(qrels), tmp_path / "q.parquet")
    frames.write_frame(Run.from_dict(run), tmp_path / "r.csv")
    expected = evaluate(qrels, run, "RR", tool="trec_eval9").mean
    assert expected == {"RR": (1 / 2 + 1) / 2}
    assert evaluate(tmp_path / "q.parquet", tmp_path / "r.csv", "RR", tool="trec_eval9").mean == expected
    data_frames = Qrels.from_dict(qrels).to_pandas(), Run.from_dict(run).to_polars()
    assert evaluate(*data_frames, "RR", tool="trec_eval9").mean == expected
    write_store(Qrels.from_dict(qrels), tmp_path / "q.pippin")
    assert evaluate(tmp_path / "q.pippin", tmp_path / "r.csv", "RR", tool="trec_eval9").mean == expected


def test_numbers_as_column_names_and_long_values(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"qid": [1, 1], "label": [0, 1], 1: [0.5, 1.5], 2: [2.5, 3.5]})
    data = frames.from_frame(frame, want="judgements")
    assert isinstance(data, Dataset)
    assert data.feature_names == ("1", "2")
    path = write(tmp_path / "long.csv", "qid,docno,label\n1," + "x" * (1 << 23) + ",1\n")
    with pytest.raises(DataError, match="invalid csv file"):
        frames.read_frame(path, want="judgements")


def test_a_carriage_return_within_a_value_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b'qid,docno,label,score,bm25\na,x,1,0.5,2\n\r,y,0,,NULL\nb,"z,",2,1e3,\n')
    with pytest.raises(DataError, match=r"the score is nan; a score is a finite number"):
        frames.read_frame(tmp_path / "d.csv", want="scores")
