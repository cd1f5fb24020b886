#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Is what `tapir doctor` says is lacking here what this kernel is known to lack? Of the machine
and the user only the kernel counts. Usage: lacks.py TAPIR [NAME...]
"""
import json
import subprocess
import sys

# Lines of the doctor that are about the kernel, and not about rights or settings.
KERNEL = {"btf", "ring_buffer", "task_storage", "sleepable", "uprobe_multi", "uprobe_session", "perf_uprobe", "cpu_clock",
          "pid_filter", "programs", "block_requests", "system_calls", "connections",
          "kernel_functions"}


def main():
    tapir, *expected = sys.argv[1:]
    done = subprocess.run([tapir, "doctor", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr)
        return 1
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    lacking = {name for name in KERNEL if name not in checks or checks[name]["state"] != "ok"}
    mute = [name for name in lacking & checks.keys() if not checks[name]["remedy"]]
    for name in sorted(lacking & checks.keys()):
        print(f"{name}: {checks[name]['found']}; {checks[name]['means']}")
    if lacking != set(expected) or mute:
        print(f"lacking: {sorted(lacking)}, known: {sorted(expected)}, without a remedy: {mute}")
        return 1
    return 0


sys.exit(main())
