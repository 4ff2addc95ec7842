"""Collections in `.zip` and `.tar` archives.

Archives are extracted to a temporary folder, which is removed with the collection, at exit, or on failure. In a folder
with archives, each is extracted to a folder of its name, and other files are linked. Archives are not trusted: members
outside of the folder, devices and links that leave the archive are refused, and the total size is limited by
`pippin.storage.compression`. Errors show the path of the archive, not of the copy.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, takewhile
from pathlib import Path
from typing import BinaryIO, cast
from weakref import finalize

from pippin.collections.collection import Collection, Diagnostics, Document
from pippin.collections.readers.files import CHUNK, files_under, format_examples, is_visible, open_file
from pippin.errors import DataError, PippinError
from pippin.storage.compression import MAX_MAGIC_LENGTH, check_size, detect_compression, open_decompressed
from pippin.storage.files import remove_path, temporary_folder

SUFFIXES = re.compile(r"\.(zip|tar|tgz|tbz2?|txz|tzst|tar\.(gz|bz2|xz|zst))$", re.IGNORECASE)
ZIP, TAR = b"PK\x03\x04", b"ustar"
TAR_OFFSET = 257  # of the magic bytes in a tar file
HEADER = 512  # bytes counted per member, because many empty files fill a disk too
MAX_LISTED = 10_000  # files of a folder that are listed
MAX_DEPTH = 3  # of archives in archives and of folders in folders


def has_archive_suffix(path: Path) -> bool:
    """Return whether a file name has the suffix of an archive.

    >>> has_archive_suffix(Path("cran.tar.gz")), has_archive_suffix(Path("docs.jsonl.gz"))
    (True, False)
    """
    return SUFFIXES.search(path.name) is not None


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive: by its suffix, or by its first bytes if the suffix says nothing."""
    if has_archive_suffix(path):
        return True
    if path.suffix.lower() not in ("", ".gz", ".bz2", ".xz", ".zst"):
        return False  # .docx and .jar are zip files too
    try:
        with open_file(path) as file:
            start = file.read(TAR_OFFSET + len(TAR))
    except DataError:
        return False
    return start.startswith(ZIP) or start[TAR_OFFSET:] == TAR


def archive_stem(path: Path) -> str:
    """Return the name of an archive without its suffix.

    >>> archive_stem(Path("cran.tar.gz")), archive_stem(Path("my.data.ZIP"))
    ('cran', 'my.data')
    """
    return SUFFIXES.sub("", path.name) or path.name


def archives_in(folder: Path) -> list[Path]:
    """Return the archives of a folder."""
    return [file for file in islice(files_under(folder), MAX_LISTED) if has_archive_suffix(file)]


