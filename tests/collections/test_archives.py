"""Archives are read like unpacked folders, and malicious members are refused."""

from __future__ import annotations

import gc
import io
import os
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyarrow import CompressedOutputStream
from tests.collections.readers.samples import write_file
from tests.collections.readers.shapes import DOCS, QRELS, TOPICS

from pippin.cli.main import main
from pippin.collections.readers import explain, read_collection
from pippin.collections.readers.archives import is_archive
from pippin.collections.sources import open_collection
from pippin.errors import DataError
from pippin.storage.compression import set_max_bytes

FILES = {"docs.jsonl": DOCS, "queries.tsv": TOPICS, "qrels/test.tsv": QRELS.replace(" ", "\t")}
Member = tuple[str, Callable[[tarfile.TarInfo], None]]


@pytest.fixture(autouse=True)
def spare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for temporary files, which is empty when all is over."""
    place = tmp_path / "spare"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    gc.collect()
    assert list(place.iterdir()) == []


def write_zip(path: Path, files: dict[str, str | bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def write_tar(path: Path, files: dict[str, str], *members: Member) -> Path:
    """Write a tar compressed by its extension; `members` are entries other than regular files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as packed:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            packed.addfile(info, io.BytesIO(content.encode()))
        for name, change in members:
            info = tarfile.TarInfo(name)
            change(info)
            packed.addfile(info)
    if path.suffix == ".zst":
        with CompressedOutputStream(str(path), "zstd") as out:
            out.write(plain.getvalue())
        return path
    opener = {".gz": "gzip", ".tgz": "gzip", ".bz2": "bz2", ".xz": "lzma"}.get(path.suffix)
    data = plain.getvalue()
    path.write_bytes(__import__(opener).compress(data) if opener else data)
    return path


def link(kind: bytes, target: str) -> Callable[[tarfile.TarInfo], None]:
    def change(info: tarfile.TarInfo) -> None:
        info.type, info.linkname = kind, target

    return change


def write_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        write_file(folder, name, content)
    return folder


def content_of(path: Path) -> tuple[object, ...]:
    collection = read_collection(path)
    qrels = collection.qrels
    assert qrels is not None
    return (
        collection.name, collection.reader, list(collection), collection.queries, qrels.query_ids,
        list(qrels.document_ids), qrels.labels.tolist(), list(collection.diagnostics),
    )  # fmt: skip


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"])
@pytest.mark.parametrize("within", ["", "mine/"])
def test_an_archive_is_read_as_the_folder_it_holds(ending: str, within: str, tmp_path: Path) -> None:
    files = {f"{within}{name}": content for name, content in FILES.items()}
    files |= {"__MACOSX/._docs.jsonl": "\0", ".DS_Store": "\0"}
    path = tmp_path / "packed" / f"mine{ending}"
    (write_zip(path, dict(files)) if ending == ".zip" else write_tar(path, files))
    assert content_of(path) == content_of(write_folder(tmp_path / "mine", FILES))
    assert [item.name for item in (tmp_path / "packed").iterdir()] == [path.name]


def test_an_archive_is_known_by_its_bytes_too(tmp_path: Path) -> None:
    plain = write_tar(tmp_path / "mine.tar.gz", FILES)
    assert content_of(plain.rename(tmp_path / "mine.gz"))[2] == content_of(write_folder(tmp_path / "mine", FILES))[2]
    assert not is_archive(write_zip(tmp_path / "mine.docx", {"word/document.xml": "<w/>"}))


