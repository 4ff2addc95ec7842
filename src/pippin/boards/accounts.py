"""Accounts, tokens, invitations and browser sessions.

A token is `pippin_ID_SECRET`. The database stores the ID and the SHA-256 of the secret, which is compared in constant
time; 256 random bits need no slow hash. Browsers log in with the same token and receive a session cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from pippin.boards.database import ACCOUNTS, INVITATIONS, SESSIONS, TOKENS, Row, Store, now
from pippin.errors import DataError, PippinError

ROLES = ("participant", "organiser")
DAY = 86_400
TOKEN_DAYS, INVITATION_DAYS, SESSION_DAYS = 365, 30, 14
_TOKEN = re.compile(r"pippin_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NAME = re.compile(r"[\w](?:[\w .&+'’()-]{0,58}[\w.)])?")


class Forbidden(PippinError):
    """The account is unknown, or lacks the permission."""


@dataclass(frozen=True)
class Account:
    """An account of a participant or organiser."""

    id: int
    name: str
    role: str

    @property
    def is_organiser(self) -> bool:
        """Whether the account may close and reveal boards, and invite others."""
        return self.role == "organiser"


def hash_secret(secret: str) -> str:
    """Return the hash that the database stores for a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make_account(store: Store, name: str, role: str = "participant", days: float = TOKEN_DAYS) -> tuple[Account, str]:
    """Create an account; return it with its token, which is not stored."""
    with store.writing() as connection:
        return _create(connection, name, role, days)


def _create(connection: Connection, name: str, role: str, days: float) -> tuple[Account, str]:
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not _NAME.fullmatch(name):
        raise DataError(
            "invalid account name: use 1–60 letters, digits, spaces or . - & + ' ( ), starting with a letter or digit"
        )
    _check_role(role)
    values = {"name": name, "role": role, "created": now()}
    try:
        number = connection.execute(insert(ACCOUNTS).values(values).returning(ACCOUNTS.c.id)).scalar_one()
    except IntegrityError:
        raise DataError(f"account name {name!r} is taken; choose another") from None
    account = Account(int(number), name, role)
    return account, _new_token(connection, account, days)


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise DataError(f"unknown role {role!r}: use {' or '.join(ROLES)}")


def _is_secret_of(row: Row | None, secret: str) -> bool:
    """Compare a secret with a row's hash, in constant time even if there is no row."""
    return hmac.compare_digest(row["hash"] if row else "0" * 64, hash_secret(secret)) and row is not None


def _parse_token(text: str) -> tuple[str, str]:
    match = _TOKEN.fullmatch(text.strip())
    return (match[1], match[2]) if match else ("", "")


def _new_token(connection: Connection, account: Account, days: float) -> str:
    identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    expires = now() + int(days * DAY)
    connection.execute(
        insert(TOKENS).values(id=identity, account=account.id, hash=hash_secret(secret), created=now(), expires=expires)
    )
    return f"pippin_{identity}_{secret}"


def new_token(store: Store, account: Account, days: float = TOKEN_DAYS) -> str:
    """Replace all tokens of an account with a new one, and end its sessions."""
    with store.writing() as connection:
        connection.execute(delete(TOKENS).where(TOKENS.c.account == account.id))
        connection.execute(delete(SESSIONS).where(SESSIONS.c.account == account.id))
        return _new_token(connection, account, days)


def find_account(store: Store, token: str) -> Account:
    """Return the account of a token; raise Forbidden if it is unknown or has expired."""
    identity, secret = _parse_token(token)
    with store.reading() as connection:
        row = connection.execute(
            select(TOKENS.c.hash, TOKENS.c.expires, ACCOUNTS).join(ACCOUNTS, ACCOUNTS.c.id == TOKENS.c.account)
            .where(TOKENS.c.id == identity)
        ).mappings().first()  # fmt: skip
    if not _is_secret_of(row, secret) or row is None:
        raise Forbidden("unknown token; ask the organiser for an invitation")
    if row["expires"] <= now():
        raise Forbidden("the token has expired; ask the organiser for a new one")
    return Account(int(row["id"]), row["name"], row["role"])


def invite(store: Store, role: str = "participant", uses: int = 1, days: float = INVITATION_DAYS) -> str:
    """Create an invitation for `uses` accounts; only its hash is stored."""
    _check_role(role)
    if uses < 1:
        raise DataError(f"uses must be at least 1, got {uses}")
    identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    row = {"id": identity, "hash": hash_secret(secret), "role": role, "remaining": uses, "created": now(),
           "expires": now() + int(days * DAY)}  # fmt: skip
    with store.writing() as connection:
        connection.execute(insert(INVITATIONS).values(row))
    return f"pippin_{identity}_{secret}"


def join(store: Store, name: str, invitation: str = "", days: float = TOKEN_DAYS) -> tuple[Account, str]:
    """Create an account with an invitation, or without one if registration is open; return it with its token."""
    with store.writing() as connection:
        if not invitation.strip():
            if not is_registration_open(store):
                raise Forbidden("registration requires an invitation; ask the organiser for one")
            return _create(connection, name, "participant", days)
        identity, secret = _parse_token(invitation)
        row = connection.execute(select(INVITATIONS).where(INVITATIONS.c.id == identity)).mappings().first()
        if not _is_secret_of(row, secret) or row is None:
            raise Forbidden("unknown invitation; ask the organiser for a new one")
        if row["expires"] <= now():
            raise Forbidden("the invitation has expired; ask the organiser for a new one")
        update_result = connection.execute(
            update(INVITATIONS).where(INVITATIONS.c.id == identity, INVITATIONS.c.remaining > 0)
            .values(remaining=INVITATIONS.c.remaining - 1)
        )  # fmt: skip
        if not update_result.rowcount:
            raise Forbidden("the invitation has been used; ask the organiser for a new one")
        return _create(connection, name, row["role"], days)


def first_invitation(store: Store) -> str | None:
    """Return a new invitation for the first organiser, or None if there is an organiser."""
    with store.reading() as connection:
        if connection.execute(select(ACCOUNTS.c.id).where(ACCOUNTS.c.role == "organiser")).first():
            return None
    return invite(store, "organiser", days=1)


def is_registration_open(store: Store) -> bool:
    """Return whether registration needs no invitation."""
    return store.setting("registration", "invited") == "open"


def set_registration(store: Store, is_open: bool) -> None:
    """Open registration, or require an invitation."""
    store.set("registration", "open" if is_open else "invited")


def start_session(store: Store, account: Account, days: float = SESSION_DAYS) -> str:
    """Start a browser session; return the secret for its cookie."""
    secret = secrets.token_urlsafe(32)
    with store.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.expires <= now()))
        values = {"hash": hash_secret(secret), "account": account.id, "expires": now() + int(days * DAY)}
        connection.execute(insert(SESSIONS).values(values))
    return secret


def find_session(store: Store, secret: str) -> Account | None:
    """Return the account of a session; None if it is unknown or has expired."""
    with store.reading() as connection:
        row = connection.execute(
            select(ACCOUNTS, SESSIONS.c.expires).join(SESSIONS, SESSIONS.c.account == ACCOUNTS.c.id)
            .where(SESSIONS.c.hash == hash_secret(secret))
        ).mappings().first()  # fmt: skip
    if row is None or row["expires"] <= now():
        return None
    return Account(int(row["id"]), row["name"], row["role"])


def end_session(store: Store, secret: str) -> None:
    """End a session."""
    with store.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.hash == hash_secret(secret)))
