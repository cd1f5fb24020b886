#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to trace the context switches of the whole machine: each of them (`record -a --sched=all`), short waits as sums
(`--sched=sums`), `perf sched record` and a bpftrace program that keeps a histogram of waits by thread, in turns, beside nothing.

Two threads hand a byte to each other as fast as they can, on one CPU, so that each round is two switches. Printed for each tracer are the switches
a second, the CPU time of a switch beyond that of an untraced one (of the program, which has what the kernel's programs take), the tracer's
own CPU time for a switch, both as a share of a core at 100,000 switches a second, and the bytes of its file. Of tapir's programs also what the kernel
says that a run takes (kernel.bpf_stats_enabled, which adds some 30 ns). The goal is 2 % of a core with sums.

Usage: switches.py [--build DIR] [--rounds N] [--pairs N]: the least of several pairs counts.
"""
import argparse
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

from measure import cpu_seconds

GOAL = 0.02
PER_SECOND = 100_000
BPFTRACE = ("tracepoint:sched:sched_switch { @out[args->prev_pid] = nsecs; if (@out[args->next_pid]) { "
            "@wait[args->next_pid] = hist(nsecs - @out[args->next_pid]); } }")
STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")


def tracers(build, directory):
    """{name: (argv, the file it writes, what it prints when it traces)}"""
    tapir = os.path.join(build, "tapir")
    found = {f"tapir --sched={how}": ([tapir, "record", "-a", f"--sched={how}", "--no-samples", "-f", "-o", f"{directory}/{how}.tapir"],
                                      f"{directory}/{how}.tapir", "recording context switches") for how in ("sums", "all")}
    if shutil.which("perf"):
        found["perf sched record"] = (["perf", "sched", "record", "-o", f"{directory}/perf.data"], f"{directory}/perf.data", None)
    if shutil.which("bpftrace"):
        found["bpftrace"] = (["bpftrace", "-e", BPFTRACE], None, "Attaching")
    return found


def start(argv, said):
    """Returns the tracer when it traces. Of one that does not say so, a second later."""
    tracer = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while said and (line := tracer.stdout.readline()):
        if said in line:
            break
    time.sleep(0.3 if said else 1)
    return tracer


def cpu_of(usage):
    return usage.ru_utime + usage.ru_stime


def run_load(build, rounds):
    """(switches, seconds, CPU seconds of the program)"""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    cpu = str(min(os.sched_getaffinity(0)))
    subprocess.run(["taskset", "-c", cpu, os.path.join(build, "tests/targets/shorts"), str(rounds), "0"], check=True, stdout=subprocess.DEVNULL)
    return 2 * rounds, time.monotonic() - began, cpu_of(resource.getrusage(resource.RUSAGE_CHILDREN)) - cpu_of(before)


def runs_of_programs():
    """{program: (ns, runs)} of those that are loaded."""
    out = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True, check=False).stdout
    return {name: (int(ns), int(cnt)) for name, ns, cnt in re.findall(r"name (tapir_\w+) .*?run_time_ns (\d+) run_cnt (\d+)", out)}


def measure(build, rounds, tracer):
    argv, file, said = tracer
    running = start(argv, said)
    before = cpu_seconds(running.pid)
    switches, took, cpu = run_load(build, rounds)
    own = cpu_seconds(running.pid) - before  # what its start and its end take does not depend on switches
    programs = runs_of_programs()
    running.send_signal(signal.SIGINT)
    running.stdout.read()
    running.wait()
    return switches, took, cpu, own, os.path.getsize(file) if file and os.path.exists(file) else 0, programs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=200_000)
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    if os.geteuid():
        print("[skip] root is needed", file=sys.stderr)
        return 77
    least, was = {}, STATS.read_text(encoding="ascii")
    STATS.write_text("1", encoding="ascii")
    try:
        with tempfile.TemporaryDirectory() as directory:
            for _ in range(args.pairs):
                switches, took, cpu = run_load(args.build, args.rounds)
                least["untraced"] = min(least.get("untraced", (9e9,)), (cpu / switches, switches / took, 0, 0, {}))
                for name, tracer in tracers(args.build, directory).items():
                    switches, took, cpu, own, size, programs = measure(args.build, args.rounds, tracer)
                    least[name] = min(least.get(name, (9e9,)), (cpu / switches, switches / took, own / switches, size, programs))
    finally:
        STATS.write_text(was, encoding="ascii")
    base = least["untraced"][0]
    print(f"{'':<22}{'switches/s':>12}{'added ns':>10}{'own ns':>8}{'of a core':>11}{'MB':>7}")
    for name, (cpu, rate, own, size, programs) in least.items():
        share = (cpu - base + own) * PER_SECOND
        print(f"{name:<22}{rate:>12,.0f}{(cpu - base) * 1e9:>10.0f}{own * 1e9:>8.0f}{share:>10.1%} {size / 1e6:>6.1f}")
        for program, (ns, cnt) in programs.items():
            if cnt:
                print(f"    {program:<18}{ns / cnt:>12.0f} ns a run, {cnt:,} runs")
    mine = least["tapir --sched=sums"]
    is_met = (mine[0] - base + mine[2]) * PER_SECOND <= GOAL
    print(f"goal of sums: {GOAL:.0%} of a core at {PER_SECOND:,} switches a second: {'met' if is_met else 'not met'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
