"""The command `pippin engine`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pippin
from pippin.cli.models import add_requirement
from pippin.cli.options import Command, add_option, parse_pairs, print_warning
from pippin.cli.output import print_error, print_message, write_run, write_text
from pippin.cli.parser import Parser
from pippin.errors import DataError, RequirementNotMet

if TYPE_CHECKING:
    from pippin.engines import SearchEngine

_MAX_LISTED = 5
_URL = "PIPPIN_ENGINE_URL"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    actions.help = "what to do; see `pippin engine ACTION --help`"
    for name, (configure_action, run_action, about) in ACTIONS.items():
        action = actions.add_parser(name, help=about)
        action.description = f"{about[0].upper()}{about[1:]}."
        configure_action(action)
        action.set_defaults(run_action=run_action)


def run(options: argparse.Namespace) -> int:
    """Run the action and return the exit status."""
    status: int = options.run_action(options)
    return status


def _connect(action: Callable[[SearchEngine, argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Return the function that connects to the engine and runs an action there."""

    def run_action(options: argparse.Namespace) -> int:
        url = options.url or os.environ.get(_URL)
        if not url:
            raise DataError(f"no address of the engine: give URL, or set {_URL}")
        with pippin.engines.connect(url, options.engine, id_field=options.id_field) as engine:
            return action(engine, options)

    return run_action


def _add_url(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="address of the core, collection or index, such as "
                        "http://localhost:9200/products (default: PIPPIN_ENGINE_URL); PIPPIN_ENGINE_USER and "
                        "PIPPIN_ENGINE_PASSWORD, or PIPPIN_ENGINE_API_KEY, hold credentials")  # fmt: skip
    parser.add_argument("--engine", metavar="ENGINE", help="elasticsearch, opensearch or solr (default: what answers)")
    parser.add_argument("--id-field", metavar="FIELD", help="field of the document ids (default: id in Solr, else _id)")


def _add_mapping(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mapping", metavar="FILE", required=True, help="JSON file with the engine's definitions of "
                        "the features; `pippin engine features` writes one")  # fmt: skip


def _add_search(parser: argparse.ArgumentParser, depth: int, help: str) -> None:
    add_option(parser, "queries", required=True)
    parser.add_argument("--depth", type=int, default=depth, metavar="N", help=f"{help} (default: {depth})")
    parser.add_argument("--parameter", metavar="NAME=VALUE", action="append", default=[], help="parameter of the "
                        "first phase: of Solr's request, such as \"qf=title body\", or of a multi_match query, such as "
                        "\"fields=title body\" (repeatable)")  # fmt: skip


def _configure_features(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("features", metavar="SET|FEATURE", help="feature sets and features, such as \"bm25@title "
                        "length@body value@price age@published\"")  # fmt: skip
    parser.add_argument("--for", dest="engine", required=True, metavar="ENGINE", help="elasticsearch, opensearch, solr "
                        "or vespa")  # fmt: skip
    parser.add_argument("--function", metavar="NAME=EXPRESSION", action="append", default=[], help="a further feature "
                        "in the engine's own language: a function query of Solr, a Painless expression, or a ranking "
                        "expression of Vespa (repeatable)")  # fmt: skip
    parser.add_argument("--url", metavar="URL", help="also write the features into the engine at this address, as the "
                        "set --name")  # fmt: skip
    parser.add_argument("--name", default="pippin", help="name of the set of features in the engine (default: pippin)")
    add_option(parser, "out", metavar="FILE")


def _features(options: argparse.Namespace) -> int:
    functions = parse_pairs(options.function, "--function")
    templates = pippin.engines.make_templates(options.features, options.engine, functions)
    write_text(json.dumps(templates.mapping, indent=1, ensure_ascii=False), options.output or "-", "json")
    if options.url is not None:
        with pippin.engines.connect(options.url, templates.engine) as engine:
            count = engine.write_features(templates.mapping, name=options.name)
        print_message(f"{options.name}: {count} features in the engine", stderr=True)
    for feature, reason in templates.unsupported.items():
        print_message(f"{templates.engine} cannot compute {feature}: {reason}", stderr=True)
    return 0


def _configure_log(parser: argparse.ArgumentParser) -> None:
    _add_url(parser)
    _add_mapping(parser)
    parser.add_argument("--qrels", metavar="FILE", required=True, help="judgements of the queries")
    _add_search(parser, 0, "also log the first N documents of each query; unjudged documents get label 0")
    parser.add_argument("--missing", choices=("zero", "direction"), help="what absent values are: 0, or NULL (default: "
                        "what the engine sends to models; linear models need zero)")  # fmt: skip
    add_option(parser, "out", metavar="DATA", required=True)


def _log(engine: SearchEngine, options: argparse.Namespace) -> int:
    logged = engine.log_features(
        options.queries,
        options.qrels,
        options.mapping,
        depth=options.depth,
        parameters=parse_pairs(options.parameter, "--parameter"),
        missing=options.missing,
    )
    logged.write(options.output)
    print_message(
        f"{options.output}: {logged.dataset.queries:,} queries, {len(logged.dataset):,} documents, "
        f"{len(logged.dataset.feature_names)} features"
    )
    if logged.not_indexed:
        examples = ", ".join(f"{document} of query {query}" for query, document in logged.not_indexed[:_MAX_LISTED])
        print_warning(f"{len(logged.not_indexed)} judged documents are not in the engine ({examples})")
    return 0


def _configure_deploy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")
    _add_url(parser)
    _add_mapping(parser)
    _add_model_name(parser)
    parser.add_argument("--check", metavar="DATA", help="labelled data for the certificate (default: documents of the "
                        "training set)")  # fmt: skip
    add_requirement(parser)


def _add_model_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="pippin", help="name of the model in the engine (default: pippin)")
    parser.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], help="option of the export, "
                        "such as missing=direction for Solr 9.2 or newer (repeatable)")  # fmt: skip