@pytest.mark.parametrize(
    "packed",
    [
        {"all.zip": FILES},
        {"all.tar.gz": FILES},
        {"docs.zip": {"docs.jsonl": DOCS}},
        {"documents.tar": {"one.jsonl": DOCS}, "qrels.zip": {"test.tsv": QRELS}, "queries.zip": {"test.tsv": TOPICS}},
        {"deeper/docs.zip": {"docs.jsonl": DOCS}},
    ],
)
def test_archives_in_a_folder_are_opened_where_they_hold_the_documents(
    packed: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    names = {name for files in packed.values() for name in files}
    kinds = " ".join(packed)
    beside = {n: c for n, c in FILES.items() if n not in names and n.partition(".")[0].partition("/")[0] not in kinds}
    write_folder(folder, {**beside, "README.md": "# Mine"})
    for name, files in packed.items():
        write_zip(folder / name, dict(files)) if name.endswith(".zip") else write_tar(folder / name, files)
    before = sorted(folder.rglob("*"))
    assert content_of(folder)[2:7] == content_of(write_folder(tmp_path / "plain", FILES))[2:7]
    assert content_of(folder)[0] == "mine"
    assert sorted(folder.rglob("*")) == before


def test_archives_next_to_documents_are_ignored_and_reported(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine", FILES)
    write_zip(folder / "old.zip", {"docs.jsonl": "nonsense"})
    assert content_of(folder)[-1] == ["archives ignored, because there are documents beside them: old.zip"]


def test_notes_beside_an_archive_are_not_taken_for_the_documents(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine", {"notes.txt": "unpack it", "queries.tsv": TOPICS, "qrels.txt": QRELS})
    with zipfile.ZipFile(folder / "docs.zip", "w") as packed:
        packed.writestr("docs.jsonl", DOCS)
    collection = read_collection(folder)
    assert (collection.reader, len(list(collection))) == ("jsonl", 2)
    assert list(collection.diagnostics) == ["extracted archives: docs.zip"]


def test_a_license_larger_than_the_archive_does_not_count(tmp_path: Path) -> None:
    write_zip(tmp_path / "mine/docs.zip", {"docs.jsonl": DOCS})
    write_folder(tmp_path / "mine", {"LICENSE.txt": "apples and pears " * 100, "notes.txt": "see the license"})
    assert [document.id for document in read_collection(tmp_path / "mine")] == ["a", "b"]


def test_archives_of_many_folders_lie_where_they_lay(tmp_path: Path) -> None:
    for name in ("x/one", "x/y/two", "z/three"):
        write_zip(tmp_path / f"mine/{name}.zip", {"d.txt": "apples"})
    write_folder(tmp_path / "mine", {"x/y/four.txt": "pears"})
    ids = [document.id for document in read_collection(tmp_path / "mine")]
    assert ids == ["x/one/d.txt", "x/y/four.txt", "x/y/two/d.txt", "z/three/d.txt"]


def test_a_file_that_tar_was_given_twice_is_there_once(tmp_path: Path) -> None:
    itself = ("docs.jsonl", link(tarfile.LNKTYPE, "docs.jsonl"))
    path = write_tar(tmp_path / "mine.tar", {"docs.jsonl": DOCS}, itself)
    assert [document.id for document in read_collection(path)] == ["a", "b"]


def test_an_archive_of_one_file_has_its_queries_beside_it(tmp_path: Path) -> None:
    write_folder(tmp_path, {name: content for name, content in FILES.items() if name != "docs.jsonl"})
    packed = content_of(write_zip(tmp_path / "docs.zip", {"docs.jsonl": DOCS}))
    (tmp_path / "docs.zip").unlink()
    write_file(tmp_path, "docs.jsonl", DOCS)
    assert packed == content_of(tmp_path / "docs.jsonl")


def test_archives_in_archives_are_opened_a_few_deep(tmp_path: Path) -> None:
    inner: dict[str, str | bytes] = dict(FILES)
    for depth in range(5):
        path = write_zip(tmp_path / f"{depth}.zip", inner)
        inner = {f"{depth}.zip": path.read_bytes()}
        if depth < 3:
            assert len(list(read_collection(path))) == 2
    with pytest.raises(DataError, match=r"^.*4.zip.*: archives are nested more than 3 deep$"):
        read_collection(path)


def test_building_from_an_archive_gives_the_bytes_of_the_folder(tmp_path: Path) -> None:
    topics = "".join(f"{n}\t{text}\n" for n, text in enumerate(["apples", "pears", "apples pears", "pears", "apples"]))
    files = {"docs.jsonl": DOCS, "queries.tsv": topics, "qrels.txt": "".join(f"{n} 0 a 1\n" for n in range(5))}
    write_folder(tmp_path / "mine", files)
    write_tar(tmp_path / "in" / "mine.tar.xz", files)
    for path, out in (("mine", "one"), ("in/mine.tar.xz", "two")):
        assert main(["build", str(tmp_path / path), "-o", str(tmp_path / out), "-q"]) == 0
    built = [{p.relative_to(tmp_path / out): p.read_bytes() for p in (tmp_path / out).rglob("*") if p.is_file()}
             for out in ("one", "two")]  # fmt: skip
    assert len(built[0]) > 20
    assert built[0] == built[1]


def test_explain_speaks_of_the_archive(tmp_path: Path, spare: Path) -> None:
    path = write_zip(tmp_path / "mine.zip", dict(FILES))
    text = explain(path)
    assert text.startswith(f"{path}: format jsonl")
    assert "  documents: docs.jsonl\n" in text
    assert f"next: pippin build {path} -o mine-letor" in text
    assert str(spare) not in text + explain(write_zip(tmp_path / "in" / "one.zip", {"docs.jsonl": DOCS}))


def test_errors_speak_of_the_archive(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "mine.zip", {**FILES, "docs.jsonl": DOCS + "{]\n"})
    with pytest.raises(DataError) as caught:
        list(read_collection(path))
    assert str(caught.value).startswith(f"{path}/docs.jsonl:3: ")


@pytest.mark.parametrize("name", ["../out.jsonl", "a/../../out.jsonl", "/out.jsonl", "..\\out.jsonl", "C:\\out.jsonl"])
@pytest.mark.parametrize("ending", [".zip", ".tar"])
def test_members_that_leave_the_folder_are_refused(name: str, ending: str, tmp_path: Path) -> None:
    files = {**FILES, name: DOCS}
    path = tmp_path / f"mine{ending}"
    write_zip(path, dict(files)) if ending == ".zip" else write_tar(path, files)
    with pytest.raises(DataError, match=r"mine\.\w+: unsafe archive: the member .* outside of it"):
        read_collection(path)
    assert not list(tmp_path.rglob("out.jsonl"))


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (("x", link(tarfile.SYMTYPE, "/etc/passwd")), "is a link to '/etc/passwd', outside of it"),
        (("a/x", link(tarfile.SYMTYPE, "../../x")), "is a link to 'a/../../x', outside of it"),
        (("x", link(tarfile.LNKTYPE, "../x")), "is a link to '../x', outside of it"),
        (("x", link(tarfile.CHRTYPE, "")), "is a device"),
        (("x", link(tarfile.FIFOTYPE, "")), "is a device"),
    ],
)
def test_links_to_outside_and_devices_are_refused(member: Member, why: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_collection(write_tar(tmp_path / "mine.tar", FILES, member))
    assert str(caught.value).endswith(f"mine.tar: unsafe archive: the member {member[0]!r} {why}")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    path = tmp_path / "mine.tar"
    with tarfile.open(path, "w") as packed:
        info = tarfile.TarInfo("a")
        link(tarfile.SYMTYPE, str(out))(info)
        packed.addfile(info)
        info = tarfile.TarInfo("a/docs.jsonl")
        info.size = len(DOCS)
        packed.addfile(info, io.BytesIO(DOCS.encode()))
    with pytest.raises(DataError, match="outside of it"):
        read_collection(path)
    assert list(out.iterdir()) == []


def test_links_inside_of_an_archive_are_the_files_they_lead_to(tmp_path: Path) -> None:
    path = write_tar(
        tmp_path / "mine.tar", {"real/d.jsonl": DOCS, "queries.tsv": TOPICS, "qrels.txt": QRELS},
        ("docs.jsonl", link(tarfile.SYMTYPE, "again.jsonl")), ("again.jsonl", link(tarfile.LNKTYPE, "real/d.jsonl")),
        ("folder", link(tarfile.SYMTYPE, "real")),
    )  # fmt: skip
    collection = read_collection(path)
    assert [file.name for file in collection.document_files] == ["docs.jsonl"]
    assert len(list(collection)) == 2
    assert "broken links in mine.tar are ignored: folder" in collection.diagnostics


def test_a_link_in_a_zip_to_outside_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("x")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = write_zip(tmp_path / "mine.zip", dict(FILES))
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr(info, "../../etc/passwd")
    with pytest.raises(DataError, match=r"is a link to '\.\./\.\./etc/passwd', outside of it"):
        read_collection(path)


@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".tar.xz"])
def test_a_bomb_is_refused(ending: str, tmp_path: Path) -> None:
    files = {f"{n}.jsonl": " " * 700_000 for n in range(3)}
    path = tmp_path / f"mine{ending}"
    write_zip(path, dict(files)) if ending == ".zip" else write_tar(path, files)
    set_max_bytes(2_000_000)
    try:
        with pytest.raises(DataError, match=r"(extracts|decompresses|unpacks) to .* with --max-bytes"):
            read_collection(path)
    finally:
        set_max_bytes(None)


