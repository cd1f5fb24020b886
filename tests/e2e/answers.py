# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with planted defects that count what they do to themselves, and what the report's first line says of them."""
import contextlib
import functools
import json
import os
import pathlib
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
        return json.loads(line)

    def end(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


# ---- other programs of the machine -------------------------------------------------------------------

TICKS = os.sysconf("SC_CLK_TCK")


def machine_ticks():
    """CPU time of all that ran: user, nice, system, irq, softirq."""
    numbers = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(numbers[:3]) + sum(numbers[5:7])


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


def alone(test):
    """A test that measures: where other programs have the CPUs, what it finds wrong says nothing."""
    @functools.wraps(test)
    def measured(t):
        others = Others()
        try:
            test(t)
        except Failure as failure:
            cpus = others.cpus()
            if cpus < BUSY_CPUS:
                raise
            t.skip(f"other programs used {cpus:.1f} CPUs; it said: {str(failure).splitlines()[0][:300]}")
        finally:
            others.cpus()
    return measured


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
        recorder.wait_ready(timeout=30)
        count(programs)
        recorder.wait(60)
        said = count(programs)
    reports = {mode: json.loads(t.tapir("report", file, "-p", pid, "--json").out) for mode, pid in pids.items()}
    if t.verbose:
        for mode, report in reports.items():
            print(f"      {mode}: {report['headline']}\n        {said[mode]}", flush=True)
    return {mode: (reports[mode], said[mode]) for mode in commands}


def leads(t, report, kind, *words):
    """The first finding is of that kind and has these words in its text; its magnitude. That others have the CPUs is of the machine."""
    first = next((f for f in report["findings"] if f["kind"] != "neighbour"), report["findings"][0])
    t.eq(first["kind"], kind, f"{[(f['kind'], round(f['severity'], 1), f['text']) for f in report['findings']]}")
    for word in words:
        t.ok(word in first["text"], f"{word} in: {first['text']}")
    return first["magnitude"]


def has_none(t, report, kind):
    t.eq([f["text"] for f in report["findings"] if f["kind"] == kind], [], f"findings of {kind}")


def near(t, said, witness, what, share=0.15):
    t.ok(abs(said - witness) <= share * witness, f"{what}: {said}, its own count is {witness}")
