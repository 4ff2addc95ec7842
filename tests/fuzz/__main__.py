"""`python -m tests.fuzz`: fuzz every format with new seeds for a time or a number of rounds.

FUZZ_SECONDS says for how long, or FUZZ_COUNT how many mutations in all (a million unless said). A finding is printed
with its format and its seed, which `python -m tests.fuzz FORMAT SEED` repeats, and the exit status is 1.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tests.fuzz import test_collections, test_data, test_folders, test_imports, test_models
from tests.fuzz.cases import Case, fuzz

from pippin.rankers import models


def model(kind: str) -> Case:
    """Fuzz model files: equal scores, or a one-sentence error."""

    def scores(folder: Path) -> bytes:
        loaded = models.load(folder / "model")
        return loaded.predict(test_models.TABLES[:, : loaded.n_features_in_]).tobytes()

    return Case(lambda folder: (folder / "model").write_bytes(test_models.good(kind)), scores, own=True)


CASES: dict[str, Case] = {
    f"{module}: {name}": case
    for module, cases in (
        ("data", test_data.CASES), ("folders", test_folders.CASES), ("collections", test_collections.CASES),
        ("imports", test_imports.CASES), ("models", {kind: model(kind) for kind in test_models.KINDS}),
    )
    for name, case in cases.items()
}  # fmt: skip
AT_ONCE = 2000  # mutations of a format in a round,
SLICE = 15.0  # or those of as many seconds, so that a whole data set takes no longer than a line of text


def main() -> int:
    """Fuzz until the time or the number is over."""
    if len(sys.argv) == 3:
        print(fuzz(CASES[sys.argv[1]], AT_ONCE, int(sys.argv[2])))
        return 0
    seconds, most = float(os.environ.get("FUZZ_SECONDS") or "inf"), int(os.environ.get("FUZZ_COUNT") or 10**6)
    most = sys.maxsize if os.environ.get("FUZZ_SECONDS") else most
    start, done, seed = time.monotonic(), 0, int(os.environ.get("FUZZ_SEED") or time.time())
    refused = 0
    while done < most and time.monotonic() - start < seconds:
        for name, case in CASES.items():
            try:
                counts = fuzz(case, min(AT_ONCE, most - done), seed, SLICE)
            except AssertionError as error:
                print(f"FOUND in {name!r} with seed {seed}: {error}", flush=True)
                return 1
            done += counts["read"] + counts["refused"]
            refused += counts["refused"]
            if done >= most or time.monotonic() - start >= seconds:
                break
        print(f"{done:,} mutations of {len(CASES)} formats, {refused:,} refused, {time.monotonic() - start:,.0f} s",
              flush=True)  # fmt: skip
        seed += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