def test_a_bomb_of_archives_and_one_of_empty_files_are_refused(tmp_path: Path) -> None:
    inner = write_zip(tmp_path / "inner.zip", {"a.jsonl": " " * 700_000}).read_bytes()
    archives = write_zip(tmp_path / "mine.zip", {f"{n}.zip": inner for n in range(3)})
    empty = write_tar(tmp_path / "empty.tar.gz", dict.fromkeys(map(str, range(4000)), ""))
    set_max_bytes(2_000_000)
    try:
        for path in (archives, empty):
            with pytest.raises(DataError, match=r"(extracts|decompresses|unpacks) to .* with --max-bytes"):
                read_collection(path)
    finally:
        set_max_bytes(None)


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2"])
@pytest.mark.parametrize("kept", [0.3, 0.7])
def test_a_damaged_archive_is_reported(ending: str, kept: float, tmp_path: Path) -> None:
    files = {**FILES, "more.bin": os.urandom(9000).hex()}
    path = tmp_path / f"mine{ending}"
    write_zip(path, dict(files)) if ending == ".zip" else write_tar(path, files)
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(DataError, match=r"mine\.[\w.]+: the \w+ (file )?is (damaged|truncated)"):
        read_collection(path)


def test_an_encrypted_zip_is_reported(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "mine.zip", {"docs.jsonl": DOCS})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"docs\.jsonl is encrypted; unpack it with its password first"):
        read_collection(path)


