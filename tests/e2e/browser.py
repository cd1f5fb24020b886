# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium, driven through chromedriver by the W3C WebDriver protocol: JSON over HTTP on
loopback, no library. Nothing of it leaves the machine, and its profile is the case's own directory.
"""
import base64
import json
import os
import socket
import time
import urllib.error
import urllib.request

from harness import PATIENCE, Failure

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND",
         "--hide-scrollbars", "--force-device-scale-factor=1"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key W3C WebDriver gives a reference to an element


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    """Opened by open_browser; Case.close ends its processes, too."""

    def __init__(self, t, width, height):
        driver, chromium = t.need("chromedriver", "chromium")
        self.base = f"http://127.0.0.1:{free_port()}"
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.process = t.start(driver, f"--port={self.base.rsplit(':', 1)[1]}", "--allowed-ips=127.0.0.1",
                               env=dict(os.environ, HOME=t.tmp, TMPDIR=t.tmp))
        self.wait_ready()
        options = {"binary": chromium, "args": [*FLAGS, f"--user-data-dir={t.path('profile')}",
                                                f"--window-size={width},{height}"]}
        session = self.ask("POST", "/session",
                           {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}, timeout=60)
        self.path = f"/session/{session['sessionId']}"

    def ask(self, method, path, body=None, timeout=30):
        request = urllib.request.Request(self.base + path, method=method, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with self.opener.open(request, timeout=timeout * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Failure(f"{method} {path}: {error.read().decode('utf-8', 'replace')[:800]}") from None

    def wait_ready(self):
        end = time.monotonic() + 20 * PATIENCE
        while True:
            try:
                if self.ask("GET", "/status")["ready"]:
                    return
            except (OSError, ValueError):
                if time.monotonic() > end:
                    raise Failure("chromedriver does not answer") from None
            time.sleep(0.05)

    def open(self, path):
        self.ask("POST", f"{self.path}/url", {"url": f"file://{path}"})

    def js(self, script, *args):
        return self.ask("POST", f"{self.path}/execute/sync", {"script": script, "args": list(args)})

    def keys(self, text):
        """Typed into whatever has the focus."""
        actions = [{"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]
        self.ask("POST", f"{self.path}/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def click(self, x, y):
        """A real click at a place of the window."""
        actions = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)},
                   {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.ask("POST", f"{self.path}/actions",
                 {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def move(self, x, y):
        self.ask("POST", f"{self.path}/actions", {"actions": [{
            "type": "pointer", "id": "mouse",
            "actions": [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]}]})

    def emulate(self, width, height, scheme):
        """A window that is narrower than one can be made, and what its user prefers: "dark", "light"."""
        for command, params in (("setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}),
                                ("setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})):
            self.ask("POST", f"{self.path}/goog/cdp/execute", {"cmd": f"Emulation.{command}", "params": params})

    def screenshot(self, path):
        data = base64.b64decode(self.ask("GET", f"{self.path}/screenshot"))
        with open(path, "wb") as file:
            file.write(data)
        return data

    def close(self):
        try:
            self.ask("DELETE", self.path)
        except (OSError, Failure):
            pass


def open_browser(t, width=1200, height=700):
    return Browser(t, width, height)
