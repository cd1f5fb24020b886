#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Several recordings that attach to one .NET process at the same time: when each is ready, what starting
one takes of CPU time, and how many of each one's frames have names.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time

import dotnet
import dotnet_program
import measure


class Recorder:
    def __init__(self, tapir, pid, output, seconds):
        self.began, self.ready_seconds, self.output = time.monotonic(), None, output
        self.process = subprocess.Popen([tapir, "record", "-p", str(pid), "-d", str(seconds), "-f", "-o", output],
                                        stderr=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stderr:
            if "Ctrl-C" in line and self.ready_seconds is None:
                self.ready_seconds = time.monotonic() - self.began
                self.cpu_seconds = measure.cpu_seconds(self.process.pid)

    def wait(self):
        self.thread.join()
        if self.process.wait() or self.ready_seconds is None:
            raise measure.Failed(f"tapir ended with {self.process.returncode}")


def named_percent(tapir, file):
    text = subprocess.run([tapir, "report", "--all", file], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"^names: ([0-9.]+)% of frames", text, re.M)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--recordings", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    context = dotnet.Context(options.build)
    target = measure.Target([dotnet_program.build_dotnet(dotnet.Builder(context.build), "Web", "Microsoft.NET.Sdk.Web")])
    rounds = []
    try:
        time.sleep(2)
        for number in range(options.rounds):
            recorders = [Recorder(context.tapir, target.pid, os.path.join(context.work, f"at-once-{i}.tapir"), options.seconds)
                         for i in range(options.recordings)]
            for recorder in recorders:
                recorder.wait()
            ready = sorted(r.ready_seconds for r in recorders)
            found = {"first": ready[0], "last": ready[-1], "cpu_each": sum(r.cpu_seconds for r in recorders) / len(recorders),
                     "least_named_percent": min(named_percent(context.tapir, r.output) for r in recorders)}
            rounds.append(found)
            print(f"[bench] round {number + 1}  ready after {ready[0]:.2f} to {ready[-1]:.2f} s, {found['cpu_each']:.3f} s of CPU each, "
                  f"at least {found['least_named_percent']:.1f}% of frames named", flush=True)
            time.sleep(2)  # a profiler that leaves takes a second
    finally:
        target.stop()
    with open(os.path.join(context.build, "bench", "dotnet_attach.json"), "w") as file:
        json.dump(rounds, file, indent=1)
    return 0


sys.exit(main())
