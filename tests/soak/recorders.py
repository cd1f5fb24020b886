# SPDX-License-Identifier: GPL-2.0-or-later
"""The tapirs of the soak: one that records all the time, those that come and go, those that are killed."""
import os
import signal
import subprocess
import threading
import time


CLOCKS_OFF = 0.5  # seconds


def numbers(pid):
    """(resident KiB, descriptors, threads) of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            words = dict(line.split(":", 1) for line in file)
        return int(words["RssAnon"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(words["Threads"])
    except (OSError, KeyError):
        return None


class Tapir(subprocess.Popen):
    """A process that knows from when to when it had its id, by the clock of dmesg."""

    def __init__(self, *args, **options):
        self.began, self.ended = time.clock_gettime(time.CLOCK_BOOTTIME), None
        super().__init__(*args, **options)
        self.ids = {self.pid}

    def note_threads(self):
        """Before a kill: the thread that ends last closes everything, and its id is what the kernel's log has."""
        try:
            self.ids |= {int(task) for task in os.listdir(f"/proc/{self.pid}/task")}
        except OSError:
            pass

    def wait(self, timeout=None):
        code = super().wait(timeout)
        self.ended = self.ended or time.clock_gettime(time.CLOCK_BOOTTIME)
        return code


class Tapirs:
    """Starts tapir; remembers every one, for the kernel's log names them by their ids, which are used again."""

    def __init__(self, path, home, comm):
        self.path, self.home, self.comm = path, home, comm
        self.all = []
        self.lock = threading.Lock()

    def start(self, *argv, err=subprocess.DEVNULL):
        process = Tapir([self.path, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, cwd=self.home)
        with self.lock:
            self.all.append(process)
        return process

    def was(self, pid, when):
        """Whether one of the soak programs, or a thread of one, had this id then. The kernel's log is a little off the clock."""
        return any(pid in own.ids and own.began - CLOCKS_OFF <= when <= (own.ended or when) + CLOCKS_OFF for own in self.all)


class Loop(threading.Thread):
    """Calls step() until it is asked to stop; keeps problems."""

    def __init__(self, tapirs, chance):
        super().__init__(daemon=True)
        self.tapirs, self.chance = tapirs, chance
        self.over = threading.Event()
        self.problems, self.rounds = [], 0

    def run(self):
        while not self.over.is_set():
            try:
                self.step()
            except Exception as why:  # the soak goes on
                self.problems.append(f"{type(self).__name__}: {why!r}")
            self.rounds += 1

    def step(self):
        raise NotImplementedError


class Attacher(Loop):
    """Attaches to a long-lived program, records half a second, detaches."""

    def __init__(self, tapirs, chance, pids):
        super().__init__(tapirs, chance)
        self.pids = pids

    def step(self):
        name, pid = self.chance.choice(sorted(self.pids.items()))
        specs = ["storm:hit"] if name == "soakstorm" else []
        errors = os.path.join(self.tapirs.home, "attach.err")
        with open(errors, "wb") as err:
            process = self.tapirs.start("record", *specs, "-p", str(pid), "-d", f"{self.chance.randint(100, 800)}ms", "-f", "-o",
                                        "attach.tapir", err=err)
        try:
            rc = process.wait(60)
        except subprocess.TimeoutExpired:
            self.problems.append(f"record -p {name}: no end within 60 s")
            process.kill()
            process.wait()
            return
        if rc:
            with open(errors, encoding="utf-8", errors="replace") as err:
                self.problems.append(f"record -p {name}: exit {rc}: {err.read().strip()[-300:]}")


class Killer(Loop):
    """Kills a recording at a random moment: while it attaches, records, or ends."""

    def __init__(self, tapirs, chance, pids, storm):
        super().__init__(tapirs, chance)
        self.pids, self.storm = pids, storm

    def step(self):
        _, pid = self.chance.choice(sorted(self.pids.items()))
        what = self.chance.choice((("-p", str(pid)), ("storm:hit", "--comm", self.tapirs.comm),
                                   ("storm:hit", "--", self.storm, "1000", "500", "2")))
        process = self.tapirs.start("record", "-f", "-o", "killed.tapir", *what)
        time.sleep(self.chance.choice((self.chance.uniform(0, 0.3), self.chance.uniform(0.3, 1.5))))
        if self.chance.random() < 0.2:
            process.send_signal(signal.SIGINT)
            time.sleep(self.chance.uniform(0, 0.05))
        process.note_threads()
        process.kill()
        process.wait()
