"""A headless Chromium over its debugging pipe: no driver, no package, no port."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 120.0  # seconds; a busy machine starts a browser slowly
# Chromium reads commands from file 3 and answers on file 4. Done in a child: JAX's threads forbid a fork here.
LAUNCHER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """Commands and events of a running Chromium."""

    def __init__(self, commands: int, answers: int) -> None:
        self.commands, self.answers = commands, answers
        self.events: list[dict] = []
        self.waiting = b""
        self.count = 0

    def call(self, method: str, session: str | None = None, **parameters) -> dict:
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        message |= {"sessionId": session} if session else {}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self.count:
            self.events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _next(self) -> dict:
        limit = time.monotonic() + PATIENCE
        while b"\0" not in self.waiting:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, limit - time.monotonic()))
            assert ready, "Chromium does not answer"
            read = os.read(self.answers, 1 << 20)
            assert read, "Chromium has gone"
            self.waiting += read
        message, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(message)


class Page:
    """A file opened in a tab of its own."""

    def __init__(
        self, browser: Browser, path: Path, width: int = 1280, height: int = 900, dark: bool = False
    ):
        self.browser, self.address = browser, path.resolve().as_uri()
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=self.address)
        limit = time.monotonic() + PATIENCE
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            assert time.monotonic() < limit, "the page does not load"
            time.sleep(0.05)

    def call(self, method: str, **parameters) -> dict:
        return self.browser.call(method, self.session, **parameters)

    def run(self, script: str):
        """The value of an expression, evaluated in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """A key on the keyboard."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def mine(self, method: str) -> list[dict]:
        return [
            event["params"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event["method"] == method
        ]

    def complaints(self) -> list:
        """Exceptions, errors on the console, and everything the browser itself logged."""
        self.run("0")
        calls = [
            event for event in self.mine("Runtime.consoleAPICalled") if event["type"] in ("error", "warning")
        ]
        return self.mine("Runtime.exceptionThrown") + self.mine("Log.entryAdded") + calls

    def fetched(self) -> set[str]:
        """The addresses that were requested besides the file itself."""
        self.run("0")
        requested = {event["request"]["url"] for event in self.mine("Network.requestWillBeSent")}
        return {url for url in requested if url != self.address and not url.startswith("data:")}

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)

    def screenshot(self, path: Path) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


def find() -> str | None:
    return next((result for name in NAMES if (result := shutil.which(name))), None)


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile; skips the test where none is installed."""
    program = find()
    if program is None:
        pytest.skip(
            f"no browser: none of {', '.join(NAMES)} is on the PATH (Debian: apt-get install chromium)"
        )
    theirs_in, commands = os.pipe()
    answers, theirs_out = os.pipe()
    # High numbers: dup2 onto 3 and 4 must not overwrite the other end.
    high = [_high(theirs_in), _high(theirs_out)]
    process = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-c",
            LAUNCHER,
            *map(str, high),
            program,
            *FLAGS,
            f"--user-data-dir={profile}",
        ],
        pass_fds=high,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for end in high:
        os.close(end)
    browser = Browser(commands, answers)
    try:
        yield browser
        browser.call("Browser.close")
    finally:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(commands)
        os.close(answers)


def _high(end: int) -> int:
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved
