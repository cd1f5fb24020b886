# SPDX-License-Identifier: GPL-2.0-or-later
"""A running `tapir serve` that cases ask over HTTP, and what /proc says of it and its children."""
import http.client
import json
import os
import re
import socket
import ssl
import time

from harness import PATIENCE


class Server:
    """An agent on a free port of loopback, or on a unix socket, with a directory of its own."""

    def __init__(self, t, *args, listen="127.0.0.1:0", wrap=()):
        self.t, self.state = t, t.path("state")
        self.process = t.start(*wrap, t.tapir_path, "serve", "--listen", listen, "--state", self.state, *args)
        line = self.process.wait_line("tapir: listening on ")
        self.address = re.search(r"listening on (\S+);", line).group(1)
        self.token = ""
        if os.path.exists(os.path.join(self.state, "token")):
            with open(os.path.join(self.state, "token"), encoding="ascii") as file:
                self.token = file.read().strip()

    @property
    def pid(self):
        return self.process.pid

    def connect(self):
        if self.address.startswith("https:"):
            host, port = self.address[len("https://"):].rsplit(":", 1)
            context = ssl.create_default_context(cafile=self.t.path("cert.pem"))
            return context.wrap_socket(socket.create_connection((host, int(port)), timeout=30), server_hostname=host)
        if self.address.startswith("unix:"):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(self.address[5:])
        else:
            host, port = self.address[len("http://"):].rsplit(":", 1)
            sock = socket.create_connection((host, int(port)))
        sock.settimeout(30 * PATIENCE)
        return sock

    def ask(self, path, method="GET", token=None, body=None, **headers):
        """(status, headers, body) of one request."""
        connection = http.client.HTTPConnection("127.0.0.1:1")
        connection.sock = self.connect()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is None and self.token:
            token = self.token
        if token:
            sent["Authorization"] = "Bearer " + token
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data

    def json(self, path, expect=200, **options):
        status, _, data = self.ask(path, **options)
        self.t.eq(status, expect, f"status of {path}: {data[:300]}")
        return json.loads(data)

    def raw(self, data):
        """What comes back for bytes that may be no request."""
        sock = self.connect()
        answer = b""
        try:
            sock.sendall(data)  # it may answer and close before it has all
            while part := sock.recv(65536):
                answer += part
        except (ConnectionError, socket.timeout):
            pass
        sock.close()
        return answer

    def audit(self, *texts):
        """The lines of the audit log, as soon as each of these texts is in one: a line is written after the answer it is about."""
        end = time.monotonic() + 10 * PATIENCE
        while True:
            lines = [line for line in self.process.err if "audit:" in line]
            missing = [text for text in texts if not any(text in line for line in lines)]
            if not missing:
                return lines
            self.t.ok(time.monotonic() < end, f"the audit log has {missing}: {lines}")
            time.sleep(0.02)


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def all_children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def children(pid):
    """Without the one that waits for the next recording."""
    return [child for child in all_children(pid) if name_of(child) != "tapir-ready"]


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def until(t, condition, what, seconds=20):
    end = time.monotonic() + seconds * PATIENCE
    while not condition():
        t.ok(time.monotonic() < end, f"not within {seconds * PATIENCE:.0f} s: {what}")
        time.sleep(0.02)


def write_config(t, config):
    path = t.path("serve.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump(config, file)
    return path


def begin_session(server, **members):
    body = json.dumps({"seconds": 60, "no_sched": True, **members})
    status, headers, data = server.ask("/v1/sessions", method="POST", body=body)
    server.t.eq(status, 201, f"status: {data[:300]}")
    session = json.loads(data)
    server.t.eq(headers["location"], "/v1/sessions/" + session["id"], "location")
    return headers["location"]
