"""Experiments: contents, errors and cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.benchmarks.plan import MEASURES, Experiment, Task, read_plan
from pippin.errors import PippinError, UnknownName
from pippin.evaluation.tools import resolve_tools
from pippin.rankers import names, ranker

FOLDS = [("d", f"Fold{i}", {"train": "a", "vali": "b", "test": "c"}) for i in (1, 2)]


def keys(experiment: Experiment) -> list[tuple[str, str, str, str, int]]:
    return [task.key for task in experiment.tasks(FOLDS)]


def test_all_rankers_and_the_classic_tools_are_meant_by_default() -> None:
    experiment = Experiment(("d",))
    assert experiment.rankers == tuple(names())
    assert experiment.tools == tuple(tool.name for tool in resolve_tools("classic"))
    assert len(experiment.measures) == 10 + 10 + 3
    assert len(keys(experiment)) == 2 * len(names())


def test_only_rankers_that_look_at_a_measure_are_trained_under_each_convention() -> None:
    experiment = Experiment(("d",), rankers=("ranksvm", "adarank"), conventions=("official", "yahoo"))
    assert [key[1:4] for key in keys(experiment)][:3] == [
        ("Fold1", "ranksvm", "official"), ("Fold1", "adarank", "official"), ("Fold1", "adarank", "yahoo"),
    ]  # fmt: skip
    adarank = list(experiment.tasks(FOLDS))[2]
    assert adarank.parameters["convention"] == "yahoo"


def test_only_rankers_with_a_seed_are_trained_with_each() -> None:
    experiment = Experiment(("d",), rankers=("ranksvm", "ranknet"), seeds=(1, 2, 3))
    assert [key[2:] for key in keys(experiment)][:4] == [
        ("ranksvm", "official", 1), *(("ranknet", "official", seed) for seed in (1, 2, 3)),
    ]  # fmt: skip


def test_the_address_depends_on_everything_but_the_order_of_names() -> None:
    def address(**options: object) -> str:
        return next(Experiment(("d",), rankers=("ranknet",), **options).tasks(FOLDS)).address  # type: ignore[arg-type]

    first = address(parameters={"ranknet": {"hidden_units": 5, "learning_rate": 0.1}})
    assert first == address(parameters={"ranknet": {"learning_rate": 0.1, "hidden_units": 5}})
    others = [
        address(), address(select="NDCG@10"), address(seeds=(2,)), address(conventions=("yahoo",)),
        address(tools=("official",)), address(measures=("MAP",)), address(quick=True),
        address(parameters={"ranknet": {"hidden_units": 6, "learning_rate": 0.1}}),
        address(grids={"ranknet": {"hidden_units": [5]}}),
    ]  # fmt: skip
    assert len({first, *others}) == 1 + len(others)


def test_a_task_comes_back_from_its_record() -> None:
    task = next(Experiment(("d",), rankers=("ranksvm",)).tasks(FOLDS))
    assert Task.from_dict(task.to_dict()) == task
    assert Task.from_dict(task.to_dict()).address == task.address


def test_settings_are_written_behind_a_ranker() -> None:
    experiment = Experiment(
        ("d",), rankers=("mart( rounds=7 , num_leaves=4)", "mart", "best-feature(feature=bm25@whole)")
    )
    assert experiment.rankers == ("mart(rounds=7,num_leaves=4)", "mart", "best-feature(feature=bm25@whole)")
    few, usual, pinned = list(experiment.tasks(FOLDS[:1]))
    assert (few.parameters["rounds"], few.parameters["num_leaves"]) == (7, 4)
    assert not {"rounds", "num_leaves"} & set(few.grid)
    assert "rounds" not in usual.parameters
    assert pinned.parameters["feature"] == "bm25@whole"
    assert len({few.address, usual.address}) == 2
    with pytest.raises(UnknownName, match=r"no parameter of mart.* is called 'round'"):
        Experiment(("d",), rankers=("mart(round=7)",))
    with pytest.raises(PippinError, match="write name"):
        Experiment(("d",), rankers=("mart(7)",))


def test_fixed_parameters_are_not_searched() -> None:
    task = next(Experiment(("d",), rankers=("ranksvm",), parameters={"ranksvm": {"C": 1.0}}).tasks(FOLDS))
    assert (task.parameters, task.grid) == ({"C": 1.0}, {"pair_weighting": ["query", "pair"]})


@pytest.mark.parametrize("name", names())
def test_the_quick_profile_is_smaller_and_fits(name: str) -> None:
    task = next(Experiment(("d",), rankers=(name,), quick=True).tasks(FOLDS))
    cls = ranker(name)
    cls(**task.parameters).set_params(**{key: values[0] for key, values in task.grid.items()})
    tried = 1
    for values in task.grid.values():
        tried *= len(values)
    assert tried <= 3
    assert task.parameters.get("rounds", 0) <= 100


def test_a_plan_file(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "plan.toml").write_text(
        'data = ["mine=here", "stdlib"]\nrankers = "ranksvm"\nseeds = 2\nquick = true\n[parameters.ranksvm]\nC = 1.0\n'
    )
    assert read_plan(tmp_path / "plan.toml") == Experiment(
        (f"mine={tmp_path / 'here'}", "stdlib"), rankers=("ranksvm",), seeds=(1, 2), quick=True,
        parameters={"ranksvm": {"C": 1.0}}, measures=MEASURES,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('data = ["d"]\nranker = "ranksvm"', "no key of a plan is called 'ranker'; did you mean rankers"),
        ("data = [", "invalid TOML"),
        ('rankers = "all"', "the plan lacks data"),
        ("data = []", "data must not be empty"),
        ('data = ["d"]\nfolds = "five"', "folds must be an integer, found 'five'"),
        ('data = ["d"]\nquick = 1', "quick must be true or false, found 1"),
        ('data = ["d"]\nseeds = ["a"]', "seeds must be a list of integers"),
        ('data = ["d"]\nrankers = [1]', "rankers must be a list of names"),
        ('data = ["d"]\nrankers = "lambdamarx"', "no ranker is called 'lambdamarx'; did you mean lambdamart"),
        ('data = ["d"]\nrankers = ["ranksvm", "ranksvm"]', "rankers of the plan contain ranksvm twice"),
        ('data = ["d"]\ntools = ["letor5"]', "no tool is called 'letor5'"),
        ('data = ["d"]\nselect = "num_rel"', "num_rel is not a mean over queries"),
        ('data = ["d"]\nimports = ["no_such_module"]', "the module no_such_module cannot be imported"),
        ('data = ["d"]\n[parameters]\nranksvm = 1', "parameters must be tables"),
        ('data = ["d"]\n[parameters.ranksvm]\nc = 1', "no parameter of ranksvm is called 'c'"),
        ('data = ["d"]\n[parameters.ranknet]\nseed = 1', "seed cannot be set for ranknet alone"),
        ('data = ["d"]\n[grids.ranksvm]\nC = 1', "the grid of ranksvm needs a list of values for C, found 1"),
    ],
)
def test_a_bad_plan_is_reported(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(PippinError, match=sentence):
        read_plan(tmp_path / "plan.toml")


def test_no_plan_file(tmp_path: Path) -> None:
    with pytest.raises(PippinError, match="no such file"):
        read_plan(tmp_path / "plan.toml")


def test_unknown_names_are_found_before_anything_runs() -> None:
    with pytest.raises(UnknownName, match="no measure is called"):
        Experiment(("d",), measures=("NDGC@10",))
