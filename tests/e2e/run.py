#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the end-to-end cases: every function test_* of every case_*.py beside this file, each with
a time limit. Prints a line a case and writes "passed failed skipped" to --summary. Exit code 0 when
all were run, whatever their results; 130 when interrupted.

Most cases mostly wait (they use a quarter of a CPU), so that --jobs of them run at a time. A module with ALONE = True, or a
function named in its ALONE, measures time, loads the processors or traces the whole machine: those
run one after the other, when the rest is over; two at a time if LIGHT names them: they measure, but hardly use
a CPU themselves. A case that fails beside others is run again alone,
which counts, and one that failed alone up to twice more; if it passes then, it is named as flaky in the last
lines, with the reasons for which others were skipped. Without root all of them are. One that measured something
wrong while other programs had the processors (harness.Disturbed) is tried again likewise, and is skipped at last.

Functions that a module names in a set called CHECK_DOTNET, CHECK_LIB, CHECK_LONG, CHECK_SERVE or CHECK_STACKS take long: they
belong to make check-dotnet, check-lib and so on, all others to make check. --suite runs one of them.
"""
import argparse
import collections
import fnmatch
import importlib.util
import multiprocessing
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from harness import SLOWNESS, Case, Disturbed, Failure, Skip  # noqa: E402

MORE_TRIES = 2  # of a case that failed alone
AGAIN = ("FAIL", "busy")
CASE_SECONDS = 120  # a case module may set its own TIMEOUT
SUITES = ("check-dotnet", "check-lib", "check-long", "check-serve", "check-stacks")  # besides "check"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Entry:
    """A case that is to be run: file.behaviour, its limit in seconds, whether others disturb it or it them."""

    def __init__(self, path, module, key):
        self.name = f"{path.stem[len('case_'):]}.{key[len('test_'):]}"
        self.function = getattr(module, key)
        self.limit = int(getattr(module, "TIMEOUT", CASE_SECONDS) * SLOWNESS)
        self.suite = next((suite for suite in SUITES if key in getattr(module, suite.upper().replace("-", "_"), ())), "check")
        alone = getattr(module, "ALONE", False)
        self.alone = alone if isinstance(alone, bool) else key in alone
        self.is_light = self.alone and key in getattr(module, "LIGHT", ())


def check_names(path, module):
    """A case that was renamed would leave its suite, or run beside others, without a word."""
    for key in ("ALONE", "LIGHT", *(suite.upper().replace("-", "_") for suite in SUITES)):
        names = getattr(module, key, ())
        gone = [] if isinstance(names, bool) else [name for name in names if not hasattr(module, name)]
        if gone:
            sys.exit(f"{path.name}: {key} names no case: {', '.join(gone)}")


def discover(only, suite):
    """In the order of files and of lines. suite: "check" or one of SUITES; None: all."""
    entries = []
    for path in sorted(HERE.glob("case_*.py")):
        module = load(path)
        check_names(path, module)
        entries += [Entry(path, module, key) for key, value in vars(module).items()
                    if key.startswith("test_") and callable(value)]
    return [entry for entry in entries if fnmatch.fnmatch(entry.name, only) and suite in (None, entry.suite)]


class TimeLimit(BaseException):
    """No Exception, so that a case that catches those does not catch this one."""


def on_alarm(_signal, _frame):
    raise TimeLimit


def on_terminate(_signal, _frame):
    raise KeyboardInterrupt


def may_trace():
    """Root of a container may be without the capabilities: bits of linux/capability.h."""
    needed = 1 << 39 | 1 << 38 | 1 << 21  # CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN
    status = pathlib.Path("/proc/self/status").read_text()
    effective = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff")), 16)
    return effective & needed == needed


def cpu_used():
    """Seconds of CPU of this process, and of programs which have ended that it or they started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


# outcome: one of "ok", "skip", "busy", "FAIL"; busy: a skip, if no other try says more.
Found = collections.namedtuple("Found", "outcome why seconds cpu")


def run_case(entry, build, verbose):
    """Whatever the case started is gone afterwards."""
    start, cpu = time.monotonic(), cpu_used()
    outcome, why = "ok", ""
    case = Case(build, verbose)
    signal.alarm(entry.limit)
    try:
        entry.function(case)
    except Disturbed as disturbed:
        outcome, why = "busy", str(disturbed)
    except Skip as skip:
        outcome, why = "skip", str(skip)
    except Failure as failure:
        outcome, why = "FAIL", str(failure)
        if not may_trace():
            outcome, why = "skip", "failed, as it must without CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN"
    except TimeLimit:
        outcome, why = "FAIL", f"still runs after {entry.limit} s"
    except Exception as error:  # a bug in the case is a failure of the case
        outcome, why = "FAIL", f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    finally:
        signal.alarm(0)
        case.close()
    return Found(outcome, why, time.monotonic() - start, cpu_used() - cpu)


def run_nth(nth):
    """In a worker, which has Run.current by being a fork."""
    run = Run.current
    return nth, run_case(run.entries[nth], run.build, run.verbose)


