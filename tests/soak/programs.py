# SPDX-License-Identifier: GPL-2.0-or-later
"""The traced programs of the soak. All are called soak*, so that --comm 'soak*' selects them and nothing else on a shared
machine: copies or links of test targets, of java and of a .NET program."""
import json
import os
import shutil
import subprocess
import threading
import time

STUCK_SECONDS = 60


class Programs:
    """Names and commands; what one needs that is not installed is left out."""

    def __init__(self, build, home, dotnet, java):
        self.home = home
        self.stop = os.path.join(home, "stop")
        self.storm = self._copy(os.path.join(build, "tests", "targets", "storm"), "soakstorm")
        # The same file under another name: attached when the churn begins.
        self.first = os.path.join(home, "soakfirst")
        os.link(self.storm, self.first)
        # Of recordings that are killed: the one that lasts must not count its events.
        self.killed = self._copy(self.storm, "killstorm")
        self.jvm = self._link(java[0], "soakjava") and [os.path.join(home, "soakjava"), *java[1:]] if java else None
        self.net = self._link(dotnet[0], "soaknet") and [os.path.join(home, "soaknet"), *dotnet[1:]] if dotnet else None

    def _copy(self, source, name):
        return shutil.copy(source, os.path.join(self.home, name))

    def _link(self, target, name):
        os.symlink(os.path.realpath(target), os.path.join(self.home, name))
        return True

    def short(self, chance):
        """One process of the churn: (command, whether it prints what it fired)."""
        fires = [self.storm, "0", str(chance.randint(1, 200)), str(chance.randint(1, 3))]
        kind = chance.randrange(100)
        if kind < 2 and self.jvm:
            return [*self.jvm[:-1], "/"], False
        if kind < 4 and self.net:
            return [self.net[0], "paced", "0.2", "/nowhere"], False
        if kind < 20:
            return ["sh", "-c", '"$@"; exit $?', "sh", *fires], True
        if kind < 30:
            return ["setsid", "-w", *fires], True
        return fires, True

    def long(self):
        """name -> command of programs that live as long as the soak; "stop" in their arguments ends them."""
        found = {"soakstorm": [self.storm, "200", "1000000000", "2"]}
        if self.jvm:
            found["soakjava"] = [*self.jvm[:-1], self.stop]
        if self.net:
            found["soaknet"] = [self.net[0], "paced", "100000", self.stop]
        return found


class Churn(threading.Thread):
    """Starts short programs at an even pace and adds up what they say they fired."""

    def __init__(self, programs, chance, per_minute):
        super().__init__(daemon=True)
        self.programs, self.chance, self.pause = programs, chance, 60 / per_minute
        self.over = threading.Event()
        self.fired = self.started = self.ended = 0
        self.problems = []
        self.running = []

    def run(self):
        due = time.monotonic()
        while not self.over.is_set():
            self.start_one()
            self.reap()
            due += self.pause
            time.sleep(max(0.0, due - time.monotonic()))
        end = time.monotonic() + STUCK_SECONDS
        while self.running and time.monotonic() < end:
            self.reap()
            time.sleep(0.05)

    def start_one(self):
        argv, prints = self.programs.short(self.chance)
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.started += 1
        self.running.append((process, prints, time.monotonic()))

    def reap(self):
        left = []
        for process, prints, since in self.running:
            if process.poll() is not None:
                self.finish(process, prints)
            elif time.monotonic() - since > STUCK_SECONDS:
                self.problems.append(f"pid {process.pid} {process.args} still runs after {STUCK_SECONDS} s")
                process.kill()
            else:
                left.append((process, prints, since))
        self.running = left

    def finish(self, process, prints):
        out = process.stdout.read().decode("utf-8", "replace")
        process.stdout.close()
        self.ended += 1
        if process.returncode:
            self.problems.append(f"{process.args} ended with {process.returncode}: {out[-300:]}")
        elif prints:
            self.fired += json.loads(out.splitlines()[-1])["fired"]
