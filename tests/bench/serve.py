#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent costs and how soon it answers: idle CPU and memory, small requests, the first page, what /v1/profile adds to the
seconds that were asked for, beside `tapir record` of the same length; with --watched N --program FILE, metrics and counters of N
watched .NET processes, at 1,000 requests a second from 64 connections. --realtime: agent and client run before all other
programs of the machine (SCHED_RR), so that its load is not measured. As root; --build DIR."""
import argparse
import http.client
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

CONNECTIONS, PER_SECOND, SECONDS = 64, 1000, 5


def ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return int(words[11]) + int(words[12])


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


class Agent:
    def __init__(self, tapir, state, comms, **limits):
        config = os.path.join(state, "serve.json")
        with open(config, "w", encoding="ascii") as file:
            json.dump({**({"watch": {"comms": comms}} if comms else {}), "limits": limits}, file)
        self.state = os.path.join(state, "state")
        self.process = subprocess.Popen([tapir, "serve", "--listen", "127.0.0.1:0", "--state", self.state, "--config", config],
                                        stderr=subprocess.PIPE, text=True)
        line = ""
        while "listening on" not in line:
            line = self.process.stderr.readline()
        self.port = int(re.search(r":(\d+);", line).group(1))
        with open(os.path.join(self.state, "token"), encoding="ascii") as file:
            self.headers = {"Authorization": "Bearer " + file.read().strip()}
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)

    def get(self, path):
        """(seconds, body)"""
        start = time.monotonic()
        self.connection.request("GET", path, headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return time.monotonic() - start, body

    def pids(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return [self.process.pid, *map(int, file.read().split())]

    def end(self):
        self.process.terminate()
        self.process.wait()


def show(path, took):
    took.sort()
    print(f"{path}: median {took[len(took) // 2] * 1e3:.2f} ms, 99 % {took[len(took) * 99 // 100] * 1e3:.2f} ms")


def ask_at_rate(agent, path):
    """Seconds from when each request was due to its whole answer."""
    took, begin = [], time.monotonic() + 0.2
    request = "".join(f"{line}\r\n" for line in (f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{agent.port}",
                                                 f"Authorization: {agent.headers['Authorization']}", "")).encode()

    def run(index):
        sock = socket.create_connection(("127.0.0.1", agent.port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        due = begin + index / PER_SECOND
        while due < begin + SECONDS:
            time.sleep(max(0, due - time.monotonic()))
            sock.sendall(request)
            data = b""
            while b"\r\n\r\n" not in data:
                data += sock.recv(65536)
            head, data = data.split(b"\r\n\r\n", 1)
            assert b" 200 " in head, head
            left = int(re.search(rb"Content-Length: (\d+)", head).group(1)) - len(data)
            while left > 0:
                left -= len(sock.recv(65536))
            took.append(time.monotonic() - due)
            due += CONNECTIONS / PER_SECOND

    threads = [threading.Thread(target=run, args=(index,)) for index in range(CONNECTIONS)]
    before = sum(map(ticks, agent.pids()))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = (sum(map(ticks, agent.pids())) - before) / os.sysconf("SC_CLK_TCK") / len(took)
    show(f"{len(took) / SECONDS:.0f} requests/s of {path.split('?')[0]} from {CONNECTIONS} connections, {spent * 1e3:.2f} ms of CPU each", took)


def measure_watched(tapir, state, program, cnt):
    agent = Agent(tapir, state, [os.path.basename(program)])
    running = []
    try:
        for _ in range(cnt):  # not faster than a machine starts them
            running.append(subprocess.Popen(["chrt", "-o", "0", program], stdout=subprocess.DEVNULL))
            time.sleep(0.3)
        watched, end = 0, time.monotonic() + 120
        while watched < cnt and time.monotonic() < end:
            time.sleep(1)
            watched = int(re.search(rb"watched_processes (\d+)", agent.get("/metrics")[1]).group(1))
        print(f"{watched} of {cnt} .NET processes are watched; agent and children {sum(map(resident_mb, agent.pids())):.1f} MB resident")
        before = {pid: ticks(pid) for pid in agent.pids()}
        time.sleep(10)
        print(f"watching: {sum(ticks(pid) - cnt for pid, cnt in before.items()) / 10:.2f} % of a CPU")
        show("/metrics", [agent.get("/metrics")[0] for _ in range(300)])
        ask_at_rate(agent, f"/v1/counters?pid={running[0].pid}")
    finally:
        for process in running:
            process.kill()
            process.wait()
        agent.end()


def measure_ready(tapir, build, state):
    """A profile by a child that was ready for it, and what that one has while it waits."""
    agent = Agent(tapir, state, [])
    agent.get("/v1/processes")
    time.sleep(2)
    target = subprocess.Popen(["chrt", "-o", "0", os.path.join(build, "tests", "targets", "burner"), "600000"], stdout=subprocess.DEVNULL)
    added = []
    try:
        for _ in range(8):
            added.append(agent.get(f"/v1/profile?pid={target.pid}&seconds=2")[0] - 2)
            time.sleep(2)
        pids = agent.pids()
        before = sum(map(ticks, pids))
        time.sleep(10)
        idle = (sum(map(ticks, pids)) - before) / os.sysconf("SC_CLK_TCK") / 10 * 100
        print(f"/v1/profile by a child that is ready: {statistics.median(added[1:]) * 1e3:.0f} ms beyond the 2 s asked for "
              f"(least {min(added[1:]) * 1e3:.0f}; the first one, after a list of processes, {added[0] * 1e3:.0f} ms); while it waits: "
              f"{idle:.2f} % of a CPU, {sum(map(resident_mb, pids)):.1f} MB resident in {len(pids)} processes")
    finally:
        target.kill()
        target.wait()
        agent.end()


def process_cnt():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def measure_first_page(tapir, state):
    """Beside processes that sleep: what the list costs is a matter of how many there are."""
    agent = Agent(tapir, state, [])
    try:
        for cnt in (0, 300, 2000):
            sleepers = subprocess.Popen(["sh", "-c", f"i=0; while [ $i -lt {cnt} ]; do sleep 600 & i=$((i + 1)); done; echo; wait"],
                                        stdout=subprocess.PIPE, start_new_session=True)
            sleepers.stdout.readline()
            agent.get("/")
            took = sorted(agent.get("/")[0] for _ in range(9))
            print(f"first page, {process_cnt()} processes: median {took[4] * 1e3:.0f} ms, least {took[0] * 1e3:.0f} ms")
            os.killpg(sleepers.pid, signal.SIGKILL)
            sleepers.wait()
    finally:
        agent.end()


def measure_agent(tapir, build, state):
    agent = Agent(tapir, state, [], ready_seconds=0)
    target = subprocess.Popen(["chrt", "-o", "0", os.path.join(build, "tests", "targets", "burner"), "600000"], stdout=subprocess.DEVNULL)
    try:
        agent.get("/healthz")
        agent.connection.close()
        pids = agent.pids()
        before = sum(map(ticks, pids))
        time.sleep(20)
        idle = (sum(map(ticks, pids)) - before) / os.sysconf("SC_CLK_TCK") / 20 * 100
        print(f"idle: {idle:.2f} % of a CPU, {sum(map(resident_mb, pids)):.1f} MB resident in {len(pids)} processes")
        for path in ("/metrics", "/healthz", "/v1/sessions"):
            show(path, [agent.get(path)[0] for _ in range(1000)])
        added = statistics.median(agent.get(f"/v1/profile?pid={target.pid}&seconds=2")[0] - 2 for _ in range(5))
        commands = []
        for _ in range(5):
            start = time.monotonic()
            subprocess.run([tapir, "record", "-q", "-p", str(target.pid), "-d", "2", "-f", "-o", os.path.join(state, "x.tapir")],
                           check=True)
            commands.append(time.monotonic() - start - 2)
        print(f"/v1/profile of 2 s: {added * 1e3:.0f} ms more; tapir record -d 2: {statistics.median(commands) * 1e3:.0f} ms more")
        ask_at_rate(agent, "/v1/sessions")
    finally:
        target.kill()
        agent.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--watched", type=int, default=0)
    parser.add_argument("--program", help="such as build/tests/dotnet/Counting/out/Counting, which the tests build")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    if args.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    with tempfile.TemporaryDirectory() as state:
        if args.watched:
            measure_watched(os.path.join(build, "tapir"), state, os.path.abspath(args.program), args.watched)
        else:
            measure_agent(os.path.join(build, "tapir"), build, state)
            measure_ready(os.path.join(build, "tapir"), build, state)
            measure_first_page(os.path.join(build, "tapir"), state)


if __name__ == "__main__":
    main()
