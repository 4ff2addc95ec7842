"""Learn from clicks: logs, simulation, propensities, preference pairs and interleaved comparisons.

simulate                        simulate clicks on a ranking
read, write, ClickLog           read, write and hold click logs
propensities                    estimate how likely users examine each rank
preferences                     turn a log into weighted pairs of documents
interleave, compare_log         compare two rankings by clicks on interleaved lists
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.registry import lazy_attributes

if TYPE_CHECKING:
    from pippin.clicks.interleaving import Interleaving, compare_log, interleave
    from pippin.clicks.logs import ClickLog, read, write
    from pippin.clicks.propensity import Preferences, Propensities, preferences, propensities
    from pippin.clicks.simulation import MODELS, ClickModelParameters, simulate

_HOMES = {
    "ClickLog": "logs", "ClickModelParameters": "simulation", "Interleaving": "interleaving", "MODELS": "simulation",
    "Preferences": "propensity", "Propensities": "propensity", "interleave": "interleaving",
    "compare_log": "interleaving", "preferences": "propensity", "propensities": "propensity", "read": "logs",
    "simulate": "simulation", "write": "logs",
}  # fmt: skip

__all__ = [
    "MODELS",
    "ClickLog",
    "ClickModelParameters",
    "Interleaving",
    "Preferences",
    "Propensities",
    "compare_log",
    "interleave",
    "preferences",
    "propensities",
    "read",
    "simulate",
    "write",
]


__getattr__ = lazy_attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
