#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the end-to-end cases: every function test_* of every case_*.py beside this file, each once and with a time limit.
Prints a line a case; --summary gets "passed failed skipped" with the seconds of each part of the run and, below it, the last lines:
what was skipped and why, the ten slowest cases, and which of the unstable ones failed. Exit code 0 when all passed, or were run for a --summary; 1 when what is written about
cases is wrong; 3 when some failed; 130 when interrupted.

Most cases mostly wait (they use a quarter of a CPU), so that --jobs of them run at a time. Those that quiet.py lists with the
reason run when the others are over, one after the other, or two at a time where they leave room for another.

There is no second try. A case of tests/unstable.txt is printed as `unstable` when it fails, and does not decide; such a line
is a debt with a date. Without root all cases are skipped.

Functions that a module names in a set called CHECK_DOTNET, CHECK_LIB, CHECK_LONG, CHECK_MATRIX, CHECK_SERVE or CHECK_STACKS take long: they
belong to make check-dotnet, check-lib and so on, all others to make check. --suite runs one of them.
"""
import argparse
import collections
import contextlib
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

from harness import PATIENCE, Case, Failure, Skip  # noqa: E402
from quiet import QUIET, WAITING  # noqa: E402

UNSTABLE = HERE.parent / "unstable.txt"
UNSTABLE_LINES = 10  # at most
SLOWEST = 10
CASE_SECONDS = 120  # a case module may set its own TIMEOUT
SUITES = ("check-dotnet", "check-lib", "check-long", "check-matrix", "check-serve", "check-stacks")  # besides "check"


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
        self.limit = int(getattr(module, "TIMEOUT", CASE_SECONDS) * PATIENCE)
        self.suite = next((suite for suite in SUITES if key in getattr(module, suite.upper().replace("-", "_"), ())), "check")
        self.is_light = any(fnmatch.fnmatch(self.name, pattern) for pattern in WAITING)
        self.alone = self.is_light or any(fnmatch.fnmatch(self.name, pattern) for pattern in QUIET)


def check_names(path, module):
    """A case that was renamed would leave its suite without a word."""
    for key in (suite.upper().replace("-", "_") for suite in SUITES):
        gone = [name for name in getattr(module, key, ()) if not hasattr(module, name)]
        if gone:
            sys.exit(f"{path.name}: {key} names no case: {', '.join(gone)}")


def check_patterns(entries):
    """Stops the run where a pattern of quiet.py matches no case: a case that was renamed would run beside others without a word."""
    for pattern in (*QUIET, *WAITING):
        if not any(fnmatch.fnmatch(entry.name, pattern) for entry in entries):
            sys.exit(f"quiet.py: no case is called {pattern}")


def read_unstable(entries):
    """Returns the names in tests/unstable.txt. A line has NAME, YYYY-MM-DD and one line of output, by tabs; unit/PROGRAM is for tests/run."""
    lines = [line for line in UNSTABLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    if len(lines) > UNSTABLE_LINES:
        sys.exit(f"{UNSTABLE.name}: {len(lines)} cases, at most {UNSTABLE_LINES} may be unstable")
    known = {entry.name for entry in entries}
    names = set()
    for line in lines:
        fields = line.split("\t")
        if len(fields) != 3 or not re.fullmatch(r"\d{4}-\d\d-\d\d", fields[1]) or not fields[2].strip():
            sys.exit(f"{UNSTABLE.name}: not CASE, date and output by tabs: {line}")
        if fields[0] not in known and not re.fullmatch(r"unit/test_\w+", fields[0]):
            sys.exit(f"{UNSTABLE.name}: no case is called {fields[0]}")
        names.add(fields[0])
    return names


def discover():
    """Returns all cases, in the order of files and of lines."""
    entries = []
    for path in sorted(HERE.glob("case_*.py")):
        module = load(path)
        check_names(path, module)
        entries += [Entry(path, module, key) for key, value in vars(module).items()
                    if key.startswith("test_") and callable(value)]
    check_patterns(entries)
    return entries


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


def may_lack_capabilities():
    """Returns False where TAPIR_CHECK_ALL is set, as by .ci/run: there a missing capability fails a case."""
    return not os.environ.get("TAPIR_CHECK_ALL") and not may_trace()


def cpu_used():
    """Seconds of CPU of this process, and of programs which have ended that it or they started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


# outcome: one of "ok", "skip", "FAIL".
Found = collections.namedtuple("Found", "outcome why seconds cpu")


def run_case(entry, build, verbose):
    """Whatever the case started is gone afterwards."""
    start, cpu = time.monotonic(), cpu_used()
    outcome, why = "ok", ""
    case = Case(build, verbose)
    signal.alarm(entry.limit)
    try:
        entry.function(case)
    except Skip as skip:
        outcome, why = "skip", str(skip)
    except Failure as failure:
        outcome, why = "FAIL", str(failure)
        if may_lack_capabilities():
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


def spread(numbered):
    """Returns (number, entry) pairs in an order in which the cases of each file are spread over the run: those of one file are alike, and
    several at a time that use the processors would leave others that wait for the end."""
    files = collections.defaultdict(list)
    for pair in numbered:
        files[pair[1].name.split(".")[0]].append(pair)
    places = [((n + 0.5) / len(pairs), pair) for pairs in files.values() for n, pair in enumerate(pairs)]
    return [pair for _, pair in sorted(places, key=lambda place: place[0])]


