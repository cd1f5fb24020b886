#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A long life at once: 1,000 processes a minute, JVMs and .NET programs among them, one recording of all of them, others
that attach and detach in a loop, others that are killed at random.

At the end: no process is or was left stopped; no process, file, semaphore or leaked uprobe is left; the events that the
programs say they fired equal those captured and lost; memory and descriptors of the recorder did not grow.

Only programs called soak* are traced, because others use the machine; --comm '*' (SOAK_COMM) traces everybody.
Exit: 0 passed, 1 problems, 77 skipped.
"""
import argparse
import calendar
import collections
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "faults")]

import private  # noqa: E402
from programs import Churn, Programs  # noqa: E402
from recorders import Attacher, Killer, Tapirs, numbers  # noqa: E402
from runtimes import runtimes  # noqa: E402

KIB_A_MINUTE, FDS_A_MINUTE = 64, 0.25  # 30 minutes: 2 MB, 8 descriptors
# Memory that was once in use stays in use: until all sizes have come together, that is growth. Tables by process and by thread
# grow until they are full, or every id was used once: a long soak fills them before it measures.
WARM_SECONDS, KIB_A_MINUTE_BEFORE = 600, 1024
FILL_PROCESSES, FILL_THREADS = 33000, 2  # 32,768 ids; 65,536 threads
SETTLE_SECONDS = 10
QUIET_SECONDS = 4  # before what is counted; a recording says its begin to the second


def stopped():
    """pid -> comm of programs of the soak that are stopped now."""
    found = {}
    for name in os.listdir("/proc"):
        seen = private.stat(int(name)) if name.isdigit() else None
        if seen and seen[0].startswith(("soak", "killstorm")) and seen[1] in "Tt":
            found[int(name)] = seen[0]
    return found


def leaks(tapirs, since):
    """Lines of the kernel's log since then that report a leaked uprobe: those of our tapirs, and how many of others."""
    out = subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout
    own, other_count = [], 0
    for line in out.splitlines():
        match = re.search(r"^\[ *([\d.]+)\] uprobe: .*:(\d+) failed to unregister, leaking uprobe", line)
        if not match or float(match.group(1)) < since:
            continue
        if tapirs.was(int(match.group(2)), float(match.group(1))):
            own.append(line)
        else:
            other_count += 1
    return own, other_count


def loaded_at(pid, path):
    """Where the file's first mapping is; its notes."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path)), notes


def breakpoints(pid, path):
    """Sites of a running storm that still have a breakpoint: a leaked uprobe of it, whoever the kernel's log names."""
    base, notes = loaded_at(pid, path)
    sites = {int(text, 16) for text in re.findall(r"Location: (0x[0-9a-f]+)", notes)}
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return sum(os.pread(memory.fileno(), 1, base + site) == b"\xcc" for site in sites)


def semaphores(pid, path):
    """The counter of storm:hit in a running storm."""
    base, notes = loaded_at(pid, path)
    address = int(re.search(r"Semaphore: (0x[0-9a-f]+)", notes).group(1), 16)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(base + address)
        return struct.unpack("<H", memory.read(2))[0]


def slope(samples, index):
    """Growth a minute over the last two thirds, the first warms up: least squares, and the standard error of it.
    Samples a second apart are alike: ten of them count as one."""
    points = [(s[0] / 60, s[index]) for s in samples[len(samples) // 3:]]
    n = len(points)
    if n < 30:
        return 0.0, float("inf")
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - rise * (x - mean_x)) ** 2 for x, y in points)
    return rise, (rest / max(1, n / 10 - 2) / spread) ** 0.5


def grew(samples, index, limit):
    """What a slope that is surely above the limit is called."""
    rise, error = slope(samples, index)
    return f"{rise:+.2f} ({error:.2f}) a minute" if rise - 3 * error > limit else None


