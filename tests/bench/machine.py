#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What system calls and transfers cost while they are recorded, beside perf, bpftrace and strace, in one run: a program that is traced and another one that is
not, each on a CPU of its own, make the same calls; every tool once a round, in another order each round. Of all rounds the least CPU
time counts, less that without a tool: other programs of the machine only ever add to it.

    machine.py [--build DIR] [--rounds N] [--write]

--write: puts the table into README.md, if the load of the machine was at most 3 all the time (two of it are the programs'). Raw
numbers: BUILD/bench/machine.json.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import measure  # noqa: E402

BEGIN, END = "<!-- machine: made by make bench-machine -->", "<!-- machine ends -->"
MAX_LOAD = 3
ATTACHED_SECONDS = 2  # bpftrace and perf do not say when all of theirs is on
CALLS = "tracepoint:raw_syscalls:sys_enter /pid == PID/ { @s[tid] = nsecs; } " \
        "tracepoint:raw_syscalls:sys_exit /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }"
FAULTS = "tracepoint:exceptions:page_fault_user /pid == PID/ { @[ustack] = count(); }"
TRANSFERS = "tracepoint:sock:sock_send_length /pid == PID/ { @s[tid] = nsecs; } " \
            "tracepoint:sock:sock_recv_length /pid == PID/ { @ = hist(nsecs - @s[tid]); }"

# A load: what it is called, goals in ns of the traced and of the other program, by tool what is run; PID is the traced program.
TAPIR = ["tapir", "record", "--no-samples", "-f", "-o", "OUT", "-p", "PID"]
LOADS = {
    "calls": ("system call", 300, 100, {
        "tapir": [*TAPIR, "--no-sched", "--syscalls"], "bpftrace": ["bpftrace", "-e", CALLS], "perf": ["perf", "trace", "-s", "-p", "PID"],
        "strace": ["strace", "-c", "-f", "-p", "PID"]}),
    "files": ("system call by its file", 450, 100, {
        "tapir": [*TAPIR, "--no-sched", "--syscall-files"], "bpftrace": ["bpftrace", "-e", CALLS], "strace": ["strace", "-c", "-f", "-p", "PID"]}),
    "failing": ("system call that fails, with its stack", 450, 100, {
        "tapir": [*TAPIR, "--no-sched", "--syscalls"], "bpftrace": ["bpftrace", "-e", CALLS], "perf": ["perf", "trace", "-s", "-p", "PID"],
        "strace": ["strace", "-c", "-f", "-p", "PID"]}),
    "requests": ("transfer on a TCP connection, a request or answer every second one", 300, 100, {
        "tapir": [*TAPIR, "--no-sched", "--net"], "bpftrace": ["bpftrace", "-e", TRANSFERS]}),
    "faults": ("page fault, by process and stack", 300, 100, {
        "tapir": [*TAPIR, "--no-sched", "--kernel=faults"], "bpftrace": ["bpftrace", "-e", FAULTS],
        "perf": ["perf", "record", "-e", "page-faults", "-c", "1", "-g", "-o", "OUT", "-p", "PID"]}),
}
TOOLS = ("tapir", "bpftrace", "perf", "strace")


class Context(measure.Context):
    def __init__(self, build):
        super().__init__(build, "machine")
        self.load = os.path.join(self.build, "tests/bench/machine_load")
        self.cpus = sorted(os.sched_getaffinity(0))

    def start(self, name, cpu, options):
        return measure.Target(["taskset", "-c", str(self.cpus[cpu % len(self.cpus)]), self.load, name, str(options.inner),
                               str(options.calls)])

    def start_tool(self, words, pid):
        words = [w.replace("PID", str(pid)).replace("OUT", f"{self.work}/out") for w in words]
        program = self.tapir if words[0] == "tapir" else words[0]
        with open(f"{self.work}/log", "w", encoding="utf-8") as log:
            tool = subprocess.Popen([program, *words[1:]], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        time.sleep(ATTACHED_SECONDS)
        if tool.poll() is not None:
            text = pathlib.Path(f"{self.work}/log").read_text(encoding="utf-8", errors="replace")
            raise measure.Failed(f"{words[0]} ended with status {tool.returncode}: {text.strip()[-200:]}")
        return tool


def stop(tool):
    if tool and tool.poll() is None:
        tool.send_signal(signal.SIGINT)
        try:
            tool.wait(60)
        except subprocess.TimeoutExpired:
            tool.kill()
            tool.wait()


def run_once(context, name, words, options):
    """{"traced": ns, "other": ns} of a call, or {"failed": why}; no words: without a tool."""
    targets, tool = [], None
    if words and words[0] != "tapir" and not shutil.which(words[0]):
        return {"failed": f"no {words[0]} here", "absent": True}
    try:
        targets = [context.start(name, cpu, options) for cpu in range(2)]
        tool = context.start_tool(words, targets[0].pid) if words else None
        for target in targets:
            target.process.stdin.write("go\n")
            target.process.stdin.flush()
        found = [json.loads(target.process.stdout.readline())["ns_min"] for target in targets]
        return dict(zip(("traced", "other"), found))
    except (measure.Failed, OSError, ValueError, LookupError) as reason:
        return {"failed": f"{type(reason).__name__}: {reason}"}
    finally:
        stop(tool)
        for target in targets:
            target.stop()


def run_rounds(context, options):
    """{(load, tool or ""): [result of each round]}, and the greatest load of the machine."""
    turns = [(name, tool, words) for name, (_, _, _, tools) in LOADS.items() for tool, words in [("", None), *tools.items()]]
    results, load = {(name, tool): [] for name, tool, _ in turns}, os.getloadavg()[0]
    for number, (name, tool, words) in measure.in_turns(turns, options.rounds):
        found = run_once(context, name, words, options)
        results[(name, tool)].append(found)
        load = max(load, os.getloadavg()[0])
        measure.say(f"round {number + 1}/{options.rounds}  {name:<9} {tool or 'no tool':<9} " +
                    (found.get("failed") or f"{found['traced']:8.1f} ns traced {found['other']:8.1f} ns other"))
    return results, load


def above(results, name, tool, who):
    """ns of a call above that without a tool; None: not measured."""
    least = [min((r[who] for r in results.get((name, by), []) if who in r), default=None) for by in (tool, "")]
    return None if None in least else least[0] - least[1]


def table_of(results):
    lines = ["| ns above no tool, traced / another program | " + " | ".join(TOOLS) + " | goal | |", "|---" * (len(TOOLS) + 3) + "|"]
    for name, (what, goal, other_goal, tools) in LOADS.items():
        values = {tool: (above(results, name, tool, "traced"), above(results, name, tool, "other")) for tool in tools}
        cells = [" / ".join("not measured" if v is None else f"{v:.0f}" for v in values[tool]) if tool in tools else "" for tool in TOOLS]
        met = None not in values["tapir"] and values["tapir"][0] <= goal and values["tapir"][1] <= other_goal
        lines.append(f"| {what} | {' | '.join(cells)} | <= {goal} / {other_goal} | {'met' if met else '**not met**'} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (%(default)s)")
    parser.add_argument("--calls", type=int, default=500, help="calls a timing (%(default)s)")
    parser.add_argument("--inner", type=int, default=200, help="timings a run (%(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    if os.geteuid() != 0:
        measure.say("recording the machine needs root")
        return 3
    context = Context(options.build)
    results, load = run_rounds(context, options)
    rounds = {(tool or "no tool", name): found for (name, tool), found in results.items()}
    return measure.finish(context, "machine", options, rounds, load, table_of(results), (BEGIN, END), MAX_LOAD)


if __name__ == "__main__":
    sys.exit(main())