class ExtractedArchive:
    """A temporary copy of a path with its archives extracted.

    Parameters
    ----------
    path : Path
        An archive, or a folder with archives.
    select : callable
        Returns the archives of a folder that have to be extracted.

    Attributes
    ----------
    path : Path
        The extracted file or folder.
    diagnostics : list of str
        Messages about the archives.
    """

    def __init__(self, path: Path, select: Callable[[Path], list[Path]]) -> None:
        self.select = select
        self.diagnostics: list[str] = []
        self.original_paths: dict[str, str] = {}  # path of the copy → path that the user knows
        try:
            self.root, lock = temporary_folder("pippin-unpacked")
        except OSError as error:
            raise _write_error(error, path) from None
        self.remove = finalize(self, _remove, self.root, lock, os.getpid())
        try:
            self.path = self._extract_folder(path) if path.is_dir() else self._extract_file(path)
        except BaseException:
            self.remove()
            raise

    def _extract_file(self, archive: Path) -> Path:
        """Extract an archive; return its only folder, its only file (with links to its siblings), or all."""
        path = self._extract(archive, os.fspath(archive), self.root, Budget(archive), 1)
        if len(top := _visible_names(path)) == 1:
            path /= top[0]
        if path.is_file():
            self.original_paths |= {
                os.fspath(path.parent): os.fspath(archive.parent),
                os.fspath(path): os.fspath(archive),
            }
            _link_siblings(archive.parent, path.parent, {archive.name})
        return path

    def _extract_folder(self, folder: Path) -> Path:
        """Copy a folder as links, with its archives extracted."""
        path = self.root / folder.resolve().name
        self.original_paths[os.fspath(path)] = os.fspath(folder)
        archives = self.select(folder)
        replaced: dict[Path, set[str]] = {folder: set()}  # folder → names that are not linked
        for file in archives:
            for ancestor in takewhile(lambda ancestor: ancestor != folder, (file, *file.parents)):
                replaced.setdefault(ancestor.parent, set()).add(ancestor.name)
        for parent, names in sorted(replaced.items()):
            copy = path / parent.relative_to(folder)
            copy.mkdir(parents=True, exist_ok=True)
            _link_siblings(parent, copy, names)
        self.diagnostics.append(f"extracted archives: {format_examples(archives)}")
        for file in archives:
            self._extract(file, os.fspath(file), path / file.relative_to(folder).parent, Budget(file), 1)
        return path

    def _extract(self, archive: Path, original: str, parent: Path, budget: Budget, depth: int) -> Path:
        """Extract an archive to a folder of its name; a sole folder of that name inside is not nested again."""
        target = Path(tempfile.mkdtemp(prefix=".", dir=parent))
        self.original_paths[os.fspath(target)] = original
        with self.original_paths_in_errors(), _readable_errors(archive):
            self.diagnostics += _Extraction(archive, target, budget).extract()
        for file in self.select(target):
            if depth == MAX_DEPTH:
                raise DataError(f"archives are nested more than {MAX_DEPTH} deep", original)
            self._extract(file, f"{original}/{file.relative_to(target)}", file.parent, budget, depth + 1)
        if depth > 1:
            archive.unlink()  # our own copy
        name = archive_stem(archive)
        source = target / name if _visible_names(target) == [name] and (target / name).is_dir() else target
        path = parent / (archive.name if (parent / name).exists() else name)
        source.rename(path)
        remove_path(target)
        self.original_paths[os.fspath(path)] = original
        return path

    def restore_paths(self, text: str) -> str:
        """Replace paths of the copy in a text by the original paths."""
        for copy in sorted((copy for copy in self.original_paths if copy in text), key=len, reverse=True):
            text = re.sub(re.escape(copy) + r"(?=[/\\:,]|$)", lambda _, copy=copy: self.original_paths[copy], text)  # type: ignore[misc]
        return text

    @contextmanager
    def original_paths_in_errors(self) -> Iterator[None]:
        """Show original paths in errors."""
        try:
            yield
        except DataError as error:
            if error.file is None or not error.file.startswith(os.fspath(self.root)):
                raise
            raise DataError(error.message, self.restore_paths(error.file), error.line) from None

    def keep_while_used(self, collection: Collection) -> Collection:
        """Return the collection with a reference to this copy, so that the copy lives as long as it."""
        documents = _ArchiveDocuments(self, collection.iter_documents)
        diagnostics = Diagnostics(self.diagnostics, collection.diagnostics)
        return replace(collection, iter_documents=documents.read, diagnostics=diagnostics)


class _ArchiveDocuments:
    def __init__(self, unpacked: ExtractedArchive, read: Callable[[], Iterator[Document]]) -> None:
        self.unpacked, self.documents = unpacked, read

    def read(self) -> Iterator[Document]:
        with self.unpacked.original_paths_in_errors():
            yield from self.documents()


class Budget:
    """The number of bytes that an archive, with all archives inside of it, may still extract to."""

    def __init__(self, archive: Path) -> None:
        self.archive, self.size, self.written = archive, archive.stat().st_size, 0

    def check(self, more: int) -> None:
        """Raise if that many more bytes are too many."""
        check_size(self.written + more, self.size, "it extracts to", self.archive)

    def take(self, more: int) -> None:
        """Count bytes that are written."""
        self.check(more)
        self.written += more


