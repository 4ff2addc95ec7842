"""`pippin build`: from documents, queries and judgements to a data set as LETOR lays it out."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from pippin.cli.index import add_analysis, analysis_of
from pippin.cli.options import flag, hint, old, shared
from pippin.cli.output import say
from pippin.errors import DataError

if TYPE_CHECKING:
    from pippin.collection.sharded import Spread

HELP = """Build a learning-to-rank data set from a collection of documents.

--explain says what is seen there, before anything is done."""
LONGEST = 24  # characters of an id that is named in passing
EXAMPLES = (
    "pippin build --explain cacm/",
    "pippin build cacm/ --out cacm-letor --sample 100",
    'pippin build docs.jsonl --topics topics.tsv --judgements judged.txt -o built --features "bm25@title bm25@text"',
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("collection", metavar="COLLECTION", help="a file or folder of documents, or `stdlib`")
    shared(parser, "reader")
    flag(parser, "topics", "needed where they do not stand beside the documents")
    parser.add_argument("--judgements", metavar="FILE", help="who judged what, likewise")
    shared(parser, "streams", repeated="refuse")
    flag(parser, "out", metavar="FOLDER")
    parser.add_argument("--explain", action="store_true", help="say what is taken for documents, queries and "
                        "judgements, and build nothing")  # fmt: skip
    flag(parser, "features", "auto is what fits", default="auto")
    shared(parser, sample=1000, folds=5)
    flag(parser, "seed", "queries are shuffled before they are cut into folds (default: they are cut as they stand)")
    parser.add_argument(
        "--documents", choices=("top", "judged", "both"), default=None,
        help="the best N by BM25, the judged ones, or both (default: as the collection was judged)",
    )  # fmt: skip
    parser.add_argument(
        "--unjudged", choices=("drop", "keep"), default="drop",
        help="queries that nobody judged: leave them out, or keep them, all not relevant (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--drop-useless", action="store_true", help="leave out features with one value only, and copies of others"
    )
    shared(parser, "field")
    parser.add_argument(
        "--min-rule", choices=("letor", "min"), default="letor",
        help="what fills NULL: LETOR's files (0 for BM25, else the query's minimum), or its paper (always the minimum)",
    )  # fmt: skip
    parser.add_argument("--no-meta", action="store_true", help="write no meta-information, which is large")
    parser.add_argument("--similarity", action="store_true", help="write how alike each query's documents are")
    shared(parser, "dense")
    add_analysis(parser)
    flag(parser, "memory", "more of the index is gathered on disk", default="128M")
    parser.add_argument("--resume", action="store_true", help="go on where a build of the same data was stopped")
    shared(parser, "dask", "jobs", "quiet")
    old(parser, "--output", "--out")
    old(parser, "--format", "--reader")
    old(parser, "--queries", "--topics")


def run(options: argparse.Namespace) -> int:
    """Build, and say what there is now."""
    from pippin.collection.build import build, usual
    from pippin.collection.named import is_named, open_collection
    from pippin.collection.recipe import Recipe
    from pippin.machine import cpu_count, parse_size

    named = {"format": options.reader, "queries": options.topics, "judgements": options.judgements,
             "streams": options.streams, "repeated": options.repeated,
             "jobs": options.jobs or cpu_count()}  # fmt: skip
    if options.explain and not is_named(options.collection):
        from pippin.collection.readers.explain import STOPS, explain

        said = explain(options.collection, **named)
        say(said)
        return 2 if STOPS in said else 0
    if options.dask is not None and options.dask != "local":
        named["jobs"] = cpu_count()  # pages are parsed here
    collection = open_collection(options.collection, anchors=options.dask is None, **named)
    if options.explain:
        say(str(collection))
        return 0
    if options.output is None:
        raise DataError("where does the data set go? Name a folder with -o FOLDER")
    recipe = Recipe(
        features=options.features,
        how=options.documents or usual(collection),
        size=options.sample,
        folds=options.folds,
        seed=options.seed,
        query_field=options.field,
        unjudged=options.unjudged,
        drop_useless=options.drop_useless,
        min_rule=options.min_rule,
        analysis=analysis_of(options),
        meta=not options.no_meta,
        similarity=options.similarity,
        dense=options.dense,
    )
    with _spread(options) as spread:
        manifest = build(
            collection, options.output, recipe,
            memory=parse_size(options.memory), resume=options.resume, verbose=not options.quiet, spread=spread,
        )  # fmt: skip
    for note in collection.notes:
        hint(note)
    say(summary(manifest, options.output))
    return 0


def _spread(options: argparse.Namespace) -> AbstractContextManager[Spread | None]:
    """The workers of the cluster that is asked for."""
    if options.dask is None:
        return nullcontext()
    from pippin.bench.dask.building import workers

    return workers(options.dask, options.jobs)


def summary(manifest: dict[str, Any], folder: str) -> str:
    """What was built, and what the sampling did, in a few lines."""
    lines = [f"{manifest['collection']['name']}: {manifest['collection']['documents']:,} documents, "
             f"{len(manifest['features'])} features, in {folder}"]  # fmt: skip
    lines += [f"  {manifest['matched']}"] if "matched" in manifest else []
    for task, task_record in manifest["tasks"].items():
        sampling = task_record["sampling"]
        kept = sampling["relevant"] - sampling["lost"]
        line = (f"{task_record['queries']:,} queries, {task_record['documents']:,} documents to rank, "
                f"{kept:,} of {sampling['relevant']:,} relevant ones among them")  # fmt: skip
        lines.append(f"  {task}: {line}" if task else f"  {line}")
        lines += [f"  {sentence}" for sentence in about_ceilings(task_record)]
        lines += [f"  {sentence}" for sentence in warnings(sampling, manifest["recipe"]["unjudged"] == "keep")]
    return "\n".join([*lines, *(f"  {sentence}" for sentence in about_features(manifest))])


def about_ceilings(task_record: dict[str, Any]) -> list[str]:
    """What a perfect re-ranking would reach over all judged documents, where the sample lost some."""
    if not task_record["sampling"]["lost"]:
        return []
    reached = ", ".join(f"{measure} {value:.3f}" for measure, value in task_record["ceilings"]["judged"].items())
    return [f"over all judged documents the best re-ranking of them reaches {reached}"]


def about_features(manifest: dict[str, Any]) -> list[str]:
    """A sentence about features that tell nothing, and what became of them."""
    useless, dropped = manifest["useless"], manifest["recipe"]["drop_useless"]
    constant = sum(reason == "one value only" for reason in useless.values())
    copies = len(useless) - constant
    kinds = ((constant, "have" if constant > 1 else "has", "one value only"),
             (copies, "copy" if copies > 1 else "copies", "others" if copies > 1 else "another"))  # fmt: skip
    counted = " and ".join(f"{number} {does} {what}" for number, does, what in kinds if number)
    end = "left out" if dropped else "in the data set (--drop-useless leaves them out)"
    return [f"of the features, {counted}: {end}"] if useless else []


def warnings(findings: dict[str, Any], kept: bool) -> list[str]:
    """What a user should not miss; `kept`: whether queries that nobody judged are in."""
    unknown = sum(map(len, findings["unknown"].values()))
    first = next((ids[0] for ids in findings["unknown"].values()), "")
    fate = "are kept as not relevant" if kept else "are left out (--unjudged keep keeps them)"
    told = [
        (findings["unjudged"], f"nobody judged {_some(findings['unjudged'])}; they {fate}"),
        (
            unknown,
            f"{unknown:,} judgements are of documents that are not there, {first} among them (all in dataset.json)",
        ),
        (findings["added"], f"{findings['added']:,} documents are there only because they were judged: a bias"),
        (findings["wordless"], f"no word is left of {_some(findings['wordless'])}; they are not in the data set"),
        (findings["without"], f"no document was found for {_some(findings['without'])}; they are not in the data set"),
        (findings["empty"], f"judged, but nothing relevant was sampled: {_some(findings['empty'])}"),
    ]
    return [sentence for there, sentence in told if there]


def _some(queries: list[str]) -> str:
    """Some of the queries by name.

    >>> _some(["1", "2", "3", "4", "5"])
    '5 queries (1, 2, 3, …)'
    """
    shown = ", ".join(name if len(name) <= LONGEST else name[:LONGEST] + "…" for name in queries[:3])
    shown += ", …" if len(queries) > 3 else ""
    return f"{len(queries)} quer{'y' if len(queries) == 1 else 'ies'} ({shown})"
