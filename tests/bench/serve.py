#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent costs and how soon it answers: idle CPU and memory, small requests, what /v1/profile adds to the seconds that
were asked for, beside `tapir record` of the same length. As root; --build DIR."""
import argparse
import http.client
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time


def ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return int(words[11]) + int(words[12])


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    build = os.path.abspath(parser.parse_args().build)
    tapir, state = os.path.join(build, "tapir"), tempfile.mkdtemp()
    agent = subprocess.Popen([tapir, "serve", "--listen", "127.0.0.1:0", "--state", state], stderr=subprocess.PIPE, text=True)
    line = ""
    while "listening on" not in line:
        line = agent.stderr.readline()
    port = int(re.search(r":(\d+);", line).group(1))
    with open(os.path.join(state, "token"), encoding="ascii") as file:
        headers = {"Authorization": "Bearer " + file.read().strip()}
    target = subprocess.Popen([os.path.join(build, "tests", "targets", "burner"), "600000"], stdout=subprocess.DEVNULL)
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(path):
        start = time.monotonic()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        return time.monotonic() - start

    try:
        get("/healthz")
        connection.close()
        with open(f"/proc/{agent.pid}/task/{agent.pid}/children", encoding="ascii") as file:
            pids = [agent.pid, *map(int, file.read().split())]
        before = sum(map(ticks, pids))
        time.sleep(20)
        idle = (sum(map(ticks, pids)) - before) / os.sysconf("SC_CLK_TCK") / 20 * 100
        print(f"idle: {idle:.2f} % of a CPU, {sum(map(resident_mb, pids)):.1f} MB resident in {len(pids)} processes")
        for path in ("/metrics", "/healthz", "/v1/sessions"):
            took = sorted(get(path) for _ in range(1000))
            print(f"{path}: median {took[500] * 1e3:.2f} ms, 99 % {took[990] * 1e3:.2f} ms")
        added = statistics.median(get(f"/v1/profile?pid={target.pid}&seconds=2") - 2 for _ in range(5))
        commands = []
        for _ in range(5):
            start = time.monotonic()
            subprocess.run([tapir, "record", "-q", "-p", str(target.pid), "-d", "2", "-f", "-o", os.path.join(state, "x.tapir")],
                           check=True)
            commands.append(time.monotonic() - start - 2)
        print(f"/v1/profile of 2 s: {added * 1e3:.0f} ms more; tapir record -d 2: {statistics.median(commands) * 1e3:.0f} ms more")
        if shutil.which("wrk"):
            out = subprocess.run(["wrk", "-t1", "-c64", "-d5", "--latency", "-H", "Authorization: " + headers["Authorization"],
                                  f"http://127.0.0.1:{port}/v1/sessions"], capture_output=True, text=True, check=True).stdout
            print("64 connections: " + ", ".join(" ".join(found.split()) for found in
                                                re.findall(r"(Requests/sec: .*|99% .*)", out)))
    finally:
        target.kill()
        agent.terminate()
        agent.wait()
        shutil.rmtree(state)


if __name__ == "__main__":
    main()
