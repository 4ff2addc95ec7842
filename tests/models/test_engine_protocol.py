"""The requests of `pippin.engines` to OpenSearch and Elasticsearch, against answers that OpenSearch 3.8.0 gave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.golden.engines.record import MAPPING, MODEL, QRELS, QUERIES, RECORDING, run_loop

from pippin.cli.main import main
from pippin.engines import Elasticsearch, OpenSearch, SearchEngine, Solr, connect
from pippin.errors import PippinError, UnknownName

RECORDED = json.loads(RECORDING.read_text())
ABOUT = {"number": "9.0.8"}  # of Elasticsearch, which does not name its distribution


class Stub(ThreadingHTTPServer):
    """A server that gives the recorded answer to each recorded request, and 418 to any other."""

    def __init__(self, distribution: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, Any]] = {}
        self.unexpected: list[str] = []
        self.headers: list[Any] = []
        for exchange in RECORDED["exchanges"]:
            answer = exchange["answer"]
            if distribution == "elasticsearch" and exchange["path"] == "/":
                answer = {"version": ABOUT}
            self.answers[_key(exchange["method"], exchange["path"], exchange["body"])] = exchange["status"], answer

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/fruit"


class _Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        assert isinstance(self.server, Stub)
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = _key(self.command, self.path, json.loads(content) if content else None)
        self.server.headers.append(self.headers)
        if key not in self.server.answers:
            self.server.unexpected.append(key)
        status, answer = self.server.answers.get(key, (418, {"error": "unexpected request"}))
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _key(method: str, path: str, body: Any) -> str:
    return json.dumps([method, path, body], sort_keys=True)


@pytest.fixture(params=["opensearch", "elasticsearch"])
def stub(request: pytest.FixtureRequest) -> Iterator[Stub]:
    with Stub(request.param) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


def test_every_request_is_one_that_the_engine_accepted(stub: Stub, tmp_path: Path) -> None:
    with connect(stub.address) as engine:
        assert isinstance(engine, Elasticsearch)
        results = json.loads(json.dumps(run_loop(engine, tmp_path)))
    assert stub.unexpected == []
    assert results == RECORDED["results"]


def test_the_commands_do_the_same(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_ENGINE_URL", stub.address)
    monkeypatch.setenv("PIPPIN_ENGINE_USER", "admin")
    monkeypatch.setenv("PIPPIN_ENGINE_PASSWORD", "secret")
    monkeypatch.chdir(tmp_path)
    Path("mapping.json").write_text(json.dumps(MAPPING))
    Path("model.txt").write_text(MODEL)
    Path("topics.tsv").write_text("".join(f"{query.id}\t{query.text}\n" for query in QUERIES))
    Path("qrels").write_text("".join(f"{q} 0 {d} {label}\n" for q, of in QRELS.items() for d, label in of.items()))
    search = ["--queries", "topics.tsv", "--parameter", "fields=title", "--depth", "3"]
    mapping = ["--mapping", "mapping.json"]
    assert main(["engine", "log", *mapping, "--qrels", "qrels", *search, "--out", "train.txt"]) == 0
    assert len(Path("train.txt").read_text().splitlines()) == 5
    assert main(["engine", "deploy", "model.txt", *mapping, "--name", "fruit", "--check", "train.txt"]) == 0
    assert main(["engine", "verify", "model.txt", *mapping, "--name", "fruit", *search]) == 0
    assert main(["engine", "run", "--model", "fruit", *search, "--out", "run.txt"]) == 0
    assert [line.split()[2] for line in Path("run.txt").read_text().splitlines()] == RECORDED["results"]["rankings"][1]
    assert stub.unexpected == []
    assert all(headers["Authorization"].startswith("Basic ") for headers in stub.headers)


def test_scores_of_another_model_are_listed(stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.txt"
    other.write_text(MODEL.replace("<output> 0.25", "<output> 0.75"))
    (tmp_path / "topics.tsv").write_text("".join(f"{query.id}\t{query.text}\n" for query in QUERIES))
    (tmp_path / "mapping.json").write_text(json.dumps(MAPPING))
    verify = ["engine", "verify", str(other), stub.address, "--name", "fruit"]
    search = ["--queries", str(tmp_path / "topics.tsv"), "--parameter", "fields=title", "--depth", "3"]
    assert main([*verify, "--mapping", str(tmp_path / "mapping.json"), *search]) == 1
    assert "scores differ, by at most" in capsys.readouterr().out


def test_an_api_key_and_the_error_of_the_engine(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_ENGINE_API_KEY", "abc")
    with connect(stub.address) as engine, pytest.raises(PippinError, match="answered 418 to POST /_search: unexpected"):
        engine.run(QUERIES, depth=7)
    assert stub.headers[-1]["Authorization"] == "ApiKey abc"


def test_the_engine_is_known_by_its_address() -> None:
    clients: list[SearchEngine] = [
        connect("http://127.0.0.1:1/solr/products"),
        connect("http://127.0.0.1:1/products", "opensearch"),
        connect("http://127.0.0.1:1/products", "elasticsearch", id_field="sku"),
    ]
    assert [type(client) for client in clients] == [Solr, OpenSearch, Elasticsearch]
    assert [client.id_field for client in clients] == ["id", "_id", "sku"]
    for client in clients:
        client.close()
    with pytest.raises(PippinError, match="cannot reach Elasticsearch"):
        connect("http://127.0.0.1:1/products")
    with pytest.raises(UnknownName, match="vespa"):
        connect("http://127.0.0.1:1/products", "vespa")


def test_no_address_is_an_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIPPIN_ENGINE_URL", raising=False)
    assert main(["engine", "run", "--queries", "topics.tsv", "--out", "run.txt"]) == 2
    assert "no address of the engine: give URL, or set PIPPIN_ENGINE_URL" in capsys.readouterr().err


class _FixedAnswer(BaseHTTPRequestHandler):
    """Give the answer of the server to every request."""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = self.server.body  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


SOLR_ANSWER = b'{"response": {"docs": [{"sku": "a", "score": 1.0}]}}'
SEARCH_ANSWER = b'{"hits": {"hits": [{"_id": "a", "_source": {}}]}}'


@pytest.mark.parametrize(
    ("client", "options", "body", "message"),
    [
        (Solr, {}, b"<html>", "does not answer as Solr does: response.docs is missing"),
        (Solr, {}, b"[1]", "does not answer as Solr does: response.docs is missing"),
        (Solr, {}, SOLR_ANSWER, "a document lacks the field 'id'; name the field of ids with --id-field"),
        (Elasticsearch, {}, b"{}", "does not answer as Elasticsearch does: hits.hits is missing"),
        (Elasticsearch, {"id_field": "sku"}, SEARCH_ANSWER, "a document lacks the field 'sku'"),
    ],
)
def test_answers_of_another_server_or_without_ids(
    client: type[SearchEngine], options: dict[str, Any], body: bytes, message: str
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _FixedAnswer) as server:
        server.body = body  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            address = f"http://127.0.0.1:{server.server_port}/fruit"
            with client(address, **options) as engine, pytest.raises(PippinError, match=message):
                engine.run(QUERIES)
        finally:
            server.shutdown()


def test_an_address_without_an_index_is_refused() -> None:
    with pytest.raises(PippinError, match="names no index; append its name, as in"):
        connect("http://127.0.0.1:1")
