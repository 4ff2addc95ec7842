"""Timeouts for slow HTTP clients.

Uvicorn limits idle keep-alive connections but not the time a client takes to send headers or a body. These classes
close such connections so that many slow clients cannot exhaust the sockets (slowloris). Behind a reverse proxy the
proxy's own limits apply first.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import h11
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT = 15.0  # seconds from the connection, or the previous response, to the end of the request headers
BODY_TIMEOUT = 30.0  # seconds for a request body, plus its size divided by MIN_UPLOAD_RATE
MIN_UPLOAD_RATE = 16 * 1024  # bytes per second


class TimeoutProtocol(H11Protocol):
    """HTTP/1.1 protocol that aborts connections whose request headers arrive too slowly."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        """Parse the data; stop the timer when the headers are complete."""
        super().data_received(data)
        self._update_timer()

    def on_response_complete(self) -> None:
        """Start the timer for the next request, or for the rest of an unread body."""
        super().on_response_complete()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        super().connection_lost(exc)
        self._cancel_timer()

    def _update_timer(self) -> None:
        waiting = self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE
        if not waiting:
            self._cancel_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_TIMEOUT, self.transport.abort)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class TimedBody:
    """A request body that counts its bytes and limits the time they take."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._start: float | None = None
        self._complete = False
        self.size = 0

    async def next(self) -> Message:
        """Return the next message; the time limit ends with the body."""
        if self._complete:
            return await self._receive()
        now = time.monotonic()
        self._start = now if self._start is None else self._start
        left = self._start + BODY_TIMEOUT + self.size / MIN_UPLOAD_RATE - now
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0.001))
        except TimeoutError:
            raise HTTPException(408, "request timed out; retry on a faster connection") from None
        self.size += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        return message
