#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What --publish usdt takes from the program: ns of an event of two ints while tapir records it, without and with
--publish, and with bpftrace on its own probe or on the JSON one. The least and the median of interleaved rounds.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import dotnet_program  # noqa: E402
import harness  # noqa: E402

WAYS = ("record", "--publish, nobody there", "bpftrace on its probe", "bpftrace on JSON")


def measure(case, program, home, way):
    """ns an event: the least of the program's own 20 rounds."""
    options = ["--publish", "usdt"] if way != "record" else []
    tapir = case.start_tapir("record", "My-Shop", *harness.EVENTS_ONLY, *options, "-p", program.pid, "-f", "-o",
                             "/dev/null")
    if options:
        tapir.wait_line("tapir: process")
    else:
        tapir.wait_ready(".NET events")
    tracer = None
    if way.startswith("bpftrace"):
        where = f"usdt:/run/tapir/{program.pid}"
        while not os.path.exists(f"/run/tapir/{program.pid}/tapir_coreclr"):
            time.sleep(0.05)
        probe = "tapir_coreclr:tapir_coreclr:warning" if "JSON" in way else "My-Shop:My-Shop:OrderShipped"
        tracer = case.start("bpftrace", "-e", f'{where}/{probe} {{ @ = count(); }} BEGIN {{ printf("ready\\n"); }}')
        tracer.wait_line("ready")
    time.sleep(0.5)
    open(os.path.join(home, "cost"), "w", encoding="utf-8").close()
    found = json.loads(program.wait_line("{", timeout=120))["ns"]
    for process in filter(None, (tracer, tapir)):
        while process.child.poll() is None:
            process.signal(signal.SIGINT)
            time.sleep(0.3)
    time.sleep(1.6)  # the library leaves
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--events", type=int, default=20000, help="of a measurement, of which 20 are made")
    args = parser.parse_args()
    case = harness.Case(args.build)
    found = {way: [] for way in WAYS}
    try:
        home = tempfile.mkdtemp(dir=case.tmp)
        program = case.start(dotnet_program.build_dotnet(case, "Shop"), home, "cost", args.events)
        program.wait_line("pid ")
        for n in range(args.rounds):
            for way in WAYS[n % 4:] + WAYS[:n % 4]:
                found[way].append(measure(case, program, home, way))
    finally:
        case.close()
    for way, values in found.items():
        print(f"{way:<26} {min(values):8.1f} / {statistics.median(values):8.1f} ns")


if __name__ == "__main__":
    main()
