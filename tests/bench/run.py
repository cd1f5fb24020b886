#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir beside its peers, in one run: every configuration once a round, in another order each
round, so that a noisy minute is shared. Ratios are taken within a round and then summed up as
least, median and greatest. Raw numbers and commands are kept in BUILD/bench/rounds.json.

`make bench` builds what this needs of ours; the peers' parts are compiled here.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import goals  # noqa: E402
import measure  # noqa: E402
import readers  # noqa: E402
import tracers  # noqa: E402

REPO = HERE.parent.parent
MULTI_THREADED = 2
RING_PACE_HZ = 400000


class Context(measure.Context):
    def __init__(self, build):
        super().__init__(build, "work")
        self.workload = os.path.join(self.build, "tests/bench/workload")
        self.sites = measure.Sites(self.workload)

    def workload_of(self, tracer):
        return self.workload if tracer.program == "workload" else f"{self.bench}/{tracer.program}"


def compile_peers(context):
    """The bare loader, its programs and the LTTng build of the workload; the last only where
    its headers are."""
    peers = str(HERE / "peers")
    frames = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
              "-fno-optimize-sibling-calls"]
    measure.compile_bare(context, "bare")
    done = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-DBENCH_LTTNG", "-O2", *frames,
                           f"-I{peers}", str(HERE / "workload.c"), f"{peers}/lttng_provider.c",
                           "-llttng-ust", "-ldl", "-pthread",
                           "-o", f"{context.bench}/workload_lttng"],
                          capture_output=True, text=True, check=False)
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-DBENCH_RING", "-O2", *frames,
                    f"-I{REPO}", f"-I{REPO}/include", str(HERE / "workload.c"),
                    f"{context.build}/libtapir.a", "-pthread", "-o",
                    f"{context.bench}/workload_ring"], check=True)
    if done.returncode != 0:
        measure.say(f"no LTTng build of the workload: {done.stderr.strip().splitlines()[0]}")


def configurations(context):
    """(tracer, threads): what a round consists of."""
    one = [tracers.Nothing(context, "nothing"),
           tracers.Bare(context, "empty uprobe", "bare_empty"),
           tracers.Bare(context, "bare ring", "bare_event"),
           tracers.Bare(context, "bare get_stack", "bare_stack"),
           tracers.Tapir(context, "tapir", []),
           tracers.Tapir(context, "tapir plain", ["--no-compress"]),
           tracers.Tapir(context, "tapir stack", ["--stack"]),
           tracers.Tapir(context, "tapir stack plain", ["--stack", "--no-compress"]),
           tracers.Bpftrace(context, "bpftrace"),
           tracers.Perf(context, "perf", []),
           tracers.Perf(context, "perf -g", ["-g"]),
           tracers.Lttng(context, "lttng-ust"),
           # Paced so that no tool's buffers fill up: an event that is dropped costs less.
           tracers.Lttng(context, "lttng paced", rate=RING_PACE_HZ),
           tracers.TapirRing(context, "ring", ["--no-stack"], rate=RING_PACE_HZ),
           tracers.TapirRing(context, "ring plain", ["--no-stack", "--no-compress"],
                             rate=RING_PACE_HZ),
           tracers.TapirRing(context, "ring stack", [], rate=RING_PACE_HZ),
           tracers.TapirRing(context, "ring stack plain", ["--no-compress"], rate=RING_PACE_HZ)]
    two = [tracers.TapirRing(context, "ring 1M/s 2t", [], rate=1000000, longer=5),
           tracers.TapirRing(context, "ring flat out 2t", ["--no-stack"], longer=5),
           tracers.Lttng(context, "lttng flat out 2t", longer=5),
           tracers.Bare(context, "empty uprobe 2t", "bare_empty"),
           tracers.Tapir(context, "tapir 2t", []),
           tracers.Tapir(context, "tapir stack 2t", ["--stack"])]
    return [(t, 1) for t in one] + [(t, MULTI_THREADED) for t in two]


def run_once(context, tracer, threads, options):
    """One tracer over one run of the workload."""
    argv = [context.workload_of(tracer), "--threads", str(threads), "--depth", str(tracer.depth or options.depth),
            "--rounds", str(options.inner * tracer.longer), "--hits", str(options.hits),
            "--rate", str(options.rate if tracer.rate is None else tracer.rate)]
    return measure.run_traced(argv, tracer, context.sites)


