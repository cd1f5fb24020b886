#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the end-to-end cases: every function test_* of every case_*.py beside this file, one after
the other, each with a time limit. Prints a line a case and writes "passed failed skipped" to
--summary. Exit code 0 when all were run, whatever came of them; 130 when interrupted.
"""
import argparse
import fnmatch
import importlib.util
import os
import pathlib
import signal
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from harness import Case, Failure, Skip  # noqa: E402

CASE_SECONDS = 120  # a case module may set its own TIMEOUT


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def discover(only):
    """(name, function, limit in seconds), in the order of files and of lines."""
    cases = []
    for path in sorted(HERE.glob("case_*.py")):
        module = load(path)
        for key, value in vars(module).items():
            name = f"{path.stem[len('case_'):]}.{key[len('test_'):]}"
            if key.startswith("test_") and callable(value) and fnmatch.fnmatch(name, only):
                cases.append((name, value, getattr(module, "TIMEOUT", CASE_SECONDS)))
    return cases


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


def run_case(function, limit, build, verbose):
    """One of "ok", "skip", "FAIL", and why. Whatever the case started is gone afterwards."""
    if os.geteuid() != 0:
        return "skip", "needs root"
    case = Case(build, verbose)
    signal.alarm(limit)
    try:
        function(case)
        return "ok", ""
    except Skip as skip:
        return "skip", str(skip)
    except Failure as failure:
        if not may_trace():
            return "skip", "failed, as it must without CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN"
        return "FAIL", str(failure)
    except TimeLimit:
        return "FAIL", f"still runs after {limit} s"
    except Exception:  # a bug in the case is a failure of the case
        return "FAIL", traceback.format_exc()
    finally:
        signal.alarm(0)
        case.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where make built (default: build)")
    parser.add_argument("--only", default="*", metavar="GLOB", help="cases to run, as file.behaviour")
    parser.add_argument("--summary", metavar="FILE", help='gets "passed failed skipped"')
    parser.add_argument("-v", "--verbose", action="store_true", help="show the commands that run")
    options = parser.parse_args()

    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, on_terminate)
    cases = discover(options.only)
    width = max((len(name) for name, _, _ in cases), default=0)
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    try:
        for name, function, limit in cases:
            start = time.monotonic()
            outcome, why = run_case(function, limit, options.build, options.verbose)
            counts[outcome] += 1
            seconds = time.monotonic() - start
            note = f": {why}" if outcome == "skip" else ""
            print(f"{outcome:<5} {name:<{width}} {seconds:6.1f} s{note}", flush=True)
            if outcome == "FAIL":
                print("      " + why.rstrip().replace("\n", "\n      "), flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    if options.summary:
        pathlib.Path(options.summary).write_text(f"{counts['ok']} {counts['FAIL']} {counts['skip']}\n")
    return 0


if __name__ == "__main__":
    os.chdir(HERE.parent.parent)
    sys.exit(main())
