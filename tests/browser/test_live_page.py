"""The page on a live server, in a real browser: the list, a prompt that yields a trace, curves that grow
while a run trains."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from somelab.cli.models.serve import opening_page
from somelab.runs import RunFolder
from tests.analysis.builders import SETTINGS
from tests.browser.conftest import Opener, becomes, expect, until
from tests.browser.serving import Server, serving
from tests.training.builders import flags_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_every_view_renders_live(visit: Opener, server: Server) -> None:
    page = visit(server.url)
    expect(page.locator(".run")).to_have_count(1)
    page.locator(".run-open").click()
    page.locator(".plot canvas").first.wait_for()
    marks = {
        "balance": ".heat canvas",
        "galaxies": ".sky canvas",
        "guilds": ".guild",
        "traces": ".trace-column",
        "runs": ".run",
    }
    for name, mark in marks.items():
        page.locator(f"[data-testid=tab-{name}]").click()
        page.locator(mark).first.wait_for()


def test_a_typed_prompt_yields_a_trace(visit: Opener, server: Server) -> None:
    page = visit(f"{server.url}#/traces/stories")
    page.locator("[data-testid=prompt]").fill("Once <script>upon</script>")
    page.locator("[data-testid=ask]").click()
    tokens = page.locator(".trace-column .tokens").first
    tokens.filter(has_text="Once <script>upon</script>").wait_for()
    until(page, lambda: tokens.locator("span").count() > tokens.locator(".prompt").count() > 0)
    expect(page.locator(".token-detail .chip")).to_have_count(6)  # two experts in each of three layers


def test_the_list_searches_and_chooses(visit: Opener, trained: Path, tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        copy = RunFolder(shutil.copytree(trained, tmp_path / name, symlinks=True))
        copy.write_facts({**copy.facts(), "name": name})
    (tmp_path / "junk").mkdir()
    with serving([tmp_path]) as made:
        page = visit(made.url)
        expect(page.locator(".run")).to_have_count(3)
        expect(page.locator(".run.bad .status")).to_have_text("foreign")
        page.locator("[data-testid=search]").fill("alp")
        expect(page.locator(".run-name b")).to_have_text(["alpha"])
        page.locator("[data-testid=search]").fill("")
        boxes = page.locator(".run input[type=checkbox]")
        expect(page.locator(".run")).to_have_count(3)
        for box in boxes.all():
            box.check()
        page.get_by_role("button", name="Compare 2").click()
        expect(page.locator("table.numbers").first.locator("tbody tr")).to_have_count(2)
        page.close()


def test_curves_grow_while_a_run_trains(visit: Opener, tmp_path: Path, cache: None) -> None:
    settings = {**SETTINGS, "train.steps": 4000, "train.eval_every": 50, "train.snapshot_every": 500}
    settings.pop("train.minutes")
    command = [
        sys.executable,
        "-m",
        "somelab.cli.main",
        "train",
        "demo",
        "--out",
        str(tmp_path / "runs" / "growing"),
    ]
    log = (tmp_path / "log.txt").open("w")
    training = subprocess.Popen(
        [*command, *flags_of(settings)], stdout=log, stderr=log, env=os.environ.copy()
    )
    try:
        (tmp_path / "runs").mkdir(exist_ok=True)
        with serving([tmp_path / "runs"]) as made:
            page = visit(made.url)
            page.locator(".run .status.running").wait_for(timeout=120_000)
            page.locator(".run-open").click()
            page.locator(".plot").first.wait_for()
            page.locator(".live.on").wait_for()
            assert training.poll() is None, "the run ended before it could be watched"
            counts: list[int] = []

            def has_grown() -> bool:
                counts.append(int(page.locator(".plot").first.get_attribute("data-points") or 0))
                return len(set(counts)) >= 3

            until(page, has_grown, seconds=120)
            assert counts == sorted(counts)
            # The headline and what it is judged by come from the same evaluation.
            lead = page.locator("[data-testid=lead]").filter(has_text="reached a validation perplexity")
            lead.wait_for(timeout=120_000)
            page.locator(".judged").filter(has_text="Judged by the evaluation at step").wait_for()
            expect(lead).not_to_contain_text("measured yet")
            page.close()
    finally:
        training.kill()
        training.wait()
        log.close()


def test_a_server_that_has_gone_is_told(visit: Opener, trained: Path) -> None:
    with serving([trained.parent]) as made:
        page = visit(made.url)
    page.locator(".fault").filter(has_text="no response from the server").wait_for()
    assert all("ERR_CONNECTION_REFUSED" in line for line in visit.watch.complaints)
    page.close()
    visit.watch.complaints.clear()


@pytest.mark.parametrize("token", ["correcthorsebattery"])
def test_the_address_with_the_token_opens_the_page(visit: Opener, trained: Path, token: str) -> None:
    with serving([trained.parent], host="0.0.0.0", token=token) as made:
        page = visit(f"{made.url}?token={token}")
        page.locator(".run").wait_for()
        becomes(page, lambda: "token" in page.url, False)
        page.close()


def test_a_link_elsewhere_and_the_file_that_serve_opens_lead_to_the_page(
    visit: Opener, browser: Browser, trained: Path, tmp_path: Path
) -> None:
    """Strict cookies are not sent with what another page has asked for, redirects included."""
    token = "correcthorsebattery"
    with serving([trained.parent], token=token) as made:
        address = f"{made.url}?token={token}"
        (tmp_path / "mail.html").write_text(f'<a href="{address}">the runs</a>')
        asked: list[str] = []
        page = browser.new_context().new_page()
        page.on("request", lambda request: asked.append(str(request.headers.get("referer"))))
        page.goto((tmp_path / "mail.html").as_uri())
        page.get_by_text("the runs").click()
        page.locator(".run").wait_for()
        becomes(page, lambda: "token" in page.url, False)
        page.goto("about:blank")
        with opening_page(address) as file:
            fresh = browser.new_context().new_page()
            fresh.goto(file)
            fresh.locator(".run").wait_for()
            becomes(fresh, lambda: "token" in fresh.url, False)
        assert not any(token in referer for referer in asked)


def test_nothing_that_gets_into_the_page_is_run(browser: Browser, trained: Path) -> None:
    """The policy of the server, in a browser: a script, a style, an image and a request."""
    with serving([trained.parent]) as made:
        page = browser.new_context().new_page()
        page.goto(made.url)
        page.locator(".run").wait_for()
        wanted = ["connect-src", "img-src", "script-src-elem", "style-src-elem"]
        blocked = page.evaluate(
            """async (number) => {
                const seen = new Set();
                const note = (event) => seen.add(event.effectiveDirective);
                document.addEventListener("securitypolicyviolation", note);
                document.body.insertAdjacentHTML("beforeend",
                    '<img src="http://127.0.0.1:9/x.png"><style>b{color:red}</style>');
                const script = document.createElement("script");
                script.textContent = "window.ran = true";
                document.body.append(script);
                await fetch("http://127.0.0.1:9/").catch(() => {});
                const wait = (ms) => new Promise((done) => setTimeout(done, ms));
                for (let i = 0; i < 300 && seen.size < number; i++) await wait(100);
                await wait(300);  // what comes beyond those
                return [[...seen].sort(), window.ran ?? false];
            }""",
            len(wanted),
        )
        assert blocked == [wanted, False]