def _deploy(engine: SearchEngine, options: argparse.Namespace) -> int:
    try:
        deployment = engine.deploy(
            options.model, options.mapping, name=options.name, check=options.check, require=options.require,
            force=options.force, **parse_pairs(options.option, "--option"),
        )  # fmt: skip
    except RequirementNotMet as error:
        print_error(str(error))
        return 1
    print_message(
        f"{deployment.name}: deployed with {deployment.n_features} features; {deployment.certificate.sentence()}"
    )
    return 0


def _configure_run(parser: argparse.ArgumentParser) -> None:
    _add_url(parser)
    _add_search(parser, 100, "documents per query, which the model re-ranks")
    parser.add_argument("--model", metavar="NAME", help="a deployed model (default: the engine's own order)")
    add_option(parser, "out", metavar="RUN", required=True)


def _run(engine: SearchEngine, options: argparse.Namespace) -> int:
    result = engine.run(
        options.queries,
        model=options.model,
        depth=options.depth,
        parameters=parse_pairs(options.parameter, "--parameter"),
    )
    write_run(result.run, options.output)
    latencies = ", ".join(f"{result.latency(percentile):.1f} ms at {percentile} %" for percentile in (50, 95, 99))
    print_message(f"{options.output}: {len(result.run.query_ids):,} queries; response times {latencies}")
    if result.unmatched:
        print_warning(f"{len(result.unmatched)} queries have no result ({', '.join(result.unmatched[:_MAX_LISTED])})")
    return 0


def _configure_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on, without "
                        "authentication (default: 127.0.0.1)")  # fmt: skip
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port (default: 8000; 0: any free port)")


def _serve(options: argparse.Namespace) -> int:
    def report(address: str) -> None:
        print_message(f"listening on {address} (POST /score, GET /model)")
        sys.stdout.flush()

    pippin.engines.serve_model(options.model, host=options.host, port=options.port, on_start=report)
    return 0


def _configure_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the model file that was deployed")
    _add_url(parser)
    _add_mapping(parser)
    _add_model_name(parser)
    _add_search(parser, 100, "documents per query to compare")


def _verify(engine: SearchEngine, options: argparse.Namespace) -> int:
    result = engine.verify(
        options.model, options.mapping, options.queries, name=options.name, depth=options.depth,
        parameters=parse_pairs(options.parameter, "--parameter"), **parse_pairs(options.option, "--option"),
    )  # fmt: skip
    if result.passed:
        print_message(
            f"{options.name}: the engine's scores of {result.n_documents:,} documents equal the certificate's"
        )
        return 0
    print_message(
        f"{options.name}: {len(result.differing):,} of {result.n_documents:,} scores differ, "
        f"by at most {result.largest_difference:.3g}"
    )
    for query, document, score, expected in result.differing[:_MAX_LISTED]:
        print_message(f"  query {query}, document {document}: the engine {score:.9g}, expected {expected:.9g}")
    return 1


ACTIONS: Mapping[str, tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int], str]] = {
    "features": (_configure_features, _features, "write how an engine computes features, and which it cannot compute"),
    "log": (
        _configure_log,
        _connect(_log),
        "write the engine's own feature values of judged documents as a data set",
    ),
    "deploy": (
        _configure_deploy,
        _connect(_deploy),
        "write a model and its features into the engine, replacing earlier ones",
    ),
    "run": (_configure_run, _connect(_run), "run queries and write the ranked documents, with response times"),
    "serve": (_configure_serve, _serve, "serve a model over HTTP: POST /score takes batches as JSON or Arrow"),
    "verify": (
        _configure_verify,
        _connect(_verify),
        "compare the engine's scores with those of the certificate's arithmetic",
    ),
}

COMMANDS = {
    "engine": Command(
        """Log features from Solr, OpenSearch or Elasticsearch, deploy models, run queries, and verify the scores.

Train on the engine's own feature values (`engine log`): a model trained on values that another program computed scores
differently in the engine.""",
        (
            'pippin engine features "bm25@title length@body value@price" --for solr --out mapping.json',
            "pippin engine log http://localhost:8983/solr/products --mapping mapping.json --queries topics.tsv "
            "--qrels qrels.txt --out train.txt",
            "pippin engine deploy model.json http://localhost:8983/solr/products --mapping mapping.json",
        ),
        configure,
        run,
    ),
}
