"""Learning from clicks: logs, simulated people, propensities, preferences of pairs, and interleaved comparisons.

simulate                        clicks that people would leave on a ranking
read, write, ClickLog           logs as files and as columns
propensities                    how likely each rank is looked at
preferences, preferred          what clicks say of pairs, and a data set that rankers learn them from
interleave, judge_log           which of two rankings people prefer
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.modules import attributes

if TYPE_CHECKING:
    from pippin.clicks.files import read, write
    from pippin.clicks.interleaving import Interleaving, interleave, judge_log
    from pippin.clicks.log import ClickLog
    from pippin.clicks.models import MODELS, Habits
    from pippin.clicks.preference import Preferences, preferences
    from pippin.clicks.propensity import Propensities, propensities
    from pippin.clicks.simulation import simulate

_HOMES = {
    "ClickLog": "log", "Habits": "models", "Interleaving": "interleaving", "MODELS": "models",
    "Preferences": "preference", "Propensities": "propensity", "interleave": "interleaving",
    "judge_log": "interleaving", "preferences": "preference", "propensities": "propensity", "read": "files",
    "simulate": "simulation", "write": "files",
}  # fmt: skip

__all__ = [
    "MODELS",
    "ClickLog",
    "Habits",
    "Interleaving",
    "Preferences",
    "Propensities",
    "interleave",
    "judge_log",
    "preferences",
    "propensities",
    "read",
    "simulate",
    "write",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
