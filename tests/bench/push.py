# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs an agent to push: CPU time of all its processes with and without targets, every process of the
machine recorded at 20 Hz, profiles and figures every 10 s."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
from receiver import Receiver  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """Of an agent and its children, those that have ended included."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        pids = [str(pid), *file.read().split()]
    ticks = 0
    for each in pids:
        with open(f"/proc/{each}/stat", encoding="utf-8", errors="replace") as file:
            ticks += sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:15])
    return ticks / TICKS


def measure(build, directory, receiver, push, seconds):
    config = os.path.join(directory, "serve.json")
    with open(config, "w", encoding="ascii") as file:
        json.dump({"continuous": {"mb": 64}, "push": push}, file)
    agent = subprocess.Popen([os.path.join(build, "tapir"), "serve", "--config", config, "--listen", "127.0.0.1:0", "--state",
                              os.path.join(directory, "state")], stderr=subprocess.PIPE, text=True)
    while not re.search(r"listening on", agent.stderr.readline()):
        pass
    time.sleep(6)
    before, first, begun = cpu_seconds(agent.pid), len(receiver.got), time.monotonic()
    time.sleep(seconds)
    share = (cpu_seconds(agent.pid) - before) / (time.monotonic() - begun)
    sent = receiver.got[first:]
    print(f"{len(push)} targets: {100 * share:.1f} % of a CPU, {len(sent)} requests, {sum(len(r['body']) for r in sent)} bytes", flush=True)
    agent.terminate()
    agent.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=45)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    receiver = Receiver()
    targets = [{"kind": "pprof", "url": receiver.url + "/ingest", "every_s": 10},
               {"kind": "otlp-profiles", "url": receiver.url + "/v1development/profiles", "every_s": 10},
               {"kind": "otlp-metrics", "url": receiver.url + "/v1/metrics", "every_s": 10}]
    burner = subprocess.Popen([os.path.join(args.build, "tests/targets/burner"), "3600000", "1"], stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(args.rounds):
            measure(args.build, directory, receiver, [], args.seconds)
            measure(args.build, directory, receiver, targets, args.seconds)
    burner.kill()


main()
