# SPDX-License-Identifier: GPL-2.0-or-later
"""python_calls.py: computes in a function that C calls (sorted, and qsort of libc by ctypes), in a generator, in a forked child and behind
many calls; a thread sleeps in a function. Prints "pid N child N"; both run until they are killed."""
import ctypes
import os
import signal
import threading
import time

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def compute(rounds):
    total = 0
    for i in range(rounds):
        total += i * i % 7
    return total


class Shop:
    def weigh(self, _):
        return compute(300)

    def sort_parcels(self):
        sorted(range(20), key=self.weigh)


def compare(_a, _b):
    compute(300)
    return 0


compare_in_c = COMPARE(compare)
libc = ctypes.CDLL(None)


def sort_in_c():
    libc.qsort((ctypes.c_int * 16)(), 16, 4, compare_in_c)


def parcels():
    for _ in range(20):
        yield compute(300)


def count_parcels():
    sum(parcels())


def descend(depth):
    return descend(depth - 1) if depth else compute(20_000)


def compute_in_child():
    while True:
        compute(1000)


def sleep_in_thread():
    while True:
        time.sleep(0.002)


def work():
    while True:
        Shop().sort_parcels()
        sort_in_c()
        count_parcels()
        descend(150)


child = os.fork()
if not child:
    compute_in_child()
for target in (work, sleep_in_thread):
    threading.Thread(target=target, daemon=True).start()
print("pid", os.getpid(), "child", child, flush=True)
signal.pause()
