"""The public interface of `pippin.rankers`: names, types, documentation and import cost."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rankers.planted import plant_dataset
from tests.rankers.ranker_names import names

import pippin
import pippin.rankers
from pippin.data.letor import write_letor
from pippin.errors import DataError, UnknownName
from pippin.rankers import LambdaMART, RankSVM, ranker
from pippin.rankers.base import Ranker
from pippin.rankers.parameters import parameter


def test_every_ranker_is_there_by_its_class_name() -> None:
    classes = {ranker(name).__name__ for name in names()}
    assert classes <= set(pippin.rankers.__all__)
    assert dir(pippin.rankers) == sorted(pippin.rankers.__all__)
    for name in pippin.rankers.__all__:
        assert getattr(pippin.rankers, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(pippin.rankers.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {alias.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported | {"list_rankers", "names", "ranker", "stage"} == set(pippin.rankers.__all__)


@pytest.mark.parametrize("statement", ["from pippin.rankers import RankSVM", "import pippin.rankers as r; r.names()"])
def test_nothing_heavy_is_loaded_with_the_classes(statement: str) -> None:
    code = f"{statement}\nimport json, sys\nprint(json.dumps([m for m in sys.modules if '.' not in m]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"sklearn", "scipy", "lightgbm", "torch", "pandas", "polars", "pyarrow", "threadpoolctl"}
    assert not heavy & set(json.loads(done.stdout))


def test_one_data_set_is_fitted_without_scikit_learn() -> None:
    code = (
        "import sys, numpy as np\nfrom pippin.rankers import RankSVM\n"
        "X, y = np.random.default_rng(0).random((8, 2)), [0, 1] * 4\n"
        "RankSVM().fit(X, y, group=[4, 4]).predict(X)\nprint('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize("name", ["regression", "lambdamart", "ranknet"])
def test_train_loads_only_the_ranker_it_trains(name: str, tmp_path: Path) -> None:

    write_letor(plant_dataset(1, count=12), tmp_path / "train.txt")
    code = (
        "import json, sys\nfrom pippin.cli.main import main\n"
        f"main(['train', 'train.txt', '-r', {name!r}, '-o', 'model.json', '-q'])\n"
        "print(json.dumps([m for m in sys.modules if m.startswith('pippin.')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=120
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    others = {f"pippin.rankers.{other.replace('-', '_')}" for other in names() if other != name}
    assert not others & set(modules)
    assert len(modules) <= 95, modules


@pytest.mark.parametrize("name", names())
def test_help_explains_every_parameter_before_the_formulas(name: str) -> None:
    cls = ranker(name)
    text = cls.__doc__ or ""
    first, _, remainder = text.partition("\n")
    assert not set(first) & set("∑Σλαρ=^∝")
    words, _, formulas = cls.summary.partition("\n\n")
    assert words == first
    for key, item in cls.parameters.items():
        at = remainder.index(f"{key} : {item.kind}, default {item.default!r}\n    {item.meaning}\n")
        assert at < remainder.index(formulas[:40])


def test_a_subclass_adds_parameters() -> None:
    class Deeper(LambdaMART):
        """Mine."""

        depth: int | None = parameter(100, "mine too")
        more: float = parameter(0.5, "something new")

    assert Deeper().get_params() == {**LambdaMART().get_params(), "depth": 100, "more": 0.5}
    assert Deeper(rounds=3).rounds == 3
    assert "something new" in (Deeper.__doc__ or "")
    assert LambdaMART().truncation_level == 30


def test_a_custom_constructor_is_kept() -> None:
    class Own(Ranker):
        def __init__(self, bias: int = 3) -> None:
            self.bias = bias

    assert Own().get_params() == {"bias": 3}
    assert repr(Own(bias=4)) == "Own(bias=4)"


def test_unknown_parameters_get_a_hint() -> None:
    with pytest.raises(TypeError, match="no parameter of RankSVM is called 'c'; did you mean C"):
        RankSVM(c=1.0)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="did you mean max_iter"):
        RankSVM().set_params(maxiter=3)


def test_repr_shows_changed_parameters() -> None:
    assert repr(RankSVM()) == "RankSVM()"
    assert repr(RankSVM(C=1.0, loss="hinge")) == "RankSVM(C=1.0, loss='hinge')"


def test_names_of_other_libraries_are_accepted(data_of_one_query: pippin.Dataset) -> None:
    model = LambdaMART(n_estimators=5, random_state=3)  # type: ignore[call-arg]
    assert (model.rounds, model.seed) == (5, 3)
    assert model.set_params(num_boost_round=7).rounds == 7
    trained = pippin.train(data_of_one_query, "ranknet", epochs=5, lr=0.5)
    assert (trained.get_params()["rounds"], trained.get_params()["learning_rate"]) == (5, 0.5)
    with pytest.raises(UnknownName, match="parameter"):
        pippin.train(data_of_one_query, "lambdamart", leaves=5)
    with pytest.raises(DataError, match="second time"):
        LambdaMART(n_estimators=5, rounds=3)  # type: ignore[call-arg]


@pytest.fixture
def data_of_one_query() -> pippin.Dataset:
    return pippin.Dataset.from_arrays([[0.0], [1.0]], [0, 1], [1, 1])


@pytest.mark.parametrize("path", sorted(Path(pippin.rankers.__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_no_module_assigns_a_constant_twice(path: Path) -> None:
    statements = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
    assigned = [part.id for node in statements for target in node.targets for part in ast.walk(target)
                if isinstance(part, ast.Name)]  # fmt: skip
    assert len(assigned) == len(set(assigned))
