"""Search engines over HTTP: log features, deploy a model, run queries, and verify the engine's scores."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pippin.errors import UnknownName
from pippin.registry import lazy_attributes

if TYPE_CHECKING:
    from pippin.collections.engine_features import Templates, make_templates
    from pippin.engines.base import Deployment, EngineRun, LoggedFeatures, SearchEngine, Verification
    from pippin.engines.elasticsearch import Elasticsearch, OpenSearch
    from pippin.engines.server import ModelServer, serve_model
    from pippin.engines.solr import Solr

_MODULES = {
    **dict.fromkeys(("Deployment", "EngineRun", "LoggedFeatures", "SearchEngine", "Verification"), "base"),
    **dict.fromkeys(("Elasticsearch", "OpenSearch"), "elasticsearch"), "Solr": "solr",
    **dict.fromkeys(("ModelServer", "serve_model"), "server"),
}  # fmt: skip
__all__ = [
    "Deployment", "Elasticsearch", "EngineRun", "LoggedFeatures", "ModelServer", "OpenSearch", "SearchEngine", "Solr",
    "Templates", "Verification", "connect", "make_templates", "serve_model",
]  # fmt: skip

_FEATURES = lazy_attributes("pippin.collections", dict.fromkeys(("Templates", "make_templates"), "engine_features"))
_CLIENTS = lazy_attributes(__name__, _MODULES)


def __getattr__(name: str) -> Any:
    return (_FEATURES if name in ("Templates", "make_templates") else _CLIENTS)(name)


def connect(url: str, engine: str | None = None, **options: Any) -> "SearchEngine":
    """Return a client of a search engine.

    Parameters
    ----------
    url : str
        Address of a Solr core or collection, or of an index of Elasticsearch or OpenSearch.
    engine : {"elasticsearch", "opensearch", "solr"}, optional
        The engine. Default: Solr if the path of the address begins with ``/solr/``, else what the address answers.
    **options
        Arguments of the client, such as `id_field`.

    Returns
    -------
    SearchEngine
        The client: :class:`Solr`, :class:`Elasticsearch` or :class:`OpenSearch`.

    Raises
    ------
    PippinError
        If the engine does not answer.

    Examples
    --------
    >>> connect("http://localhost:8983/solr/products")
    Solr('http://localhost:8983/solr/products')
    """
    from pippin.engines.elasticsearch import Elasticsearch, OpenSearch
    from pippin.engines.solr import Solr

    clients = {"elasticsearch": Elasticsearch, "opensearch": OpenSearch, "solr": Solr}
    if engine is None and urlsplit(url).path.startswith("/solr/"):
        engine = "solr"
    if engine is None:
        with Elasticsearch(url) as client:
            engine = client.distribution
    if engine not in clients:
        raise UnknownName("engine", engine, clients)
    return clients[engine](url, **options)
