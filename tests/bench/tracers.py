# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracers that are measured, each behind the same four steps: missing (why it cannot run
here), start (attached when it returns), finish (stopped; what it says it captured and lost) and
the commands it ran, for the report.
"""

import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import time

import measure

STOP_SECONDS = 60
# perf and bpftrace set the breakpoint first and switch the event on later: seen as the first
# 13,000 (bpftrace) and 94,000 (perf) hits missing. All tracers get the same time for that.
SETTLE_SECONDS = 0.5
PERF_RECORD_LOST, PERF_RECORD_SAMPLE = 2, 9
TRACING = "/sys/kernel/tracing"


class Tracer:
    program = "workload"
    depth = rate = None  # as the run's options say
    longer = 1           # times as many timings

    def __init__(self, context, name):
        self.context, self.name = context, name
        self.commands = []
        self.process = None
        self.output = os.path.join(context.work, name.replace(" ", "_").replace("/", "_"))

    def missing(self):
        return None

    def prepare(self):
        """Before the workload is started."""

    def command(self, target):
        raise NotImplementedError

    def run(self, argv, **options):
        done = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
        self.note(argv)
        if done.returncode != 0:
            raise measure.Failed(f"{shlex.join(argv[:3])}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def note(self, argv):
        argv = ["PID" if before == "-p" else word for before, word in zip([""] + argv, argv)]
        line = shlex.join(argv).replace(self.context.build, "$BUILD")
        if line not in self.commands:
            self.commands.append(line)

    def start(self, target, sites):
        argv = self.command(target)
        self.note(argv)
        self.log = open(self.output + ".log", "w+")
        self.started = time.monotonic()
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=self.log)
        try:
            attached = measure.wait_attached(target, sites, self.process)
        except measure.Failed as reason:
            self.log.seek(0)
            raise measure.Failed(f"{reason}: {self.log.read().strip()[-300:]}") from None
        self.start_seconds = attached - self.started
        time.sleep(SETTLE_SECONDS)
        self.cpu_before = measure.cpu_seconds(self.process.pid)

    def finish(self):
        """Stops the tracer; returns {captured, lost, bytes, cpu_seconds, ...}."""
        found = {"start_seconds": self.start_seconds,
                 "resident_mib": measure.resident_mib(self.process.pid)}
        found.update(self.interrupt())
        found["cpu_seconds"] -= self.cpu_before
        self.log.seek(0)
        found.update(self.counts(self.log.read()))
        if os.path.isfile(self.output):
            found["bytes"] = os.path.getsize(self.output)
        return found

    def interrupt(self):
        """SIGINT, and how long it took until the output was closed and until it was gone."""
        began, closed = time.monotonic(), None
        self.process.send_signal(signal.SIGINT)
        while True:
            pid, _, usage = os.wait4(self.process.pid, os.WNOHANG)
            now = time.monotonic()
            if closed is None and not measure.holds_open(self.process.pid, self.output):
                closed = now - began
            if pid:
                break
            if now - began > STOP_SECONDS:
                self.process.kill()
                raise measure.Failed(f"did not end within {STOP_SECONDS} s of SIGINT")
            time.sleep(0.002)
        self.process.returncode = 0
        return {"closed_seconds": closed, "stopped_seconds": time.monotonic() - began,
                "cpu_seconds": usage.ru_utime + usage.ru_stime}

    def counts(self, log):
        raise NotImplementedError

    def abandon(self):
        """After a failure: nothing of it stays."""
        if self.process and self.process.returncode is None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def close(self):
        """After the last round."""


class Nothing(Tracer):
    """The workload alone."""

    def start(self, target, sites):
        pass

    def finish(self):
        return {}


class Bare(Tracer):
    """bare.c with one of its programs."""

    def __init__(self, context, name, program_name):
        super().__init__(context, name)
        self.program_name = program_name

    def command(self, target):
        offset, _ = self.context.sites.by_name[("bench", "event")]
        return [f"{self.context.bench}/bare", f"{self.context.bench}/bare.bpf.o",
                self.program_name, self.context.sites.path, hex(offset), self.output]

    def counts(self, log):
        return json.loads(log.strip().splitlines()[-1])


class Tapir(Tracer):
    def __init__(self, context, name, options):
        super().__init__(context, name)
        self.options = options
        self.output += ".tapir"

    def missing(self):
        return None if os.path.exists(self.context.tapir) else f"not built: {self.context.tapir}"

    def command(self, target):
        return [self.context.tapir, "record", "-f", "--no-samples", "--no-sched", "bench:event",
                "-p", str(target.pid), *self.options, "-o", self.output]

    def counts(self, log):
        report = json.loads(self.run([self.context.tapir, "report", self.output, "--json"]))
        events = [e for e in report["events"] if e["event"] == "event"]
        found = {"captured": sum(e["captured"] for e in events),
                 "lost": sum(e["lost"] for e in events), "lost_by_cause": report.get("lost", {})}
        began = time.monotonic()
        argv = [self.context.tapir, "events", self.output]
        self.note(argv + [">/dev/null"])
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
        found["read_seconds"] = time.monotonic() - began
        return found


class TapirRing(Tapir):
    """The ring lane: the workload with an event of the library."""

    program = "workload_ring"
    STACK_FRAMES = 28

    def __init__(self, context, name, options, rate=0, longer=1):
        super().__init__(context, name, ["--lane", "ring", *options])
        self.depth, self.rate, self.longer = self.STACK_FRAMES, rate, longer

    def command(self, target):
        # With the benchmark as a second target it does not end with the first, before it was looked at.
        return [*super().command(target), "-p", str(os.getpid())]

    def start(self, target, sites):
        argv = self.command(target)
        self.note(argv)
        self.log = open(self.output + ".log", "w+")
        self.started = time.monotonic()
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=self.log)
        measure.wait_until(lambda: "tapir: " in open(self.log.name).read(),
                           measure.ATTACH_SECONDS, "tapir's first line")
        self.start_seconds = time.monotonic() - self.started
        time.sleep(SETTLE_SECONDS)
        self.cpu_before = measure.cpu_seconds(self.process.pid)


class Bpftrace(Tracer):
    def missing(self):
        return None if shutil.which("bpftrace") else "bpftrace is not installed"

    def command(self, target):
        script = (f'usdt:{self.context.sites.path}:bench:event '
                  '{ printf("%d %d %d %d %s\\n", arg0, arg1, arg2, arg3, str(arg4)); }')
        return ["bpftrace", "-p", str(target.pid), "-o", self.output, "-e", script]

    def counts(self, log):
        with open(self.output, "rb") as file:
            captured = sum(line.count(b"\n") for line in iter(lambda: file.read(1 << 20), b""))
        lost = sum(int(n) for n in re.findall(r"Lost (\d+) events", log))
        with open(self.output) as file:
            headline = file.readline().startswith("Attaching")
            in_file = [int(n) for n in re.findall(r"Lost (\d+) events", file.read())]
        return {"captured": captured - headline - len(in_file), "lost": lost + sum(in_file)}


def append_uprobe(line):
    """Python's own append mode seeks to the end, which tracefs refuses."""
    fd = os.open(f"{TRACING}/uprobe_events", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, line.encode() + b"\n")
    finally:
        os.close(fd)


