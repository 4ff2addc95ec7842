"""Record what a running OpenSearch with its learning-to-rank plugin answers to `pippin.engines`.

`python -m tests.golden.engines.record http://localhost:9200` writes opensearch.json.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import httpx
from tests.engines.plugin_index import PluginIndex

import pippin
from pippin.collections.collection import Query
from pippin.collections.engine_features import make_templates
from pippin.engines import SearchEngine, connect
from pippin.rankers.models import load

RECORDING = Path(__file__).with_name("opensearch.json")
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "a", "title": "red apples", "price": 2.5},
    {"id": "b", "title": "green pears and apples", "price": 1.25},
    {"id": "c", "title": "apples", "price": 7.0},
    {"id": "d", "title": "pears"},
]
QUERIES = [Query("1", "apples"), Query("2", "green pears"), Query("3", "medlars")]
QRELS = {"1": {"a": 1, "c": 2, "missing": 1}, "2": {"b": 2, "d": 1}}
MAPPING = make_templates("bm25@title length@title value@price", "opensearch").mapping
SEARCH = {"fields": "title"}
MODEL = """## LambdaMART

<ensemble>
  <tree id="1" weight="1.0">
    <split><feature> 3 </feature><threshold> 2.0 </threshold>
      <split pos="left"><output> -0.5 </output></split>
      <split pos="right"><feature> 1 </feature><threshold> 0.25 </threshold>
        <split pos="left"><output> 0.25 </output></split>
        <split pos="right"><output> 1.5 </output></split>
      </split>
    </split>
  </tree>
</ensemble>
"""


def run_loop(engine: SearchEngine, folder: Path) -> dict[str, Any]:
    """Run all requests of the loop and return the results."""
    (folder / "model.txt").write_text(MODEL)
    logged = engine.log_features(QUERIES, QRELS, MAPPING, depth=3, parameters=SEARCH)
    model = load(folder / "model.txt")
    numbered = replace(logged.dataset, feature_names=("1", "2", "3"))  # as RankLib's model
    engine.deploy(model, MAPPING, name="fruit", check=numbered)
    verification = engine.verify(model, MAPPING, QUERIES, name="fruit", depth=3, parameters=SEARCH)
    runs = [engine.run(QUERIES, depth=3, parameters=SEARCH, model=name) for name in (None, "fruit")]
    return {
        "features": [[None if isnan(value) else value for value in row] for row in logged.dataset.features.tolist()],
        "documents": list(logged.dataset.document_ids or ()),
        "not_indexed": logged.not_indexed,
        "verified": (verification.n_documents, verification.passed),
        "rankings": [list(result.run.document_ids) for result in runs],
        "unmatched": [result.unmatched for result in runs],
    }


def main(address: str, folder: Path) -> None:
    """Index the documents, run the loop, and write all requests and answers."""
    index = PluginIndex(f"{address.rstrip('/')}/fruit", "opensearch")
    index.replace_documents(DOCUMENTS)
    exchanges: list[dict[str, Any]] = []

    def keep(response: httpx.Response) -> None:
        content = response.request.content
        exchanges.append({
            "method": response.request.method, "path": response.request.url.path,
            "body": json.loads(content) if content else None, "status": response.status_code,
            "answer": json.loads(response.read()),
        })  # fmt: skip

    try:
        with connect(index.address, "opensearch") as engine:
            engine._client.event_hooks = {"response": [keep]}
            results = run_loop(engine, folder)
    finally:
        index.delete()
    text = json.dumps({"pippin": pippin.__version__, "exchanges": exchanges, "results": results}, indent=1)
    RECORDING.write_text(f"{text}\n")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        main(sys.argv[1], Path(temporary))
