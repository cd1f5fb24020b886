#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What --profile async takes from a program that does nothing but await: nanoseconds of its processor time an await, while
tapir records and while it does not, by the work between two awaits. The tenth percentile of windows of 0.1 s, and the
throughput that is left where the processor is all that limits it.
"""
import argparse
import os
import signal
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import dotnet_program  # noqa: E402
import harness  # noqa: E402

SPEC = "System.Threading.Tasks.TplEventSource"
WAYS = {"--profile async": ["--profile", "async"],
        "the same, a stack with each event": ["--profile", "async", "--stack"],
        "the same events, not recorded": [f"{SPEC}:0x21,-ev=T*,-ev=Await*:4"]}


def measure(case, work, options, seconds):
    """Nanoseconds an await: without tapir, with it."""
    program = case.start(dotnet_program.build_dotnet(case, "AwaitRate"), work)
    program.wait_line("pid ")
    time.sleep(1.5)  # its code is compiled
    first = len(program.out)
    time.sleep(seconds)
    tapir = case.start_tapir("record", *options, *harness.EVENTS_ONLY, "-p", program.pid, "-f", "-o", "/dev/null")
    tapir.wait_ready(".NET events")
    time.sleep(seconds)
    tapir.signal(signal.SIGINT)
    tapir.wait(60)
    rows = [line.split() for line in program.out[first:]]
    program.kill()
    return [statistics.quantiles([float(ns) for ns, state in rows if state == wanted], n=10)[0] for wanted in ("off", "on")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--work", type=int, action="append", help="steps of a nanosecond between two awaits; repeatable")
    args = parser.parse_args()
    case = harness.Case(args.build)
    try:
        for work in args.work or [0, 1000, 10000]:
            for way, options in WAYS.items():
                found = [measure(case, work, options, args.seconds) for _ in range(args.rounds)]
                off, on = (min(values) for values in zip(*found))
                print(f"{work:6} {way:<34} {off:8.0f} -> {on:8.0f} ns  {off / on - 1:+7.1%}", flush=True)
    finally:
        case.close()


if __name__ == "__main__":
    main()
