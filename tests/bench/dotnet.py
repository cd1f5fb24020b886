#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir on .NET beside dotnet-trace and a bare event stream, interleaved, in one run: an
EventSource's event of two ints, a long and 16 characters, fired 16 frames deep; exceptions;
allocations. `make bench-dotnet` builds what it needs; raw numbers go to BUILD/bench/dotnet.json.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
sys.dont_write_bytecode = True

import dotnet_program  # noqa: E402
import goals  # noqa: E402
import measure  # noqa: E402

SOURCE = "Tapir-Bench"
LEVEL_INFORMATIONAL = 4
ATTACH_SECONDS = 20
SETTLE_SECONDS = 0.5


class Builder:
    """The part of a test case that dotnet_program uses."""

    def __init__(self, build):
        self.build = build

    def need(self, program):
        found = shutil.which(program)
        return found or self.skip(f"no {program} here")

    def skip(self, why):
        raise SystemExit(f"[bench] not measured: {why}")

    def run(self, *argv, **options):
        done = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
        done.out, done.err, done.rc = done.stdout, done.stderr, done.returncode
        return done


# ---- who records -----------------------------------------------------------------------------


class Nobody:
    """The program alone."""

    def __init__(self, context, name, providers=None):
        self.context, self.name, self.providers = context, name, providers
        self.output = os.path.join(context.work, name.replace(" ", "-").replace("/", "-"))
        self.process = None

    def missing(self):
        return None

    def start(self, target):
        """Starts; the program's events are enabled when `enabled` was printed."""

    def finish(self):
        return {}

    def abandon(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Tool(Nobody):
    """A program that records into self.output until SIGINT."""

    def argv(self, pid):
        raise NotImplementedError

    def start(self, target):
        if os.path.exists(self.output):
            os.unlink(self.output)
        argv = self.argv(target.pid)
        self.context.note(argv, target.pid)
        self.log = open(self.output + ".log", "w+")
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def finish(self):
        resident = measure.resident_mib(self.process.pid)
        began, closed = time.monotonic(), None
        os.kill(self.process.pid, signal.SIGINT)
        while True:
            pid, _, usage = os.wait4(self.process.pid, os.WNOHANG)
            if closed is None and not measure.holds_open(self.process.pid, self.output):
                closed = time.monotonic() - began
            if pid:
                break
            if time.monotonic() - began > 60:
                raise measure.Failed(f"{self.name} did not end")
            time.sleep(0.002)
        self.process.returncode = 0
        return {"closed_seconds": closed, "cpu_seconds": usage.ru_utime + usage.ru_stime,
                "resident_mib": resident, "bytes": os.path.getsize(self.output), **self.counts()}

    def counts(self):
        return {}


class Tapir(Tool):
    def __init__(self, context, name, providers, *options):
        super().__init__(context, name, providers)
        self.options = options

    def argv(self, pid):
        return [self.context.tapir, "record", *self.providers, "-p", str(pid), "--no-samples", "--no-sched",
                "-f", "-o", self.output, *self.options]

    def counts(self):
        done = subprocess.run([self.context.tapir, "report", "--json", self.output], capture_output=True,
                              text=True, check=True)
        events = [e for e in json.loads(done.stdout)["events"] if e["provider"] == SOURCE]
        return {"captured": sum(e["captured"] for e in events), "lost": sum(e["lost"] for e in events)}


class DotnetTrace(Tool):
    def missing(self):
        return None if self.context.dotnet_trace else "no dotnet-trace (dotnet tool install -g dotnet-trace)"

    def argv(self, pid):
        return [self.context.dotnet_trace, "collect", "-p", str(pid), "--providers", ",".join(self.providers),
                "--buffersize", "256", "--format", "NetTrace", "-o", self.output]


class Stream(Nobody):
    """The runtime's own stream (CollectTracing4) without stacks, written to a file as it comes."""

    def start(self, target):
        path, = pathlib.Path("/tmp").glob(f"dotnet-diagnostic-{target.pid}-*-socket")

        def text(s):
            units = (s + "\0").encode("utf-16-le")
            return struct.pack("<I", len(units) // 2) + units

        payload = struct.pack("<IIQ?I", 256, 1, 0, False, len(self.providers))
        for provider in self.providers:
            payload += struct.pack("<QI", 0xffffffffffffffff, LEVEL_INFORMATIONAL) + text(provider) + struct.pack("<I", 0)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, 5, 0) + payload)
        head = self.socket.recv(20, socket.MSG_WAITALL)
        if head[16:18] != b"\xff\0":
            raise measure.Failed("CollectTracing4 was refused")
        self.session, = struct.unpack("<Q", self.socket.recv(8, socket.MSG_WAITALL))
        self.path = path
        self.thread = threading.Thread(target=self.read_all, daemon=True)
        self.thread.start()

    def read_all(self):
        with open(self.output, "wb") as file:
            while data := self.socket.recv(1 << 20):
                file.write(data)

    def finish(self):
        began = time.monotonic()
        with socket.socket(socket.AF_UNIX) as stop:
            stop.connect(str(self.path))
            stop.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBHQ", 28, 2, 1, 0, self.session))
            self.thread.join(60)
        return {"closed_seconds": time.monotonic() - began, "bytes": os.path.getsize(self.output)}


