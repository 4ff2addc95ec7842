"""Measure the effect of propagating scores along relations: plain rankers against `Relational`.

    pippin build stdlib -o STDLIB --sample 100 --no-meta --similarity
    pippin build cacm -o CACM --sample 100 --no-meta --similarity --features "ohsumed inlinks outlinks"
    python benchmarks/relational.py STDLIB CACM

Five folds; the weight is chosen on validation by NDCG@10, and NDCG@10 of all test queries is shown, with the p of a
paired randomisation test against the plain ranker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pippin.collections.links.link_index import LinkIndex
from pippin.collections.links.relations import relations_by_links
from pippin.data.dataset import Dataset
from pippin.data.fold_files import read_folds
from pippin.evaluation.objective import Objective
from pippin.rankers import ranker
from pippin.rankers.relational import Relational, Relations, nearest_relations


def sets(folder: Path) -> Iterator[tuple[str, Path]]:
    tasks = [path for path in sorted(folder.iterdir()) if (path / "QueryLevelNorm").is_dir()]
    yield from ((f"{folder.name} {path.name}", path) for path in tasks) if tasks else [(folder.name, folder)]


def relate(how: str, data: Dataset, place: Path, web: LinkIndex) -> Relations:
    return nearest_relations(data, place / "similarity.txt") if how == "similarity" else relations_by_links(data, web)


def p_value(difference: np.ndarray) -> float:
    signs = np.random.default_rng(1).choice((-1.0, 1.0), (20_000, len(difference)))
    drawn = np.abs(signs @ difference)
    return float((1 + (drawn >= abs(difference.sum()) - 1e-12).sum()) / (len(drawn) + 1))


def main(folders: list[Path]) -> None:
    print("| data | ranker | plain | similarity | p | links | p | weights |\n|---|---|--:|--:|--:|--:|--:|---|")
    for folder in folders:
        web = LinkIndex.open(folder / "web")
        for name, place in sets(folder):
            for learner in ("ranksvm", "lambdamart"):
                values: dict[str, list[np.ndarray]] = {"plain": [], "similarity": [], "links": []}
                weights: dict[str, list[float]] = {"similarity": [], "links": []}
                for fold in read_folds(place / "QueryLevelNorm"):
                    model = ranker(learner)().fit(fold.train, eval_set=fold.vali)
                    test = fold.test
                    judge = Objective(test, "NDCG@10", "official")
                    values["plain"].append(judge.values(model.predict(test)))
                    for how, chosen in weights.items():
                        wrapper = Relational.around(model).choose(fold.vali, relate(how, fold.vali, place, web))
                        chosen.append(wrapper.weight_)
                        values[how].append(judge.values(wrapper.predict(test, relate(how, test, place, web))))
                joined = {method: np.concatenate(parts) for method, parts in values.items()}
                counts = ~np.isnan(joined["plain"])
                row = [f"{joined['plain'][counts].mean():.4f}"]
                for how in weights:
                    row.append(f"{joined[how][counts].mean():.4f}")
                    row.append(f"{p_value((joined[how] - joined['plain'])[counts]):.3f}")
                text = "; ".join(" ".join(f"{w:g}" for w in chosen) for chosen in weights.values())
                print(f"| {name} | {learner} | " + " | ".join(row) + f" | {text} |", flush=True)


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
