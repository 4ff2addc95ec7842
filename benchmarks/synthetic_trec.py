"""Generate a run and judgements of any size with realistic distributions.

Ids are those of MS MARCO passages or of ClueWeb12 documents. Lists are sorted by score, but for one query in twenty,
where a few lines are out of place, as after a fusion. Scores have four decimals, so that some are tied. About fifty
documents of a query are judged, half of which the run has found.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

JUDGED = 50
PASSAGES = 8_841_823


def passage(document: int) -> str:
    return str(document)


def clueweb(document: int) -> str:
    place, page = divmod(document, 10_000)
    return f"clueweb12-{place // 100 % 2000:04d}wb-{place % 100:02d}-{page:05d}"


IDS: dict[str, Callable[[int], str]] = {"msmarco": passage, "clueweb": clueweb}


def write_trec(folder: Path, queries: int, documents: int, ids: str) -> tuple[Path, Path]:
    """Write a run and judgements, and give their paths (judgements first)."""
    generator = np.random.default_rng(7)
    qrels, run = folder / "bench.qrels", folder / "bench.run"
    with run.open("w") as retrieved, qrels.open("w") as qrels_file:
        for q in range(queries):
            query = 1_000_000 + 37 * q
            sample = generator.choice(PASSAGES, documents + JUDGED, replace=False).tolist()
            names = [IDS[ids](d) for d in sample]
            rows = zip(names, _scores(generator, documents, shuffled=q % 20 == 0), strict=False)
            lines = (f"{query} Q0 {d} {rank} {score:.4f} bench\n" for rank, (d, score) in enumerate(rows, 1))
            retrieved.write("".join(lines))
            result = (documents * generator.random(JUDGED // 2) ** 2).astype(int).tolist()
            pool = [*dict.fromkeys(names[p] for p in result), *names[documents : documents + JUDGED // 2]]
            labels = generator.choice(4, len(pool), p=[0.6, 0.2, 0.15, 0.05]).tolist()
            qrels_file.write("".join(f"{query} 0 {d} {label}\n" for d, label in zip(pool, labels, strict=True)))
    return qrels, run


def _scores(generator: np.random.Generator, documents: int, shuffled: bool) -> list[float]:
    scores: NDArray[np.float64] = np.sort(generator.gamma(4, 2, documents))[::-1]
    if shuffled:
        moved = generator.integers(0, documents, max(2, documents // 50))
        scores[moved] = scores[np.roll(moved, 1)]
    return list(map(float, scores))
