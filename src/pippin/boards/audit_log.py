"""Audit log and receipts, which anyone can verify without a server.

A log is a chain of entries, one JSON object per line: board, number, time, kind, body, the hash of the previous entry
and its own hash, so that no entry can be changed or removed without changing every later hash. A receipt is a signed
statement of a submission's value, with the digests of submission, data and labels, the convention and the version. The
scorer signs receipts with Ed25519; the first entry of a log holds the public key. It also signs the head of each log:
number and hash of the last entry, and the submissions that wait for a score.

The hash chain alone proves nothing, because a forger can compute it again. So an outcome counts only with its receipt,
a log only up to a signed head, and a leaderboard only if it follows from the receipts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.dependencies import require
from pippin.errors import DataError
from pippin.storage.manifest import matches_schema

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FIRST_PREVIOUS = "0" * 64  # the previous hash in the first entry
MAX_LOG_BYTES = 1 << 28
_ENTRY = {"board": str, "number": int, "at": int, "kind": str, "body": dict, "previous": str, "hash": str}
_RECEIPT = {"statement": dict, "key": str, "signature": str}
_HEAD = {"board": str, "number": int, "hash": str, "waiting": [str], "at": int}
_OUTCOMES = ("scored", "rejected")
_SIGNED = ("scored", "revealed")  # kinds of entries with a receipt


def canonical(record: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of a record, which is hashed and signed.

    >>> canonical({"b": 1, "a": "é"})
    b'{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def sha256(content: bytes) -> str:
    """Return the SHA-256 checksum as hexadecimal text."""
    return hashlib.sha256(content).hexdigest()


def make_entry(board: str, number: int, at: int, kind: str, body: Mapping[str, Any], previous: str) -> dict[str, Any]:
    """Return a log entry with its hash."""
    entry = {"board": board, "number": number, "at": at, "kind": kind, "body": dict(body), "previous": previous}
    return {**entry, "hash": sha256(canonical(entry))}


def new_key() -> bytes:
    """Return a new private key (32 bytes)."""
    require("signing receipts", "cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes_raw()


def _private_key(key: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(key)


def public_key(key: bytes) -> str:
    """Return the public key of a private key, as text."""
    return _private_key(key).public_key().public_bytes_raw().hex()


def sign(statement: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """Return a receipt: the statement, the public key and the signature."""
    signature = _private_key(key).sign(canonical(statement)).hex()
    return {"statement": dict(statement), "key": public_key(key), "signature": signature}


def make_head(board: str, entries: Sequence[Mapping[str, Any]], at: int, key: bytes) -> dict[str, Any]:
    """Return the signed head of a log; `entries` have number, hash, kind and subject (the submission)."""
    accepted = [entry["subject"] for entry in entries if entry["kind"] == "accepted"]
    with_outcome = {entry["subject"] for entry in entries if entry["kind"] in _OUTCOMES}
    waiting = [submission for submission in accepted if submission not in with_outcome]
    last = entries[-1]
    return sign({"board": board, "number": last["number"], "hash": last["hash"], "waiting": waiting, "at": at}, key)


def is_signed(receipt: Mapping[str, Any]) -> bool:
    """Return whether the signature of a receipt matches its key and statement."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt["key"]))
        public.verify(bytes.fromhex(receipt["signature"]), canonical(receipt["statement"]))
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True)
class LogCheck:
    """Result of verifying a log or a receipt; `error` is empty if it is valid."""

    path: str
    kind: str  # log or receipt
    board: str
    entries: int
    receipts: int
    key: str
    head: str  # hash of the last entry; compare it with a hash noted earlier
    error: str


