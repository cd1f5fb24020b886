# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients in the corpus: programs of each runtime that await the answers of a peer (programs/slow_peer.py), by their own clocks. Their sockets
say what they await (--net), whatever the runtime makes of it: threads, an event loop, goroutines, virtual threads."""
import contextlib
import pathlib
import shutil
import subprocess

from answers import Witness
from recording import Recording, expected, waiting

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "e2e" / "programs"
PYTHON = "/usr/bin/python3"
JDK = "/usr/lib/jvm/temurin-25-jdk-amd64/bin"  # virtual threads, which the JVM of the other recordings has not
# By the program: its runtime and version, how it is built in its home, and how it is run there.
RUN = {
    "awaiting.py": ("CPython", (PYTHON, "--version"), (), (PYTHON, "awaiting.py")),
    "awaiting.js": ("Node.js", ("node", "--version"), (), ("node", "awaiting.js")),
    "JvmAwaiting.java": ("JVM", (f"{JDK}/java", "-version"), (f"{JDK}/javac", "JvmAwaiting.java"), (f"{JDK}/java", "-Xmx200m", "-cp", ".", "JvmAwaiting")),
    "awaiting.go": ("Go", ("go", "version"), ("env", "GO111MODULE=off", "GOCACHE=/tmp/go-cache", "go", "build", "-o", "awaiting", "awaiting.go"),
                    ("./awaiting",)),
    "awaiting.rb": ("Ruby", ("ruby", "--version"), (), ("ruby", "awaiting.rb")),
    "awaiting.php": ("PHP", ("php", "--version"), (), ("php", "awaiting.php")),
}


class Client(Recording):
    """words: the program, and what it does."""

    def __init__(self, program, mode, *places):
        super().__init__((program, mode), lambda c: expected(waiting(c, "calls", "calls of ", f":{c.said['port']}", *places)), options=("--net",))
        self.runtime, self.version, self.build, self.run = RUN[program]

    @contextlib.contextmanager
    def around(self, _case):
        """The peer is there before the program and after it."""
        self.peer = Witness(PYTHON, str(PROGRAMS / "slow_peer.py"))
        self.ports = self.peer.child.stdout.readline().split()[1:]
        try:
            yield
        finally:
            self.peer.end()

    def prepare(self, _case, home):
        shutil.copy(PROGRAMS / self.words[0], home)
        if self.build:
            subprocess.run(self.build, cwd=home, check=True)
        return (*self.run, self.words[1], *self.ports)

    def recorded(self, record):
        record()
        return {"port": self.ports[1]}


def clients(program, slow="slow", one_slow="one-slow", place=None):
    """place: the function that asks, where threads wait in it."""
    places = [f" in {place}"] * bool(place)
    return {slow: Client(program, slow, *places), "chatty": Client(program, "chatty", *places), one_slow: Client(program, one_slow)}


CLIENTS = {f"{name}-awaits-{mode}": client for name, made in {
    "python": clients("awaiting.py", slow="threads", one_slow="asyncio", place="call awaiting.py"),
    "node": clients("awaiting.js"),
    "jvm": clients("JvmAwaiting.java"),
    "go": clients("awaiting.go"),
    "ruby": clients("awaiting.rb"),
    "php": clients("awaiting.php"),
}.items() for mode, client in made.items()}
CLIENTS["python-awaits-gevent"] = Client("awaiting.py", "gevent")  # of the package python3-gevent
