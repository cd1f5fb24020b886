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

THREADS = r"""
import socket, threading, time
THREADS, CALLS, SLEEP = 8, 2, 0.3
def serve(c):
    while c.recv(64):
        time.sleep(SLEEP); c.sendall(b"rate")
def accept():
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, daemon=True).start()
def ask_rates(s):
    s.sendall(b"what"); s.recv(64)
def work():
    s = socket.create_connection(listener.getsockname())
    for _ in range(CALLS):
        ask_rates(s)
workers = [threading.Thread(target=work) for _ in range(THREADS)]
for w in workers: w.start()
for w in workers: w.join()
print('{"port": %d, "threads": %d, "calls": %d}' % (listener.getsockname()[1], THREADS, THREADS * CALLS), flush=True)
"""


def record(t, program=PAIR, *options):
    file = t.path("net.tapir")
    result = t.tapir("record", "--net", "--no-samples", *options, "-o", file, "--", "python3", "-c", program)
    return result.json_lines()[0], t.events(file, "exchange"), file


def test_each_call_has_its_peer_and_its_time(t):
    said, found, file = record(t, PAIR, "--no-sched")
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
    view = json.loads(t.tapir("report", file, "--view", "net", "--json").out)
    row = next(row for row in view["calls"] if row["peer"].startswith(f"{peer} (python"))
    t.eq(row["calls"] - row["overlaps"], said["calls"], "calls with a time, of the view")
    t.ok(row["p50_ns"] >= 50_000_000 and row["ns"] >= said["calls"] * 50_000_000, "their times")
    t.eq([(row["error"], row["peer"]) for row in view["errors"]], [("refused", f"127.0.0.1:{said['refused']}")], "errors")


def test_threads_wait_for_the_peer_that_they_call(t):
    said, _, file = record(t, THREADS)
    report = json.loads(t.tapir("report", file, "--json").out)
    call, = report["overview"]["calls"]
    t.ok(call["peer"].startswith(f"127.0.0.1:{said['port']} (python"), call["peer"])
    t.eq((call["count"], call["timed"]), (said["calls"], said["calls"]), "calls")
    t.ok(call["waiters"].startswith(f"{said['threads']} threads wait"), call["waiters"])
    served, = (row for row in report["overview"]["requests"] if row["name"] == f"port {said['port']}")
    t.eq(served["count"], said["calls"], "requests at its port")
    t.ok(f"Calls      {call['peer']}  {said['calls']} \u00d7 3" in t.tapir("report", file).out, "the first screen")


def test_view_says_what_was_not_recorded(t):
    file = t.path("none.tapir")
    t.tapir("record", "--no-samples", "-o", file, "--", "true")
    t.ok("requests on connections were not recorded: `tapir record --net` records them" in t.tapir("report", file, "--view", "net").out, "said")
