"""What does a benchmark say, in a sentence or two that need no table?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pippin.bench.leaderboard import Leaderboard


def finding(boards: Sequence[Leaderboard], first: str) -> str:
    """Who wins under the tool `first`, how surely, and whether another tool puts another first."""
    told = [b for b in boards if b.best is not None]
    if not told:
        return f"No ranker has all its cells on {boards[0].data}."
    board = next((b for b in told if b.tool == first), told[0])
    return f"{_winner(board)} {disagreement(board.best, {b.tool: b.best for b in told if b is not board})}".rstrip()


def _winner(board: Leaderboard) -> str:
    level = [s.ranker for s in board.standings[1:] if not board.worse_than_best(s.ranker)]
    others = len(board.standings) - 1
    where = f"On {board.data}, {board.best} has the best {board.measure} under {board.tool}"
    value = f"{board.standings[0].mean:.4f}"
    if not others:
        return f"{where}: {value}. There is no other ranker to compare it with."
    if not level:
        return f"{where}: {value}, significantly ahead of all {others} others."
    if len(level) == others:
        return f"{where}: {value}, but significantly ahead of none."
    lead = f"{level[0]} is" if len(level) == 1 else f"{len(level)} of the {others} others are"
    return f"{where}: {value}; {lead} not significantly behind."


def disagreement(first: str | None, others: Mapping[str, str | None]) -> str:
    """How many tools put the same one first, and whom the others do; `others`: tool → its first."""
    if not others:
        return ""
    winners: dict[str, list[str]] = {}
    for tool, best in others.items():
        winners.setdefault(best or "", []).append(tool)
    same = winners.pop(first or "", [])
    if not winners:
        return f"All {len(others) + 1} tools put the same one first."
    parts = [f"{_few(tools)} put{'s' * (len(tools) == 1)} {best} first" for best, tools in winners.items()]
    agree = f"{len(same) + 1} of {len(others) + 1} tools agree; " if same else "No other tool agrees: "
    return f"{agree}{'; '.join(parts)}."


def _few(tools: Sequence[str], most: int = 4) -> str:
    """Some tools by their names, many by the first of them."""
    return listed(tools) if len(tools) <= most else f"{', '.join(tools[: most - 1])} and {len(tools) - most + 1} more"


def overall_finding(
    boards: Sequence[Leaderboard], rankers: Sequence[str], wins: NDArray[np.int32], pairs: NDArray[np.int32],
    means: NDArray[np.float64],
) -> str:  # fmt: skip
    """Who wins most comparisons over all data sets, and who leads on which; a board for each data set.

    The winning number orders, and the mean over the data sets where that is equal, as in the page's table.
    """
    measure, tool, sets = boards[0].measure, boards[0].tool, len(boards)
    placed = [i for i in range(len(rankers)) if not np.isnan(means[i])]
    if not placed or int(max(wins[i] for i in placed)) == 0:
        return f"No ranker is ahead of another by {measure} under {tool}."
    first = min(placed, key=lambda i: (-wins[i], -means[i], i))
    most = int(wins[first])
    level = [rankers[i] for i in placed if i != first and wins[i] == most]
    also = f" (as many as {listed(level)}, with a higher mean)" if level else ""
    leads = "; ".join(f"on {b.data} {b.best} leads with {b.standings[0].mean:.4f}" for b in boards if b.best)
    summary = (f"Over {sets} data sets by {measure} under {tool}, {rankers[first]} wins most: {most} of "
               f"{int(pairs[first])} comparisons{also}.")  # fmt: skip
    return f"{summary} {leads[:1].upper()}{leads[1:]}."


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
