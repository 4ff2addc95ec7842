"""Who may do what: accounts with a role, tokens that are shown once, invitations, sessions of browsers.

A token is `pippin_ID_SECRET`. The database has the ID, to find it by, and the SHA-256 of the secret, which is compared
in constant time; 256 random bits need no slow hash. Log-in by the page is by the same token and gives a session.
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

from pippin.boards.store import Store, now
from pippin.boards.tables import ACCOUNTS, INVITATIONS, SESSIONS, TOKENS
from pippin.errors import DataError, PippinError

ROLES = ("participant", "organiser")
DAY = 86_400
TOKEN_DAYS, INVITATION_DAYS, SESSION_DAYS = 365, 30, 14
_TOKEN = re.compile(r"pippin_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NAME = re.compile(r"[\w](?:[\w .&+'’()-]{0,58}[\w.)])?")


class NotAllowed(PippinError):
    """Who asks is not known, or may not."""


@dataclass(frozen=True)
class Account:
    """Somebody who is known."""

    id: int
    name: str
    role: str

    @property
    def organises(self) -> bool:
        """Whether boards are his to close."""
        return self.role == "organiser"


def hashed(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make_account(store: Store, name: str, role: str = "participant", days: float = TOKEN_DAYS) -> tuple[Account, str]:
    """A new account and its token, which is told this once."""
    with store.writing() as connection:
        return _made(connection, name, role, days)


def _made(connection: Connection, name: str, role: str, days: float) -> tuple[Account, str]:
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not _NAME.fullmatch(name):
        raise DataError("a name is up to 60 letters, digits, blanks and . - & + ' ( ), from a letter or digit on")
    if role not in ROLES:
        raise DataError(f"a role is {' or '.join(ROLES)}, not {role!r}")
    taken = connection.execute(select(ACCOUNTS.c.id).where(ACCOUNTS.c.name == name)).first()
    if taken:
        raise DataError(f"somebody is called {name} already; choose another name")
    try:
        made = connection.execute(insert(ACCOUNTS).values(name=name, role=role, made=now()).returning(ACCOUNTS.c.id))
    except IntegrityError:
        raise DataError(f"somebody is called {name} already; choose another name") from None
    account = Account(int(made.scalar_one()), name, role)
    return account, _new_token(connection, account, days)


def _new_token(connection: Connection, account: Account, days: float) -> str:
    identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    expires = now() + int(days * DAY)
    connection.execute(
        insert(TOKENS).values(id=identity, account=account.id, hash=hashed(secret), made=now(), expires=expires)
    )
    return f"pippin_{identity}_{secret}"


def new_token(store: Store, account: Account, days: float = TOKEN_DAYS) -> str:
    """Another token in place of all that an account had; its sessions end."""
    with store.writing() as connection:
        connection.execute(delete(TOKENS).where(TOKENS.c.account == account.id))
        connection.execute(delete(SESSIONS).where(SESSIONS.c.account == account.id))
        return _new_token(connection, account, days)


def account_of(store: Store, token: str) -> Account:
    """Whose token this is; NotAllowed where nobody's, or where it has expired."""
    parts = _TOKEN.fullmatch(token.strip())
    identity, secret = parts.groups() if parts else ("", "")
    with store.reading() as connection:
        found = connection.execute(
            select(TOKENS.c.hash, TOKENS.c.expires, ACCOUNTS).join(ACCOUNTS, ACCOUNTS.c.id == TOKENS.c.account)
            .where(TOKENS.c.id == identity)
        ).mappings().first()  # fmt: skip
    # Compared in any case, so that time tells nothing.
    same = hmac.compare_digest(found["hash"] if found else "0" * 64, hashed(secret))
    if found is None or not same:
        raise NotAllowed("this token is not known here; ask the organiser for an invitation")
    if found["expires"] <= now():
        raise NotAllowed("this token has expired; ask the organiser for a new one")
    return Account(int(found["id"]), found["name"], found["role"])


