# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with planted defects that count what they do to themselves, and what the report's first line says of them."""
import contextlib
import json
import subprocess


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
    first = next(f for f in report["findings"] if f["kind"] != "neighbour")
    t.eq(first["kind"], kind, f"{[(f['kind'], round(f['severity'], 1), f['text']) for f in report['findings']]}")
    for word in words:
        t.ok(word in first["text"], f"{word} in: {first['text']}")
    return first["magnitude"]


def has_none(t, report, kind):
    t.eq([f["text"] for f in report["findings"] if f["kind"] == kind], [], f"findings of {kind}")


def near(t, said, witness, what, share=0.15):
    t.ok(abs(said - witness) <= share * witness, f"{what}: {said}, its own count is {witness}")
