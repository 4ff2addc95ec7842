"""treelite's checkpoint, which tl2cgen compiles and Triton's forest backend serves; written by treelite itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from pippin.deploy.target import F64, Engine, Files, NotHere, Request, Target, register
from pippin.deploy.targets.lightgbm import text
from pippin.errors import MissingExtra


def write(request: Request) -> Files:
    """The checkpoint, by way of LightGBM's text: doubles and `<=`, as treelite keeps them."""
    try:
        import treelite
    except ImportError:
        raise MissingExtra("treelite", "an export for treelite", "treelite") from None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.txt", Path(folder) / "model.tl"
        source.write_text(text(request.form.names, request.form.flat(), request.notes), encoding="utf-8")
        treelite.frontend.load_lightgbm_model(str(source)).serialize(str(target))
        return {"": target.read_bytes()}


def run(base: Path, table: F64, request: Request) -> tuple[str, F64]:
    """The scores of treelite's own reference, GTIL."""
    try:
        import treelite
    except ImportError:
        raise NotHere("treelite is not installed") from None
    model: Any = treelite.Model.deserialize(str(base))
    found = treelite.gtil.predict(model, np.ascontiguousarray(table), nthread=1)
    return f"treelite {treelite.__version__}", np.asarray(found, np.float64).reshape(-1)


register(Target(
    "treelite", "treelite's checkpoint", "treelite 4, src/frontend/lightgbm.cc and src/gtil", ("trees",), write,
    engine=Engine("treelite", run),
))  # fmt: skip
