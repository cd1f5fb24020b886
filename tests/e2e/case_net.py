# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests on TCP connections: as many, and as long, as a client and its server know."""
import json

PAIR = r"""
import socket, sys, threading, time
N, SLEEP = 12, 0.05
def serve(listener):
    while True:
        c, _ = listener.accept()
        try:
            while c.recv(64):
                time.sleep(SLEEP); c.sendall(b"answer"); c.sendall(b" and more")
        except OSError:
            pass
        c.close()
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
port = listener.getsockname()[1]
for _ in range(3):
    s = socket.create_connection(("127.0.0.1", port))
    for _ in range(N // 3):
        s.sendall(b"question")
        got = b""
        while len(got) < 15:
            got += s.recv(64)
    s.close()
piped = socket.create_connection(("127.0.0.1", port))
for _ in range(4):
    piped.sendall(b"question"); time.sleep(0.01)
while piped.recv(64)[-4:] != b"more":
    pass
closed = socket.socket(); closed.bind(("127.0.0.1", 0)); refused = closed.getsockname()[1]; closed.close()
try:
    socket.create_connection(("127.0.0.1", refused))
except ConnectionRefusedError:
    pass
print('{"port": %d, "calls": %d, "refused": %d}' % (port, N, refused), flush=True)
"""


def record(t):
    file = t.path("net.tapir")
    result = t.tapir("record", "--net", "--no-samples", "--no-sched", "-o", file, "--", "python3", "-c", PAIR)
    return result.json_lines()[0], t.events(file, "exchange"), file


def test_each_call_has_its_peer_and_its_time(t):
    said, found, file = record(t)
    peer = f"127.0.0.1:{said['port']}"
    known = [x for x in found if x["kind"] == "answered" and not x["overlaps"]]
    calls = [x for x in known if x["role"] == "opened" and x["peer"] == peer]
    t.eq(len(calls), said["calls"], "calls of the client")
    t.ok(all(x["took_ns"] >= 50_000_000 for x in calls), "none is faster than the server")
    t.eq(sum(x["sent_bytes"] for x in calls), 8 * said["calls"], "bytes of the requests")
    served = [x for x in known if x["role"] == "accepted" and x["local"] == peer]
    t.ok(len(served) >= said["calls"] and all(x["took_ns"] >= 50_000_000 for x in served), "requests of the server")
    ended = [x for x in found if x["kind"] == "closed" and x["role"] == "opened"]
    t.eq([x["error"] for x in ended if x["peer"] == f"127.0.0.1:{said['refused']}"], [111], "refused")
    t.ok(any(x["overlaps"] for x in found if x["role"] == "opened"), "what is sent without waiting has no time")
    rows = t.tapir("query", file, f"SELECT count(*) AS n FROM exchanges WHERE peer = '{peer}' AND kind = 'answered' AND NOT overlaps", "--json").out
    t.eq(json.loads(rows)[0], {"n": said["calls"]}, "of the table")
