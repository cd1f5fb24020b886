# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with planted defects that count what they do to themselves, and what the report's first line says of them.

What it names and how much must be right wherever it runs. Magnitudes are compared with what the program counted in the same time, to 5 %.
Where a limit is wider a comment says why."""
import bisect
import contextlib
import functools
import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from harness import Failure


class Witness:
    """A program that prints "pid N", or another number that others need, and a line of JSON for each line of input: what it counted since the one before."""

    def __init__(self, *argv):
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def first(self):
        return self.child.stdout.readline().split()[1]

    def ask(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()

    def answer(self):
        """A JVM that is too busy to see in time that SIGQUIT means an attach prints its threads before."""
        line = self.child.stdout.readline()
        while line and not line.startswith("{"):
            line = self.child.stdout.readline()
        if not line:
            raise Failure(f"{self.child.args} has ended, with {self.child.wait()}")
        return json.loads(line)

    def end(self):
        self.child.kill()
        self.child.wait()
        pid = self.child.pid
        for left in (f"/tmp/.java_pid{pid}", f"/tmp/perf-{pid}.map", *glob.glob(f"isolate-*-{pid}-v8.log")):
            pathlib.Path(left).unlink(missing_ok=True)
        self.child.stdin.close()
        self.child.stdout.close()


def measured(test):
    """Decorates a test that measures (measures(), near()). All magnitudes that differ are reported at its end, after every cause was checked."""
    @functools.wraps(test)
    def run(t):
        t.differs = []
        test(t)
        if t.differs:
            raise Failure("; ".join(t.differs))
    return run


def measures(t, condition, message):
    """Notes a magnitude that is wrong, for a test that is measured()."""
    if not condition:
        t.differs.append(str(message))


# ---- what they count ---------------------------------------------------------------------------------


class Sums:
    """What a program has counted at times of CLOCK_MONOTONIC, which recordings have, too: {"at_ns": [...], "count": [...]}."""

    def __init__(self, columns):
        self.columns, self.at_ns = columns, columns["at_ns"]

    def at(self, key, ns):
        """In between it counts evenly."""
        if not self.at_ns[0] <= ns <= self.at_ns[-1]:
            raise Failure(f"{ns} is not in {self.at_ns[0]} to {self.at_ns[-1]}, in which the program counted")
        nth = max(1, bisect.bisect_left(self.at_ns, ns))
        (from_ns, until_ns), (low, high) = self.at_ns[nth - 1:nth + 1], self.columns[key][nth - 1:nth + 1]
        return low + (high - low) * (ns - from_ns) / (until_ns - from_ns)

    def next(self, key, ns):
        """Of what holds from a moment until another: the first that was seen after this one."""
        return self.columns[key][bisect.bisect_left(self.at_ns, ns)]

    def between(self, key, begin_ns, end_ns):
        return self.at(key, end_ns) - self.at(key, begin_ns)

    def rate(self, key, begin_ns, end_ns):
        """A second."""
        return self.between(key, begin_ns, end_ns) * 1e9 / (end_ns - begin_ns)


def times(t, file, *glob, kind="event", pid=None):
    """When the first and the last of such records were, in ns of CLOCK_MONOTONIC, and how many there are; of a process, or of all."""
    found = [line["time_ns"] for line in t.events(file, kind, *glob) if pid in (None, line.get("pid"))]
    t.ok(found, f"records of {kind} {glob}")
    return min(found), max(found), len(found)


def span(t, file):
    """(begin, end) of the time in which a recording measured: of its context switches, of which there are some all the time."""
    return times(t, file, kind="switch")[:2]


def started(t, file):
    """What a recording's times are counted from, in ns of CLOCK_MONOTONIC: an event's time there, less its time in the recording."""
    at = t.events(file)[0]["time_ns"]
    line = next(line for line in t.tapir("events", file).out.splitlines() if re.match(r" +[\d.]+ ", line))
    return at - float(line.split()[0]) * 1e9


def within(spans, begin_ns, end_ns):
    """How long those (from, until) last between the two, in seconds: what overlaps counts twice."""
    return sum(max(0, min(until, end_ns) - max(begin, begin_ns)) for begin, until in spans) / 1e9


def run_delay(pid):
    """Seconds that the threads of a process wanted a CPU and had none, by the kernel."""
    delay = 0
    for path in pathlib.Path("/proc", pid, "task").glob("*/schedstat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            delay += int(path.read_text().split()[1])
    return delay / 1e9


def count(programs):
    for program in programs.values():
        program.ask()
    return {mode: program.answer() for mode, program in programs.items()}


def recorded(t, commands, seconds, *options, until=None):
    """All at once, in one recording: mode -> (its report, what it counted in between, with "no_cpu": its run_delay()). until: instead of
    seconds, a function of the programs that returns when they have done enough."""
    t.need_others()
    file = t.path("answers.tapir")
    with contextlib.ExitStack() as stack:
        programs = {}
        for mode, argv in commands.items():
            programs[mode] = Witness(*argv)
            stack.callback(programs[mode].end)
        pids = {mode: program.first() for mode, program in programs.items()}
        count(programs)  # each has begun, and what counts is compiled when it matters
        delays = {mode: run_delay(pid) for mode, pid in pids.items()}
        recorder = t.start_tapir("record", "-p", ",".join(pids.values()), *(() if until else ("-d", str(seconds))), "-f", "-o", file, *options)
        if until:
            recorder.wait_ready(timeout=30)
            until(programs)
            recorder.signal(signal.SIGINT)
        recorder.wait(60)
        delays = {mode: run_delay(pid) - delays[mode] for mode, pid in pids.items()}
        said = count(programs)
    reports = {mode: json.loads(t.tapir("report", file, "-p", pid, "--json").out) for mode, pid in pids.items()}
    if t.verbose:
        for mode, report in reports.items():
            print(f"      {mode}: {report['headline']}\n        {said[mode]}", flush=True)
    return {mode: (reports[mode], {**said[mode], "no_cpu": delays[mode]}) for mode in commands}


def waited_for_cpu(t, report):
    """Seconds of all threads of the report's process."""
    pid = re.search(r" threads? of \S+ \((\d+)\)", report["headline"]).group(1)
    head = t.tapir("report", t.path("answers.tapir"), "-p", pid, "--view", "offcpu").out
    told = re.search(r" ([\d.]+) (ns|us|ms|s) of it runnable", head)
    return float(told.group(1)) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[told.group(2)] if told else 0


def first_finding(t, report, kind, *words):
    """It is of that kind and has these words in its text. That others have the CPUs is of the machine."""
    first = next((f for f in report["findings"] if f["kind"] != "neighbour" or kind == "neighbour"), None)
    t.ok(first, f"expected {kind}: {report['headline']}")
    t.eq(first["kind"], kind, f"{[(f['kind'], round(f['severity'], 1), f['text']) for f in report['findings']]}")
    for word in words:
        t.ok(word in first["text"], f"{word} in: {first['text']}")
    return first


def leads(t, report, kind, *words):
    """The first finding's magnitude."""
    return first_finding(t, report, kind, *words)["magnitude"]


def has_none(t, report, kind):
    t.eq([f["text"] for f in report["findings"] if f["kind"] == kind], [], f"findings of {kind}")


def near(t, said, witness, what, share=0.05, less=0):
    """less: so much less is right, too."""
    measures(t, -less - share * witness <= said - witness <= share * witness, f"{what}: {said}, its own count is {witness}" + (f", or up to {less} less" if less else ""))
