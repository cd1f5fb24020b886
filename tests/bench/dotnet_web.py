#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording takes from an ASP.NET service under load: requests a second by wrk, alone, with
tapir's default profile and 999 samples a second, with dotnet-trace's, and after tapir has gone; in
the first seconds, in which a tracer starts and asks for names, and from then on.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

import dotnet  # noqa: F401  (first: it says where the others lie)
import dotnet_program
import goals
import measure

WARM_SECONDS = 4
FIRST_SECONDS = 3


class TapirDefault(dotnet.Tapir):
    def argv(self, pid):
        return [self.context.tapir, "record", "-p", str(pid), "-f", "-o", self.output, *self.options]

    def counts(self):
        return {}


class TraceDefault(dotnet.DotnetTrace):
    def argv(self, pid):
        return [self.context.dotnet_trace, "collect", "-p", str(pid), "--format", "NetTrace", "-o", self.output]


def load(port, seconds):
    """Requests a second."""
    done = subprocess.run(["wrk", "-t", "1", "-c", "16", "-d", f"{seconds}s", f"http://127.0.0.1:{port}/orders"],
                          capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout:
        raise measure.Failed("the service answers with errors")
    return float(re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)[1])


def run_round(context, target, port, seconds, number, results):
    turn = number % len(context.recorders)
    for recorder in context.recorders[turn:] + context.recorders[:turn]:
        try:
            recorder.start(target)
            found = {"first": load(port, FIRST_SECONDS), "requests": load(port, seconds)}
            found.update(recorder.finish())
        except (measure.Failed, OSError, LookupError, subprocess.CalledProcessError) as reason:
            recorder.abandon()
            found = {"failed": f"{type(reason).__name__}: {reason}"}
        time.sleep(2)  # a profiler that leaves takes a second
        results[recorder.name].append(found)
        print(f"[bench] round {number + 1}  {recorder.name:<18} " +
              (found.get("failed") or f"{found['first']:8.0f} at first, {found['requests']:8.0f} requests/s"),
              file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=5, help="of load, each (%(default)s)")
    options = parser.parse_args()
    context = dotnet.Context(options.build)
    program = dotnet_program.build_dotnet(dotnet.Builder(context.build), "Web", "Microsoft.NET.Sdk.Web")
    context.recorders = [r for r in (dotnet.Nobody(context, "alone"), TapirDefault(context, "tapir", []),
                                     TapirDefault(context, "tapir --no-sched", [], "--no-sched"),
                                     TraceDefault(context, "dotnet-trace", []), dotnet.Nobody(context, "after"))
                         if not r.missing()]
    results = {r.name: [] for r in context.recorders}
    target = measure.Target([program])
    try:
        port = int(target.ready.split()[3])
        load(port, WARM_SECONDS)
        for number in range(options.rounds):
            run_round(context, target, port, options.seconds, number, results)
    finally:
        target.stop()
    lines = [goals.line(f"requests/s with {name}{when}, over alone", f">= {limit}x", limit,
                        goals.ratios(results[name], results["alone"], key), goals.why(results[name]),
                        at_least=True)
             for key, when in (("requests", ""), ("first", ", at first"))
             for name, limit in (("tapir", 0.95), ("tapir --no-sched", 0.95), ("dotnet-trace", 0.0), ("after", 0.95)) if name in results]
    with open(os.path.join(context.build, "bench", "dotnet_web.json"), "w") as file:
        json.dump({"commands": context.commands, "rounds": results, "goals": lines}, file, indent=1)
    print("commands:", *context.commands, sep="\n  ")
    for line in lines:
        print(f"{line['what']:<48}{line['wanted']:>10}" + "".join(f"{goals.shown(v, 3):>10}" for v in line["spread"]) +
              f"  {line['verdict']}")
    return 1 if any("failed" in r for rounds in results.values() for r in rounds) else 0


sys.exit(main())
