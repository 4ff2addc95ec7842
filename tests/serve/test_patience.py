"""Who asks slowly is waited for, but not for ever; who asks as people do is not troubled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import uvicorn
from tests.serve.conftest import Web
from uvicorn.server import ServerState

from pippin.serve import patience
from pippin.serve.web import configured

GET = b"GET / HTTP/1.1\r\nHost: boards.test\r\n"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    """Answers without a look at the body."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Clock(asyncio.SelectorEventLoop):
    """A loop whose clock is put forward, so that nobody waits and no busy machine is too late."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


async def _wait(seconds: float) -> None:
    """Let time go by, once what was sent before has arrived."""
    await asyncio.sleep(0.02)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Clock)
    loop.ahead += seconds


def _talk(talk: Talk) -> Any:
    """What comes of a conversation with a server."""

    async def run() -> Any:
        config: uvicorn.Config = configured(_answer)
        state, loop = ServerState(), asyncio.get_running_loop()
        made: Any = config.http_protocol_class
        server = await loop.create_server(lambda: made(config=config, server_state=state, app_state={}), "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                return await talk(reader, writer)
            finally:
                writer.close()

    def converse() -> Any:
        with asyncio.Runner(loop_factory=Clock) as runner:
            return runner.run(run())

    with ThreadPoolExecutor(1) as pool:  # as a browser's test may have a loop in this thread
        return pool.submit(converse).result()


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, byte: bytes) -> bytes:
    """Send a byte now and then until the other side has had enough; what it said."""
    said = asyncio.ensure_future(_all(reader))
    for _ in range(round(patience.HEAD_SECONDS) + 2):
        writer.write(byte)
        await _wait(1)
    assert said.done()
    return await said


async def _all(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


def test_a_head_that_never_ends() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET + b"X-Slow: ")
        return await _drip(reader, writer, b"a")

    assert _talk(talk) == b""


def test_silence() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        await _wait(patience.HEAD_SECONDS)
        return await _all(reader)

    assert _talk(talk) == b""


def test_a_second_head_that_never_ends() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET + b"\r\n")
        first = await reader.readuntil(b"ok")
        assert first.startswith(b"HTTP/1.1 200")
        writer.write(GET + b"X-Slow: ")
        return await _drip(reader, writer, b"a")

    assert _talk(talk) == b""


def test_a_body_that_goes_on_after_the_answer() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET.replace(b"GET", b"POST") + b"Content-Length: 1000000\r\n\r\n")
        await reader.readuntil(b"ok")
        return await _drip(reader, writer, b"a")

    assert _talk(talk) == b""


def test_who_asks_as_people_do() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        for _ in range(3):  # longer than a head may take, but each head is there in time
            writer.write(GET)
            await _wait(0.4 * patience.HEAD_SECONDS)
            writer.write(b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        return 3

    assert _talk(talk) == 3


def test_a_body_that_never_ends(plain_web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "BODY_SECONDS", 0.1)
    head = {"content-type": "application/x-www-form-urlencoded"}
    begun = time.monotonic()
    slow = plain_web.ask("POST", "/login", b"token=", {**head, "content-length": "60"}, unfinished=True)
    assert slow.status == 408
    assert "too slowly" in slow.text
    assert time.monotonic() - begun < 25  # and not the half minute of others


def test_time_grows_with_what_has_come() -> None:
    pieces = [b"a" * (1 << 20)] * 3

    async def receive() -> Any:
        return {"type": "http.request", "body": pieces.pop(), "more_body": bool(pieces)}

    async def read() -> int:
        body = patience.Body(receive)
        body._began = time.monotonic() - patience.BODY_SECONDS - 60  # the first megabytes pay for a minute each
        body.counted = 2 << 20
        while pieces:
            await body.next()
        return body.counted

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: asyncio.run(read())).result() == 5 << 20
