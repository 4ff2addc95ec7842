"""How long is somebody waited for who asks slowly? As long as a slow line needs, and not as long as it takes to harm.

A request's head is to be there within HEAD_SECONDS of the connection, or of the answer before it; its body within
BODY_SECONDS and what its bytes take at SLOWEST. Who takes longer loses the connection, so that many who send a byte now
and then cannot hold the sockets of those who want to be answered.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import h11
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0
BODY_SECONDS = 30.0
SLOWEST = 16 << 10  # bytes of a body in a second, once BODY_SECONDS are over


class Timed(H11Protocol):
    """Uvicorn's HTTP/1.1, which closes a connection whose next request does not begin or does not get on."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head from now on."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Go on, and wait no longer where the head is whole."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next head, or for the end of a body that nobody reads."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        super().connection_lost(exc)
        self._wait_no_longer()

    def _watch(self) -> None:
        waiting = self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE
        if not waiting:
            self._wait_no_longer()
        elif self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _wait_no_longer(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class Body:
    """A body while it arrives: its bytes are counted, and the time that they may take is up at some point."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._began: float | None = None
        self._whole = False
        self.counted = 0

    async def next(self) -> Message:
        """The next piece; after the last, whatever else there is to say, for which nobody is pressed."""
        if self._whole:
            return await self._receive()
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        left = self._began + BODY_SECONDS + self.counted / SLOWEST - now
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0.001))
        except TimeoutError:
            raise HTTPException(408, "this came too slowly; send it again by a better line") from None
        self.counted += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        return message
