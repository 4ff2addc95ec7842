"""Names of the built-in rankers."""

from __future__ import annotations

from pippin.rankers import names as all_names
from pippin.rankers import ranker


def names() -> list[str]:
    """Pippin's own rankers: other tests may have registered some that go wrong on purpose."""
    return [name for name in all_names() if ranker(name).__module__.startswith("pippin.")]