def run_rounds(context, options):
    """{configuration: [result of each round]}; a configuration that cannot run says why."""
    results, able = {}, []
    for tracer, threads in configurations(context):
        if options.only and not any(o in tracer.name for o in options.only):
            continue
        reason = tracer.missing()
        results[tracer.name] = [{"failed": reason, "absent": True}] if reason else []
        if not reason:
            able.append((tracer, threads))
    try:
        for number, (tracer, threads) in measure.in_turns(able, options.rounds):
            found = run_once(context, tracer, threads, options)
            results[tracer.name].append(found)
            measure.say(f"round {number + 1}/{options.rounds}  {tracer.name:<18} " +
                        (found.get("failed") or f"{found['ns_median']:8.1f} ns"))
    finally:
        for tracer, _ in able:
            tracer.close()
    return results, {t.name: t.commands for t, _ in able}


def measure_start(context, options):
    """tapir on a program with 500 sites: until all are on, until the file is closed."""
    program = os.path.join(context.build, "tests/targets/manysites")
    if not os.path.exists(context.tapir) or not os.path.exists(program):
        return [{"failed": f"not built: {context.tapir} or {program}", "absent": True}]
    sites, found = measure.Sites(program), []
    tracer = tracers.Tapir(context, "500 sites", [])
    for _ in range(options.rounds):
        target = measure.Target([program, "1", "--wait"])
        tracer.command = lambda t: [context.tapir, "record", "-f", "--no-samples", "--no-sched", "manysites:*", "-p", str(t.pid),
                                    "-o", tracer.output]
        try:
            tracer.start(target, sites)
            found.append({"start_seconds": tracer.start_seconds, "sites": len(sites.by_name),
                          **tracer.interrupt()})
        except measure.Failed as reason:
            tracer.abandon()
            found.append({"failed": str(reason)})
        finally:
            target.stop()
    return found


def measure_sites(context):
    """bench_site: what a site costs while no tracer is attached."""
    program = os.path.join(context.build, "tests/bench/bench_site")
    out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {r["site"]: r for r in map(json.loads, out.splitlines())}


def measure_ring(context, options):
    """bench_ring: a ring event without any file: off, on, with a stack, with a new stack each time."""
    program = os.path.join(context.build, "tests/bench/bench_ring")
    runs = []
    for _ in range(options.rounds):
        out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        runs += [r for r in map(json.loads, out.splitlines()) if "what" in r]
    return runs


def measure_cpu(context, options):
    """bench_cpu: what switches and samples cost; and a recording of a burn: its bytes a sample."""
    program = os.path.join(context.build, "tests/bench/bench_cpu")
    burner = os.path.join(context.build, "tests/targets/burner")
    output, found = os.path.join(context.work, "burner.tapir"), []
    for _ in range(options.rounds):
        try:
            out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
            subprocess.run([context.tapir, "record", "--no-sched", "-f", "-o", output, "--",
                            burner, "2000", "2"], capture_output=True, check=True)
            report = json.loads(subprocess.run([context.tapir, "report", "--json", output],
                                               capture_output=True, text=True, check=True).stdout)
            samples = report["samples"]["captured"]
            found.append({**json.loads(out), "samples": samples,
                          "sample_bytes": os.path.getsize(output) / max(samples, 1)})
        except (subprocess.CalledProcessError, OSError, ValueError) as reason:
            found.append({"failed": f"{type(reason).__name__}: {reason}"})
    return found


def measure_perf_map(context, options):
    """bench_perf_map: what following a map costs, once a round."""
    program = os.path.join(context.build, "tests/bench/bench_perf_map")
    runs = []
    for _ in range(options.rounds):
        out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        runs += [json.loads(line) for line in out.splitlines()]
    return runs


def spread(values):
    return (min(values), statistics.median(values), max(values)) if values else None


