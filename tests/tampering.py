"""Change folders written by Pippin and update their checksums, as an attacker could."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pippin.storage.manifest import CHECKSUMS, FolderFormat


def forge(folder: Path, kind: FolderFormat, /, **changes: Any) -> None:
    """Change what the manifest says, and make the checksums fit the files as they are now."""
    manifest = folder / kind.file
    record = json.loads(manifest.read_text(encoding="utf-8"))
    del record["checksum"], record["checksums"]
    manifest.unlink()
    (folder / CHECKSUMS).unlink()
    kind.write(folder, {**record, **changes})
