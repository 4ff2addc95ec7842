"""Measure the load time of a benchmark page and the time of a switch in Chromium.

python benchmarks/page_speed.py PAGE.html

The first paint and the page's readiness are of the clock, the best and the median of five openings. A switch (data set,
tool, measure) is the main thread's time from the choice to the drawn picture: of the processor, which other work on the
machine does not stretch, and of the clock.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PAINTED = "performance.getEntriesByName('first-contentful-paint')"
CHOICES = "[...document.querySelectorAll('#{0} option')].map(o => o.value)"
FRAME = "await new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
CHOOSE = f"""async ([id, value]) => {{
  const named = `input[name=family][value="${{value}}"]`;
  const box = id === "family" ? document.querySelector(named) : document.getElementById(id);
  const start = performance.now();
  if (id === "family") box.checked = true; else box.value = value;
  box.dispatchEvent(new Event("change", {{ bubbles: true }})); {FRAME};
  return performance.now() - start; }}"""


def measure_opening(page: Any, file: Path) -> tuple[float, float]:
    """Milliseconds to the first paint, and until everything answers."""
    page.goto("about:blank")
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]", state="attached")
    ready = page.evaluate("performance.now()")
    page.wait_for_function(f"{PAINTED}.length")
    return page.evaluate(f"{PAINTED}[0].startTime"), ready


def measure_switches(page: Any, session: Any, control: str, values: list[str]) -> list[tuple[float, float]]:
    """Milliseconds of the processor and of the clock for every value of a control."""

    def spent() -> float:
        metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        return 1000 * float(metrics["TaskDuration"])

    results = []
    for value in values:
        before = spent()
        clock = page.evaluate(CHOOSE, [control, value])
        results.append((spent() - before, clock))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    file = parser.parse_args().page.resolve()
    print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        times = [measure_opening(page, file) for _ in range(5)]
        for name, values in zip(("first paint", "ready"), zip(*times, strict=True), strict=True):
            print(f"{name}: best {min(values):.0f} ms, median {statistics.median(values):.0f} ms (clock)")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        families = page.evaluate("[...document.getElementsByName('family')].map(i => i.value)")
        for control in ("data", "tool", "family"):
            values = families if control == "family" else page.evaluate(CHOICES.format(control))
            result = measure_switches(page, session, control, values)
            told = [f"median {statistics.median(v):.0f} ms, most {max(v):.0f} ms" for v in zip(*result, strict=True)]
            print(f"switch of {control} ({len(result)}): processor {told[0]}; clock {told[1]}")
        browser.close()


if __name__ == "__main__":
    main()
