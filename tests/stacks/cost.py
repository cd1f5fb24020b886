#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What whole stacks cost: tapir's memory with 100 processes of several runtimes, its share of the CPUs at 99 Hz machine-wide,
and the time to load its programs. Prints a row per goal; the machine's load is printed with them."""
import argparse
import contextlib
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from alone import measured  # noqa: E402
from programs import installed, native, NOT_FRAMES  # noqa: E402

PROCESSES = 100
NAP = {"python3": ["-c", "import time; time.sleep(60)"], "ruby": ["-e", "sleep 60"], "php": ["-r", "sleep(60);"]}


@contextlib.contextmanager
def processes(t, cnt):
    """Of three interpreters and a C program without frame pointers, in turn."""
    commands = [[installed(name), *argv] for name, argv in NAP.items()]
    commands.append([native(t, "graph-c--o3", "-O3", *NOT_FRAMES), "waits", "60"])
    children = [subprocess.Popen(commands[i % len(commands)], stdout=subprocess.DEVNULL) for i in range(cnt)]
    try:
        time.sleep(1)
        yield children
    finally:
        for child in children:
            child.kill()
            child.wait()


def memlock_bytes(pid):
    """Of BPF maps, as the kernel accounts them; a map that several descriptors have counts once."""
    by_id = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError):
            text = open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii").read()
            found = re.search(r"memlock:\s*(\d+)", text), re.search(r"map_id:\s*(\d+)", text)
            if all(found):
                by_id[found[1][1]] = int(found[0][1])
    return sum(by_id.values())


def rss_bytes(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{pid}/status", encoding="ascii").read())[1]) * 1024


def started(t, *options, tapir=None):
    file = t.path("cost.tapir" if tapir is None else "other.tapir")
    return subprocess.Popen([tapir or t.tapir_path, "record", *options, "-f", "-o", file], stderr=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL)


def memory(t):
    """(RSS, memlock) in MB after the tables were built."""
    with processes(t, PROCESSES) as children:
        targets = [word for child in children for word in ("-p", str(child.pid))]
        tapir = started(t, "-F", "99", "--duration", "8", *targets)
        time.sleep(6)
        seen = rss_bytes(tapir.pid) / 1e6, memlock_bytes(tapir.pid) / 1e6
        tapir.wait(60)
        return seen


def cpu_seconds(pid):
    """Of a process and of the helpers it waited for."""
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def started_processes():
    return int(re.search(r"^processes (\d+)", open("/proc/stat", encoding="ascii").read(), re.M)[1])


def start_programs(seconds, rate):
    """/bin/true, this many times per second."""
    began = time.monotonic()
    for i in range(seconds * rate):
        time.sleep(max(0, began + i / rate - time.monotonic()))
        os.waitpid(os.posix_spawn("/bin/true", ["true", str(i)], os.environ), 0)
    time.sleep(max(0, began + seconds - time.monotonic()))


def cpu_share(t, seconds, other, rate):
    """Of all CPUs, in percent, once it is under way: by tapir itself, not by its programs in the kernel, and by another one at
    the same time; and how many processes and threads of the machine started per second meanwhile."""
    options = "-a", "-F", "99", "--no-sched", "--duration", str(seconds + 6)
    tapirs = [started(t, *options, tapir=path) for path in ([None, other] if other else [None])]
    time.sleep(5)
    before, started_before = [cpu_seconds(tapir.pid) for tapir in tapirs], started_processes()
    start_programs(seconds, rate)
    used = [cpu_seconds(tapir.pid) - at_first for tapir, at_first in zip(tapirs, before)]
    started_cnt = started_processes() - started_before
    for tapir in tapirs:
        tapir.wait(60)
    return [100 * one / seconds / os.cpu_count() for one in used], started_cnt / seconds


def start_seconds(tapir, t):
    """A recording of nothing, from its start to its end."""
    start = time.monotonic()
    subprocess.run([tapir, "record", "-F", "99", "-f", "-o", t.path("start.tapir"), "--", "true"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=20, help="of the recording at 99 Hz (%(default)s)")
    parser.add_argument("--other", metavar="TAPIR", help="another tapir, whose start and CPU time are compared")
    parser.add_argument("--starts", type=int, default=0, help="programs that it starts per second meanwhile (%(default)s)")
    options = parser.parse_args()

    def measure(t):
        rss, memlock = memory(t)
        print(f"| {PROCESSES} processes, RSS + maps | <= 150 MB | {rss:.0f} + {memlock:.0f} = {rss + memlock:.0f} |")
        shares, started_per_s = cpu_share(t, options.seconds, options.other, options.starts)
        print(f"| 99 Hz machine-wide, {started_per_s:.0f} processes started per second | <= 0.3 % | " +
              ", ".join(f"{share:.2f}" for share in shares) + " |")
        least = {}
        for _ in range(8):
            for path in filter(None, (t.tapir_path, options.other)):
                least[path] = min(least.get(path, 99), start_seconds(path, t))
        print("| start and end of a recording of nothing, least of 8 | | " +
              ", ".join(f"{1000 * took:.0f} ms" for took in least.values()) + " |")

    return measured(options.build, measure)


if __name__ == "__main__":
    sys.exit(main())