# ---- what is measured ------------------------------------------------------------------------


class Context(measure.Context):
    def __init__(self, build):
        super().__init__(build, "dotnet")
        self.dotnet_trace = self.tool()
        self.commands = []

    def tool(self):
        home = os.path.join(self.build, "bench", "dotnet-tools")
        path = os.path.join(home, "dotnet-trace")
        if not os.path.exists(path):
            subprocess.run(["dotnet", "tool", "install", "dotnet-trace", "--tool-path", home],
                           capture_output=True, check=False)
        return path if os.path.exists(path) else shutil.which("dotnet-trace")

    def note(self, argv, pid):
        line = " ".join("PID" if a == str(pid) else a for a in argv).replace(self.build, "$BUILD")
        if line not in self.commands:
            self.commands.append(line)


class Case:
    """One way to run the program, recorded in some ways."""

    def __init__(self, name, arguments, recorders, waits=True):
        self.name, self.arguments, self.recorders, self.waits = name, arguments, recorders, waits


def cases(context, options):
    count = str(options.events)
    runtime = "Microsoft-Windows-DotNETRuntime"
    one = [SOURCE]

    def three(what, tapir_spec, peer_spec):
        return [Nobody(context, f"{what}, alone"), Tapir(context, f"{what}, tapir", tapir_spec, "--stack"),
                DotnetTrace(context, f"{what}, dotnet-trace", peer_spec)]

    return [
        Case("1 thread", ["events", "1", count, "0"],
             [Nobody(context, "nobody"), Tapir(context, "tapir", one, "--no-stack"),
              Tapir(context, "tapir stack", one, "--stack"),
              Stream(context, "stream", one), DotnetTrace(context, "dotnet-trace", one)]),
        Case("2 threads", ["events", "2", count, "0"],
             [Tapir(context, "tapir stack 2t", one, "--stack"), DotnetTrace(context, "dotnet-trace 2t", one)]),
        Case("2 threads, 1 M/s each", ["events", "2", str(options.paced), "1000000"],
             [Tapir(context, "tapir paced 2t", one, "--stack")]),
        Case("exceptions", ["exceptions", "100000"],
             three("exceptions", [SOURCE, f"{runtime}:Exception:Error"], [SOURCE, f"{runtime}:0x8000:2"]) +
             # what the runtime itself does for the event: it formats its strings
             [Tapir(context, "exceptions, no stack", [SOURCE, f"{runtime}:Exception:Error"], "--no-stack")]),
        Case("allocations", ["allocate", "40000000"],
             three("GC:Verbose", [SOURCE, f"{runtime}:GC:Verbose"], [SOURCE, f"{runtime}:0x1:5"])),
    ]


def run_once(context, case, recorder):
    target = None
    try:
        target = measure.Target([context.emit, *case.arguments])
        time.sleep(0.2)  # the runtime's own start is not what is measured
        began = time.monotonic()
        recorder.start(target)
        found = {}
        if type(recorder) is not Nobody:
            found["attach_seconds"] = wait_enabled(target) - began
            time.sleep(SETTLE_SECONDS)
        found.update(json.loads(fire(target)))
        found.update(recorder.finish())
    except (measure.Failed, OSError, ValueError, LookupError, subprocess.CalledProcessError) as reason:
        recorder.abandon()
        return {"failed": f"{type(reason).__name__}: {reason}"}
    finally:
        if target:
            target.stop()
    return found


def read_line(target, seconds, what):
    line = []
    reader = threading.Thread(target=lambda: line.append(target.process.stdout.readline()), daemon=True)
    reader.start()
    reader.join(seconds)
    if not line or not line[0].startswith(what):
        raise measure.Failed(f"the program did not say {what!r} within {seconds} s")
    return line[0]


def fire(target):
    """Lets the program do its work; it stays until its input ends."""
    target.process.stdin.write("go\n")
    target.process.stdin.flush()
    return read_line(target, measure.RUN_SECONDS, "{")


def wait_enabled(target):
    """When the program saw that its events are enabled, by this clock."""
    return int(read_line(target, ATTACH_SECONDS, "enabled ").split()[1]) / 1e9


