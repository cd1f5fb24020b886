# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with planted defects that count what they do to themselves, and what the report's first line says of them.

What it names must be right wherever it runs: a wrong cause fails. How much is measured, beside whatever else the machine does: it is compared
with what the program counted in the same time, to 5 %. Where other programs have the processors, as a witness that runs at the same time
says, magnitudes are printed and decide nothing. Where a limit is wider a comment says why."""
import bisect
import contextlib
import functools
import json
import os
import pathlib
import re
import subprocess
import threading
import time

from harness import Failure

BUSY_CPUS = 0.4  # of other programs: what is measured beside them is not what it is alone


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
        pathlib.Path(f"/tmp/.java_pid{self.child.pid}").unlink(missing_ok=True)
        self.child.stdin.close()
        self.child.stdout.close()


# ---- other programs of the machine -------------------------------------------------------------------

TICKS = os.sysconf("SC_CLK_TCK")


def machine_ticks():
    """CPU time of all that ran: user, nice, system, irq, softirq, and what a hypervisor gave to others."""
    numbers = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(numbers[:3]) + sum(numbers[5:8])


def own_ticks():
    """Of this program, what it started, and servers, which are no children."""
    facts = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it has ended
            continue
        words = rest.split()
        facts[int(path.parent.name)] = (name, int(words[1]), sum(map(int, words[11:15])))
    ours = {os.getpid()} | {pid for pid, (name, _, _) in facts.items() if name in ("postgres", "pgbench", "psql")}
    while more := {pid for pid, (_, parent, _) in facts.items() if parent in ours} - ours:
        ours |= more
    return sum(facts[pid][2] for pid in ours)  # with that of children that have ended


class Others:
    """CPUs that other programs use, on average, from now on. What ends takes its time with it: that is why it looks often."""

    def __init__(self):
        self.ticks, self.begin, self.over = 0, time.monotonic(), threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        machine, own = machine_ticks(), own_ticks()
        while not self.over.wait(0.3):
            machine_now, own_now = machine_ticks(), own_ticks()
            self.ticks += max(0, machine_now - machine - max(0, own_now - own))
            machine, own = machine_now, own_now

    def cpus(self):
        self.over.set()
        self.thread.join()
        return self.ticks / TICKS / (time.monotonic() - self.begin)


class NotSeen(Failure):
    """The report says that other programs have the CPUs, or that stacks could not be walked yet: it is true if they do, and what the program
    would do without them is not there to be found."""


def measured(test):
    """A test that measures (measures(), near()): what differs is reported at its end, so that all causes have been looked at. Where other
    programs have the CPUs, as Others saw, a difference says nothing, and a report that names them is right; a wrong cause fails."""
    @functools.wraps(test)
    def run(t):
        t.differs = []
        others = Others()
        try:
            test(t)
        except NotSeen as failure:
            t.differs.append(str(failure))
        finally:
            cpus = others.cpus()
        text = "; ".join(t.differs)
        if text and cpus < BUSY_CPUS:
            raise Failure(text)
        if text:
            print(f"      beside others, which used {cpus:.1f} CPUs: {text[:1000]}", flush=True)
    return run


def measures(t, condition, message):
    """Of a magnitude, in a test that is measured(): whether it is right."""
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


def count(programs):
    for program in programs.values():
        program.ask()
    return {mode: program.answer() for mode, program in programs.items()}


def recorded(t, commands, seconds, *options):
    """All at once, in one recording: mode -> (its report, what it counted in between)."""
    t.need_others()
    file = t.path("answers.tapir")
    with contextlib.ExitStack() as stack:
        programs = {}
        for mode, argv in commands.items():
            programs[mode] = Witness(*argv)
            stack.callback(programs[mode].end)
        pids = {mode: program.first() for mode, program in programs.items()}
        count(programs)  # each has begun, and what counts is compiled when it matters
        recorder = t.start_tapir("record", "-p", ",".join(pids.values()), "-d", str(seconds), "-f", "-o", file, *options)
        recorder.wait(60)
        said = count(programs)
    reports = {mode: json.loads(t.tapir("report", file, "-p", pid, "--json").out) for mode, pid in pids.items()}
    if t.verbose:
        for mode, report in reports.items():
            print(f"      {mode}: {report['headline']}\n        {said[mode]}", flush=True)
    return {mode: (reports[mode], said[mode]) for mode in commands}


def starved_percent(report):
    """Where the first finding is that others have the CPUs: the share of the time that threads wanted one. With more than half of it
    too little is known of what they do with the rest."""
    text = report["findings"][0]["text"] if report["findings"][0]["kind"] == "neighbour" else ""
    share = re.search(r"(\d+)% of the time that they wanted one", text)
    return int(share.group(1)) if share else 0


def waited_for_cpu(t, report):
    """Seconds of all threads of the report's process."""
    pid = re.search(r" threads? of \S+ \((\d+)\)", report["headline"]).group(1)
    head = t.tapir("report", t.path("answers.tapir"), "-p", pid, "--view", "offcpu").out
    told = re.search(r" ([\d.]+) (ns|us|ms|s) of it runnable", head)
    return float(told.group(1)) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[told.group(2)] if told else 0


def first_finding(t, report, kind, *words):
    """It is of that kind and has these words in its text. That others have the CPUs is of the machine."""
    first = next((f for f in report["findings"] if f["kind"] != "neighbour" or kind == "neighbour"), None)
    if not first or first["kind"] != kind and starved_percent(report) >= 50:
        raise NotSeen(f"expected {kind}: {report['headline']}")
    t.eq(first["kind"], kind, f"{[(f['kind'], round(f['severity'], 1), f['text']) for f in report['findings']]}")
    for word in words:
        t.ok(word in first["text"], f"{word} in: {first['text']}")
    return first


def leads(t, report, kind, *words):
    """The first finding's magnitude."""
    return first_finding(t, report, kind, *words)["magnitude"]


def has_none(t, report, kind):
    t.eq([f["text"] for f in report["findings"] if f["kind"] == kind], [], f"findings of {kind}")


def near(t, said, witness, what, share=0.05):
    measures(t, abs(said - witness) <= share * witness, f"{what}: {said}, its own count is {witness}")