class Soak:
    def __init__(self, args, home, dotnet, java):
        self.args, self.home = args, home
        self.chance = random.Random(args.seed)
        self.kib_a_minute = KIB_A_MINUTE if args.seconds >= WARM_SECONDS else KIB_A_MINUTE_BEFORE
        self.tapirs = Tapirs(os.path.join(args.build, "tapir"), home, args.comm)
        self.programs = Programs(args.build, home, dotnet, java)
        self.long, self.problems, self.samples, self.held = {}, [], [], {}

    def start(self):
        self.before = private.files()
        self.errors = open(os.path.join(self.home, "main.err"), "wb+")
        self.main = self.tapirs.start("record", "storm:hit", "--comm", self.args.comm, "--no-samples", "-o", "main.tapir",
                                      err=self.errors)
        time.sleep(1)
        # The first is attached late, which is a gap: what ran before the quiet time does not count.
        for _ in range(2):
            subprocess.run([self.programs.first, "0", "1", "1"], stdout=subprocess.DEVNULL, check=False)
            time.sleep(1)
        if self.args.seconds >= WARM_SECONDS:
            self.fill()
        time.sleep(QUIET_SECONDS)
        self.counts_from = time.time() - QUIET_SECONDS / 2
        for name, argv in self.programs.long().items():
            self.long[name] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=open(os.path.join(self.home, name + ".out"), "wb"),
                                               stderr=subprocess.STDOUT)
        time.sleep(1)
        pids = {name: process.pid for name, process in self.long.items()}
        self.churn = Churn(self.programs, random.Random(self.args.seed + 1), self.args.rate)
        self.loops = [Attacher(self.tapirs, random.Random(self.args.seed + 2), pids),
                      Killer(self.tapirs, random.Random(self.args.seed + 3), pids, self.programs.killed)]
        self.start_time = time.monotonic()
        for thread in (self.churn, *self.loops):
            thread.start()

    def fill(self):
        print(f"{FILL_PROCESSES} processes first", flush=True)
        subprocess.run(["xargs", "-P2", "-I{}", self.programs.first, "0", "1", str(FILL_THREADS)], stdout=subprocess.DEVNULL, check=True,
                       input="\n".join(map(str, range(FILL_PROCESSES))), text=True)

    def look(self):
        """One sample; who was stopped at two looks in a row is a problem."""
        now = stopped()
        for pid in now.keys() & self.held.keys():
            self.problems.append(f"{now[pid]} ({pid}) is stopped")
        self.held = now
        seen = numbers(self.main.pid)
        if seen is None or self.main.poll() is not None:
            raise RuntimeError("the recorder ended: " + self.said())
        self.samples.append((time.monotonic() - self.start_time, *seen))

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")[-1000:]

    def watch(self):
        next_line = 0
        while (passed := time.monotonic() - self.start_time) < self.args.seconds:
            self.look()
            if passed >= next_line:
                _, rss, fds, threads = self.samples[-1]
                attached, killed = (loop.rounds for loop in self.loops)
                print(f"{passed:5.0f} s: {self.churn.started} processes, {self.churn.fired} events, {attached} attached, "
                      f"{killed} killed; recorder {rss} KiB, {fds} descriptors, {threads} threads; "
                      f"{len(self.all_problems())} problems", flush=True)
                next_line += 10
            time.sleep(1)

    def all_problems(self):
        return self.problems + self.churn.problems + [p for loop in self.loops for p in loop.problems]

    def end(self):
        for thread in (*self.loops, self.churn):
            thread.over.set()
        for thread in (*self.loops, self.churn):
            thread.join(120)
        time.sleep(3)  # for a library to leave a process
        storm = self.long["soakstorm"]
        self.main.note_threads()
        self.main.send_signal(signal.SIGINT)
        try:
            rc = self.main.wait(60)
        except subprocess.TimeoutExpired:
            rc = "none"
            self.main.kill()
        if rc != 0:
            self.problems.append(f"the recorder ended with {rc}: {self.said()}")
        time.sleep(0.5)
        raised = semaphores(storm.pid, self.programs.storm)
        if raised:
            self.problems.append(f"the semaphore of soakstorm is {raised}")
        self.wait_for_sites(storm.pid)
        storm.kill()
        open(self.programs.stop, "wb").close()
        for name, process in self.long.items():
            code = process.wait(60)
            if name != "soakstorm" and code:
                self.problems.append(f"{name} ended with {code}")

    def wait_for_sites(self, pid):
        """The kernel detaches what a killed tapir had after its end."""
        end = time.monotonic() + SETTLE_SECONDS
        while (left := breakpoints(pid, self.programs.storm)) and time.monotonic() < end:
            time.sleep(0.1)
        if left:
            self.problems.append(f"{left} sites of soakstorm have a breakpoint still")

    def judge(self):
        self.counts()
        left = private.orphans(set(), 5)
        self.problems += [f"left: process {comm} ({state})" for comm, state in left.values()]
        self.problems += [f"left: {path}" for path in sorted(private.files() - self.before)
                          if "hsperfdata" not in path and "clr-debug-pipe" not in path and "dotnet" not in path]
        own, self.other_leaks = leaks(self.tapirs, self.tapirs.all[0].began)
        self.problems += own
        for index, what, limit in ((1, "KiB", self.kib_a_minute), (2, "descriptors", FDS_A_MINUTE)):
            if (change := grew(self.samples, index, limit)) is not None:
                self.problems.append(f"the recorder grew: {what} {change}")

    def report(self, *options):
        result = subprocess.run([self.tapirs.path, "report", "--json", *options, os.path.join(self.home, "main.tapir")],
                                capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(f"report says {result.returncode}: {result.stderr[-300:]}")
        return json.loads(result.stdout)

    def counts(self):
        """Of the churn: the long-lived storm has a process id of its own in the report."""
        whole = self.report()
        began = calendar.timegm(time.strptime(whole["utc"], "%Y-%m-%dT%H:%M:%SZ"))
        report = self.report("--from", f"{self.counts_from - began:.1f}")
        lost = sum(e["lost"] for e in whole["events"])
        own = sum(p["events"] for p in report["processes"] if p["pid"] == self.long["soakstorm"].pid)
        captured = sum(e["captured"] for e in report["events"]) - own
        self.table = [("fired by the churn", self.churn.fired), ("captured of it", captured), ("lost", lost),
                      ("captured of the long-lived storm", own), ("headline", whole["headline"])]
        if captured != self.churn.fired and not (lost and captured < self.churn.fired <= captured + lost):
            self.problems.append(f"counts: {captured} captured + {lost} lost of {self.churn.fired}")

    def summary(self):
        table = [("processes", self.churn.started), *getattr(self, "table", [])]
        table += [(type(loop).__name__.lower() + " rounds", loop.rounds) for loop in self.loops]
        table += [("recorder KiB, first and last", f"{self.samples[0][1]} {self.samples[-1][1]}"),
                  ("KiB a minute (limit %d)" % self.kib_a_minute, "%+.1f (standard error %.1f)" % slope(self.samples, 1)),
                  ("descriptors a minute (limit %.2f)" % FDS_A_MINUTE, "%+.2f (standard error %.2f)" % slope(self.samples, 2)),
                  ("uprobes leaked by others", getattr(self, "other_leaks", "not known"))]
        for what, value in table:
            print(f"  {what:34} {value}")
        problems = self.all_problems()
        kinds = collections.defaultdict(list)
        for problem in problems:
            kinds[re.sub(r"[\d.]+", "#", problem)[:60]].append(problem)
        for alike in kinds.values():
            print(f"FAIL {len(alike)} x {alike[0]}")
        print("soak: " + (f"{len(problems)} problems" if problems else "passed"))
        return 1 if problems else 0


def live(args, home, dotnet, java):
    soak = Soak(args, home, dotnet, java)
    soak.start()
    try:
        soak.watch()
    except RuntimeError as why:
        soak.problems.append(str(why))
    soak.end()
    try:
        soak.judge()
    except RuntimeError as why:
        soak.problems.append(str(why))
    code = soak.summary()
    if code and os.path.exists(trace := os.path.join(home, "main.tapir")):
        shutil.copy(trace, os.path.join(args.build, "soak-failed.tapir"))
    sys.stdout.flush()
    os._exit(code)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--rate", type=float, default=1000, help="processes a minute")
    parser.add_argument("--comm", default="soak*", help="what the recorders trace")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    if os.geteuid():
        print("requires root: it records")
        return 77
    print(f"seed {args.seed}", flush=True)
    dotnet, java = runtimes(args.build)
    os.makedirs(os.path.join(args.build, "tests", "tmp"), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.join(args.build, "tests", "tmp"), ignore_cleanup_errors=True) as home:
        _, status = os.waitpid(private.in_child(live, args, home, dotnet, java), 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
