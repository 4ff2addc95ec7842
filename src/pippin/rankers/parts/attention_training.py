"""How PyTorch trains self-attention: batches of whole queries, padded to the longest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pippin.rankers.steps.attention import Attention

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


class Training:
    """Weights that Adam moves; one thread and one seed, so that the same data give the same bits."""

    def __init__(
        self, table: F64, offsets: I64, targets: F64, first: dict[str, NDArray[Any]], settings: Attention
    ) -> None:
        import torch

        self.torch: Any = torch
        self.settings, self.offsets = settings, offsets
        self.table = torch.from_numpy(table.astype(np.float32))
        self.targets = torch.from_numpy(targets.astype(np.float32))
        self.parameters: dict[str, Any] = {
            name: torch.from_numpy(array.copy()).requires_grad_() for name, array in first.items()
        }
        self.adam = torch.optim.Adam(self.parameters.values(), lr=settings.rate)
        self.generator = torch.Generator().manual_seed(settings.seed)

    def weights(self) -> dict[str, NDArray[Any]]:
        """A copy of the weights."""
        return {name: one.detach().numpy().copy() for name, one in self.parameters.items()}

    def step(self, queries: I64) -> None:
        """One step on the mean cost of these queries."""
        torch, threads = self.torch, self.torch.get_num_threads()
        torch.set_num_threads(1)  # sums in one order
        try:
            sizes = np.diff(self.offsets)[queries]
            places = self.offsets[:-1][queries][:, None] + np.arange(sizes.max())
            there = np.arange(sizes.max()) < sizes[:, None]
            rows = torch.from_numpy(np.where(there, places, self.offsets[:-1][queries][:, None]))
            mask = torch.from_numpy(there)
            scores = self.scores(self.table[rows], mask)
            wanted = self.targets[rows].masked_fill(~mask, 0.0)
            cost = -(wanted * torch.log_softmax(scores, dim=1).masked_fill(~mask, 0.0)).sum() / len(queries)
            self.adam.zero_grad()
            cost.backward()
            self.adam.step()
        finally:
            torch.set_num_threads(threads)

    def scores(self, x: Any, mask: Any, dropping: bool = True) -> Any:
        """[q, n] scores of padded queries; −∞ where there is no document."""
        own, settings = self.parameters, self.settings
        share = settings.drop if dropping else 0.0
        h = x @ own["input"] + own["input.shift"]
        count, longest, width = h.shape
        for i in range(settings.blocks):
            calm = self._normal(h, f"{i}.before")
            q, k, v = (
                (calm @ own[f"{i}.{part}"] + own[f"{i}.{part}.shift"])
                .view(count, longest, settings.heads, width // settings.heads).transpose(1, 2)
                for part in ("query", "key", "value")
            )  # fmt: skip
            logits = (q @ k.transpose(2, 3) / (width // settings.heads) ** 0.5).masked_fill(
                ~mask[:, None, None, :], float("-inf")
            )
            seen = (self.torch.softmax(logits, dim=3) @ v).transpose(1, 2).reshape(count, longest, width)
            h = h + self._dropped(seen @ own[f"{i}.out"] + own[f"{i}.out.shift"], share)
            hidden = self.torch.relu(self._normal(h, f"{i}.between") @ own[f"{i}.up"] + own[f"{i}.up.shift"])
            h = h + self._dropped(hidden @ own[f"{i}.down"] + own[f"{i}.down.shift"], share)
        return (self._normal(h, "last") @ own["score"])[..., 0].masked_fill(~mask, float("-inf"))

    def _normal(self, h: Any, name: str) -> Any:
        scale, move = self.parameters[f"{name}.scale"], self.parameters[f"{name}.move"]
        return self.torch.nn.functional.layer_norm(h, h.shape[-1:], scale, move)

    def _dropped(self, h: Any, share: float) -> Any:
        if not share:
            return h
        kept = self.torch.rand(h.shape, generator=self.generator) >= share
        return h * kept / (1 - share)
