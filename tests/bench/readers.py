# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading costs: `tapir report` of recordings of ten million records, and `tapir export --format nettrace` of
a million samples and a million events. All are written by make_trace, from 50,000 stacks of 28 frames, with JIT
names that begin on the way."""

import os
import subprocess
import time

import measure

RECORDS = 10_000_000
REPORT = ("report",)
NETTRACE = ("export", "--format", "nettrace", "-o", "/dev/null")
# kind: what make_trace writes, how it is read
KINDS = {"samples": (["--samples", str(RECORDS)], REPORT),
         "events": (["--samples", "0", "--events", str(RECORDS)], REPORT),
         "nettrace": (["--samples", "1000000", "--events", "1000000"], NETTRACE)}


def read_once(tapir, command, path):
    """Seconds, those of a CPU and peak memory of one command."""
    began = time.monotonic()
    child = subprocess.Popen([tapir, *command, path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise measure.Failed(f"tapir {command[0]}: exit {child.returncode}")
    return {"seconds": time.monotonic() - began, "cpu_seconds": usage.ru_utime + usage.ru_stime, "mib": usage.ru_maxrss / 1024}


def run(context, rounds):
    """{kind of record: [result of each round]}"""
    results = {}
    for kind, (options, command) in KINDS.items():
        path = os.path.join(context.work, f"{kind}.tapir")
        try:
            subprocess.run([os.path.join(context.build, "tests/bench/make_trace"), path, "--stacks", "50000", *options],
                           check=True)
            results[kind] = [read_once(context.tapir, command, path) for _ in range(rounds)]
        except (measure.Failed, OSError, subprocess.CalledProcessError) as reason:
            results[kind] = [{"failed": f"{type(reason).__name__}: {reason}"}]
        if os.path.exists(path):
            os.unlink(path)
    return results