class Run:
    """All cases and their results."""

    current = None

    def __init__(self, entries, unstable, options):
        Run.current = self
        self.entries, self.unstable = entries, unstable
        self.build, self.verbose, self.times, self.announce = options.build, options.verbose, options.times, options.announce
        self.width = max((len(entry.name) for entry in entries), default=0)
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.skips = collections.Counter()
        self.failed = []  # the unstable ones, which do not decide
        self.seconds = {}
        self.parts = []  # of the run: what it was, with its seconds

    def finish(self, entry, found, how):
        """Counts and prints a case that has run."""
        outcome, why, seconds, cpu = found
        if self.times:
            said = why.replace("\n", "\\n") if outcome == "FAIL" else ""
            print(f"{entry.name}\t{how}\t{outcome}\t{seconds:.2f}\t{cpu:.2f}\t{time.monotonic():.1f}\t{said}", file=self.times, flush=True)
        if outcome == "FAIL" and entry.name in self.unstable:
            self.failed.append(entry.name)
            outcome = "unstable"
        else:
            self.counts[outcome] += 1
        self.skips[why] += outcome == "skip"
        self.seconds[entry.name] = seconds
        print(f"{outcome:<5} {entry.name:<{self.width}} {seconds:6.1f} s{f': {why}' if outcome == 'skip' else ''}", flush=True)
        if outcome in ("FAIL", "unstable"):
            print("      " + why.rstrip().replace("\n", "\n      "), flush=True)

    def beside(self, jobs, entries):
        """Runs these entries, so many jobs at a time."""
        nths = [n for n, entry in spread(enumerate(self.entries)) if entry in entries]
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            for nth, found in pool.imap_unordered(run_nth, nths):
                self.finish(self.entries[nth], found, "beside")
            pool.close()
            pool.join()

    def one_by_one(self, entries):
        for entry in entries:
            if self.announce:
                print(f"begin {entry.name}", flush=True)
            self.finish(entry, run_case(entry, self.build, self.verbose), "alone")

    @contextlib.contextmanager
    def part(self, what):
        """Adds the seconds that this part of the run takes."""
        began = time.monotonic()
        yield
        self.parts.append(f"{time.monotonic() - began:.0f} {what}")

    def last_lines(self):
        """Yields why cases were skipped, which took longest, and which unstable ones failed."""
        for why, cnt in self.skips.most_common():
            if cnt:
                yield f"skipped: {cnt} case{'s' if cnt > 1 else ''}: {why}"
        for name, seconds in sorted(self.seconds.items(), key=lambda pair: -pair[1])[:SLOWEST]:
            yield f"slowest: {seconds:6.1f} s {name}"
        for name in self.failed:
            yield f"unstable: {name} failed (tests/unstable.txt)"

    def run(self, jobs):
        if os.geteuid() != 0:
            self.counts["skip"] += len(self.entries)
            self.skips["needs root"] += len(self.entries)
            return
        if jobs > 1:
            with self.part("beside others"):
                self.beside(jobs, [entry for entry in self.entries if not entry.alone])
            with self.part("two at a time"):
                self.beside(2, [entry for entry in self.entries if entry.is_light])
        with self.part("alone"):
            self.one_by_one([entry for entry in self.entries if jobs == 1 or entry.alone and not entry.is_light])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where make built (default: build)")
    parser.add_argument("--only", action="append", metavar="GLOB", help="cases to run, as file.behaviour; may be given several times")
    parser.add_argument("--list", action="store_true", help="print the names of these cases, and run none")
    parser.add_argument("--announce", action="store_true", help="print the name of a case that runs alone when it begins, too")
    parser.add_argument("--suite", choices=("check", *SUITES), help="cases of this goal of the Makefile (default: all)")
    parser.add_argument("--summary", metavar="FILE", help='gets "passed failed skipped", then the last lines')
    parser.add_argument("--jobs", type=int, default=2 * len(os.sched_getaffinity(0)), metavar="N",
                        help="cases at a time (default: two for each processor; 1: all alone)")
    parser.add_argument("--times", type=argparse.FileType("w"), metavar="FILE",
                        help="gets, by tabs, a line per case: its name, beside or alone, outcome, seconds, CPU seconds, when, what it said")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the commands that run")
    options = parser.parse_args()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if a shell started this in the background; programs inherit that
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, on_terminate)
    entries = discover()
    chosen = [entry for entry in entries if options.suite in (None, entry.suite)
              and any(fnmatch.fnmatch(entry.name, glob) for glob in options.only or ["*"])]
    if options.list:
        print(*(entry.name for entry in chosen), sep="\n")
        return 0
    run = Run(chosen, read_unstable(entries), options)
    try:
        run.run(options.jobs)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    counts, last = run.counts, list(run.last_lines())
    if options.summary:
        pathlib.Path(options.summary).write_text("\n".join([f"{counts['ok']} {counts['FAIL']} {counts['skip']} {', '.join(run.parts)}", *last, ""]))
        return 0
    print(*last, f"seconds: {', '.join(run.parts)}", f"\n{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped", sep="\n")
    return 3 if counts["FAIL"] else 0  # 1 is what unshare says of itself (run_at_plain_path)


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
    with contextlib.suppress(OSError):
        os.rmdir(plain)
    return None if rc in (1, 125) else rc  # 1: unshare's own failure, or what this program will say again


if __name__ == "__main__":
    os.chdir(HERE.parent.parent)
    rc_of_plain = run_at_plain_path()
    sys.exit(main() if rc_of_plain is None else rc_of_plain)
