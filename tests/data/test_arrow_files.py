"""Arrow and Parquet files: verification of written files, and validation of file metadata."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import ipc, parquet

from pippin.data import arrow_files, frames, synthetic
from pippin.data.arrow_files import column_ranges, read_claims
from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements
from pippin.errors import DataError

FORMS = ("parquet", "arrow")


@pytest.fixture
def data() -> Dataset:
    return synthetic.make_dataset(8, documents=5, features=6)


def content(path: Path) -> tuple[object, ...]:
    read = coerce_judgements(path)
    assert isinstance(read, Dataset)
    return (
        read.features.tobytes(),
        read.labels.tobytes(),
        read.query_ids,
        list(read.document_ids or ()),
        read.feature_names,
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_every_change_of_a_written_table_is_detected(form: str, ending: str, data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / f"d.{form}{ending}"
    frames.write_frame(data, path)
    before, full = content(path), path.read_bytes()
    sample = random.Random(7)
    for _ in range(300):
        place = sample.randrange(len(full))
        path.write_bytes(full[:place] + bytes([full[place] ^ (1 << sample.randrange(8))]) + full[place + 1 :])
        try:
            assert content(path) == before, "only where the name of the checksum was hit"
        except DataError:
            continue
        assert arrow_files.MARK not in path.read_bytes()[place - 20 : place + 20] or ending


@pytest.mark.parametrize("form", FORMS)
def test_other_programs_read_them(form: str, data: Dataset, tmp_path: Path) -> None:
    frames.write_frame(data, tmp_path / f"d.{form}")
    reader = parquet.read_table if form == "parquet" else lambda path: ipc.open_file(path).read_all()
    table = reader(tmp_path / f"d.{form}")
    assert table.num_rows == len(data)
    assert table.schema.metadata[arrow_files.HAS_CHECKSUM] == b"1"


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_others_are_not_asked_for_a_checksum(form: str, tmp_path: Path) -> None:
    table = pyarrow.table(
        {"qid": ["a", "a"], "label": [0, 1], "x": [0.5, 1.5], "t": ["pippin-xxh3-0123456789abcdef"] * 2}
    )
    sink = io.BytesIO()
    if form == "parquet":
        parquet.write_table(table.drop_columns("t"), sink)
    else:
        with ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    (tmp_path / f"d.{form}").write_bytes(sink.getvalue())
    assert isinstance(coerce_judgements(tmp_path / f"d.{form}"), Dataset)


def test_texts_that_look_like_a_checksum_do_no_harm(tmp_path: Path) -> None:
    names = [f"pippin-xxh3-{i:016x}" for i in range(3)]
    data = Dataset.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 2], ["q"] * 3, document_ids=names)
    for form in FORMS:
        frames.write_frame(data, tmp_path / f"d.{form}")
        read = coerce_judgements(tmp_path / f"d.{form}")
        assert list(read.document_ids or ()) == names


def test_missing_checksum_is_detected(data: Dataset, tmp_path: Path) -> None:
    for form in FORMS:
        path = tmp_path / f"d.{form}"
        frames.write_frame(data, path)
        full = path.read_bytes()
        cut = full.rindex(arrow_files.MARK)
        path.write_bytes(full[:cut] + full[cut:].replace(arrow_files.MARK, b"nippin-xxh3-"))
        with pytest.raises(DataError, match="its checksum is missing"):
            coerce_judgements(path)


def test_rows_that_cost_nothing_on_disk(tmp_path: Path) -> None:
    rows = 40_000_000
    code = pyarrow.DictionaryArray.from_arrays(np.zeros(rows, np.int8), ["q"])
    parquet.write_table(pyarrow.table({"qid": code, "label": code.cast(pyarrow.string())}), tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"the columns take 610.4 MiB, but a file of .* may take at most 256 MiB"):
        coerce_judgements(tmp_path / "d.parquet")


def test_one_long_text_for_many_rows(tmp_path: Path) -> None:
    rows = 2000
    code = pyarrow.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["q" * (1 << 20)])
    table = pyarrow.table({"qid": code, "label": np.zeros(rows, np.int32), "x": np.zeros(rows)})
    parquet.write_table(table, tmp_path / "d.parquet", store_schema=False)
    assert (tmp_path / "d.parquet").stat().st_size < 1 << 20
    with pytest.raises(DataError, match=r"the column 'qid' takes 2 GiB"):
        coerce_judgements(tmp_path / "d.parquet")


@pytest.mark.parametrize("as_file", [True, False])
def test_buffers_that_unpack_to_too_much(as_file: bool, tmp_path: Path) -> None:
    rows = 40_000_000
    table = pyarrow.table({"qid": np.zeros(rows, np.int32), "label": np.zeros(rows, np.int32)})
    options = ipc.IpcWriteOptions(compression="zstd")
    with (ipc.new_file if as_file else ipc.new_stream)(tmp_path / "d.arrow", table.schema, options=options) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match=r"its buffers decompress to 305.2 MiB"):
        coerce_judgements(tmp_path / "d.arrow")


def test_null_columns_of_any_length(tmp_path: Path) -> None:
    table = pyarrow.table({"qid": pyarrow.nulls(1 << 30), "label": pyarrow.nulls(1 << 30)})
    with ipc.new_file(tmp_path / "d.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match=r"the columns take 16 GiB"):
        coerce_judgements(tmp_path / "d.arrow")


def test_claims_are_those_of_the_library(data: Dataset, tmp_path: Path) -> None:
    table = pyarrow.table({"qid": ["a"] * 900 + ["bb"] * 100, "label": list(range(1000)), "x": np.arange(1000.0)})
    for packing in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
        path = tmp_path / "d.parquet"
        parquet.write_table(table, path, compression=packing, row_group_size=300)
        content = np.fromfile(path, np.uint8)
        result, metadata = read_claims(content, "d"), parquet.read_metadata(path)
        chunks = [metadata.row_group(i).column(j) for i in range(4) for j in range(3)]
        assert (result.rows, result.columns) == (1000, 3)
        assert result.uncompressed == sum(chunk.total_uncompressed_size for chunk in chunks)
        assert result.repeated["qid"] == 900 * 1 + 100 * 2, "of each row group the longest"
        pages = [(c.dictionary_page_offset, c.dictionary_page_offset + c.total_compressed_size) for c in chunks[::3]]
        assert column_ranges(content, "qid") == pages


def test_a_footer_that_ends_the_library_is_a_sentence(tmp_path: Path) -> None:
    """Damage to what a footer says of levels made PyArrow's view of a column end the process."""
    table = pyarrow.table({"qid": ["a", "a"], "label": [0, 1], "x": [0.5, 1.5]})
    path = tmp_path / "d.parquet"
    parquet.write_table(table, path, write_page_checksum=True, compression="none")
    full = path.read_bytes()
    size = int.from_bytes(full[-8:-4], "little")
    begin = len(full) - 8 - size
    for place in range(begin, len(full) - 8):
        for bit in (1, 4, 16):
            path.write_bytes(full[:place] + bytes([full[place] ^ bit]) + full[place + 1 :])
            with contextlib.suppress(DataError):
                coerce_judgements(path)