def run(context, options):
    results = {}
    for case in cases(context, options):
        chosen = [r for r in case.recorders if not options.only or any(o in r.name for o in options.only)]
        able = [r for r in chosen if not r.missing()]
        results.update({r.name: [{"failed": r.missing(), "absent": True}] for r in chosen if r.missing()})
        for number in range(options.rounds):
            for recorder in able[number % max(len(able), 1):] + able[:number % max(len(able), 1)]:
                found = run_once(context, case, recorder)
                results.setdefault(recorder.name, []).append(found)
                print(f"[bench] round {number + 1}/{options.rounds}  {recorder.name:<26} " +
                      (found.get("failed") or f"{found['ns_each']:8.1f} ns"), file=sys.stderr, flush=True)
    return results


# ---- the report ----------------------------------------------------------------------------


def judge(results):
    def of(name):
        return results.get(name, [])

    def ratio(what, name, base, limit):
        return goals.line(what, f"<= {limit}x", limit, goals.ratios(of(name), of(base), "ns_each"), goals.why(of(name)))

    def number(what, limit, name, key, scale=1):
        return goals.line(what, f"<= {limit}", limit, [r[key] * scale for r in goals.good(of(name)) if key in r],
                          goals.why(of(name)))

    bytes_each = [r["bytes"] / r["captured"] for r in goals.good(of("tapir stack")) if r.get("captured")]
    return [
        ratio("event with stack, over dotnet-trace", "tapir stack", "dotnet-trace", 0.2),
        ratio("event without, over the runtime's stream", "tapir", "stream", 0.8),
        goals.lost("lost at 1 M/s a thread, 2 threads", of("tapir paced 2t")),
        goals.accounted("fired - captured - lost, flat out, 2 threads", of("tapir stack 2t")),
        goals.line("bytes on disk an event with stack", "<= 40", 40, bytes_each, goals.why(of("tapir stack"))),
        number("attach to first event, s", 0.1, "tapir stack", "attach_seconds"),
        number("stopped and file closed, s", 0.2, "tapir stack", "closed_seconds"),
        number("target's memory grown, MiB", 32, "tapir stack", "rss_grown_kib", 1 / 1024),
        number("tapir's memory, MiB", 40, "tapir stack", "resident_mib"),
        ratio("exceptions with stack, over untraced", "exceptions, tapir", "exceptions, alone", 1.3),
        ratio("GC:Verbose, allocations, over untraced", "GC:Verbose, tapir", "GC:Verbose, alone", 1.03),
    ]


def print_table(results):
    print(f"\n{'':<26}{'ns min':>9}{'median':>9}{'B/event':>9}{'cpu us':>8}{'RSS MiB':>9}{'grown':>7}{'attach s':>9}"
          f"{'captured':>11}{'lost':>10}")
    for name, rounds in results.items():
        good = goals.good(rounds)
        if not good:
            print(f"{name:<26}  {rounds[-1]['failed']}")
            continue

        def middle(key, scale=1, digits=2, of=good):
            values = [r[key] * scale for r in of if key in r]
            return goals.shown(statistics.median(values) if values else None, digits)

        each = [r["ns_each"] for r in good]
        fired = good[0]["fired"]
        print(f"{name:<26}{min(each):>9.1f}{statistics.median(each):>9.1f}{middle('bytes', 1 / fired, 1):>9}"
              f"{middle('cpu_seconds', 1e6 / fired, 3):>8}{middle('resident_mib', 1, 1):>9}"
              f"{middle('rss_grown_kib', 1 / 1024, 0):>7}{middle('attach_seconds', 1, 3):>9}"
              f"{goals.shown(goals.total(good, 'captured'), 0):>11}{goals.shown(goals.total(good, 'lost'), 0):>10}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (%(default)s)")
    parser.add_argument("--events", type=int, default=2_000_000, help="a thread, flat out (%(default)s)")
    parser.add_argument("--paced", type=int, default=10_000_000, help="a thread, at 1 M/s (%(default)s)")
    parser.add_argument("--only", action="append", metavar="TEXT", help="names that contain it")
    options = parser.parse_args()
    context = Context(options.build)
    context.emit = dotnet_program.build_dotnet(Builder(context.build), "Emit")
    results = run(context, options)
    lines = judge(results)
    path = os.path.join(context.build, "bench", "dotnet.json")
    with open(path, "w") as file:
        json.dump({"commands": context.commands, "rounds": results, "goals": lines}, file, indent=1)
    print("commands:", *context.commands, sep="\n  ")
    print_table(results)
    print(f"\n{'goal':<48}{'wanted':>10}{'min':>10}{'median':>10}{'max':>10}  verdict")
    for line in lines:
        print(f"{line['what']:<48}{line['wanted']:>10}" + "".join(f"{goals.shown(v, 3):>10}" for v in line["spread"]) +
              f"  {line['verdict']}")
    return 1 if any("failed" in r and not r.get("absent") for rounds in results.values() for r in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
