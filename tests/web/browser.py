"""A real Chromium that watches itself: where every request goes, what fails, what axe finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.system_parts import needed

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
AXE = (Path(__file__).parent / "vendored" / "axe.min.js").read_text(encoding="utf-8")
PATIENCE_MS = 30_000
SERIOUS = {"serious", "critical"}

Scheme = Literal["light", "dark"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """One browser; close it before anything in this thread needs an event loop."""
    program = needed("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A person's window. Everything that it asks for or complains about is written down."""

    def __init__(self, browser: Browser, origin: str, scripts: bool = True) -> None:
        self._context = browser.new_context(java_script_enabled=scripts)
        self._context.set_default_timeout(PATIENCE_MS)
        self._origin = origin
        self.page: Page = self._context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"a dialog: {dialog.message}"))
        self.page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def go(self, path: str) -> Page:
        self.page.goto(f"{self._origin}{path}", wait_until="load")
        return self.page

    def strangers(self) -> set[str]:
        """Origins that were asked besides ours."""
        parts = (urlsplit(url) for url in self.asked)
        return {f"{part.scheme}://{part.netloc}" for part in parts} - {self._origin}

    def faults(self, scheme: Scheme) -> list[str]:
        """What axe finds serious on the page that is open."""
        self.page.emulate_media(color_scheme=scheme)
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE)
        found: dict[str, Any] = self.page.evaluate(
            "() => axe.run(document, { resultTypes: ['violations'], elementRef: false })"
        )
        return [
            f"{fault['id']} ({fault['help']}): {node['html'][:150]}"
            for fault in found["violations"]
            if fault["impact"] in SERIOUS
            for node in fault["nodes"]
        ]

    def close(self) -> None:
        self._context.close()
