"""The commands `pippin export` and `pippin import`."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.options import Command, add_option, parse_pairs
from pippin.cli.output import print_error, print_message, write_result
from pippin.display.tables import FORMATS
from pippin.errors import DataError, RequirementNotMet
from pippin.reports import catalogue
from pippin.reports import models as report


def configure_export(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin export`."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a model file of Pippin or of another library")
    add_option(parser, "to", "one of the targets that `pippin export` lists (es: elasticsearch-ltr)", metavar="TARGET")
    add_option(parser, "out", metavar="FILE")
    parser.add_argument("--check", metavar="DATA", help="labelled data for the certificate (default: 1,000 documents "
                        "of the training set)")  # fmt: skip
    parser.add_argument("--mapping", metavar="FILE", help="JSON file with the engine's names and definitions of the "
                        "features; `pippin engine features` writes one")  # fmt: skip
    parser.add_argument("--name", metavar="NAME", help="name of the model in the engine (default: after FILE)")
    parser.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], help="an option of the target")
    add_requirement(parser)
    add_option(parser, "format", choices=FORMATS, default="table")


def add_requirement(parser: argparse.ArgumentParser) -> None:
    """Declare what the certificate must show."""
    parser.add_argument("--require", metavar="bits|order|ndcg=N", default="order", help="what the engine must keep: "
                        "equal scores, the order of each query, or NDCG@10 up to N (default: %(default)s)")  # fmt: skip
    parser.add_argument("--force", action="store_true", help="write the model even if the engine changes more")


def run_export(options: argparse.Namespace) -> int:
    """Write the model, or list the targets."""
    if options.model is None:
        targets = catalogue.targets()
        write_result(options.format, "-", targets.parts, targets.record)
        return 0
    if options.to is None:
        raise DataError("no target: name it with --to; `pippin export` lists the targets")
    if options.output is None:
        raise DataError("no file to write: name it with -o FILE")
    check = pippin.Results.training_sample(options.model) if options.check is None else options.check
    try:
        result = pippin.export(
            options.model, options.to, options.output, check=check, features=options.mapping, name=options.name,
            options=parse_pairs(options.option, "--option"), require=options.require,
            force=options.force,
        )  # fmt: skip
    except RequirementNotMet as error:
        print_error(str(error))
        return 1
    if options.format != "table":
        write_result(options.format, "-", lambda: [report.certificate_table(result)], result.certificate.record)
        return 0
    for line in (" ".join(result.files), result.certificate.sentence(), *(f"  {n}" for n in result.certificate.notes)):
        print_message(line)
    return 0


def configure_import(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin import`."""
    parser.add_argument("file", metavar="FILE", help="a model of another library")
    add_option(parser, "out", metavar="MODEL", required=True)
    add_option(parser, "input_format")
    parser.add_argument("--rename", metavar="FILE", help="the names of all features, one per line in the model's order")


def run_import(options: argparse.Namespace) -> int:
    """Read the model, write it and describe it."""
    model = pippin.rankers.import_model(options.file, format=options.input_format, feature_names=options.rename)
    pippin.save(model, options.output)
    print_message(f"{options.output}: {report.describe_import(model)}")
    return 0


COMMANDS = {
    "export": Command(
        """Write a model for another engine, with a certificate of what the engine's scoring changes.

Without a model, the command lists the targets. The certificate FILE.parity.json compares the scores of documents (from
--check, or those that the model file keeps) with Pippin's: scored by the engine itself if it is installed, otherwise
computed in its precision. A model that an engine cannot represent is an error.""",
        (
            "pippin export",
            "pippin export model.json --to c -o ranker.h",
            "pippin export model.json --to solr -o solr.json --check test.txt --option missing=direction",
        ),
        configure_export,
        run_export,
    ),
    "import": Command(
        """Read a model that another program wrote, and write it as a model of Pippin.

Formats: LightGBM (text, JSON), XGBoost (JSON, UBJ), CatBoost (JSON), RankLib (all its rankers), QuickRank, jforests,
svm_rank, LIBLINEAR, ONNX, Solr, Elasticsearch and OpenSearch. Scores are those of the program, bit for bit. `pippin
rank` and `pippin export` also read such files directly. Features of a model without names are numbered from 1 as in
LETOR; --rename names them.""",
        (
            "pippin import lightgbm.txt --out imported.json",
            "pippin import lightgbm.txt --out imported.json --rename names.txt",
        ),
        configure_import,
        run_import,
    ),
}
