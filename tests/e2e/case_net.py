# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests on TCP connections: as many, and as long, as a client and its server know."""
import json
import signal

from case_cli import one_line

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


def has_tracepoints():
    """Linux 6.3 and newer; the doctor's line has its own test."""
    with open("/sys/kernel/btf/vmlinux", "rb") as types:
        return b"\0btf_trace_sock_send_length\0" in types.read()


def need_tracepoints(t):
    if not has_tracepoints():
        t.skip("this kernel has no tracepoints of what sockets send")


def test_it_is_refused_where_the_kernel_has_no_tracepoints(t):
    if has_tracepoints():
        t.skip("this kernel has them")
    one_line(t, t.tapir("record", "--net", "-a", "-d", "0.1", "-o", t.path("x.tapir"), expect=3), "--net requires Linux 6.3 or newer")
    checks = {check["name"]: check for check in json.loads(t.tapir("doctor", "--json", expect=None).out)["checks"]}
    t.eq((checks["connections"]["state"], checks["programs"]["state"]), ("limited", "ok"), "what the doctor says")


def record(t, program=PAIR, *options):
    need_tracepoints(t)
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


FAULTS = r"""
import os, signal, socket, struct, sys, threading, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print('ready', flush=True)
signal.sigwait([signal.SIGUSR1])
# A server that never answers on one port, resets on another, and answers what is spliced on a third.
def server(act):
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    def accept():
        while True:
            threading.Thread(target=act, args=(listener.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]
def connect(port):
    return socket.create_connection(("127.0.0.1", port))
def reset(c):
    c.recv(64)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()
def echo(c):
    while got := c.recv(64):
        c.sendall(got)
HANGS, RESETS, SPLICED, MANY = 6, 3, 2, int(sys.argv[1])
silent, resets, echoes = server(lambda c: c.recv(64) and time.sleep(1000)), server(reset), server(echo)
def ask_silent():
    s = connect(silent); s.sendall(b"what"); s.recv(64)
for _ in range(HANGS):
    threading.Thread(target=ask_silent, daemon=True).start()
for _ in range(RESETS):
    s = connect(resets); s.sendall(b"what")
    try:
        s.recv(64)
    except ConnectionResetError:
        pass
s, (r, w) = connect(echoes), os.pipe()
def ask():
    s.sendall(b"what"); s.recv(64)
ask()
for _ in range(SPLICED):
    s.sendall(b"what"); os.splice(s.fileno(), w, 64)
    ask()
many = [connect(echoes) for _ in range(MANY)]
for s in many: s.sendall(b"what")
for s in many: s.recv(64)
print('{"silent": %d, "hangs": %d, "resets": %d, "reset": %d, "echoes": %d, "known": %d, "spliced": %d}'
      % (silent, HANGS, resets, RESETS, echoes, 1 + MANY, SPLICED), flush=True)
time.sleep(1000)
"""


def hang(t, many):
    """The program begins when it is recorded; when it has said what it did, the recording ends."""
    need_tracepoints(t)
    file, program = t.path("hang.tapir"), t.start("python3", "-c", FAULTS, many)
    program.wait_line("ready")
    recorder = t.start_tapir("record", "--net", "--no-samples", "-p", program.pid, "-o", file)
    recorder.wait_ready()
    program.go()
    said = json.loads(program.wait_line('{"silent"'))
    recorder.signal(signal.SIGINT)
    t.eq(recorder.wait().rc, 0, "exit code of record")
    return said, json.loads(t.tapir("report", file, "--view", "net", "--json").out), file


def row_of(rows, port):
    return next(row for row in rows if row["peer"].startswith(f"127.0.0.1:{port} ") or row["peer"] == f"127.0.0.1:{port}")


def test_what_has_no_answer_or_no_time_is_told_apart(t):
    said, view, file = hang(t, 20)
    silent, echoes = row_of(view["calls"], said["silent"]), row_of(view["calls"], said["echoes"])
    t.eq((silent["calls"], silent["unanswered"]), (0, said["hangs"]), "calls without an answer")
    t.eq((row_of(view["errors"], said["resets"])["error"], row_of(view["errors"], said["resets"])["connections"]), ("reset", said["reset"]), "resets")
    t.eq(sorted(row["port"] for row in view["requests"]), sorted(said[key] for key in ("silent", "resets", "echoes")), "listening ports")
    # Where the next request came more than 1 ms later, the two overlap: its time is not known, either.
    t.eq((echoes["calls"], echoes["unseen"] + echoes["overlaps"]), (said["known"] + said["spliced"], said["spliced"]), "answers taken by splice(2)")
    call = next(x for x in json.loads(t.tapir("report", file, "--json").out)["overview"]["calls"] if x["peer"].startswith(f"127.0.0.1:{said['silent']}"))
    t.ok(call["waiters"].startswith(f"{said['hangs']} threads wait"), call["waiters"])
