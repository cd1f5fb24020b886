# SPDX-License-Identifier: GPL-2.0-or-later
"""gil.py MODE: threads that need the interpreter, and what keeps it from them. Prints "pid N", and for each line of input what it
saw, as JSON: from when until when its workers waited beyond what they slept, in ns of their own clocks, which are CLOCK_MONOTONIC."""
import hashlib
import json
import os
import sys
import threading
import time

WORKERS = 3
PAUSE_NS = 2_000_000
waits, due, holder = [], {}, 0


def worker():
    """Asks for the interpreter every 2 ms; what a sleep lasts longer than it should is a wait for it."""
    me = threading.get_ident()
    while True:
        wanted = due[me] = time.monotonic_ns() + PAUSE_NS
        time.sleep(PAUSE_NS / 1e9)
        waits.append((wanted, time.monotonic_ns()))


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
    mode = sys.argv[1]
    work = {"held": [add_up], "shared": [compute] * 3, "released": [digest], "idle": []}[mode]
    for run in work + [worker] * (WORKERS if mode != "idle" else 0):
        threading.Thread(target=run, daemon=True).start()
    print("pid", os.getpid(), flush=True)
    for _ in sys.stdin:
        now = time.monotonic_ns()
        last = [(wanted, now) for wanted in list(due.values()) if wanted < now]
        print(json.dumps({"waits": waits[:] + last, "holder": holder}), flush=True)
        waits.clear()


main()