def print_events(results):
    """What an event costs, by configuration, and both losses: what the tracer says it lost, and
    what is missing beyond that."""
    print(f"\n{'event: 4 ints + 16 chars':<24}{'ns min':>9}{'median':>9}{'max':>9}"
          f"{'x empty':>9}{'B/event':>9}{'cpu us':>8}{'captured':>10}{'lost':>9}{'missing':>9}")
    for name, rounds in results.items():
        good = [r for r in rounds if "failed" not in r]
        if not good:
            print(f"{name:<24}  {rounds[-1]['failed'] if rounds else 'not run'}")
            continue
        base = "empty uprobe 2t" if name.endswith("2t") else "empty uprobe"
        ratio = goals.ratios(rounds, results.get(base, []))
        low, middle, high = spread([r["ns_median"] for r in good])
        print(f"{name:<24}{low:>9.1f}{middle:>9.1f}{high:>9.1f}"
              f"{goals.shown(ratio and statistics.median(ratio), 2):>9}"
              f"{goals.shown(goals.per_event(good, 'bytes'), 1):>9}"
              f"{goals.shown(goals.per_event(good, 'cpu_seconds', 1e6), 3):>8}"
              f"{goals.shown(goals.total(good, 'captured'), 0):>10}"
              f"{goals.shown(goals.total(good, 'lost'), 0):>9}"
              f"{goals.shown(goals.unaccounted(good), 0):>9}")


def print_goals(lines):
    print(f"\n{'goal':<48}{'wanted':>10}{'min':>10}{'median':>10}{'max':>10}  verdict")
    for line in lines:
        values = "".join(f"{goals.shown(v, 3):>10}" for v in line["spread"])
        print(f"{line['what']:<48}{line['wanted']:>10}{values}  {line['verdict']}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--hits", type=int, default=4000, help="events a timing (%(default)s)")
    parser.add_argument("--inner", type=int, default=100, help="timings a run (%(default)s)")
    parser.add_argument("--depth", type=int, default=31, help="frames of the stack (%(default)s)")
    parser.add_argument("--rate", type=int, default=0, help="events/s a thread; 0: flat out")
    parser.add_argument("--only", action="append", metavar="TEXT", help="names that contain it")
    parser.add_argument("--json", metavar="FILE", help="the result as one document")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    return options


def main():
    options = parse_options()
    if os.geteuid() != 0:
        measure.say("attaching probes needs root")
        return 3
    context = Context(options.build)
    compile_peers(context)
    began = time.time()
    results, commands = run_rounds(context, options)
    starts, sites = measure_start(context, options), measure_sites(context)
    cpu, maps = measure_cpu(context, options), measure_perf_map(context, options)
    rings = measure_ring(context, options)
    read = readers.run(context, options.rounds)
    lines = goals.judge(results, starts, sites, cpu, maps, read, rings)
    document = {"began_utc": began, "kernel": platform.release(), "cpus": os.cpu_count(),
                "options": vars(options), "commands": commands, "rounds": results,
                "start_500_sites": starts, "sites": sites, "cpu": cpu, "perf_map": maps,
                "readers": read, "ring": rings,
                "goals": lines}
    for path in filter(None, [f"{context.bench}/rounds.json", options.json]):
        with open(path, "w") as file:
            json.dump(document, file, indent=1)
    print("commands:")
    for name, argvs in commands.items():
        for argv in argvs:
            print(f"  {name:<18} {argv}")
    print("  switches, samples  $BUILD/tests/bench/bench_cpu; $BUILD/tapir record --no-sched -- "
          "$BUILD/tests/targets/burner 2000 2")
    print("  ring, no file      $BUILD/tests/bench/bench_ring")
    print("  perf maps          $BUILD/tests/bench/bench_perf_map")
    print("  report             $BUILD/tests/bench/make_trace FILE --samples 10000000 --stacks 50000; "
          "$BUILD/tapir report FILE")
    print("  nettrace           $BUILD/tests/bench/make_trace FILE --samples 1000000 --events 1000000 --stacks 50000; "
          "$BUILD/tapir export --format nettrace -o /dev/null FILE")
    print_events(results)
    print_goals(lines)
    print(f"\n{options.rounds} rounds, {options.inner} x {options.hits} events each a thread; "
          f"raw numbers in {os.path.relpath(context.bench)}/rounds.json")
    failed = [r["failed"] for rounds in [*results.values(), *read.values(), starts, cpu] for r in rounds
              if "failed" in r and not r.get("absent")]
    for reason in failed:
        measure.say(f"not measured: {reason}")
    return 1 if failed else 0


sys.exit(main())
