"""Collections as they are handed out: one `.zip` or `.tar` that holds everything, or some of it.

An archive is read as if it had been unpacked beside: into a temporary folder that goes when nobody reads the collection
any more, when the program ends, or when it fails. In a folder whose documents are packed, the archives are unpacked to
folders of their names, and what else stands there is linked to. Members are a stranger's: none is written outside of
the folder, none is a device, links lead to files of the same archive or the archive is refused, and all together become
no more bytes than `pippin.limits` allows. What goes wrong is told with the archive's name, not with that of the copy.
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

from pippin.collection.collection import Collection, Document
from pippin.collection.files import CHUNK, files_under, is_shown, open_stream
from pippin.errors import DataError, PippinError
from pippin.files import remove, temporary_folder
from pippin.limits import check_size
from pippin.packed import LONGEST, packing_of, unpacked

ENDINGS = re.compile(r"\.(zip|tar|tgz|tbz2?|txz|tzst|tar\.(gz|bz2|xz|zst))$", re.IGNORECASE)
ZIP, TAR = b"PK\x03\x04", b"ustar"
TAR_AT = 257  # where a tar says that it is one
HEADER = 512  # bytes that a member takes beside its own: many empty files fill a disk too
MANY = 10_000  # names of a folder that are looked at
DEEPEST = 3  # archives in archives, folders in folders
SHOWN = 3  # names that are told


def is_packed(path: Path) -> bool:
    """Whether a file is an archive by its name.

    >>> is_packed(Path("cran.tar.gz")), is_packed(Path("docs.jsonl.gz"))
    (True, False)
    """
    return ENDINGS.search(path.name) is not None


def is_archive(path: Path) -> bool:
    """Whether a file is an archive by its name, or, where that ends in nothing known, by its first bytes."""
    if is_packed(path):
        return True
    if path.suffix.lower() not in ("", ".gz", ".bz2", ".xz", ".zst"):
        return False  # .docx and .jar are zip files too
    try:
        with open_stream(path) as file:
            start = file.read(TAR_AT + len(TAR))
    except DataError:
        return False
    return start.startswith(ZIP) or start[TAR_AT:] == TAR


def stem(path: Path) -> str:
    """The name of an archive without its ending.

    >>> stem(Path("cran.tar.gz")), stem(Path("my.data.ZIP"))
    ('cran', 'my.data')
    """
    return ENDINGS.sub("", path.name) or path.name


def packed_in(folder: Path) -> list[Path]:
    """The archives of a folder."""
    return [file for file in islice(files_under(folder), MANY) if is_packed(file)]


class Unpacked:
    """A temporary folder in which a path lies as if its archives had been unpacked; `place` is where the path is now.

    `to_open` says which archives of a folder are to be opened.
    """

    def __init__(self, path: Path, to_open: Callable[[Path], list[Path]]) -> None:
        self.to_open = to_open
        self.notes: list[str] = []
        self.shown: dict[str, str] = {}  # paths of the copy → what the user calls them
        try:
            self.root, held = temporary_folder("pippin-unpacked")
        except OSError as error:
            raise _no_room(error, path) from None
        self.remove = finalize(self, _remove, self.root, held, os.getpid())
        try:
            self.place = self._folder(path) if path.is_dir() else self._file(path)
        except BaseException:
            self.remove()
            raise

    def _file(self, archive: Path) -> Path:
        """Where an archive that was named lies: its one folder, its one file (with what stands beside), or all."""
        place = self._extracted(archive, os.fspath(archive), self.root, Budget(archive), 1)
        if len(top := _seen(place)) == 1:
            place /= top[0]
        if place.is_file():
            self.shown |= {os.fspath(place.parent): os.fspath(archive.parent), os.fspath(place): os.fspath(archive)}
            _link_beside(archive.parent, place.parent, {archive.name})
        return place

    def _folder(self, folder: Path) -> Path:
        """A copy of a folder made of links, with its archives unpacked."""
        place = self.root / folder.resolve().name
        self.shown[os.fspath(place)] = os.fspath(folder)
        archives = self.to_open(folder)
        ours: dict[Path, set[str]] = {folder: set()}  # folders → names in them that are no links
        for file in archives:
            for one in takewhile(lambda one: one != folder, (file, *file.parents)):
                ours.setdefault(one.parent, set()).add(one.name)
        for parent, names in sorted(ours.items()):
            copy = place / parent.relative_to(folder)
            copy.mkdir(parents=True, exist_ok=True)
            _link_beside(parent, copy, names)
        self.notes.append(f"read as if unpacked: {_some([file.name for file in archives])}")
        for file in archives:
            self._extracted(file, os.fspath(file), place / file.relative_to(folder).parent, Budget(file), 1)
        return place

    def _extracted(self, archive: Path, called: str, parent: Path, budget: Budget, depth: int) -> Path:
        """Unpack an archive, which the user calls so, to a folder of its name; a folder in it that is called the same
        is that folder.
        """
        room = Path(tempfile.mkdtemp(prefix=".", dir=parent))
        self.shown[os.fspath(room)] = called
        with self.told(), _failures(archive):
            self.notes += Members(archive, room, budget).extract()
        for file in self.to_open(room):
            if depth == DEEPEST:
                raise DataError(f"archives stand in archives, more than {DEEPEST} deep", called)
            self._extracted(file, f"{called}/{file.relative_to(room)}", file.parent, budget, depth + 1)
        if depth > 1:
            archive.unlink()  # our own copy
        name = stem(archive)
        source = room / name if _seen(room) == [name] and (room / name).is_dir() else room
        place = parent / (archive.name if (parent / name).exists() else name)
        source.rename(place)
        remove(room)
        self.shown[os.fspath(place)] = called
        return place

    def said(self, text: str) -> str:
        """A text that speaks of the copy, as the user calls it."""
        for copy in sorted((copy for copy in self.shown if copy in text), key=len, reverse=True):
            text = re.sub(re.escape(copy) + r"(?=[/\\:,]|$)", lambda _, copy=copy: self.shown[copy], text)  # type: ignore[misc]
        return text

    @contextmanager
    def told(self) -> Iterator[None]:
        """Errors speak of the archive and not of the copy."""
        try:
            yield
        except DataError as error:
            if error.file is None or not error.file.startswith(os.fspath(self.root)):
                raise
            raise DataError(error.message, self.said(error.file), error.line) from None

    def lend(self, collection: Collection) -> Collection:
        """The collection, which keeps the folder as long as somebody can read from it."""
        notes = [*self.notes, *collection.notes] if self.notes else collection.notes
        return replace(collection, read=_Lent(self, collection.read).read, notes=notes)


class _Lent:
    def __init__(self, unpacked: Unpacked, read: Callable[[], Iterator[Document]]) -> None:
        self.unpacked, self.documents = unpacked, read

    def read(self) -> Iterator[Document]:
        with self.unpacked.told():
            yield from self.documents()


class Budget:
    """How many bytes an archive, with all archives inside of it, may still become."""

    def __init__(self, archive: Path) -> None:
        self.archive, self.size, self.written = archive, archive.stat().st_size, 0

    def check(self, more: int) -> None:
        """Raise where that many more are too many."""
        check_size(self.written + more, self.size, "it unpacks to", self.archive)

    def take(self, more: int) -> None:
        """Count bytes that are written."""
        self.check(more)
        self.written += more


class Members:
    """The members of an archive on their way to a folder."""

    def __init__(self, archive: Path, folder: Path, budget: Budget) -> None:
        self.archive, self.folder, self.budget = archive, folder, budget
        self.links: dict[str, str] = {}  # member → the member it is a link to

    def extract(self) -> list[str]:
        """Write all files; what there is to say about links that lead to no file."""
        with self.archive.open("rb") as file:
            start = file.read(len(ZIP))
        if start[:2] == ZIP[:2]:
            self._zip()
        else:
            self._tar()
        return self._linked()

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
                    raise self._refused(name, "is no file")
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
                    raise self._refused(member.name, "is a device")

    def _plain(self, file: BinaryIO) -> BinaryIO:
        packing = packing_of(file.read(LONGEST))
        file.seek(0)
        return unpacked(file, packing, self.budget.size, os.fspath(self.archive)) if packing else file

    def _write(self, name: str, file: BinaryIO) -> None:
        path = self.folder / self._path(name)
        self.budget.take(HEADER)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            while chunk := file.read(CHUNK):
                self.budget.take(len(chunk))
                out.write(chunk)

    def _path(self, name: str) -> str:
        """The name of a member as a path in the folder; one that leaves it is refused."""
        plain = posixpath.normpath(name)
        if name.startswith("/") or re.match(r"[A-Za-z]:[/\\]", name) or ".." in re.split(r"[/\\]", name):
            raise self._refused(name, "would be written outside of it")
        return plain

    def _refused(self, name: str, why: str) -> DataError:
        return DataError(f"nothing is unpacked, because the member {name!r} {why}", self.archive)

    def _linked(self) -> list[str]:
        """Put files where links to them stand; links to folders or to nothing are told, links to outside refused."""
        waiting = {name: posixpath.normpath(target) for name, target in self.links.items()}
        for name, target in waiting.items():
            if target.startswith(("/", "../")) or target == ".." or re.match(r"[A-Za-z]:", target):
                raise self._refused(name, f"is a link to {self.links[name]!r}, outside of it")
        while ready := [name for name, target in waiting.items() if (self.folder / target).is_file()]:
            for name in ready:
                self._copied(self.folder / waiting.pop(name), self.folder / name)
        if not waiting:
            return []
        return [f"links in {self.archive.name} that lead to no file of it are left out: {_some(list(waiting))}"]

    def _copied(self, source: Path, path: Path) -> None:
        if source == path:
            return  # tar writes a file that it was given twice as a link to itself
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            path.hardlink_to(source)
        except OSError:
            self.budget.take(source.stat().st_size)
            shutil.copyfile(source, path)


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _target(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Where a link in a zip leads, which is what it holds."""
    with packed.open(member) as file:
        return file.read(4096).decode("utf-8", "replace")


