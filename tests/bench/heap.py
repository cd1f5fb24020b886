#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir heap of a .NET process with OBJECTS objects, beside the runtime's own stream with 1,024 MB of buffer, which is how
dotnet-gcdump asks: how long the collection took (all threads are suspended), and what the process needed meanwhile.

    tests/bench/heap.py --build build [--objects 10000000] [--rounds 3] [--at-once BUILD]

--at-once: how long the same collection takes where the callback returns at once. BUILD is of a copy of tapir in which
coreclr_event__deliver (usdt/coreclr/coreclr_events.c) begins with "static uint32_t cnt; if (data_bytes > 4096 && cnt++ % 256)
return CORECLR_OK;": of 256 lists of objects that the runtime makes 255 are dropped. It has a process of its own.

The program is that of tests/e2e (make check builds it)."""
import argparse
import glob
import json
import os
import re
import socket
import struct
import subprocess
import time

KEYWORDS = 0x1980001


def text(value):
    return struct.pack("<I", len(value) + 1) + (value + "\0").encode("utf-16le")


def connect(pid, command, payload):
    port = socket.socket(socket.AF_UNIX)
    port.connect(glob.glob(f"/tmp/dotnet-diagnostic-{pid}-*-socket")[0])
    port.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, command, 0) + payload)
    return port


def by_stream(pid):
    """Bytes of the runtime's own stream; the collection is over when the session is answered."""
    provider = struct.pack("<IQI", 1, KEYWORDS, 4) + text("Microsoft-Windows-DotNETRuntime") + struct.pack("<I", 0)
    began = time.monotonic()
    stream = connect(pid, 4, struct.pack("<II", 1024, 1) + b"\0\0" + provider)
    session = stream.recv(28, socket.MSG_WAITALL)[20:28]
    took = time.monotonic() - began
    stream.settimeout(1.0)
    size, buffer = 0, bytearray(1 << 20)
    try:
        while got := stream.recv_into(buffer):
            size += got
    except TimeoutError:
        pass
    connect(pid, 1, session).close()
    stream.close()
    time.sleep(1)
    return took * 1e3, size


def by_tapir(build, pid):
    began = time.monotonic()
    out = subprocess.run([f"{build}/tapir", "heap", "-p", str(pid), "--json", "--max-pause", "60"], capture_output=True, check=True)
    found = json.loads(out.stdout)
    return found["collection_ns"] / 1e6, time.monotonic() - began, found["objects"], found["complete"]


def memory(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(rf"^{field}:\s+(\d+)", status.read(), re.M).group(1)) / 1024


def growth(pid, action):
    """What it returns, and how much more memory the process had at most."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")
    before = memory(pid, "VmRSS")
    result = action()
    return result, memory(pid, "VmHWM") - before


def at_once(build, empty_build, rounds, program):
    """Rounds in turn, each in a process of its own: suspended as it is, and where the callback returns at once."""
    with start(program) as heap, start(program) as other:
        try:
            for _ in range(rounds):
                pause, empty = by_tapir(build, heap.pid), by_tapir(empty_build, other.pid)
                print(f"tapir: suspended {pause[0]:.0f} ms ({pause[2]} objects, complete {pause[3]}), at once {empty[0]:.0f} ms "
                      f"({empty[2]} objects), {pause[0] / empty[0]:.2f} times; load {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            heap.kill()
            other.kill()


def start(program):
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    while not process.stdout.readline().startswith("counts"):
        pass
    return process


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--objects", type=int, default=10000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", metavar="BUILD")
    options = parser.parse_args()
    program = [f"{options.build}/tests/dotnet/Heap/out/Heap", "1000", str(options.objects)]
    if options.at_once:
        at_once(options.build, options.at_once, options.rounds, program)
        return
    with start(program) as heap:
        try:
            for _ in range(options.rounds):
                (pause, took, objects, complete), more = growth(heap.pid, lambda: by_tapir(options.build, heap.pid))
                print(f"tapir: suspended {pause:.0f} ms, +{more:.0f} MB, {objects} objects, complete {complete}, "
                      f"{took:.1f} s until the table; load {os.getloadavg()[0]:.1f}", flush=True)
                (pause, size), more = growth(heap.pid, lambda: by_stream(heap.pid))
                print(f"stream: suspended {pause:.0f} ms, +{more:.0f} MB, {size / 1e6:.0f} MB; load {os.getloadavg()[0]:.1f}",
                      flush=True)
        finally:
            heap.kill()


if __name__ == "__main__":
    main()
