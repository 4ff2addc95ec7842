"""Which packages does an install without extras lack, and what is to be typed for them?

The base is NumPy and small packages; what trains trees and what holds tables is ten times its size. Whoever needs more
says so by `need` before the work begins.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from pippin.errors import MissingExtra

# module → (what pip calls it, the extra that brings it)
PACKAGES = {
    "lightgbm": ("lightgbm", "train"),
    "scipy": ("scipy", "train"),
    "sklearn": ("scikit-learn", "train"),
    "polars": ("polars", "tables"),
    "pyarrow": ("pyarrow", "tables"),
    "pandas": ("pandas", "pandas"),
    "vl_convert": ("vl-convert-python", "report"),
    "ir_datasets": ("ir_datasets", "datasets"),
    "dask": ("dask", "scale"),
    "distributed": ("distributed", "scale"),
    "sqlalchemy": ("sqlalchemy", "serve"),
    "cryptography": ("cryptography", "serve"),
    "starlette": ("starlette", "serve"),
    "uvicorn": ("uvicorn", "serve"),
    "python_multipart": ("python-multipart", "serve"),
    "psycopg": ("psycopg[binary]", "postgres"),
    "torch": ("torch", "neural"),
    "tokenizers": ("tokenizers", "dense"),
}


def need(purpose: str, *modules: str) -> None:
    """Raise MissingExtra, with the line to type, unless all these modules can be imported.

    >>> need("a sum", "numpy")
    """
    missing = lacking(*modules)
    if missing:
        raise missing_extra(purpose, *missing)


def lacking(*modules: str) -> list[str]:
    """Those of these modules that cannot be imported.

    >>> lacking("numpy")
    []
    """
    return [module for module in modules if not _is_there(module)]


def _is_there(module: str) -> bool:
    """Whether a module is imported already or can be; None among the imported ones says that it must not be."""
    return sys.modules[module] is not None if module in sys.modules else find_spec(module) is not None


def explained(error: ImportError) -> MissingExtra | None:
    """The error of a module that an extra would have brought; None where it is another."""
    module = (error.name or "").partition(".")[0]
    return missing_extra("this", module) if module in PACKAGES and find_spec(module) is None else None


def missing_extra(purpose: str, *modules: str) -> MissingExtra:
    """The error of modules that are not there."""
    *others, last = (PACKAGES[module][0] for module in modules)
    names = f"{', '.join(others)} and {last}" if others else last
    extras = ",".join(dict.fromkeys(PACKAGES[module][1] for module in modules))
    return MissingExtra(names, purpose, f"pippin[{extras}]")
