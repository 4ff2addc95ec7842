"""What can be checked by strangers: a log of which each entry holds the hash of the one before, and signed receipts.

An entry is one line of JSON: board, number, time, kind, body, the hash of the entry before, and its own. Nobody can
change or take out an entry without every later hash changing. A receipt is the signed statement of what a submission
was worth: digests of the submission and of the data, the convention, the version, the value shown. The scorer signs it
with Ed25519; the public key stands in the first entry of every log. `verify` needs no server and no database.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.errors import DataError
from pippin.extras import need
from pippin.manifest import fits

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

BEGINNING = "0" * 64  # what the first entry holds for the hash of the one before
LARGEST = 1 << 28  # bytes of a log that is verified
_ENTRY = {"board": str, "number": int, "at": int, "kind": str, "body": dict, "previous": str, "hash": str}
_RECEIPT = {"statement": dict, "key": str, "signature": str}


def canonical(record: Mapping[str, Any]) -> bytes:
    """A record as the one text that is hashed and signed.

    >>> canonical({"b": 1, "a": "é"})
    b'{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def sha256(content: bytes) -> str:
    """SHA-256 as text."""
    return hashlib.sha256(content).hexdigest()


def entry(board: str, number: int, at: int, kind: str, body: Mapping[str, Any], previous: str) -> dict[str, Any]:
    """An entry with its hash."""
    made = {"board": board, "number": number, "at": at, "kind": kind, "body": dict(body), "previous": previous}
    return {**made, "hash": sha256(canonical(made))}


def new_key() -> bytes:
    """A private key, as the 32 bytes that are kept."""
    need("signing receipts", "cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes_raw()


def _private(key: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(key)


def public_key(key: bytes) -> str:
    """The public key of a private one, as text."""
    return _private(key).public_key().public_bytes_raw().hex()


def sign(statement: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """A receipt: a statement, who says so, and the signature."""
    signed = _private(key).sign(canonical(statement)).hex()
    return {"statement": dict(statement), "key": public_key(key), "signature": signed}


def is_signed(receipt: Mapping[str, Any]) -> bool:
    """Whether the signature of a receipt is that of its key over its statement."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt["key"]))
        public.verify(bytes.fromhex(receipt["signature"]), canonical(receipt["statement"]))
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Checked:
    """What was found of a log or a receipt: `fault` is empty where all is well."""

    path: str
    what: str  # log, receipt
    board: str
    entries: int
    receipts: int
    key: str
    head: str  # the hash of the last entry, to be compared with what somebody noted earlier
    fault: str


def verify(paths: Sequence[str | os.PathLike[str]], key: str | None = None) -> list[Checked]:
    """Check logs and receipts; where both are given, that every receipt stands in a log.

    key  the public key that must have signed; without it, the one that the log begins with, or that the receipt names
    """
    need("checking signatures", "cryptography")
    read = {os.fspath(path): _lines(Path(path)) for path in paths}
    logged: dict[str, set[str]] = {}
    found = []
    for path, records in read.items():
        if len(records) != 1 or "statement" not in records[0]:
            checked, signatures = _check_log(path, records, key)
            logged.setdefault(checked.board, set()).update(signatures)
            found.append(checked)
    for path, records in read.items():
        if len(records) == 1 and "statement" in records[0]:
            found.append(_check_receipt(path, records[0], key, logged))
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file: one JSON document (an export has its log inside), or one a line."""
    if path.stat().st_size > LARGEST:
        raise DataError(f"this file is too large for a log: more than {LARGEST >> 20} MB", path)
    text = path.read_text(encoding="utf-8")
    records: Any
    try:
        records = json.loads(text)
    except (ValueError, RecursionError):
        records = [_parsed(line, path, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if isinstance(records, dict):
        records = records["log"] if isinstance(records.get("log"), list) else [records]
    if not isinstance(records, list) or not records or not all(isinstance(one, dict) for one in records):
        raise DataError("neither a log nor a receipt of a board", path)
    return records


def _parsed(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("this line is no JSON, as the entries of a log are", path, number) from None


def _check_log(path: str, records: list[dict[str, Any]], key: str | None) -> tuple[Checked, set[str]]:
    if not all(fits(one, _ENTRY) for one in records):
        raise DataError("neither a log nor a receipt of a board", path)
    board, said = records[0]["board"], str(records[0]["body"].get("key", ""))
    fault, receipts, signatures = _chain_fault(records), 0, set()
    for one in records:
        receipt = one["body"].get("receipt")
        if receipt is None or fault:
            continue
        receipts += 1
        signatures.add(str(receipt.get("signature")))
        fault = _receipt_fault(receipt, key or said, one)
    return Checked(path, "log", board, len(records), receipts, said, records[-1]["hash"], fault), signatures


def _chain_fault(records: Iterable[Mapping[str, Any]]) -> str:
    """What is wrong with a chain of entries, in words; empty where nothing is."""
    previous, board = BEGINNING, None
    for number, one in enumerate(records, 1):
        board = board or one["board"]
        if one["number"] != number or one["board"] != board:
            return f"entry {number} is not the one that belongs there"
        if one["previous"] != previous:
            return f"entry {number} does not hold the hash of the entry before"
        if one["hash"] != sha256(canonical({name: one[name] for name in _ENTRY if name != "hash"})):
            return f"entry {number} was changed: its hash is another"
        previous = one["hash"]
    return ""


def _receipt_fault(receipt: Any, key: str, one: Mapping[str, Any]) -> str:
    if not fits(receipt, _RECEIPT) or not is_signed(receipt):
        return f"the receipt in entry {one['number']} is not signed by the key it names"
    if receipt["key"] != key:
        return f"the receipt in entry {one['number']} is signed by another key"
    if receipt["statement"].get("previous") != one["previous"]:
        return f"the receipt in entry {one['number']} belongs to another place"
    return ""


def _check_receipt(path: str, receipt: Any, key: str | None, logged: Mapping[str, set[str]]) -> Checked:
    if not fits(receipt, _RECEIPT):
        raise DataError("this is no receipt: it lacks a statement, a key or a signature", path)
    board = str(receipt["statement"].get("board", ""))
    fault = ""
    if not is_signed(receipt):
        fault = "the signature is not that of the key over this statement"
    elif key is not None and receipt["key"] != key:
        fault = "it is signed by another key"
    elif board in logged and receipt["signature"] not in logged[board]:
        fault = "it does not stand in the log"
    return Checked(path, "receipt", board, 1, 1, receipt["key"], receipt["signature"][:16], fault)
