"""A headless Firefox, driven by the protocol that it brings (Marionette): JSON over a socket."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

NAMES = ("firefox-esr", "firefox")
PREFERENCES = {
    "marionette.port": 0,  # any free one, which Firefox writes into its profile
    "browser.download.folderList": 2,  # into the folder browser.download.dir, without asking
    "browser.shell.checkDefaultBrowser": False,
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
}
PATIENCE = 120  # seconds to start, and to answer a command


class Firefox:
    """A window of Firefox."""

    def __init__(self, stream):
        self.stream = stream
        self.numbers = count(1)
        self._read()  # it says hello
        self.ask("WebDriver:NewSession")

    def ask(self, command, **parameters):
        """The answer to a command; its parameters and its result are those of WebDriver."""
        message = json.dumps([0, next(self.numbers), command, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(message), message))
        self.stream.flush()
        _, _, error, result = self._read()
        assert not error, f"{command}: {error['message']}"
        return result

    def _read(self):
        length = b""
        while (digit := self.stream.read(1)) != b":":
            assert digit, "Firefox has ended"
            length += digit
        return json.loads(self.stream.read(int(length)))

    def open(self, path):
        """Opens a file."""
        self.ask("WebDriver:Navigate", url=path.resolve().as_uri())

    def run(self, script, *arguments):
        """What a script returns that runs beside the page: it sees elements, no global names."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=arguments)["value"]

    def wait(self, script, *arguments):
        """Waits until a script returns something true, and returns that."""
        for _ in range(10 * PATIENCE):
            found = self.run(script, *arguments)
            if found:
                return found
            time.sleep(0.1)
        pytest.fail(f"still waiting: {script}")

    def press(self, name):
        """Presses the button with this name."""
        self.run(
            "[...document.querySelectorAll('button')].find((button) =>"
            "(button.ariaLabel || button.textContent).trim() === arguments[0]).click()",
            name,
        )

    def enter(self, frame):
        """Goes into a frame, counted from 0; None leaves all of them."""
        self.ask("WebDriver:SwitchToFrame", id=frame)


@contextmanager
def running(downloads):
    """Firefox with a profile of its own; tests that need it are skipped if it is not installed."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if not program:
        pytest.skip("no Firefox on this machine: on Debian, apt-get install firefox-esr")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        chosen = {**PREFERENCES, "browser.download.dir": str(downloads)}
        lines = [f"user_pref({json.dumps(x)}, {json.dumps(y)});\n" for x, y in chosen.items()]
        Path(profile, "user.js").write_text("".join(lines))
        command = [program, "--headless", "--marionette", "--new-instance", "--profile", profile]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            written = Path(profile, "MarionetteActivePort")
            started = time.monotonic()
            while not (written.exists() and written.read_text()):
                assert time.monotonic() - started < PATIENCE, "Firefox did not start"
                time.sleep(0.1)
            address = "127.0.0.1", int(written.read_text())
            with (
                socket.create_connection(address, timeout=PATIENCE) as connected,
                connected.makefile("rwb") as stream,
            ):
                yield Firefox(stream)
        finally:
            process.terminate()
            process.wait(30)
