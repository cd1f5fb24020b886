# SPDX-License-Identifier: GPL-2.0-or-later
"""Three threads of a Python that wait, until the file it is given exists."""
import os
import sys
import threading
import time

LOCK = threading.Lock()


def wants_the_lock():
    with LOCK:
        pass


def sleeps_until(path):
    while not os.path.exists(path):
        time.sleep(0.2)


with LOCK:
    for _ in range(2):
        threading.Thread(target=wants_the_lock).start()
    print("pid", os.getpid(), flush=True)
    sleeps_until(sys.argv[1])
print('{"wrong": 0}')
