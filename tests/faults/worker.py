# SPDX-License-Identifier: GPL-2.0-or-later
"""One process that runs recordings with a fault in each: its own directories, its long-lived programs, its table."""
import os
import re
import shutil
import signal
import subprocess
import time

import private
from fault_table import Table

STUCK_SECONDS = 20  # a recording takes a third of a second; the machine may be busy
ORPHAN_SECONDS = 4  # a helper may wait for a program it asked something


class Ended:
    """How a command ended. rc None: it did not."""

    def __init__(self, argv, rc, out, err, where=""):
        self.argv, self.rc, self.out, self.err, self.where = argv, rc, out, err, where


class Worker:
    def __init__(self, build, home):
        self.build, self.home = build, home
        self.table = Table(os.path.join(home, "table"))
        self.plain = {k: v for k, v in os.environ.items() if k != "TAPIR_FAULTS"}
        self.faulty = {**self.plain, "TAPIR_FAULTS": self.table.path}
        self.programs = {}  # long-lived, by name
        self.out = os.path.join(home, "out")
        self.last_runtime = "nothing"  # the last run on a long-lived program

    def tool(self, *words):
        return os.path.join(self.build, *words)

    def target(self, name):
        return self.tool("tests", "targets", name)

    def fresh(self):
        """An empty directory for a run's files."""
        shutil.rmtree(self.out, ignore_errors=True)
        os.makedirs(self.out)

    def file(self, name="r.tapir"):
        return os.path.join(self.out, name)

    # ---- programs -----------------------------------------------------------------------

    def spawn(self, argv, env, name):
        """A process in a session of its own; its streams are files beside `out`."""
        streams = [open(os.path.join(self.home, f"{name}.{kind}"), "wb+") for kind in ("out", "err")]
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1], env=env,
                                   start_new_session=True, cwd=self.out)
        process.streams = streams
        return process

    def finish(self, process, seconds=STUCK_SECONDS):
        """Waits; what still runs is described and killed."""
        where = ""
        try:
            rc = process.wait(seconds)
        except subprocess.TimeoutExpired:
            where, rc = stack_of(process.pid), None
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        texts = []
        for stream in process.streams:
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
            stream.close()
        return Ended(process.args, rc, *texts, where)

    def run(self, argv, env=None, name="run"):
        return self.finish(self.spawn(argv, env or self.plain, name))

    def wait_for(self, process, text):
        """Until the process has printed text on stderr, or ended."""
        end = time.monotonic() + STUCK_SECONDS
        while process.poll() is None and time.monotonic() < end:
            with open(process.streams[1].name, "rb") as file:
                if text in file.read():
                    return
            time.sleep(0.005)

    def late_out(self, name):
        """Standard output once the programs that a run left have ended: they may outlive tapir."""
        private.orphans(self.known(), ORPHAN_SECONDS)
        with open(os.path.join(self.home, name + ".out"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def long_lived(self, name, argv, env=None):
        """A program that serves many runs; it is started again when it has ended."""
        process = self.programs.get(name)
        if process and process.poll() is None:
            return process
        process = self.spawn(argv, env or self.plain, name)
        end = time.monotonic() + 30
        while os.path.getsize(process.streams[0].name) == 0 and time.monotonic() < end and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.3)
        self.programs[name] = process
        return process

    def end_programs(self, stop):
        """Lets the long-lived ones end; yields what they did wrong."""
        open(stop, "wb").close()
        for name, process in self.programs.items():
            ended = self.finish(process)
            if ended.rc != 0 or '"wrong": 0' not in ended.out:
                yield f"{name} ended with {ended.rc}: {ended.out[-200:]}{ended.err[-300:]}"

    # ---- after a run ----------------------------------------------------------------------

    def known(self):
        return {process.pid for process in self.programs.values()}

    def blame(self, path):
        """A runtime writes its file when it comes to it, which may be during a later run."""
        if not re.search(r"/(perf|jit)-|coreclr", path):
            return ""
        whose = [name for name, process in self.programs.items() if f"-{process.pid}." in path]
        return f" ({whose}, {os.path.getsize(path)} bytes), after {self.last_runtime}"

    def leftovers(self, before):
        """Processes and files that a run left."""
        for pid, (comm, state) in private.orphans(self.known(), ORPHAN_SECONDS).items():
            yield f"left: process {comm} ({state}), {stack_of(pid)}"
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        private.orphans(self.known(), 1)
        for path in sorted(private.files() - before):
            yield f"left: {path}{self.blame(path)}"
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            elif os.path.lexists(path):
                os.unlink(path)


def stack_of(pid):
    """What each thread of a process waits in."""
    words = []
    for task in sorted(os.listdir(f"/proc/{pid}/task"))[:8] if os.path.isdir(f"/proc/{pid}/task") else ():
        try:
            with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as file:
                comm = file.read().strip()
            with open(f"/proc/{pid}/task/{task}/wchan", encoding="ascii") as file:
                words.append(f"{comm}:{file.read()}")
        except OSError:
            pass
    return " ".join(words)
