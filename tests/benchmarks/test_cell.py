"""Computing and storing a single cell."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from tests.benchmarks.small import split_into_folds, whole

from pippin.benchmarks.cell import compute_cell
from pippin.benchmarks.inputs import Parts
from pippin.benchmarks.plan import Experiment, Task
from pippin.data.digest import digest
from pippin.errors import PippinError
from pippin.rankers import best_feature
from pippin.rankers.best_feature import BestFeature


@pytest.fixture(scope="module")
def parts() -> Parts:
    return split_into_folds(whole(), 5)[0]


def task_of(parts: Parts, name: str = "best-feature") -> Task:
    digests = {part: digest(data) for part, data in parts._asdict().items()}
    return next(Experiment(("d",), rankers=(name,), tools=("official",), quick=True).tasks([("d", "Fold1", digests)]))


def test_own_warnings_are_kept_and_those_of_libraries_are_not(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = BestFeature._fit

    def fit_with_warning(self: BestFeature, train: object, valid: object) -> None:
        for category, file in ((UserWarning, best_feature.__file__), (DeprecationWarning, best_feature.__file__),
                               (UserWarning, str(Path("lib") / "library.py"))):  # fmt: skip
            warnings.warn_explicit(f"{category.__name__} {Path(file).name}", category, file, 1)
        fit(self, train, valid)  # type: ignore[arg-type]

    monkeypatch.setattr(BestFeature, "_fit", fit_with_warning)
    record = json.loads(compute_cell(task_of(parts), parts).files["cell.json"])
    assert record["warnings"] == ["UserWarning best_feature.py"]


@pytest.mark.parametrize(("name", "file"), [("regression", "model.json"), ("ranknet", "model.safetensors")])
def test_the_same_bytes_twice(parts: Parts, name: str, file: str) -> None:
    first, second = (compute_cell(task_of(parts, name), parts) for _ in range(2))
    assert first.files == second.files
    assert set(first.files) == {"cell.json", "values.parquet", "scores.parquet", file}
    assert first.cost["select_seconds"] > 0


def test_other_code_than_planned_is_refused(parts: Parts) -> None:
    task = task_of(parts)
    other = Task.from_dict({**task.to_dict(), "versions": {**task.versions, "numpy": "0.1"}})
    with pytest.raises(PippinError, match=r"this worker has numpy .*, but the plan was made with 0\.1"):
        compute_cell(other, parts)
