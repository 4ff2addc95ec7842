"""Store measurements, one record per line, so that each line can be measured separately."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def keep(path: Path, key: str, record: Any) -> dict[str, Any]:
    """Put a record into the file that others may have written to since it was read; all that is there now."""
    records: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    records[key] = record
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    beside.replace(path)
    return records
