# SPDX-License-Identifier: GPL-2.0-or-later
"""hot.py SECONDS: main calls middle calls leaf, which burns and makes garbage; a thread sleeps and waits for a lock."""
import json
import sys
import threading
import time

END = time.monotonic() + float(sys.argv[1])
CONDITION = threading.Condition()


def leaf(n):
    return sum(one[0] for one in json.loads(json.dumps([[i] for i in range(n)])))


def middle(n):
    return leaf(n) + 1


def waiter():
    while time.monotonic() < END:
        with CONDITION:
            CONDITION.wait(0.002)


def main():
    thread = threading.Thread(target=waiter)
    thread.start()
    while time.monotonic() < END:
        middle(1000)
        time.sleep(0.001)
    thread.join()


print("pid", __import__("os").getpid(), flush=True)
main()
