# SPDX-License-Identifier: GPL-2.0-or-later
"""asyncio_loop.py MODE: an event loop whose handler calls what does not await ("sleep", "compute"; "callback": it is no task, nor is
"computing-callback", and there are no tasks beside it), or awaits ("idle"). Prints "pid N",
and for each line of input from when until when the handler kept the loop, as JSON: in ns of its own clock, which is CLOCK_MONOTONIC."""
import asyncio
import json
import os
import sys
import threading
import time

blocked = []


def ask_database():
    time.sleep(0.12)


def count_up():
    until = time.monotonic() + 0.12
    while time.monotonic() < until:
        sum(range(1000))


async def handle(call):
    while True:
        begin = time.monotonic_ns()
        if call:
            call()
            blocked.append((begin, time.monotonic_ns()))
        await asyncio.sleep(0.08)


def call_back(call):
    begin = time.monotonic_ns()
    call()
    blocked.append((begin, time.monotonic_ns()))
    asyncio.get_running_loop().call_later(0.08, call_back, call)


async def tick():
    while True:
        await asyncio.sleep(0.01)


def answer():
    for _ in sys.stdin:
        print(json.dumps({"waits": blocked[:]}), flush=True)
        blocked.clear()
    os._exit(0)


async def main():
    call = {"sleep": ask_database, "compute": count_up}.get(sys.argv[1])
    called_back = {"callback": ask_database, "computing-callback": count_up}.get(sys.argv[1])
    if called_back:
        asyncio.get_running_loop().call_soon(call_back, called_back)
    print("pid", os.getpid(), flush=True)
    threading.Thread(target=answer, daemon=True).start()
    if called_back == count_up:
        await asyncio.Event().wait()
    await asyncio.gather(handle(call), tick(), tick())


asyncio.run(main())
