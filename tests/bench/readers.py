# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading costs: `tapir report` of recordings of ten million records, written by make_trace, from
50,000 stacks of 28 frames, with JIT names that begin on the way."""

import os
import subprocess
import time

import measure

RECORDS = 10_000_000
KINDS = {"samples": ["--samples", str(RECORDS)], "events": ["--samples", "0", "--events", str(RECORDS)]}


def read_once(tapir, path):
    """Seconds and peak memory of one report."""
    began = time.monotonic()
    child = subprocess.Popen([tapir, "report", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise measure.Failed(f"tapir report: exit {child.returncode}")
    return {"seconds": time.monotonic() - began, "mib": usage.ru_maxrss / 1024}


def run(context, rounds):
    """{kind of record: [result of each round]}"""
    results = {}
    for kind, options in KINDS.items():
        path = os.path.join(context.work, f"{kind}.tapir")
        try:
            subprocess.run([os.path.join(context.build, "tests/bench/make_trace"), path, "--stacks", "50000", *options],
                           check=True)
            results[kind] = [read_once(context.tapir, path) for _ in range(rounds)]
        except (measure.Failed, OSError, subprocess.CalledProcessError) as reason:
            results[kind] = [{"failed": f"{type(reason).__name__}: {reason}"}]
        if os.path.exists(path):
            os.unlink(path)
    return results
