# SPDX-License-Identifier: GPL-2.0-or-later
"""python_locks.py MODE: threads that wait for a lock of Python ("convoy": each holds it a while; "pair": only two do; "hog": one holds it
nearly always; "deadlock": each waits for another's), for room in a queue ("full"), or for work, which Python's queues do by locks, too
("queue", "pool"). Prints "pid N", and for each line of input what it saw, as JSON: from
when until when its threads waited, in ns of their own clocks, which are CLOCK_MONOTONIC."""
import concurrent.futures
import json
import os
import queue
import sys
import threading
import time

WORKERS = 5
lock = threading.Lock()
work = queue.Queue(4)
waits, since, holder = [], {}, 0


def got_lock():
    """What a thread does while it waits is not to be counted after the time it was asked."""
    me = threading.get_ident()
    begin = since[me] = time.monotonic_ns()
    lock.acquire()
    del since[me]
    waits.append((begin, time.monotonic_ns()))


def keep_ledger():
    while True:
        got_lock()
        time.sleep(0.02)
        lock.release()
        time.sleep(0.001)


def back_up():
    """Gives it away only while nobody could take it."""
    global holder
    holder = threading.get_native_id()
    while True:
        with lock:
            time.sleep(0.1)
        time.sleep(0.0001)


def look_up():
    while True:
        got_lock()
        lock.release()
        time.sleep(0.001)


def transfer(first, second):
    with first:
        time.sleep(0.1)
        begin = since[threading.get_ident()] = time.monotonic_ns()
        with second:
            waits.append((begin, time.monotonic_ns()))


def fill():
    me = threading.get_ident()
    while True:
        begin = since[me] = time.monotonic_ns()
        work.put(1)
        del since[me]
        waits.append((begin, time.monotonic_ns()))


def serve():
    while True:
        work.get()
        time.sleep(0.02)


def produce():
    while True:
        time.sleep(0.02)
        work.put(1)


def consume():
    while True:
        work.get()


def submit():
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
    while True:
        pool.submit(time.sleep, 0.001)
        time.sleep(0.02)


def main():
    other = threading.Lock()
    runs = {"convoy": [keep_ledger] * WORKERS, "pair": [keep_ledger] * 2, "full": [fill] * WORKERS + [serve],
            "deadlock": [lambda: transfer(lock, other), lambda: transfer(other, lock)], "hog": [back_up] + [look_up] * WORKERS, "queue": [produce] + [consume] * WORKERS,
            "pool": [submit]}[sys.argv[1]]
    for run in runs:
        threading.Thread(target=run, daemon=True).start()
    time.sleep(0.2)
    print("pid", os.getpid(), flush=True)
    for _ in sys.stdin:
        now = time.monotonic_ns()
        print(json.dumps({"waits": waits[:] + [(begin, now) for begin in list(since.values())], "holder": holder}), flush=True)
        waits.clear()


main()
