"""Measures how fast the playground runs in a real browser: the script's time for simulation and drawing in
each frame, and frames per second.

    python docs/images/playground_speed.py [--keys 200] [--seconds 10] [--speed 60]

On a machine without a graphics card the browser rasters on the processor. Needs Chromium and playwright."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from statistics import median, quantiles

PLAYGROUND = Path(__file__).parents[1] / "playground.html"
PRESETS = ("v4", "v7", "credit")
FRAMES_BEFORE = 60

# Before the page's own script: every callback of a frame is timed.
WATCH = """(() => {
    window.frames_seen = [];
    const ask = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (draw) => ask((at) => {
        const begun = performance.now();
        draw(at);
        window.frames_seen.push([at, performance.now() - begun]);
    });
})()"""


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--speed", type=int, default=60, help="steps of the simulation per second")
    arguments = parser.parse_args()
    found = os.environ.get("SOMELAB_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for preset in PRESETS:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script(WATCH)
            setting = f"#preset={preset}&num_experts={arguments.keys}&speed={arguments.speed}"
            page.goto(PLAYGROUND.as_uri() + setting)
            page.wait_for_timeout(1000 * arguments.seconds)
            frames: list[tuple[float, float]] = page.evaluate("window.frames_seen")
            print(json.dumps({"preset": preset, "keys": arguments.keys, **measured(frames[FRAMES_BEFORE:])}))
            page.close()
        browser.close()


def measured(frames: list[tuple[float, float]]) -> dict[str, float]:
    """Of the script's milliseconds per frame: median and 95th percentile; and frames per second."""
    times = [spent for _, spent in frames]
    duration = frames[-1][0] - frames[0][0]
    return {
        "frames": len(frames),
        "median_ms": round(median(times), 2),
        "p95_ms": round(quantiles(times, n=20)[-1], 2),
        "frames_per_second": round(1000 * (len(frames) - 1) / duration, 1),
    }


if __name__ == "__main__":
    main()