class Run:
    """All cases and their results."""

    current = None

    def __init__(self, entries, build, verbose, times=None):
        Run.current = self
        self.entries, self.build, self.verbose, self.times = entries, build, verbose, times
        self.width = max((len(entry.name) for entry in entries), default=0)
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.skips = collections.Counter()
        self.flaky = []

    def tell(self, entry, outcome, why, seconds, note=""):
        note = f": {why}" if outcome == "skip" else note
        print(f"{outcome:<5} {entry.name:<{self.width}} {seconds:6.1f} s{note}", flush=True)
        if outcome == "FAIL":
            print("      " + why.rstrip().replace("\n", "\n      "), flush=True)

    def tried(self, entry, found, how):
        """A line of --times, with all of what a try saw that will be tried again."""
        if self.times:
            why = found.why.replace("\n", "\\n") if found.outcome in AGAIN else ""
            print(f"{entry.name}\t{how}\t{found.outcome}\t{found.seconds:.2f}\t{found.cpu:.2f}\t{time.monotonic():.1f}\t{why}",
                  file=self.times, flush=True)

    def finish(self, entry, found, note=""):
        outcome, why, seconds = found[:3]
        outcome = "skip" if outcome == "busy" else outcome
        self.counts[outcome] += 1
        self.skips[why] += outcome == "skip"
        self.flaky += [entry.name] if outcome == "ok" and note else []
        self.tell(entry, outcome, why, seconds, note)

    def beside(self, jobs, entries):
        """Runs those (by number) that many at a time; returns those that failed there, with why."""
        nths = [n for n, entry in enumerate(self.entries) if entry in entries]
        failed = {}
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            for nth, found in pool.imap_unordered(run_nth, nths):
                self.tried(self.entries[nth], found, "beside")
                if found.outcome in AGAIN:
                    failed[nth] = found.why
                else:
                    self.finish(self.entries[nth], found)
            pool.close()
            pool.join()
        return failed

    def sum_up(self):
        """Why cases were skipped, and which ones passed at the second try only."""
        for why, cnt in self.skips.most_common():
            if cnt:
                print(f"skipped: {cnt} case{'s' if cnt > 1 else ''}: {why}")
        for name in self.flaky:
            print(f"flaky: {name} (failed at first, passed alone)")

    def run(self, jobs):
        if os.geteuid() != 0:
            self.counts["skip"] += len(self.entries)
            self.skips["needs root"] += len(self.entries)
            return
        failed = {}
        if jobs > 1:
            failed = self.beside(jobs, [entry for entry in self.entries if not entry.alone])
            failed |= self.beside(2, [entry for entry in self.entries if entry.is_light])
        for nth, entry in enumerate(self.entries):
            if jobs == 1 or entry.alone and not entry.is_light or nth in failed:
                note = f", alone; beside others: {failed[nth].splitlines()[0][:200]}" if nth in failed else ""
                found = self.try_alone(entry)
                for _ in range(MORE_TRIES):  # one that measures; it is named
                    if jobs == 1 or found.outcome not in AGAIN:
                        break
                    note = note or f", again; at first: {found.why.splitlines()[0][:200]}"
                    found = self.try_alone(entry)
                self.finish(entry, found, note)

    def try_alone(self, entry):
        found = run_case(entry, self.build, self.verbose)
        self.tried(entry, found, "alone")
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where make built (default: build)")
    parser.add_argument("--only", default="*", metavar="GLOB", help="cases to run, as file.behaviour")
    parser.add_argument("--suite", choices=("check", *SUITES), help="cases of this goal of the Makefile (default: all)")
    parser.add_argument("--summary", metavar="FILE", help='gets "passed failed skipped"')
    parser.add_argument("--jobs", type=int, default=2 * len(os.sched_getaffinity(0)), metavar="N",
                        help="cases at a time (default: two for each processor; 1: all alone)")
    parser.add_argument("--times", type=argparse.FileType("w"), metavar="FILE",
                        help="gets, by tabs, a line per try: case, beside or alone, outcome, seconds, CPU seconds, when, why it is tried again")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the commands that run")
    options = parser.parse_args()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if a shell started this in the background; programs inherit that
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, on_terminate)
    run = Run(discover(options.only, options.suite), options.build, options.verbose, options.times)
    try:
        run.run(options.jobs)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    run.sum_up()
    counts = run.counts
    if options.summary:
        pathlib.Path(options.summary).write_text(f"{counts['ok']} {counts['FAIL']} {counts['skip']}\n")
    return 0


def run_at_plain_path():
    """Cases pass paths through shells and through tools that split them at spaces: where the repository's path has such
    characters, all runs again in a mount namespace in which it has another one. None: it need not, or cannot."""
    root = HERE.parent.parent
    if re.fullmatch(r"[\w./+-]+", str(root)) or os.geteuid() != 0 or not shutil.which("unshare"):
        return None
    plain = tempfile.mkdtemp(prefix="tapir-e2e-")
    os.chmod(plain, 0o755)
    script = 'mount --bind "$1" "$2" || exit 125; cd "$2"; shift 2; exec "$@"'
    child = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, "sh", str(root), plain, sys.executable,
                              f"{plain}/tests/e2e/run.py", *sys.argv[1:]])
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the whole process group
    rc = child.wait()
    os.rmdir(plain)
    return None if rc in (1, 125) else rc  # 1: unshare's own failure; this program has 0 and 130


if __name__ == "__main__":
    os.chdir(HERE.parent.parent)
    rc_of_plain = run_at_plain_path()
    sys.exit(main() if rc_of_plain is None else rc_of_plain)
