#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording takes from an ASP.NET service under load: requests a second by wrk and their latency
(99 %), alone, with tapir's default profile, with dotnet-trace's, and after tapir has gone; in the
first seconds, in which a tracer starts and asks for names, and from then on. --parts: with events,
samples at several rates and context switches apart, instead.

Where other programs have the CPUs, too, requests/s say little. What a request costs of CPU time, the
service's, the load generator's and the tracer's, says what there would be without them: alone / with.
"""

import argparse
import json
import os
import re
import resource
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


class OtherTapir(TapirDefault):
    """Another build, such as the one before a change."""

    def __init__(self, context, path):
        super().__init__(context, "other tapir", [])
        self.path = path

    def argv(self, pid):
        return [self.path, *super().argv(pid)[1:]]


class TraceDefault(dotnet.DotnetTrace):
    def argv(self, pid):
        return [self.context.dotnet_trace, "collect", "-p", str(pid), "--format", "NetTrace", "-o", self.output]


PARTS = {"events": ["--no-samples", "--no-sched"], "and 99 Hz": ["-F", "99", "--no-sched"], "and 199 Hz": ["-F", "199", "--no-sched"],
         "and 499 Hz": ["-F", "499", "--no-sched"], "and 999 Hz": ["-F", "999", "--no-sched"], "and switches": ["--no-samples"],
         "switches, 199 Hz": ["-F", "199"], "all": []}


def ms(text):
    """Of wrk's 1.23ms."""
    number, unit = re.match(r"([0-9.]+)(us|ms|s)$", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def load(port, seconds):
    """Requests a second, and the latency that 99 % of them keep, in ms."""
    done = subprocess.run(["wrk", "--latency", "-t", "1", "-c", "16", "-d", f"{seconds}s", f"http://127.0.0.1:{port}/orders"],
                          capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout:
        raise measure.Failed("the service answers with errors")
    return float(re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)[1]), ms(re.search(r"^ +99%\s+(\S+)", done.stdout, re.M)[1])


def costs(recorder, target, port, seconds):
    """Requests a second, their latency, and CPU time a request, in us."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        tracer = measure.cpu_seconds(recorder.process.pid) if recorder.process else 0
        return [measure.cpu_seconds(target.pid), usage.ru_utime + usage.ru_stime, tracer]

    before = spent()
    requests, p99_ms = load(port, seconds)
    parts = [(now - then) * 1e6 / (requests * seconds) for now, then in zip(spent(), before)]
    return {"requests": requests, "p99_ms": p99_ms, "cpu_us": sum(parts), "cpu_us_of_service_load_tracer": parts}


def run_round(context, target, port, seconds, number, results):
    turn = number % len(context.recorders)
    for recorder in context.recorders[turn:] + context.recorders[:turn]:
        try:
            recorder.start(target)
            found = {"first": load(port, FIRST_SECONDS)[0]}
            found.update(costs(recorder, target, port, seconds))
            found.update(recorder.finish())
        except (measure.Failed, OSError, LookupError, subprocess.CalledProcessError) as reason:
            recorder.abandon()
            found = {"failed": f"{type(reason).__name__}: {reason}"}
        time.sleep(2)  # a profiler that leaves takes a second
        results[recorder.name].append(found)
        print(f"[bench] round {number + 1}  {recorder.name:<18} " +
              (found.get("failed") or f"{found['first']:8.0f} at first, {found['requests']:8.0f} requests/s, {found['p99_ms']:6.2f} ms, {found['cpu_us']:6.2f} us of CPU a request"),
              file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=5, help="of load, each (%(default)s)")
    parser.add_argument("--parts", action="store_true", help="events, samples, switches apart")
    parser.add_argument("--other", metavar="TAPIR", help="another tapir, in turns with this one and without any")
    options = parser.parse_args()
    context = dotnet.Context(options.build)
    program = dotnet_program.build_dotnet(dotnet.Builder(context.build), "Web", "Microsoft.NET.Sdk.Web")
    traced = ([TapirDefault(context, name, [], *argv) for name, argv in PARTS.items()] if options.parts else
              [TapirDefault(context, "tapir", []), OtherTapir(context, options.other)] if options.other else
              [TapirDefault(context, "tapir", []), TapirDefault(context, "tapir --no-sched", [], "--no-sched"),
               TraceDefault(context, "dotnet-trace", [])])
    context.recorders = [r for r in (dotnet.Nobody(context, "alone"), *traced, dotnet.Nobody(context, "after")) if not r.missing()]
    results = {r.name: [] for r in context.recorders}
    target = measure.Target([program])
    try:
        port = int(target.ready.split()[3])
        load(port, WARM_SECONDS)
        for number in range(options.rounds):
            run_round(context, target, port, options.seconds, number, results)
    finally:
        target.stop()
    lines = []
    for key, what, limit in (("requests", "requests/s", 0.95), ("cpu_us", "CPU time a request", 1.05),
                             ("first", "requests/s at first", 0.95), ("p99_ms", "latency (99 %)", 1.05)):
        for name in (r.name for r in context.recorders[1:]):
            wanted, at_least = (0.0 if name == "dotnet-trace" else limit), limit < 1
            lines.append(goals.line(f"{what} with {name}, over alone", f"{'>=' if at_least else '<='} {wanted}x", wanted,
                                    goals.ratios(results[name], results["alone"], key), goals.why(results[name]), at_least=at_least))
    with open(os.path.join(context.build, "bench", "dotnet_web.json"), "w") as file:
        json.dump({"commands": context.commands, "rounds": results, "goals": lines}, file, indent=1)
    print("commands:", *context.commands, sep="\n  ")
    for line in lines:
        print(f"{line['what']:<48}{line['wanted']:>10}" + "".join(f"{goals.shown(v, 3):>10}" for v in line["spread"]) +
              f"  {line['verdict']}")
    return 1 if any("failed" in r for rounds in results.values() for r in rounds) else 0


sys.exit(main())
