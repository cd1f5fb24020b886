# SPDX-License-Identifier: GPL-2.0-or-later
"""gil.py MODE: threads that need the interpreter, and what keeps it from them. Prints "pid N", and for each line of input what it
counted since the line before, as JSON: how long its workers waited beyond what they slept, by their own clocks."""
import hashlib
import json
import os
import sys
import threading
import time

WORKERS = 3
lock = threading.Lock()
waited_s, turns, holder = 0.0, 0, 0


def worker():
    """Asks for the interpreter every 2 ms; what a sleep lasts longer than it should is a wait for it."""
    global waited_s, turns
    while True:
        begin = time.monotonic()
        time.sleep(0.002)
        late = time.monotonic() - begin - 0.002
        with lock:
            waited_s += late
            turns += 1


def add_up():
    """A call of the C library of Python that never lets go of the interpreter."""
    global holder
    holder = threading.get_native_id()
    while True:
        sum(range(20_000_000))


def compute():
    while True:
        for i in range(1000):
            i * i


def digest():
    """Lets go of the interpreter while it computes."""
    data = b"x" * (1 << 22)
    while True:
        hashlib.sha256(data).digest()


def main():
    global waited_s, turns
    mode = sys.argv[1]
    work = {"held": [add_up], "shared": [compute] * 3, "released": [digest], "idle": []}[mode]
    for run in work + [worker] * (WORKERS if mode != "idle" else 0):
        threading.Thread(target=run, daemon=True).start()
    print("pid", os.getpid(), flush=True)
    since, cpu = time.monotonic(), time.process_time()
    for _ in sys.stdin:
        now, used = time.monotonic(), time.process_time()
        print(json.dumps({"seconds": now - since, "waited_s": waited_s, "turns": turns, "holder": holder, "cpu_s": used - cpu}), flush=True)
        since, cpu, waited_s, turns = now, used, 0.0, 0


main()
