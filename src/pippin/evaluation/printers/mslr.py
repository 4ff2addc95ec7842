"""What does eval-score-mslr.pl of the Microsoft Learning to Rank data sets print?

The tables of Eval-Score-4.0.pl, for labels up to 4, of which 1 is not relevant. A line needs only a label and a query
id, and every line is a document of its own.
"""

from __future__ import annotations

from typing import TextIO

from pippin.evaluation.printers._letor import Script, score
from pippin.evaluation.printers.letor4 import BEGINNING, render

SCRIPT = Script("mslr", "eval-score-mslr.pl", BEGINNING)


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """eval-score-mslr.pl FILE SCORES OUT FLAG."""
    return score(SCRIPT, render, arguments, out, err)