def _seen(folder: Path) -> list[str]:
    """The names in a folder, but for what readers do not look at."""
    return sorted(one.name for one in folder.iterdir() if is_shown(one.name))


def _link_beside(source: Path, folder: Path, but: set[str]) -> None:
    """Links in a folder to what stands in another."""
    for name in _seen(source):
        if name not in but and not (folder / name).exists():
            (folder / name).symlink_to((source / name).resolve())


def _remove(root: Path, held: int, process: int) -> None:
    """Remove the copy, unless this is a process that another one forked from itself."""
    if process == os.getpid():
        remove(root)
        os.close(held)


@contextmanager
def _failures(archive: Path) -> Iterator[None]:
    """Whatever is wrong with an archive as one sentence."""
    try:
        yield
    except PippinError:
        raise
    except NotImplementedError as error:
        raise DataError(
            f"the archive is packed in a way that is not known here ({error}); unpack it", archive
        ) from None
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise DataError(f"the archive is damaged: {error}", archive) from None
    except OSError as error:
        raise _no_room(error, archive) from None
    except Exception as error:
        if type(error).__name__ != "LZMAError":  # none of the above, and not in every Python
            raise
        raise DataError(f"the archive is damaged: {error}", archive) from None


def _no_room(error: OSError, archive: Path) -> DataError:
    where = f"to {tempfile.gettempdir()} ({error.strerror or error}); TMPDIR names another place"
    return DataError(f"the archive cannot be unpacked {where}", archive)
