"""`pippin import`: another program's model as one of Pippin's."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pippin.cli.options import flag
from pippin.cli.output import say
from pippin.errors import DataError

if TYPE_CHECKING:
    from pippin.rankers.imported import Imported

HELP = """Read a model that another program wrote, and write it as one of Pippin's.

LightGBM (text, JSON), XGBoost (JSON, UBJ), CatBoost (JSON), RankLib (all its rankers), QuickRank, jforests, svm_rank,
LIBLINEAR, ONNX, Solr, Elasticsearch and OpenSearch. Scores are those of the program, bit for bit; `pippin rank` and
`pippin export` take such files as they are, too. A model without names has its features numbered from 1 on, as LETOR's
are; --rename says otherwise."""
EXAMPLES = (
    "pippin import lightgbm.txt --out imported.json",
    "pippin import lightgbm.txt --out imported.json --rename names.txt",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="the other program's model")
    flag(parser, "out", metavar="MODEL", required=True)
    flag(parser, "reader")
    parser.add_argument("--rename", metavar="FILE", help="the names of all features, one a line in the model's order")


def run(options: argparse.Namespace) -> int:
    """Read, write, and say what it is."""
    from pippin.forms.importers import NAMES
    from pippin.rankers import models
    from pippin.rankers.imported import content_of

    if options.reader is not None and options.reader not in NAMES:
        raise DataError(f"--reader is {', '.join(NAMES)}, not {options.reader!r}")
    if models.is_own(options.file):
        raise DataError("this is a model of Pippin's own already", options.file)
    model = models.imported(content_of(options.file), options.file, options.reader)
    if options.rename is not None:
        model = renamed(model, options.rename)
    models.save(model, options.output)
    form = model.form_
    kind = form.scoring.sentence(trees=form.kind == "trees")
    say(f"{options.output}: {model.origin_}, {described(form)}, {len(form.names)} features; {kind}")
    return 0


def described(form: object) -> str:
    """What a form is, in a few words."""
    from pippin.forms.form import Network, Trees

    if isinstance(form, Trees):
        return f"{len(form.trees()):,} trees"
    return f"a network of {len(form.layers)} layers" if isinstance(form, Network) else "a weighted sum"


def renamed(model: Imported, path: str) -> Imported:
    """The model with the names that stand in a file."""
    from pathlib import Path

    from pippin.rankers.imported import Imported

    names = tuple(line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip())
    if len(names) != len(model.feature_names_) or len(set(names)) != len(names):
        raise DataError(f"{len(names)} names are not those of the {len(model.feature_names_)} features", path)
    return Imported.of(model.form_.renamed(names), model.origin_)
