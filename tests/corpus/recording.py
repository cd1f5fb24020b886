# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of the corpus: its program, what that counted, and what of it a report is to say."""
import contextlib
import copy
import subprocess

from answers import Sums, Witness, within


class Counted:
    """What the program said, and when a recording measured."""

    def __init__(self, file, said, delay):
        """delay: seconds that its threads wanted a CPU and had none, by the kernel."""
        self.file, self.said = file, said
        self.begin, self.end = self.times('{"type":"switch",')
        self.seconds = (self.end - self.begin) / 1e9
        self.no_cpu = delay / self.seconds
        self.sums = Sums(said["sums"]) if "sums" in said else None

    def times(self, start, *globs):
        """Times of the first and the last record whose line begins so, in ns of CLOCK_MONOTONIC."""
        lines = subprocess.run(["tapir", "events", self.file, *globs, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
        times = [int(line.split('"time_ns":', 1)[1].split(",", 1)[0]) for line in lines if line.startswith(start)]
        return min(times), max(times)

    def waiting(self):
        """Threads, on average, by their own clocks."""
        if self.sums:
            return self.sums.rate("waited_ns", self.begin, self.end) / 1e9
        return within(self.said["waits"], self.begin, self.end) / self.seconds

    def blocked(self):
        """Percent of the time, by the clock of the calls that block."""
        return 100 * within(self.said["calls"], self.begin, self.end) / self.seconds

    def rate(self, key, *globs, kind=None):
        """A second; between the first and the last of the records of a kind, of which globs choose some."""
        begin, end = self.times(f'{{"type":"{kind}",', *globs) if kind else (self.begin, self.end)
        return self.sums.rate(key, begin, end)

    def counted(self, times):
        """How many of these, in ns of CLOCK_MONOTONIC, were meanwhile, a second."""
        return sum(self.begin <= at_ns <= self.end for at_ns in times) / self.seconds


def finding(kind, *words, magnitude=None, tolerance=0.05, less=0, more=0, witness=""):
    """less, more: so much less and more is right, too."""
    wanted = {"kind": kind, "words": list(words)}
    if magnitude is not None:
        wanted.update(between=[round(magnitude * (1 - tolerance) - less, 4), round(magnitude * (1 + tolerance) + more, 4)],
                      magnitude=round(magnitude, 4), witness=witness)
    return wanted


NO_CPU = "at most %.3f less, where there was no CPU, by the kernel's schedstat"


def waiting(c, kind, *words, tolerance=0.05):
    """A thread's clock continues until it runs again: what it waited for a CPU is no part of what it waited for."""
    return finding(kind, *words, magnitude=c.waiting(), tolerance=tolerance, less=c.no_cpu,
                   witness=f"its threads' own clocks; {NO_CPU % c.no_cpu}")


def expected(*findings, absent=(), only=()):
    return {"expect": list(findings), **({"absent": list(absent)} if absent else {}), **({"only": list(only)} if only else {})}


class Recording:
    """words: of the command, of which the first is the program's source or name."""

    def __init__(self, words, expect, seconds=1.5, warm_up=0.5, options=()):
        """options: more of them for `tapir record`."""
        self.words, self.expect, self.seconds, self.warm_up, self.options = words, expect, seconds, warm_up, options
        self.neighbours = 0  # busy loops beside it, for each CPU

    def beside_others(self):
        """The same, where others have the CPUs most of the time."""
        other = copy.copy(self)
        other.neighbours = 2
        return other

    def started(self, case, home):
        return Witness(*self.prepare(case, home))

    @contextlib.contextmanager
    def around(self, _case):
        """What is there before the program and after it."""
        yield

    def begin(self, witness):
        """Its first answer is of the time before."""
        witness.ask()
        witness.answer()

    def recorded(self, record):
        """Calls record(); returns what else was counted meanwhile."""
        record()
        return {}
