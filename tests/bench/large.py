#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the largest recordings cost to read: a file of 10 GB, every view and export of it, and ten million stacks of
which none is like another. Prints a line a command; exit code 1 when one takes more memory than it may, or a sum is
not whole.

    large.py [DIR]      12 GB of DIR (default: TMPDIR or /tmp) are used and given back; half an hour
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import readers

MAX_MIB = 300
REQUESTS = 15_000_000  # nine records each
STACKS = 10_000_000
OF_REQUESTS = [("report",)] + [("report", "--view", view) for view in ("cpu", "gc", "slow=request", "offcpu")] + \
              [("export", "--format", name, "-o", "/dev/null") for name in ("nettrace", "speedscope", "perfscript", "folded")]
OF_STACKS = [("report",), ("report", "--view", "cpu"), ("flamegraph",)]


def make(build, path, *options):
    subprocess.run([os.path.join(build, "tests/bench/make_trace"), path, *options], check=True)


def read_all(tapir, path, records, commands):
    """How many took too much memory."""
    too_large = 0
    for command in commands:
        seen = readers.read_once(tapir, command, path)
        too_large += seen["mib"] > MAX_MIB
        print(f"{' '.join(command):45} {seen['seconds']:7.1f} s {seen['cpu_seconds']:7.1f} s of CPU "
              f"{records / seen['cpu_seconds'] / 1e6:6.2f} M records/s of CPU {seen['mib']:6.0f} MiB", flush=True)
    return too_large


def is_whole(tapir, path):
    """Each sample has its work and its function, whatever was folded."""
    seen = json.loads(subprocess.run([tapir, "report", "--view", "cpu", "--all", "--json", path], check=True,
                                     stdout=subprocess.PIPE).stdout)
    sums = {"samples": seen["samples"], "by work": sum(row["samples"] for row in seen["works"]),
            "by function": sum(row["samples"] for row in seen["functions"])}
    print(f"sums: {sums}; {seen['notes']}")
    return set(sums.values()) == {STACKS}


def main():
    build = os.environ.get("BUILD", "build")
    tapir = os.path.join(build, "tapir")
    home = tempfile.mkdtemp(prefix="tapir-large.", dir=sys.argv[1] if len(sys.argv) > 1 else None)
    path = os.path.join(home, "large.tapir")
    try:
        if shutil.disk_usage(home).free < 12e9:
            sys.exit(f"{home}: less than 12 GB are free")
        make(build, path, "--samples", "0", "--requests", str(REQUESTS), "--stacks", "50000", "--seconds", "600", "--plain")
        print(f"{os.path.getsize(path) / 1e9:.1f} GB, {9 * REQUESTS / 1e6:.0f} M records, 50,000 stacks")
        too_large = read_all(tapir, path, 9 * REQUESTS, OF_REQUESTS)
        make(build, path, "--samples", str(STACKS), "--stacks", str(STACKS), "--seconds", "600")
        print(f"{os.path.getsize(path) / 1e9:.1f} GB, {2 * STACKS / 1e6:.0f} M records, {STACKS:,} stacks")
        too_large += read_all(tapir, path, 2 * STACKS, OF_STACKS)
        whole = is_whole(tapir, path)
    finally:
        shutil.rmtree(home)
    return 1 if too_large or not whole else 0


if __name__ == "__main__":
    sys.exit(main())
