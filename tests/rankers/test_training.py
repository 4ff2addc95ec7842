"""`pippin.train`: training summary and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.data.letor import write_letor
from pippin.errors import ConventionError, DataError, PippinWarning
from pippin.rankers import LambdaMART, RankSVM, ranker
from pippin.rankers.chains import canonical
from pippin.reports.models import model_parts, model_record

TRAIN, VALID = plant_sum(), plant_sum(seed=1)


def test_the_summary_says_how_many_rounds_were_kept_and_why() -> None:
    model = pippin.train(TRAIN, "lambdamart", valid=VALID, early_stopping_rounds=5)
    assert isinstance(model, LambdaMART)
    done = len(model.curve_)
    reason = f"kept {model.rounds_} of {done} rounds: no better NDCG@10 on the validation set in the last 5"
    assert reason in model.training_summary_.notes


@pytest.mark.parametrize(
    "name", ["lambdamart", "mart", "xendcg", "adarank", "rankboost", "frank", "listnet", "ranknet"]
)
def test_every_iterative_ranker_reports_its_maximum(name: str) -> None:
    notes = pippin.train(TRAIN, name, valid=VALID, rounds=2, early_stopping_rounds=None).training_summary_.notes
    assert any(note.startswith("kept ") and note.endswith("2 rounds: the maximum (rounds=2)") for note in notes), notes


def test_a_chain_reports_the_rounds_of_its_ranker() -> None:
    notes = pippin.train(TRAIN, "pca(3) > mart", valid=VALID, mart__rounds=3).training_summary_.notes
    assert any("3 rounds: the maximum (rounds=3)" in note for note in notes)


def test_the_default_number_of_rounds_needs_a_validation_set() -> None:
    with pytest.warns(PippinWarning, match="adarank keeps all 500 rounds and may overfit: pass a validation set"):
        pippin.train(TRAIN, "adarank")
    pippin.train(TRAIN, "adarank", rounds=5)
    pippin.train(TRAIN, "adarank", valid=VALID)
    pippin.train(TRAIN, "ranksvm")


def test_a_validation_set_equal_to_the_training_set_is_refused(tmp_path: Path) -> None:
    write_letor(TRAIN, tmp_path / "a.txt")
    write_letor(TRAIN, tmp_path / "b.txt")
    with pytest.raises(DataError, match=r"b\.txt: the validation set is identical to the training set"):
        pippin.train(tmp_path / "a.txt", "lambdamart", valid=tmp_path / "b.txt")


def test_resolved_parameters_are_shown() -> None:
    model = pippin.train(TRAIN, "lambdamart", valid=VALID, rounds=3)
    text = str(model_parts(model)[0])
    assert "num_leaves=6" in text
    assert "None" not in text.replace("early_stopping_rounds=None", "")
    assert model_record(model)["resolved"]["learning_rate"] == 0.05
    behind = pippin.train(TRAIN, "pca(3) > lambdamart", valid=VALID, lambdamart__rounds=3)
    assert "lambdamart__num_leaves=6" in str(model_parts(behind)[0])


def test_a_folder_of_splits_advises_its_training_file(tmp_path: Path) -> None:
    for name in ("test", "train", "vali"):
        (tmp_path / "Fold1").mkdir(exist_ok=True)
        write_letor(TRAIN, tmp_path / "Fold1" / f"{name}.txt")
    with pytest.raises(DataError, match=r"name a file, such as .*Fold1/train\.txt"):
        pippin.train(tmp_path, "ranksvm")


def test_class_names_and_names_of_other_libraries_are_accepted() -> None:
    model = pippin.train(TRAIN, "LambdaMART", valid=VALID, n_estimators=4)
    assert (model.name, model.get_params()["rounds"]) == ("lambdamart", 4)
    assert ranker("BestFeature").name == "best-feature"
    assert canonical("PCA(3) > RankSVM(C=1)") == "pca(3) > ranksvm(C=1)"
    assert pippin.train(TRAIN, "PCA(3) > RankSVM").name == "pca > ranksvm"


def test_a_measure_is_refused_where_it_has_no_effect() -> None:
    with pytest.raises(ConventionError, match="ranksvm does not optimise or validate a measure"):
        pippin.train(TRAIN, "ranksvm", measure="NDCG@5")
    assert pippin.train(TRAIN, "ranksvm", valid=VALID, select="NDCG@5").name == "ranksvm"


def test_one_default_measure() -> None:
    for name in ("best-feature", "coordinate-ascent", "adarank", "lambdamart", "lambdarank", "auto"):
        assert ranker(name).parameters["measure"].default == "NDCG@10", name


def test_ranksvm_is_scale_free_in_documents_per_query() -> None:
    """Copies of all documents of a query add pairs, but not weight."""
    doubled = pippin.Dataset.from_arrays(
        TRAIN.features.repeat(3, axis=0), TRAIN.labels.repeat(3), TRAIN.qid().repeat(3), name="tripled"
    )
    once, thrice = RankSVM(tol=1e-8).fit(TRAIN), RankSVM(tol=1e-8).fit(doubled)
    assert once.coef_ == pytest.approx(thrice.coef_, rel=1e-4)
    assert "pair_weighting" in RankSVM.grid
