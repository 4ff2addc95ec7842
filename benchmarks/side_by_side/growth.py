"""Measure how processor time grows with the number of rows, and fit the exponent.

Each step is a run of TREC text of so many rows through `pippin.evaluate`, in one process that is warm, so that what a
program does once is not in it. With t = a·n^b, b is the slope of the logarithms where the work outweighs the call.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from synthetic_trec import write_trec

import pippin

MEASURES = ["NDCG@10", "MAP", "RR", "P@10"]
DEPTH = 1000
FITTED_FROM = 100_000  # rows


def grow(folder: Path, most: int) -> list[dict[str, float]]:
    """Rows, seconds of the processor and seconds on the clock, from a thousand rows to `most`."""
    steps = []
    for rows in (10**power for power in range(3, 9)):
        if rows > most:
            break
        place = folder / f"rows{rows}"
        place.mkdir(exist_ok=True)
        qrels, run = write_trec(place, rows // DEPTH, DEPTH, "msmarco")
        turns = []
        for _ in range(3 if rows > 1_000_000 else 7):
            spent, clock = time.process_time(), time.perf_counter()
            pippin.evaluate(qrels, run, MEASURES, tool="trec_eval9")
            turns.append((time.process_time() - spent, time.perf_counter() - clock))
        run.unlink()
        steps.append({"rows": rows, "processor": min(t[0] for t in turns), "clock": min(t[1] for t in turns)})
    return steps


def exponent(steps: Sequence[dict[str, float]]) -> float:
    """The slope of log seconds over log rows, by least squares.

    >>> round(exponent([{"rows": 10**p, "processor": 3e-8 * 10.0**p} for p in (5, 6, 7)]), 6)
    1.0
    """
    items = [step for step in steps if step["rows"] >= FITTED_FROM] or list(steps)
    x, y = (np.log([step[name] for step in items]) for name in ("rows", "processor"))
    return float(np.polyfit(x, y, 1)[0]) if len(items) > 1 else float("nan")


def draw(steps: Sequence[dict[str, float]]) -> str:
    """Seconds of the processor over rows, both by powers of ten, as SVG."""
    width, height, left, bottom = 560, 320, 60, 40
    powers = [p for p in range(3, 9) if 10**p <= max(step["rows"] for step in steps)]
    low, high = -3, 1

    def place(rows: float, seconds: float) -> tuple[float, float]:
        x = left + (np.log10(rows) - 3) / max(1, powers[-1] - 3) * (width - left - 20)
        y = height - bottom - (np.log10(seconds) - low) / (high - low) * (height - bottom - 20)
        return round(float(x), 1), round(float(y), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" '
        f'font-size="12" fill="#555"><title>Seconds of the processor over rows of a run</title>'
    ]
    for power in range(low, high + 1):
        y = place(1000, 10.0**power)[1]
        parts.append(f'<path d="M{left} {y}H{width - 20}" stroke="#ccc"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{10.0**power:g} s</text>')
    for power in powers:
        x = place(10.0**power, 1)[0]
        parts.append(f'<text x="{x}" y="{height - 16}" text-anchor="middle">10{"³⁴⁵⁶⁷⁸"[power - 3]}</text>')
    dots = [place(step["rows"], step["processor"]) for step in steps]
    parts.append(f'<path d="M{"L".join(f"{x} {y}" for x, y in dots)}" fill="none" stroke="#0b6e99" stroke-width="2"/>')
    parts += [f'<circle cx="{x}" cy="{y}" r="4" fill="#0b6e99"/>' for x, y in dots]
    parts.append(
        f'<text x="{width - 20}" y="16" text-anchor="end">rows of a TREC run; seconds ∝ rows^{exponent(steps):.2f} '
        f"from {FITTED_FROM:,} rows</text></svg>"
    )
    return "\n".join(parts) + "\n"
