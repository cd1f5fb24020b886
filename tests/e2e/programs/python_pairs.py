# SPDX-License-Identifier: GPL-2.0-or-later
"""python_pairs.py MODE: two defects at once, of which the first one costs more: "gil-lock" (one thread keeps the interpreter; two take turns with
a lock), "lock-gil" (a convoy for a lock; two threads compute now and then), "loop-exceptions" (a callback blocks an event loop; a thread
throws exceptions). Prints "pid N", and for each line of input from when until when threads waited for the worse one, as JSON: in ns of
their own clocks, which are CLOCK_MONOTONIC."""
import asyncio
import json
import os
import sys
import threading
import time

lock = threading.Lock()
waits, since = [], {}


def nap(ns):
    """What a sleep lasts longer than it should is a wait for the interpreter."""
    me = threading.get_ident()
    wanted = since[me] = time.monotonic_ns() + ns
    time.sleep(ns / 1e9)
    waits.append((wanted, time.monotonic_ns()))
    del since[me]


def ask():
    while True:
        nap(2_000_000)


def take_turns():
    while True:
        with lock:
            nap(1_000_000)
        nap(50_000_000)


def add_up():
    while True:
        sum(range(20_000_000))


def compute_now_and_then():
    while True:
        until = time.monotonic() + 0.005
        while time.monotonic() < until:
            sum(range(100))
        time.sleep(0.1)


def hold():
    me = threading.get_ident()
    while True:
        begin = since[me] = time.monotonic_ns()
        lock.acquire()
        del since[me]
        waits.append((begin, time.monotonic_ns()))
        time.sleep(0.02)
        lock.release()
        time.sleep(0.001)


def throw():
    while True:
        for _ in range(100):
            try:
                int("x")
            except ValueError:
                pass
        time.sleep(0.02)


def call_back():
    begin = time.monotonic_ns()
    time.sleep(0.12)
    waits.append((begin, time.monotonic_ns()))
    asyncio.get_running_loop().call_later(0.04, call_back)


async def serve():
    asyncio.get_running_loop().call_soon(call_back)
    await asyncio.sleep(1000)


def answer():
    print("pid", os.getpid(), flush=True)
    for _ in sys.stdin:
        now = time.monotonic_ns()
        print(json.dumps({"waits": waits[:] + [(begin, now) for begin in list(since.values()) if begin < now]}), flush=True)
        waits.clear()
    os._exit(0)


def main():
    mode = sys.argv[1]
    runs = {"gil-lock": [add_up] + [ask] * 3 + [take_turns] * 2,
            "lock-gil": [hold] * 5 + [compute_now_and_then] * 2, "loop-exceptions": [throw]}[mode]
    for run in runs:
        threading.Thread(target=run, daemon=True).start()
    if mode == "loop-exceptions":
        threading.Thread(target=answer, daemon=True).start()
        asyncio.run(serve())
    else:
        answer()


main()
