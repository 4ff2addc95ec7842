"""Networks without PyTorch: optimiser steps, initial weights, gradients against PyTorch, scoring and threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rankers.lists import draw_lists, plant_lists

from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import models
from pippin.rankers import networks as parts
from pippin.rankers.listnet import ListNet
from pippin.rankers.ranknet import RankNet

ALL = ("approxndcg", "lambdarank", "listmle", "listnet", "ranknet")


def test_first_steps_of_adam() -> None:
    weights = np.array([1.0, 2.0])
    adam = parts.Adam(weights, 0.1, 0.5)
    adam.step(np.array([0.3, -2.0]))
    slope = np.array([0.3 + 0.5 * 1.0, -2.0 + 0.5 * 2.0])
    first = np.array([1.0, 2.0]) - 0.1 * slope / (np.abs(slope) + 1e-8)
    assert weights == pytest.approx(first)
    adam.step(np.array([1.0, 1.0]))
    second = np.array([1.0, 1.0]) + 0.5 * first
    mean = (0.9 * 0.1 * slope + 0.1 * second) / (1 - 0.9**2)
    square = (0.999 * 0.001 * slope**2 + 0.001 * second**2) / (1 - 0.999**2)
    assert weights == pytest.approx(first - 0.1 * mean / (np.sqrt(square) + 1e-8))


def test_first_weights_are_within_glorots_reach() -> None:
    first, shift, second, _, output = parts.glorot_weights(40, 2, 10, seed=5)
    assert first.shape == (40, 10)
    assert second.shape == (10, 10)
    assert output.shape == (10,)
    assert not shift.any()
    assert 0.9 * np.sqrt(6 / 50) < np.abs(first).max() <= np.float32(np.sqrt(6 / 50))
    assert not np.array_equal(first, parts.glorot_weights(40, 2, 10, seed=6)[0])


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_derivative_by_weights_is_pytorchs(activation: str, layers: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    random = np.random.default_rng(layers)
    table, gradient = random.normal(size=(40, 5)), random.normal(size=40)
    start = parts.glorot_weights(5, layers, 7, seed=3)
    start[1] += random.normal(size=7).astype(np.float32)
    network = parts.Network([table], start, RankNet(hidden_layers=layers, hidden_units=7, activation=activation))
    scores = network.scores(0)
    arrays = [torch.from_numpy(array.astype(np.float64)).requires_grad_() for array in start]
    hidden = torch.from_numpy(table)
    for matrix, shift in zip(arrays[:-1:2], arrays[1:-1:2], strict=True):
        hidden = getattr(torch, activation)(hidden @ matrix + shift)
    out = hidden @ arrays[-1]
    expected = torch.autograd.grad(torch.dot(out, torch.from_numpy(gradient)), arrays)
    network.step(0, gradient)
    assert scores == pytest.approx(out.detach().numpy(), abs=1e-12)
    for slope, other in zip(network.slopes, expected, strict=True):
        assert slope == pytest.approx(other.numpy(), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_scores_of_blocks_are_those_of_training(activation: str) -> None:
    data = plant_lists(1)
    model = RankNet(hidden_layers=3, hidden_units=7, rounds=2, activation=activation).fit(data)
    table = (data.features - model.mean_) * model.factor_
    twin = parts.Network([table], model.weights_, model)
    assert twin.scores(0) == pytest.approx(model.predict(data), abs=1e-12)


def test_many_documents_are_scored_in_blocks() -> None:
    model = RankNet(rounds=1).fit(plant_lists(1))
    table = np.random.default_rng(0).normal(size=(2 * parts._BLOCK + 3, 3))
    scores = model.predict(table)
    assert scores[[0, parts._BLOCK, -1]] == pytest.approx(model.predict(table[[0, parts._BLOCK, -1]]))


def test_every_query_is_in_one_batch() -> None:
    data, _ = draw_lists(1)
    dealt = [part.query_ids for part in parts.make_batches(data, 4, 0)]
    assert [len(ids) for ids in dealt] == [4, 2]
    assert sorted(sum(dealt, ())) == sorted(data.query_ids)
    assert [part is data for part in parts.make_batches(data, None, 0)] == [True]


def test_queries_of_one_label_are_left_out() -> None:
    data, _ = draw_lists(1)
    expected = [
        query
        for query, begin, end in zip(data.query_ids, data.offsets[:-1], data.offsets[1:], strict=True)
        if len(set(data.labels[begin:end].tolist())) > 1
    ]
    assert list(ListNet()._select_queries(data).query_ids) == expected


def test_ctrl_c_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    step = parts.Linear.step

    def raise_interrupt(self: parts.Linear, part: int, gradient: Any) -> None:
        calls.append(part)
        if len(calls) == 4:
            raise KeyboardInterrupt
        step(self, part, gradient)

    monkeypatch.setattr(parts.Linear, "step", raise_interrupt)
    with pytest.warns(UserWarning, match="interrupted after 3 rounds"):
        model = ListNet().fit(plant_lists(1), eval_set=plant_lists(2))
    assert len(model.curve_) == 3


CODE = """
import sys
from pippin.rankers import models, ranker
from tests.rankers.lists import plant_lists
for name in sys.argv[2:]:
    for layers in (0, 1):
        made = ranker(name)(hidden_layers=layers, rounds=3, batch_size=400, seed=3).fit(plant_lists(1, queries=900))
        models.save(made, f"{sys.argv[1]}-{name}-{layers}")