def test_the_copy_lives_as_long_as_somebody_reads(tmp_path: Path, spare: Path) -> None:
    documents = iter(open_collection(write_zip(tmp_path / "mine.zip", dict(FILES))))
    assert next(documents).id == "a"
    gc.collect()
    assert len(list(spare.iterdir())) == 1
    assert next(documents).id == "b"


@pytest.mark.parametrize("signal", ["SIGINT", "SIGKILL"])
def test_unpacked_files_of_an_interrupted_process_are_removed(signal: str, tmp_path: Path, spare: Path) -> None:
    path = write_zip(tmp_path / "mine.zip", dict(FILES))
    code = (
        "import os, signal, sys\nfrom pippin.collections.readers import read_collection\n"
        "for document in read_collection(sys.argv[1]):\n"
        f"    print(flush=True); os.kill(os.getpid(), signal.{signal})\n"
    )
    environment = {**os.environ, "TMPDIR": str(spare)}
    done = subprocess.run([sys.executable, "-c", code, path], env=environment, capture_output=True, check=False)
    assert done.returncode != 0
    assert len(list(spare.iterdir())) == (signal == "SIGKILL")
    read_collection(path)  # sweeps


def test_a_folder_that_holds_nothing_but_a_folder_is_that_folder(tmp_path: Path) -> None:
    files = {"mine/docs.all": ".I 1\n.T\napples\n.W\napples\n.I 2\n.T\npears\n.W\npears\n", "readme.txt": "see mine"}
    collection = read_collection(write_folder(tmp_path / "outer", files))
    assert (collection.name, collection.reader, len(list(collection))) == ("outer", "smart", 2)
