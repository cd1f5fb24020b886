# SPDX-License-Identifier: GPL-2.0-or-later
"""awaiting.py MODE QUICK SLOW: a client of slow_peer.py, at these ports. "threads": six threads ask the slow one, 80 ms each; "chatty": three
threads make many calls of 8 ms, one after the other; "asyncio", "gevent": four tasks ask both in parallel, of which one takes 120 ms and the
others 4. Prints "pid N", and for each line of input from when until when it awaited the slow one, as JSON: in ns of CLOCK_MONOTONIC."""
import asyncio
import json
import os
import socket
import sys
import threading
import time

MODE, QUICK, SLOW = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
waits, begun = [], {}


def began(who):
    begun[who] = time.monotonic_ns()


def ended(who):
    waits.append((begun.pop(who), time.monotonic_ns()))


def report():
    now = time.monotonic_ns()
    print(json.dumps({"waits": [*waits, *((begin, now) for begin in list(begun.values()))]}), flush=True)


# ---- threads, and what looks like them ---------------------------------------------------------------


def call(peer, ms):
    peer.sendall(b"%d\n" % ms)
    return peer.recv(64)


def ask_rates(peer, ms):
    who = object()
    began(who)
    call(peer, ms)
    ended(who)


def work(ms):
    with socket.create_connection(("127.0.0.1", SLOW)) as peer:
        while True:
            ask_rates(peer, ms)


def basket(spawn, joinall):
    peers = [socket.create_connection(("127.0.0.1", QUICK)) for _ in range(4)]
    with socket.create_connection(("127.0.0.1", SLOW)) as slow:
        while True:
            joinall([*(spawn(call, peer, 4) for peer in peers), spawn(ask_rates, slow, 120)])


# ---- asyncio -----------------------------------------------------------------------------------------


async def send(connection, ms):
    connection[1].write(b"%d\n" % ms)
    return await connection[0].readline()


async def await_rates(connection, ms):
    who = object()
    began(who)
    await send(connection, ms)
    ended(who)


async def await_basket():
    peers = [await asyncio.open_connection("127.0.0.1", QUICK) for _ in range(4)]
    slow = await asyncio.open_connection("127.0.0.1", SLOW)
    while True:
        await asyncio.gather(*(send(peer, 4) for peer in peers), await_rates(slow, 120))


def read():
    if not os.read(0, 64):
        os._exit(0)
    report()


async def loop():
    asyncio.get_running_loop().add_reader(0, read)
    await asyncio.gather(*(await_basket() for _ in range(4)))


def main():
    print("pid", os.getpid(), flush=True)
    if MODE == "asyncio":
        asyncio.run(loop())
    elif MODE == "gevent":
        for _ in range(4):
            gevent.spawn(basket, gevent.spawn, gevent.joinall)
        while True:
            gevent.os.tp_read(0, 64)
            report()
    else:
        for _ in range(6 if MODE == "threads" else 3):
            threading.Thread(target=work, args=(80 if MODE == "threads" else 8,), daemon=True).start()
        for _ in sys.stdin:
            report()


if MODE == "gevent":
    import gevent
    import gevent.monkey
    import gevent.os
    gevent.monkey.patch_socket()
main()
