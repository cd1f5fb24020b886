# SPDX-License-Identifier: GPL-2.0-or-later
"""python_hot.py: two functions that compute, one of them for three quarters of the time, and a thread that sleeps. Prints "pid N", and for each
line of input the CPU time that each of the two has used since the line before, in ns, as JSON."""
import json
import os
import sys
import threading
import time

used = {"weigh": 0, "pack": 0}


def weigh(parcels):
    total = 0
    for parcel in parcels:
        total += parcel * 2 % 7
    return total


def pack(parcels):
    boxes = []
    for parcel in parcels:
        boxes.append(parcel % 5)
    return len(boxes)


def measured(work, parcels):
    begin = time.thread_time_ns()
    work(parcels)
    took = time.thread_time_ns() - begin
    used[work.__name__] += took
    return took


def ship():
    parcels = list(range(20_000))
    ahead = 0
    while True:
        ahead += measured(weigh, parcels)
        while ahead > 0:
            ahead -= 3 * measured(pack, parcels)


def sleeper():
    time.sleep(10_000)


for run in (ship, sleeper):
    threading.Thread(target=run, daemon=True).start()
print("pid", os.getpid(), flush=True)
for _ in sys.stdin:
    print(json.dumps(used), flush=True)
    used.update(weigh=0, pack=0)
