"""What does a text mean, as numbers? A sentence-transformers folder of BERT's architecture, read without that package.

The folder's own files say all: `config.json` the sizes, `model.safetensors` the weights, `tokenizer.json` the pieces
of words, `1_Pooling` what becomes of them, `modules.json` whether vectors have length 1. PyTorch multiplies. MiniLM and
many others have this architecture; another one is refused with its name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.extras import need

F32 = NDArray[np.float32]
_BATCH = 32
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}
_NEEDED = ("config.json", "model.safetensors", "tokenizer.json")


class Encoder:
    """Texts become vectors.

    `digest` tells two models apart; `size` is the length of a vector; texts are cut after `longest` pieces of words.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        need("dense vectors of texts", "torch", "tokenizers")
        self.folder = Path(folder)
        for name in _NEEDED:
            if not (self.folder / name).is_file():
                raise DataError(f"no sentence-transformers folder with safetensors: there is no {name}", folder)
        self.config = self._json("config.json")
        if self.config.get("model_type") != "bert" or self.config.get("hidden_act", "gelu") != "gelu":
            kind = f"{self.config.get('model_type')} with {self.config.get('hidden_act')}"
            raise DataError(f"models of BERT's architecture with gelu are read, and this is {kind}", folder)
        self.pooling, self.unit = self._pooling()
        self.longest = min(self._longest(), int(self.config["max_position_embeddings"]))
        self.size, self.heads = int(self.config["hidden_size"]), int(self.config["num_attention_heads"])
        self.digest = self._digest()
        self._load()

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError):
            raise DataError(f"{name} is missing or no JSON", self.folder) from None

    def _pooling(self) -> tuple[str, bool]:
        """How the vectors of a text's pieces become one, and whether it is brought to length 1."""
        kinds = [str(one["type"]).rsplit(".", 1)[-1] for one in self._json("modules.json")]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            raise DataError(f"modules other than these are not read: {', '.join(kinds)}", self.folder)
        given = self._json("1_Pooling/config.json")
        chosen = [word for key, word in _POOLING.items() if given.get(key)]
        others = [key for key, value in given.items() if key.startswith("pooling_mode") and value is True]
        if len(chosen) != 1 or len(others) != 1:
            raise DataError(f"one pooling of mean or first is read, not {', '.join(others)}", self.folder)
        return chosen[0], kinds[-1] == "Normalize"

    def _longest(self) -> int:
        there = (self.folder / "sentence_bert_config.json").is_file()
        return int((self._json("sentence_bert_config.json").get("max_seq_length") if there else None) or 1 << 30)

    def _digest(self) -> str:
        hashed = hashlib.sha256(f"{self.pooling} {self.unit} {self.longest}\n".encode())
        for name in _NEEDED:
            with (self.folder / name).open("rb") as file:
                hashed.update(hashlib.file_digest(file, "sha256").digest())
        return hashed.hexdigest()

    def _load(self) -> None:
        import safetensors.torch
        import tokenizers

        weights = safetensors.torch.load_file(self.folder / "model.safetensors")
        self._weights: dict[str, Any] = {name.removeprefix("bert."): one.float() for name, one in weights.items()}
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(self.longest)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> F32:
        """[n, size] the vectors of texts, in float32; texts of like length are encoded together."""
        import torch

        pieces = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(pieces)), key=lambda i: -len(pieces[i]))
        found = np.zeros((len(pieces), self.size), np.float32)
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                part = order[start : start + _BATCH]
                longest = len(pieces[part[0]])
                ids = torch.zeros((len(part), longest), dtype=torch.long)
                mask = torch.zeros((len(part), longest), dtype=torch.bool)
                for row, i in enumerate(part):
                    ids[row, : len(pieces[i])] = torch.tensor(pieces[i])
                    mask[row, : len(pieces[i])] = True
                found[part] = self._pooled(self._states(ids, mask), mask).numpy()
        return found

    def _states(self, ids: Any, mask: Any) -> Any:
        """[n, t, size] BERT's last layer."""
        w = self._weights
        count, length = ids.shape
        h = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        h = self._normal(h + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        size = self.size // self.heads
        for i in range(int(self.config["num_hidden_layers"])):
            at = f"encoder.layer.{i}"
            q, k, v = (
                self._linear(h, f"{at}.attention.self.{part}").view(count, length, self.heads, size).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            logits = (q @ k.transpose(2, 3) / size**0.5).masked_fill(~mask[:, None, None, :], float("-inf"))
            seen = (logits.softmax(dim=3) @ v).transpose(1, 2).reshape(count, length, self.size)
            h = self._normal(h + self._linear(seen, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            hidden = self._gelu(self._linear(h, f"{at}.intermediate.dense"))
            h = self._normal(h + self._linear(hidden, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return h

    def _pooled(self, h: Any, mask: Any) -> Any:
        if self.pooling == "first":
            vectors = h[:, 0]
        else:
            vectors = (h * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
        return vectors / vectors.norm(dim=1, keepdim=True).clamp(min=1e-12) if self.unit else vectors

    def _linear(self, h: Any, name: str) -> Any:
        return h @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normal(self, h: Any, name: str) -> Any:
        from torch.nn.functional import layer_norm

        scale, move = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return layer_norm(h, h.shape[-1:], scale, move, float(self.config["layer_norm_eps"]))

    @staticmethod
    def _gelu(h: Any) -> Any:
        from torch.nn.functional import gelu

        return gelu(h)

    def __repr__(self) -> str:
        return f"Encoder({self.folder.name!r}: {self.size} numbers, {self.pooling}, texts of {self.longest} pieces)"