def verify(paths: Sequence[str | os.PathLike[str]], key: str | None = None) -> list[LogCheck]:
    """Verify logs, receipts and exports, as `pippin.boards.verify` describes."""
    require("checking signatures", "cryptography")
    files = {os.fspath(path): _read_records(Path(path)) for path in paths}
    receipts = {path: records[0] for path, records in files.items() if len(records) == 1 and "statement" in records[0]}
    signatures: dict[str, set[str]] = {}  # board → signatures in its log
    checks = []
    for path, records in files.items():
        if path not in receipts:
            check, log_signatures = _check_log(path, records, key)
            signatures.setdefault(check.board, set()).update(log_signatures)
            checks.append(check)
    return [*checks, *(_check_receipt(path, receipt, key, signatures) for path, receipt in receipts.items())]


def _read_records(path: Path) -> list[dict[str, Any]]:
    """Read a receipt, an export, or a log with one JSON object per line, of which the last is the signed head."""
    if path.stat().st_size > MAX_LOG_BYTES:
        raise DataError(f"the file is too large for a log: more than {MAX_LOG_BYTES >> 20} MB", path)
    text = path.read_text(encoding="utf-8")
    try:
        records = [json.loads(text)]
    except (ValueError, RecursionError):
        records = [_parse_line(line, path, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not records or not all(isinstance(record, dict) for record in records):
        raise DataError("expected an audit log, an export or a receipt of a board", path)
    return records


def _parse_line(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("invalid JSON in a log entry", path, number) from None


def _check_log(path: str, records: list[dict[str, Any]], key: str | None) -> tuple[LogCheck, set[str]]:
    """Check a log, and the leaderboard of an export; return the signatures of valid receipts, too."""
    export = records[0] if len(records) == 1 and isinstance(records[0].get("log"), list) else None
    entries, head = (export["log"], export.get("head")) if export else (records, None)
    if export is None and "statement" in entries[-1]:
        *entries, head = entries
    if not entries or not all(isinstance(entry, dict) and matches_schema(entry, _ENTRY) for entry in entries):
        raise DataError("expected an audit log, an export or a receipt of a board", path)
    board, log_key = entries[0]["board"], str(entries[0]["body"].get("key", ""))
    error, signatures = _chain_error(entries), set()
    for entry in entries:
        error = error or _entry_receipt_error(entry, key or log_key)
        if not error and "receipt" in entry["body"]:
            signatures.add(entry["body"]["receipt"]["signature"])
    error = error or _head_error(entries, head, key or log_key)
    if export is not None:
        error = error or _export_error(export, entries)
    receipts = sum("receipt" in entry["body"] for entry in entries)
    return LogCheck(path, "log", board, len(entries), receipts, log_key, entries[-1]["hash"], error), signatures


def _head_error(entries: Sequence[Mapping[str, Any]], head: Any, key: str) -> str:
    """Check that the log reaches its signed head, and that every other accepted submission has an outcome."""
    if head is None:
        return "the log has no signed head; download it again from the board's page"
    if not matches_schema(head, _RECEIPT) or not matches_schema(head["statement"], _HEAD) or not is_signed(head):
        return "the head of the log has an invalid signature"
    statement = head["statement"]
    if head["key"] != key or statement["board"] != entries[0]["board"]:
        return "the head of the log is signed with another key, or for another board"
    number = statement["number"]
    if not 1 <= number <= len(entries) or entries[number - 1]["hash"] != statement["hash"]:
        return f"the log is incomplete or changed: its signed head is entry {number}, {statement['hash'][:16]}"
    log = [{**entry, "subject": entry["body"].get("submission")} for entry in entries[:number]]
    with_outcome = {entry["subject"] for entry in log if entry["kind"] in _OUTCOMES} | set(statement["waiting"])
    for entry in log:
        if entry["kind"] == "accepted" and entry["subject"] not in with_outcome:
            return f"accepted submission {entry['subject']} has no outcome"
    return ""


def _export_error(export: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> str:
    """Compute the leaderboard from the receipts, and compare it with the exported one."""
    if export.get("name") != entries[0]["board"]:
        return "the export has the log of another board"
    accepted = {
        entry["body"].get("submission"): {**entry["body"], "number": entry["number"]}
        for entry in entries if entry["kind"] == "accepted"
    }  # fmt: skip
    best: dict[str, dict[str, Any]] = {}  # account → its row
    finals: Mapping[str, float] | None = None
    for entry in entries:
        statement = entry["body"].get("receipt", {}).get("statement", {})
        if entry["kind"] == "revealed":
            finals = statement["finals"]
        elif entry["kind"] == "scored":
            submission = statement.get("submission")
            body = accepted.get(submission, {})
            if any(statement.get(name) != body.get(name) for name in ("digest", "account", "name")):
                return f"the receipt of submission {submission} does not match its accepted entry"
            if statement.get("is_best"):
                best[statement["account"]] = {**statement, "number": body["number"]}
    rows = list(best.values())
    rows.sort(
        key=lambda row: (
            -row["value"] if finals is None else -finals[row["submission"]],
            row["received"],
            row["number"],
        )
    )
    signed = ("submission", "account", "name", "kind", "card", "value", "low", "high", "received")
    expected = [
        {
            **{name: row[name] for name in signed}, "rank": 1 + sum(better["value"] > row["value"] for better in rows),
            "submissions": sum(body.get("account") == row["account"] for body in accepted.values()),
            "final": None if finals is None else finals[row["submission"]],
            "final_rank": None if finals is None else position,
        }
        for position, row in enumerate(rows, 1)
    ]  # fmt: skip
    exported = export.get("leaderboard")
    if not isinstance(exported, list) or len(exported) != len(expected):
        return f"the leaderboard must have {len(expected)} rows: one per account with a shown value"
    for position, (row, exported_row) in enumerate(zip(expected, exported, strict=True), 1):
        for name, value in row.items():
            exported_value = exported_row.get(name) if isinstance(exported_row, dict) else None
            if name == "card" and isinstance(exported_value, dict):
                exported_value = sha256(canonical(exported_value))
            if exported_value != value:
                return f"row {position} of the leaderboard differs from its receipt: {name}"
    return ""


def _chain_error(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return what is wrong with a chain of entries, or an empty string."""
    previous = FIRST_PREVIOUS
    for number, entry in enumerate(entries, 1):
        if entry["number"] != number or entry["board"] != entries[0]["board"]:
            return f"entry {number} has the wrong number or board"
        if entry["previous"] != previous:
            return f"entry {number} does not contain the hash of entry {number - 1}"
        if entry["hash"] != sha256(canonical({name: entry[name] for name in _ENTRY if name != "hash"})):
            return f"entry {number} has been changed: its hash does not match"
        previous = entry["hash"]
    return ""


def _entry_receipt_error(entry: Mapping[str, Any], key: str) -> str:
    receipt = entry["body"].get("receipt")
    if receipt is None:
        return f"entry {entry['number']} has no receipt" if entry["kind"] in _SIGNED else ""
    if not matches_schema(receipt, _RECEIPT) or not is_signed(receipt):
        return f"the receipt in entry {entry['number']} has an invalid signature"
    if receipt["key"] != key:
        return f"the receipt in entry {entry['number']} is signed with another key"
    statement = receipt["statement"]
    is_other = statement.get("previous") != entry["previous"] or statement.get("board") != entry["board"]
    if is_other or (entry["kind"] == "scored" and statement.get("submission") != entry["body"].get("submission")):
        return f"the receipt in entry {entry['number']} belongs to another entry"
    return ""


def _check_receipt(path: str, receipt: Any, key: str | None, signatures: Mapping[str, set[str]]) -> LogCheck:
    if not matches_schema(receipt, _RECEIPT):
        raise DataError("invalid receipt: statement, key or signature is missing", path)
    board = str(receipt["statement"].get("board", ""))
    error = ""
    if not is_signed(receipt):
        error = "the signature is invalid"
    elif key is not None and receipt["key"] != key:
        error = "signed with another key"
    elif board in signatures and receipt["signature"] not in signatures[board]:
        error = "the receipt is not in the log"
    return LogCheck(path, "receipt", board, 1, 1, receipt["key"], receipt["signature"][:16], error)