class _Extraction:
    """Extraction of the members of one archive to a folder."""

    def __init__(self, archive: Path, folder: Path, budget: Budget) -> None:
        self.archive, self.folder, self.budget = archive, folder, budget
        self.links: dict[str, str] = {}  # member → the member it is a link to

    def extract(self) -> list[str]:
        """Write all files; return messages about links that lead to no file."""
        with self.archive.open("rb") as file:
            start = file.read(len(ZIP))
        if start[:2] == ZIP[:2]:
            self._zip()
        else:
            self._tar()
        return self._resolve_links()

    def _zip(self) -> None:
        with zipfile.ZipFile(self.archive) as packed:
            members = packed.infolist()
            self.budget.check(sum(member.file_size + HEADER for member in members))
            for member in members:
                name = member.filename.replace("\\", "/")
                kind = member.external_attr >> 28  # Unix writes the kind of a file there
                if member.flag_bits & 1:
                    raise DataError(f"{name} is encrypted; unpack it with its password first", self.archive)
                if name.endswith("/"):
                    self._path(name)
                elif kind == 0o12:
                    self.links[self._path(name)] = posixpath.join(posixpath.dirname(name), _target(packed, member))
                elif kind not in (0, 0o10):
                    raise self._refuse(name, "is not a file")
                else:
                    with packed.open(member) as file:
                        self._write(name, cast(BinaryIO, file))

    def _tar(self) -> None:
        with self.archive.open("rb") as plain, tarfile.open(fileobj=self._plain(plain), mode="r|") as packed:
            for member in packed:
                if member.isreg():
                    self.budget.check(member.size)
                    self._write(member.name, cast(BinaryIO, packed.extractfile(member)))
                elif member.issym():
                    link = posixpath.join(posixpath.dirname(member.name), member.linkname)
                    self.links[self._path(member.name)] = link
                elif member.islnk():
                    self.links[self._path(member.name)] = member.linkname
                elif member.isdir():
                    self._path(member.name)
                else:
                    raise self._refuse(member.name, "is a device")

    def _plain(self, file: BinaryIO) -> BinaryIO:
        packing = detect_compression(file.read(MAX_MAGIC_LENGTH))
        file.seek(0)
        return open_decompressed(file, packing, self.budget.size, os.fspath(self.archive)) if packing else file

    def _write(self, name: str, file: BinaryIO) -> None:
        path = self.folder / self._path(name)
        self.budget.take(HEADER)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            while chunk := file.read(CHUNK):
                self.budget.take(len(chunk))
                out.write(chunk)

    def _path(self, name: str) -> str:
        """Return the name of a member as a path in the folder; raise if it leaves the folder."""
        plain = posixpath.normpath(name)
        if name.startswith("/") or re.match(r"[A-Za-z]:[/\\]", name) or ".." in re.split(r"[/\\]", name):
            raise self._refuse(name, "would be written outside of it")
        return plain

    def _refuse(self, name: str, reason: str) -> DataError:
        return DataError(f"unsafe archive: the member {name!r} {reason}", self.archive)

    def _resolve_links(self) -> list[str]:
        """Replace links by files; report links to folders or to nothing, refuse links that leave the archive."""
        unresolved = {name: posixpath.normpath(target) for name, target in self.links.items()}
        for name, target in unresolved.items():
            if target.startswith(("/", "../")) or target == ".." or re.match(r"[A-Za-z]:", target):
                raise self._refuse(name, f"is a link to {self.links[name]!r}, outside of it")
        while resolvable := [name for name, target in unresolved.items() if (self.folder / target).is_file()]:
            for name in resolvable:
                self._copy(self.folder / unresolved.pop(name), self.folder / name)
        if not unresolved:
            return []
        return [f"broken links in {self.archive.name} are ignored: {format_examples(list(unresolved))}"]

    def _copy(self, source: Path, path: Path) -> None:
        if source == path:
            return  # tar writes a file that it was given twice as a link to itself
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            path.hardlink_to(source)
        except OSError:
            self.budget.take(source.stat().st_size)
            shutil.copyfile(source, path)


def _target(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Return the target of a link in a zip file, which is its content."""
    with packed.open(member) as file:
        return file.read(4096).decode("utf-8", "replace")


def _visible_names(folder: Path) -> list[str]:
    """Return the visible names in a folder."""
    return sorted(entry.name for entry in folder.iterdir() if is_visible(entry.name))


def _link_siblings(source: Path, folder: Path, exclude: set[str]) -> None:
    """Create links in a folder to the visible content of another."""
    for name in _visible_names(source):
        if name not in exclude and not (folder / name).exists():
            (folder / name).symlink_to((source / name).resolve())


def _remove(root: Path, lock: int, process: int) -> None:
    """Remove the copy, unless this is a forked child process."""
    if process == os.getpid():
        remove_path(root)
        os.close(lock)


@contextmanager
def _readable_errors(archive: Path) -> Iterator[None]:
    """Raise all errors of an archive as `DataError`."""
    try:
        yield
    except PippinError:
        raise
    except NotImplementedError as error:
        raise DataError(f"unknown compression ({error}); extract the archive first", archive) from None
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise DataError(f"the archive is damaged: {error}", archive) from None
    except OSError as error:
        raise _write_error(error, archive) from None
    except Exception as error:
        if type(error).__name__ != "LZMAError":  # none of the above, and not in every Python
            raise
        raise DataError(f"the archive is damaged: {error}", archive) from None


def _write_error(error: OSError, archive: Path) -> DataError:
    where = f"to {tempfile.gettempdir()} ({error.strerror or error}); set TMPDIR to another folder"
    return DataError(f"cannot extract the archive {where}", archive)