"""


def test_one_thread_or_two(tmp_path: Path) -> None:
    """The same bytes with one and with two threads, of ours and of the libraries below."""
    for threads in ("1", "2"):
        counts = dict.fromkeys(("PIPPIN_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads)
        subprocess.run(
            [sys.executable, "-c", CODE, str(tmp_path / threads), *ALL], check=True,
            env={**os.environ, **counts}, cwd=Path(__file__).parents[2],
        )  # fmt: skip
    items = sorted(path.name[1:] for path in tmp_path.glob("1-*"))
    assert len(items) == 2 * len(ALL)
    for name in items:
        assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"2{name}").read_bytes()


def test_networks_train_and_are_saved_without_pytorch(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pippin.rankers import models, ranker\n"
        "from tests.rankers.lists import plant_lists\n"
        "for name in sys.argv[2:]:\n"
        "    models.save(ranker(name)(hidden_layers=1, rounds=2).fit(plant_lists(1)), f'{sys.argv[1]}/{name}')\n"
        "    assert models.load(f'{sys.argv[1]}/{name}').hidden_layers == 1\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path), *ALL], check=True, cwd=Path(__file__).parents[2])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(ALL)


def test_a_network_is_one_safetensors_file_with_a_readable_header(tmp_path: Path) -> None:
    model = RankNet(rounds=2, hidden_units=4, convention="letor3").fit(plant_lists(1))
    models.save(model, tmp_path / "model", "digest")
    packed = (tmp_path / "model").read_bytes()
    header = json.loads(packed[8 : 8 + int.from_bytes(packed[:8], "little")])
    content = json.loads(header["__metadata__"]["pippin-model"])
    assert content["ranker"] == "ranknet"
    assert content["data"] == "digest"
    assert content["parameters"]["convention"] == "letor3"
    assert header["weights.1"]["shape"] == [3, 4]
    assert models.load(tmp_path / "model").get_params() == model.get_params()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    models.save(RankNet(rounds=1).fit(plant_lists(1)), tmp_path / "model")
    packed = (tmp_path / "model").read_bytes()
    header = int.from_bytes(packed[:8], "little")
    content = packed[8 : 8 + header]
    newer = content.replace(b'\\"version\\": 2', b'\\"version\\": 3')
    fewer = content.replace(b'\\"hidden_layers\\": 1', b'\\"hidden_layers\\": 2')
    for damaged, message in (
        (packed[:-5], "neither safetensors nor JSON, or damaged"),
        (packed[:40], "neither safetensors nor JSON, or damaged"),
        (packed[:8] + b"{" + b"\0" * 2000, "neither safetensors nor JSON, or damaged"),
        (packed.replace(b"pippin-model", b"another-made"), "neither safetensors nor JSON, or damaged"),
        (packed.replace(content, newer), "written by a newer Pippin"),
        (packed.replace(content, fewer), "damaged"),
    ):
        (tmp_path / "bad").write_bytes(damaged)
        with pytest.raises(DataError, match=message):
            models.load(tmp_path / "bad")


def test_a_network_works_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = RankNet(rounds=2).fit(plant_lists(1))
    models.save(model, tmp_path / "model")
    assert main(["rankers", str(tmp_path / "model")]) == 0
    assert "importance" in capsys.readouterr().out
    assert main(["rankers", "ranknet"]) == 0
    assert "Burges" in capsys.readouterr().out


def test_features_of_another_width_are_refused() -> None:
    model = RankNet(rounds=1).fit(plant_lists(1))
    with pytest.raises(ValueError, match="features"):
        model.predict(np.zeros((2, 4)))


def test_null_is_refused_with_advice() -> None:
    data = plant_lists(1)
    table = data.features.copy()
    table[0, 0] = np.nan
    with pytest.raises(DataError, match="does not support NULL"):
        RankNet().fit(Dataset(table, data.labels, data.offsets, data.query_ids))