class Perf(Tracer):
    """A uprobe event by uprobe_events, recorded by perf on all CPUs."""

    REGISTERS = {"rdi": "di", "rsi": "si", "rdx": "dx", "rcx": "cx"}

    def __init__(self, context, name, options):
        super().__init__(context, name)
        self.options = options
        self.group = "tapir_bench_" + re.sub(r"\W", "", name)

    def missing(self):
        if not shutil.which("perf"):
            return "perf is not installed"
        return None if os.path.exists(f"{TRACING}/uprobe_events") else "no uprobe_events"

    def prepare(self):
        if os.path.exists(f"{TRACING}/events/{self.group}"):
            return
        offset, _ = self.context.sites.by_name[("bench", "event")]
        fields = " ".join(f"{n}=%{r}:s32" for n, r in zip("abcd", self.REGISTERS.values()))
        line = (f"p:{self.group}/event {self.context.sites.path}:{offset:#x} {fields} "
                "text=+0(%r8):string")
        self.commands.append(f"echo '{line}' >>{TRACING}/uprobe_events")
        append_uprobe(line)

    def command(self, target):
        return ["perf", "record", "-a", "-m", "8M", *self.options, "-e", f"{self.group}:event",
                "-o", self.output]

    def counts(self, log):
        """From the file's own records (tools/perf/Documentation/perf.data-file-format.txt): to
        perf report, a LOST record is one, however many it stands for."""
        found = {"captured": 0, "lost": 0}
        with open(self.output, "rb") as file:
            data = file.read()
        at, size = struct.unpack_from("<QQ", data, 40)
        end = at + size
        while at + 8 <= end:
            kind, _, record_bytes = struct.unpack_from("<IHH", data, at)
            if kind == PERF_RECORD_SAMPLE:
                found["captured"] += 1
            elif kind == PERF_RECORD_LOST:
                found["lost"] += struct.unpack_from("<Q", data, at + 16)[0]
            at += max(record_bytes, 8)
        return found

    def close(self):
        if os.path.exists(f"{TRACING}/events/{self.group}"):
            append_uprobe(f"-:{self.group}/event")


