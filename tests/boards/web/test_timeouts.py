"""Timeouts for slow clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from tests.boards.web.conftest import Client
from uvicorn.server import ServerState

from pippin.boards.web import timeouts
from pippin.boards.web.processes import make_config

GET = b"GET / HTTP/1.1\r\nHost: boards.test\r\n"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    """Respond without reading the body."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose clock can be advanced, so that tests do not wait."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


async def _wait(seconds: float) -> None:
    """Advance the clock after pending data has arrived."""
    await asyncio.sleep(0.02)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Clock)
    loop.ahead += seconds


def _talk(talk: Talk) -> Any:
    """Run a conversation with a server; return its result."""

    async def run() -> Any:
        config: uvicorn.Config = make_config(_answer)
        state, loop = ServerState(), asyncio.get_running_loop()
        protocol: Any = config.http_protocol_class
        server = await loop.create_server(
            lambda: protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                return await talk(reader, writer)
            finally:
                writer.close()

    def converse() -> Any:
        with asyncio.Runner(loop_factory=Clock) as runner:
            return runner.run(run())

    with ThreadPoolExecutor(1) as pool:  # the browser tests have a loop in this thread
        return pool.submit(converse).result()


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, byte: bytes) -> bytes:
    """Send a byte per second until the server closes the connection; return its response."""
    response = asyncio.ensure_future(_all(reader))
    for _ in range(round(timeouts.HEADER_TIMEOUT) + 2):
        writer.write(byte)
        await _wait(1)
    assert response.done()
    return await response


async def _all(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


def test_slow_headers_time_out() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET + b"X-Slow: ")
        return await _drip(reader, writer, b"a")

    assert _talk(talk) == b""


def test_an_idle_connection_times_out() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        await _wait(timeouts.HEADER_TIMEOUT)
        return await _all(reader)

    assert _talk(talk) == b""


def test_slow_headers_of_a_second_request_time_out() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET + b"\r\n")
        first = await reader.readuntil(b"ok")
        assert first.startswith(b"HTTP/1.1 200")
        writer.write(GET + b"X-Slow: ")
        return await _drip(reader, writer, b"a")

    assert _talk(talk) == b""


def test_a_body_after_the_response_times_out() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET.replace(b"GET", b"POST") + b"Content-Length: 1000000\r\n\r\n")
        await reader.readuntil(b"ok")
        return await _drip(reader, writer, b"a")

    assert _talk(talk) == b""


def test_requests_within_the_timeouts_are_answered() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        for _ in range(3):  # in total longer than the timeout of one request
            writer.write(GET)
            await _wait(0.4 * timeouts.HEADER_TIMEOUT)
            writer.write(b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        return 3

    assert _talk(talk) == 3


def test_a_slow_body_times_out(sqlite_web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "BODY_TIMEOUT", 0.1)
    head = {"content-type": "application/x-www-form-urlencoded"}
    start = time.monotonic()
    slow = sqlite_web.request("POST", "/login", b"token=", {**head, "content-length": "60"}, unfinished=True)
    assert slow.status == 408
    assert time.monotonic() - start < 25  # less than the default timeout


def test_the_body_timeout_grows_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[float] = []

    async def wait_for(message: Any, timeout: float) -> Any:
        allowed.append(timeout)
        return await message

    async def receive() -> Any:
        return {"type": "http.request", "body": b"a" * (1 << 20), "more_body": True}

    async def read() -> None:
        body = timeouts.TimedBody(receive)
        for _ in range(3):
            await body.next()

    monkeypatch.setattr(timeouts, "time", SimpleNamespace(monotonic=lambda: 0.0))  # no time passes
    monkeypatch.setattr(timeouts, "asyncio", SimpleNamespace(wait_for=wait_for))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(read())).result()
    assert allowed == [timeouts.BODY_TIMEOUT + megabytes * 64 for megabytes in range(3)]