def account_named(store: Store, name: str) -> Account:
    """The account of a name."""
    with store.reading() as connection:
        found = connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.name == name)).mappings().first()
    if found is None:
        raise DataError(f"nobody here is called {name}")
    return Account(int(found["id"]), found["name"], found["role"])


def invite(store: Store, role: str = "participant", uses: int = 1, days: float = INVITATION_DAYS) -> str:
    """An invitation, told this once: whoever has it may make an account, as often as `uses` says."""
    if role not in ROLES:
        raise DataError(f"a role is {' or '.join(ROLES)}, not {role!r}")
    if uses < 1:
        raise DataError("an invitation is good for one account at least")
    identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    row = {"id": identity, "hash": hashed(secret), "role": role, "left": uses, "made": now(),
           "expires": now() + int(days * DAY)}  # fmt: skip
    with store.writing() as connection:
        connection.execute(insert(INVITATIONS).values(row))
    return f"pippin_{identity}_{secret}"


def join(store: Store, name: str, invitation: str = "", days: float = TOKEN_DAYS) -> tuple[Account, str]:
    """A new account by an invitation, or without one where registration is open; and its token, told this once."""
    with store.writing() as connection:
        if not invitation.strip():
            if not registration_open(store):
                raise NotAllowed("an account needs an invitation here; ask the organiser for one")
            return _made(connection, name, "participant", days)
        parts = _TOKEN.fullmatch(invitation.strip())
        identity, secret = parts.groups() if parts else ("", "")
        found = connection.execute(select(INVITATIONS).where(INVITATIONS.c.id == identity)).mappings().first()
        same = hmac.compare_digest(found["hash"] if found else "0" * 64, hashed(secret))
        if found is None or not same:
            raise NotAllowed("this invitation is not known here; ask the organiser for a new one")
        if found["expires"] <= now():
            raise NotAllowed("this invitation has expired; ask the organiser for a new one")
        taken = connection.execute(
            update(INVITATIONS).where(INVITATIONS.c.id == identity, INVITATIONS.c.left > 0)
            .values(left=INVITATIONS.c.left - 1)
        )  # fmt: skip
        if not taken.rowcount:
            raise NotAllowed("this invitation was used already; ask the organiser for a new one")
        return _made(connection, name, found["role"], days)


def first_invitation(store: Store) -> str | None:
    """An invitation for an organiser, where there is none yet."""
    with store.reading() as connection:
        if connection.execute(select(ACCOUNTS.c.id).where(ACCOUNTS.c.role == "organiser")).first():
            return None
    return invite(store, "organiser", days=1)


def registration_open(store: Store) -> bool:
    """Whether anybody may make an account."""
    return store.setting("registration", "invited") == "open"


def open_registration(store: Store, wanted: bool) -> None:
    """Let anybody make an account, or those alone who are invited."""
    store.set("registration", "open" if wanted else "invited")


def begin_session(store: Store, account: Account, days: float = SESSION_DAYS) -> str:
    """A session of a browser: the secret that its cookie holds."""
    secret = secrets.token_urlsafe(32)
    with store.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.expires <= now()))
        values = {"hash": hashed(secret), "account": account.id, "expires": now() + int(days * DAY)}
        connection.execute(insert(SESSIONS).values(values))
    return secret


def session_of(store: Store, secret: str) -> Account | None:
    """Whose session this is; None where it is over or nobody's."""
    with store.reading() as connection:
        found = connection.execute(
            select(ACCOUNTS, SESSIONS.c.expires).join(SESSIONS, SESSIONS.c.account == ACCOUNTS.c.id)
            .where(SESSIONS.c.hash == hashed(secret))
        ).mappings().first()  # fmt: skip
    if found is None or found["expires"] <= now():
        return None
    return Account(int(found["id"]), found["name"], found["role"])


def end_session(store: Store, secret: str) -> None:
    """Log out."""
    with store.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.hash == hashed(secret)))
