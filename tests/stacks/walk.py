#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the walk of a user stack costs (make bench-stacks): ns of an event with 31 frames more than without a stack, by frame
pointers and by unwind tables; ns of tapir's program in a CPU sample of a stack of about 30 frames of generated and of native
code. The least of alternating rounds; --other TAPIR runs another tapir beside this one."""
import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from alone import measured  # noqa: E402
from harness import Failure, Skip  # noqa: E402
from programs import HERE, installed, made  # noqa: E402

REPO = HERE.parent.parent
WALKED = {"with frame pointers": ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"],
          "without, by .eh_frame": ["-fomit-frame-pointer"]}
SETTLED_S = 2     # unwind tables are built in the background
HITS = 100        # of a round
MIXED_FRAMES = 6  # of generated code, above Node's own; see what it prints
SAMPLE_S = 6
SYS_BPF, BPF_ENABLE_STATS, PERF_EVENT_PROGRAM = 321, 32, 7


def workload(t, name, flags):
    return made(t, "walk-" + re.sub(r"\W+", "-", name), installed("gcc"), "-std=gnu11", "-O2", "-fno-optimize-sibling-calls",
                "-no-pie", *flags, f"-I{REPO}", f"-I{REPO}/include", str(REPO / "tests/bench/workload.c"), "-o", "OUT",
                "-pthread")


def least_ns(t, tapir, program, rounds, unlike, *options):
    """Of an event, in one run under a recording. unlike: each stack is another than the last."""
    process = subprocess.Popen([program, "--depth", "31", "--rounds", str(rounds), "--hits", str(HITS), "--unlike", str(unlike)],
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()  # "ready"
    recorder = t.start(tapir, "record", "bench:event", "--no-samples", "--no-sched", "--lane", "probe", *options, "-f", "-o",
                       t.path("walk.tapir"), "-p", process.pid)
    recorder.wait_line("tapir: ", 60)
    time.sleep(SETTLED_S)
    out, _ = process.communicate("go\n", timeout=120)
    recorder.wait(60)
    return json.loads(out)["ns_min"]


def event_rows(t, tapirs, runs, rounds):
    for name, flags, unlike in ((name, flags, unlike) for name, flags in WALKED.items() for unlike in (0, 1)):
        program = workload(t, name, flags)
        least = {}
        for _ in range(runs):
            for tapir in tapirs:
                for options in (("--stack",), ()):
                    key = tapir, bool(options)
                    least[key] = min(least.get(key, 1e9), least_ns(t, tapir, program, rounds, unlike, *options))
        cells = " | ".join(f"{least[tapir, True] - least[tapir, False]:.0f}" for tapir in tapirs)
        print(f"| event, 31 frames {name}{', each unlike the last' if unlike else ''}, ns | {cells} |", flush=True)


def enable_stats():
    """The kernel measures BPF programs while this descriptor is open."""
    attr = ctypes.create_string_buffer(128)
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, BPF_ENABLE_STATS, attr, len(attr))
    if fd < 0:
        raise Skip(f"no statistics of BPF programs: {os.strerror(ctypes.get_errno())}")
    return fd


def sampler_runs(pid):
    """(runs, ns) of a tapir's program for samples. An object that holds its place until it is loaded never runs."""
    runs = []
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                info = dict(re.findall(r"^(\w+):\s+(\d+)$", file.read(), re.M))
        except OSError:
            continue
        if info.get("prog_type") == str(PERF_EVENT_PROGRAM):
            runs.append((int(info["run_cnt"]), int(info["run_time_ns"])))
    if not runs:
        raise Skip("tapir's program for samples was not found in its fdinfo")
    return max(runs)


def sampled(t, tapir, pid, seconds):
    """(runs, ns) of the program in the last seconds of a recording of a process, its samples in all, seconds in all."""
    file, stats = t.path("mixed.tapir"), enable_stats()
    recorder = t.start(tapir, "record", "-F", "999", "--no-sched", "--duration", SETTLED_S + seconds + 1, "-f", "-o", file,
                       "-p", pid)
    recorder.wait_line("tapir: ", 60)
    time.sleep(SETTLED_S)
    before = sampler_runs(recorder.pid)
    began = time.monotonic_ns()
    time.sleep(seconds)
    after, ended = sampler_runs(recorder.pid), time.monotonic_ns()
    recorder.wait(60)
    os.close(stats)
    samples = [r for r in t.events(file, "sample") if r.get("stack") and began <= r["time_ns"] <= ended]
    return after[0] - before[0], after[1] - before[1], samples


def mixed_sample(t, tapir):
    """(ns of the program a sample of Node, frames a sample). What samples of other processes take, which the program leaves
    at once, is measured with a process that sleeps, and subtracted."""
    asleep = t.start(installed("sleep"), SETTLED_S + SAMPLE_S + 4)
    cnt, ns, _ = sampled(t, tapir, asleep.pid, 2)
    other_ns = ns / max(cnt, 1)
    process = t.start(installed("node"), "--perf-basic-prof", str(HERE / "deep.js"), SETTLED_S + SAMPLE_S + 4, MIXED_FRAMES)
    cnt, ns, samples = sampled(t, tapir, process.wait_line("pid ", 30).split()[1], SAMPLE_S)
    process.kill()
    frames = sorted(len(r["stack"]) for r in samples if r.get("stack_end") == "whole")
    if not frames:
        raise Failure("no complete stack was sampled")
    return (ns - (cnt - len(samples)) * other_ns) / len(samples), frames[len(frames) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--other", metavar="TAPIR", help="another tapir, in turns with this one")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3000, help="of 100 events (%(default)s)")
    options = parser.parse_args()

    def measure(t):
        tapirs = [tapir for tapir in (t.tapir_path, options.other) if tapir]
        event_rows(t, tapirs, options.runs, options.rounds)
        for tapir in tapirs:
            ns, frames = min(mixed_sample(t, tapir) for _ in range(options.runs))
            print(f"| CPU sample, {frames} mixed frames (median), our program, ns | {ns:.0f} |", flush=True)

    return measured(options.build, measure)


if __name__ == "__main__":
    sys.exit(main())
