"""Optional dependencies: missing modules and the pip command that installs them.

Code that needs an optional module calls `require` before the work begins.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from pippin.errors import MissingDependency

# The command with which the pages install Pippin; `pip install pippin` once a release is on a package index. Hints such
# as `pip install 'pippin[report]'` work before that, too: pip keeps the installed Pippin and adds the extra.
INSTALL = "pip install ."
# module → (name of the package, extra that installs it)
PACKAGES = {
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
    "sentence_transformers": ("sentence-transformers", "dense"),
}


def require(purpose: str, *modules: str) -> None:
    """Raise MissingDependency with the pip command unless all modules can be imported.

    >>> require("a sum", "numpy")
    """
    missing = missing_modules(*modules)
    if missing:
        raise missing_dependency(purpose, *missing)


def missing_modules(*modules: str) -> list[str]:
    """Return the modules that cannot be imported.

    >>> missing_modules("numpy")
    []
    """
    return [module for module in modules if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    """Return whether a module can be imported; None in `sys.modules` blocks it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def explain_import_error(error: ImportError) -> MissingDependency | None:
    """Return MissingDependency if an extra would install the module of an ImportError, else None."""
    module = (error.name or "").partition(".")[0]
    return missing_dependency("this", module) if module in PACKAGES and missing_modules(module) else None


def explain_library_error(error: OSError) -> str:
    """Return how to install the system library that could not be loaded, or an empty string.

    >>> explain_library_error(OSError("libgomp.so.1: cannot open shared object file")).partition(":")[0]
    'LightGBM needs the system library libgomp.so.1'
    """
    if not str(error).startswith("libgomp.so.1: "):  # LightGBM's wheels do not contain it
        return ""
    return (
        "LightGBM needs the system library libgomp.so.1: "
        "apt install libgomp1 (Debian, Ubuntu), dnf install libgomp (Fedora)"
    )


def missing_dependency(purpose: str, *modules: str) -> MissingDependency:
    """Return the error for modules that are not installed; a module of no extra is installed under its own name.

    >>> missing_dependency("a frame", "polars").args[0]
    "a frame needs polars: pip install 'polars'"
    """
    *first, last = (PACKAGES.get(module, (module, ""))[0] for module in modules)
    names = f"{', '.join(first)} and {last}" if first else last
    extras = ",".join(dict.fromkeys(PACKAGES[module][1] for module in modules if module in PACKAGES))
    packages = [module for module in modules if module not in PACKAGES]
    return MissingDependency(names, purpose, *([f"pippin[{extras}]"] if extras else []), *packages)
