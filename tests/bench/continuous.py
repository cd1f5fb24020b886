#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a flight recorder costs while no file is requested: CPU and memory at 10,000 events a second and 99 Hz. The main thread
also wakes for files that other processes of the machine map, so it is measured separately. As root; --build DIR."""
import argparse
import os
import re
import signal
import subprocess
import tempfile
import time

SECONDS = 20


def ticks_by_thread(pid):
    out = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii", errors="replace") as file:
            words = file.read().rsplit(")", 1)[1].split()
        out[int(tid)] = int(words[11]) + int(words[12])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    build = os.path.abspath(parser.parse_args().build)
    with tempfile.TemporaryDirectory() as directory:
        target = subprocess.Popen([os.path.join(build, "tests", "targets", "storm"), "10000", "100000000"],
                                  stdout=subprocess.DEVNULL)
        recorder = subprocess.Popen([os.path.join(build, "tapir"), "record", "-p", str(target.pid), "storm:hit", "-F", "99",
                                     "--continuous", "64", "-o", os.path.join(directory, "x")], stderr=subprocess.DEVNULL)
        try:
            time.sleep(6)
            before = ticks_by_thread(recorder.pid)
            time.sleep(SECONDS)
            after = ticks_by_thread(recorder.pid)
            with open(f"/proc/{recorder.pid}/status", encoding="ascii") as file:
                peak = int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024
            spent = {tid: (cnt - before.get(tid, 0)) / os.sysconf("SC_CLK_TCK") / SECONDS * 100 for tid, cnt in after.items()}
            main_thread = spent.pop(recorder.pid)
            print(f"{sum(spent.values()):.2f} % of a core, and the main thread {main_thread:.2f} %; peak {peak:.1f} MB, "
                  f"ring in memory apart; load {os.getloadavg()[0]:.1f}")
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
            target.kill()
            target.wait()


if __name__ == "__main__":
    main()