class Lttng(Tracer):
    """A session of LTTng-UST to disk; its daemons are started here and end with us."""

    program = "workload_lttng"
    SESSION = "tapir-bench"
    daemon = None

    def __init__(self, context, name, rate=0, longer=1):
        super().__init__(context, name)
        self.rate, self.longer = rate, longer

    def missing(self):
        if not shutil.which("lttng-sessiond"):
            return "lttng-tools is not installed"
        if not os.path.exists(f"{self.context.bench}/workload_lttng"):
            return "liblttng-ust-dev is not installed"
        return None

    def prepare(self):
        if not Lttng.daemon:
            Lttng.daemon = subprocess.Popen(["lttng-sessiond"], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
            measure.wait_until(lambda: subprocess.run(["lttng", "list"], capture_output=True,
                                                      check=False).returncode == 0,
                               10, "lttng-sessiond", 0.1)
        shutil.rmtree(self.output, ignore_errors=True)
        self.run(["lttng", "create", self.SESSION, f"--output={self.output}"])
        self.run(["lttng", "enable-event", "-s", self.SESSION, "-u", "bench:event"])
        self.run(["lttng", "start", self.SESSION])

    def start(self, target, sites):
        pass  # the program has connected to the session before it said that it is ready

    def finish(self):
        began = time.monotonic()
        self.run(["lttng", "stop", self.SESSION])
        stopped = time.monotonic() - began
        lost = re.findall(r"Discarded events:\s*(\d+)", self.run(["lttng", "list", self.SESSION]))
        self.run(["lttng", "destroy", self.SESSION])
        counted = self.run(["babeltrace2", self.output, "-c", "sink.utils.counter"])
        captured = re.findall(r"([\d,]+)\s+Event messages", counted)  # it counts aloud
        size = sum(os.path.getsize(os.path.join(d, f))
                   for d, _, files in os.walk(self.output) for f in files)
        return {"captured": int(captured[-1].replace(",", "")) if captured else 0,
                "lost": sum(map(int, lost)), "bytes": size, "stopped_seconds": stopped}

    def abandon(self):
        subprocess.run(["lttng", "destroy", self.SESSION], capture_output=True, check=False)

    def close(self):
        if Lttng.daemon:
            Lttng.daemon.terminate()
            Lttng.daemon.wait()
            Lttng.daemon = None
