# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir serve under clients and machines that misbehave for seconds."""
import ctypes
import json
import os
import resource
import signal
import socket
import struct
import threading
import time

from case_faults import semaphore
from serve_agent import Server, all_children, begin_session, children, name_of, until, write_config
from case_serve_pages import Visitor, tokens_file
from dotnet_program import build_dotnet
from harness import comms, maps_of_us

CHECK_SERVE = {
    "test_agent_without_privileges_serves_its_own_user", "test_killed_agent_leaves_nothing_in_its_targets", "test_recording_ends_at_its_cpu_time",
    "test_slow_requests_keep_nobody_out", "test_ten_thousand_connections_are_refused_or_answered",
    "test_clock_that_is_set_ends_nothing", "test_session_on_a_full_disk_ends_and_others_are_kept", "test_five_hundred_processes_a_second_are_recorded",
    "test_target_that_goes_ends_its_recordings", "test_clients_that_begin_at_once_get_what_there_is_room_for",
    "test_client_that_takes_nothing_loses_its_stream", "test_pid_that_was_given_to_another_process_is_not_touched",
    "test_child_that_is_ready_makes_the_next_recording", "test_child_that_is_ready_ends_with_its_time_its_client_and_its_agent",
}


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


def test_slow_requests_keep_nobody_out(t):
    """Hundreds that send a byte now and then, fewer than the limit: others are answered; all of them end."""
    server = Server(t)
    slow = [server.connect() for _ in range(200)]
    start, ended = time.monotonic(), 0
    for sock in slow:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        sock.setblocking(False)
    while slow and time.monotonic() - start < 60:
        took = time.monotonic()
        server.json("/healthz")
        t.ok(time.monotonic() - took < 5, "a request beside them took long")
        for sock in list(slow):
            try:
                sock.send(b"x")
                gone = sock.recv(4096) is not None
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                sock.close()
                slow.remove(sock)
                ended += 1
        time.sleep(0.5)
    t.eq((len(slow), ended), (0, 200), "slow requests that are still there, and that were ended")
    server.json("/v1/processes")


def test_ten_thousand_connections_are_refused_or_answered(t):
    """A client opens 10,000, sends nothing or half a request on each, and keeps them all: others are answered all the same."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (12000, max(12000, limit[1])))
    server = Server(t)
    front, = children(server.pid)
    held, slowest = [], 0

    def answers():
        try:
            return server.json("/v1/sessions") is not None
        except ConnectionError:  # more came than were closed in this moment
            return False

    before = resident_kb(front) + resident_kb(server.pid)
    try:
        while len(held) < 10000:
            sock = server.connect()
            if len(held) % 2:
                sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            held.append(sock)
            if not len(held) % 500:
                start = time.monotonic()
                until(t, answers, "an answer beside them")
                slowest = max(slowest, time.monotonic() - start)
        t.ok(slowest < 5, f"a request beside them took {slowest:.1f} s")
        t.ok(resident_kb(front) + resident_kb(server.pid) < before + 30 * 1024, "memory of the agent")
        with open(f"/proc/{front}/status", encoding="ascii") as file:
            threads = int(next(line for line in file if line.startswith("Threads")).split()[1])
        t.ok(threads < 2 * 256 + 10, f"{threads} threads of the HTTP process")
    finally:
        for sock in held:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    until(t, lambda: server.ask("/healthz")[0] == 200, "an answer after 10,000 connections")
    t.eq(children(server.pid), [front], "the HTTP process is the same")


def test_idle_connections_make_room_for_new_ones(t):
    """Four times as many as are permitted, of which none is closed by its client; who is being answered stays."""
    server = Server(t, "--config", write_config(t, {"limits": {"connections": 16}}))
    target = t.target("burner", 60000)
    profile = server.connect()
    profile.sendall(f"GET /v1/profile?pid={target.pid}&seconds=2&format=folded HTTP/1.1\r\nHost: localhost\r\n"
                    f"Connection: close\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
    until(t, lambda: server.json("/healthz")["recordings"] == 1, "a recording")
    idle = []
    for _ in range(64):
        idle.append(server.connect())
        server.json("/healthz")
    answer = b""
    while part := profile.recv(65536):
        answer += part
    t.ok(answer.startswith(b"HTTP/1.1 200") and b"burn_much" in answer, f"the answer that was under way: {answer[:200]}")
    for sock in idle + [profile]:
        sock.close()


def test_client_that_takes_nothing_loses_its_stream(t):
    """Events flat out to one that never reads, and to one that reads a byte a second: both end, and so do their recordings."""
    target = t.target("storm", 20000, 100_000_000)
    server = Server(t)
    front = children(server.pid)
    socks = []
    for _ in range(2):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = server.address[len("http://"):].rsplit(":", 1)
        sock.connect((host, int(port)))
        sock.sendall(f"GET /v1/events?pid={target.pid}&spec=storm:hit&seconds=600 HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {server.token}\r\n\r\n".encode())
        socks.append(sock)
    until(t, lambda: server.json("/healthz")["recordings"] == 2, "two streams")
    start = time.monotonic()
    while server.json("/healthz")["recordings"] == 2:
        t.ok(time.monotonic() - start < 60, "a client that reads nothing keeps its stream")
        try:
            socks[1].recv(1)
        except OSError:
            pass
        time.sleep(1)
    until(t, lambda: _read_byte(socks[1]) or server.json("/healthz")["recordings"] == 0, "a client that reads a byte a second", 150)
    until(t, lambda: children(server.pid) == front, "their tasks end")
    for sock in socks:
        sock.close()


def _read_byte(sock):
    time.sleep(1)
    try:
        sock.recv(1)
    except OSError:
        pass
    return False


def test_session_on_a_full_disk_ends_and_others_are_kept(t):
    libc, state = ctypes.CDLL(None, use_errno=True), t.path("state")
    os.mkdir(state, 0o700)
    if libc.mount(b"none", state.encode(), b"tmpfs", 0, b"size=1m,mode=700"):
        t.skip(f"cannot mount tmpfs: {os.strerror(ctypes.get_errno())}")
    try:
        storm = t.target("storm", 50000, 100_000_000)
        server = Server(t)
        small = server.json("/v1/sessions", method="POST", expect=201,
                            body=f'{{"pid": {storm.pid}, "seconds": 0.2, "events": "storm:hit", "no_samples": true, "no_sched": true}}')
        until(t, lambda: server.json(f"/v1/sessions/{small['id']}")["state"] == "finished", "the end of the first session")
        large = server.json("/v1/sessions", method="POST", expect=201,
                            body=f'{{"pid": {storm.pid}, "seconds": 60, "events": "storm:hit"}}')
        until(t, lambda: server.json(f"/v1/sessions/{large['id']}")["state"] not in ("recording", "stopping"),
              "the end of a session on a full disk", 60)
        one = server.json(f"/v1/sessions/{large['id']}")
        t.ok("No space left on device" in (one["error"] or ""), f"{one}")
        for session in (small, large):
            status, _, trace = server.ask(f"/v1/sessions/{session['id']}/trace")
            if session is large and status == 409:
                continue  # nothing of it was written
            t.eq(status, 200, f"trace of {session['id']}: {trace[:200]}")
            with open(t.path("x.tapir"), "wb") as file:
                file.write(trace)
            t.ok(t.events(t.path("x.tapir")), "events of a trace on a full disk")
        t.eq(server.ask("/healthz")[0], 200, "health")
        server.process.kill()
    finally:
        libc.umount2(state.encode(), 2)


def test_five_hundred_processes_a_second_are_recorded(t):
    """Each fires one event: captured and lost together are what was fired. 500 a second, where the machine starts so many."""
    def spawn(name, cnt):
        start = time.monotonic()
        spawners = [t.start(t.path(name), "--own-path", cnt, 1) for _ in range(2)]
        for spawner in spawners:
            t.eq(json.loads(spawner.wait(90).out.splitlines()[-1])["bad_exits"], 0, "children that failed")
        return 2 * cnt / (time.monotonic() - start)

    name, other = f"tapirs{os.getpid() % 100000}", f"bare{os.getpid() % 100000}"
    os.symlink(t.target_path("spawner"), t.path(name))
    os.symlink(t.target_path("spawner"), t.path(other))
    bare = spawn(other, 300)
    server = Server(t)
    session = server.json("/v1/sessions", method="POST", expect=201,
                          body=f'{{"comm": "{name}", "seconds": 120, "events": "spawner:hit", "no_samples": true, "no_sched": true}}')
    until(t, lambda: server.json(f"/v1/sessions/{session['id']}")["seconds"] > 0, "a recording")
    fired = 4000
    rate = spawn(name, fired // 2)
    t.ok(rate >= min(500, bare * 0.4), f"{rate:.0f} processes a second, {bare:.0f} without a recording")
    status, _, trace = server.ask(f"/v1/sessions/{session['id']}", method="DELETE")
    t.eq(status, 200, f"trace: {trace[:200]}")
    with open(t.path("x.tapir"), "wb") as file:
        file.write(trace)
    captured = len(t.events(t.path("x.tapir")))
    t.ok(captured > fired / 2, f"{captured} events of {fired} processes")
    gaps, lost = t.events(t.path("x.tapir"), "gap"), sum(e["count"] for e in t.events(t.path("x.tapir"), "loss"))
    t.ok(captured <= fired, f"{captured} events of {fired}")
    t.ok(captured + lost >= fired or gaps, f"{captured} events and {lost} lost of {fired}, and no gap")
    t.eq(server.ask("/healthz")[0], 200, "health")


def test_client_that_goes_while_its_trace_is_sent_ends_its_task(t):
    target = t.target("burner", 60000)
    server = Server(t)
    front = children(server.pid)
    sock = server.connect()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.sendall(f"GET /v1/profile?pid={target.pid}&seconds=0.1&format=perfscript HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                 f"Authorization: Bearer {server.token}\r\n\r\n".encode())
    t.ok(sock.recv(100).startswith(b"HTTP/1.1 200"), "the answer begins")
    sock.close()
    until(t, lambda: children(server.pid) == front, "its task ends")
    server.json("/healthz")


def breakpoints(pid, path):
    """Bytes of a program's code in the memory of a process that are not those of its file: where probes are."""
    changed = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory, open(path, "rb") as file:
        for line in maps:
            words = line.split(None, 5)
            if len(words) < 6 or "x" not in words[1] or os.path.realpath(words[5].strip()) != os.path.realpath(path):
                continue
            start, end = (int(word, 16) for word in words[0].split("-"))
            memory.seek(start)
            file.seek(int(words[2], 16))
            changed += [start + i for i, (a, b) in enumerate(zip(memory.read(end - start), file.read(end - start))) if a != b]
    return changed


def start_with_pid(pid, *argv):
    """A process that has this number, which must be free. None: it cannot be chosen here."""
    wanted = (ctypes.c_int32 * 1)(pid)
    args = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    child = libc.syscall(435, ctypes.byref(args), ctypes.sizeof(args))  # clone3
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(argv[0], argv)
    return child if child > 0 else None


def test_pid_that_was_given_to_another_process_is_not_touched(t):
    """Listed, ended, its number another program's: no action by the old page or its link reaches the new one, nor does a recording of the old one."""
    server = Server(t)
    old = t.target("storm", 1000, 100_000_000)
    listed = next(p for p in server.json("/v1/processes?all=true&name=storm")["processes"] if p["pid"] == old.pid)
    running = begin_session(server, pid=old.pid, started=listed["started"], events="storm:hit")
    until(t, lambda: server.json(running)["events"] > 0, "events of the old one")
    time.sleep(0.1)  # its start is told apart by clock ticks
    old.kill()
    old.wait()
    new = start_with_pid(old.pid, t.target_path("storm"), "1000", "100000000")
    if not new:
        t.skip("pids cannot be chosen here")
    try:
        visitor = Visitor(server)
        visitor.sign_in()
        pair = f"pid={new}&started={listed['started']}"
        for path in ("/v1/profile", "/v1/stacks", "/v1/findings", "/v1/views/gc", "/v1/counters", "/v1/events"):
            more = "&spec=storm" if path.endswith("events") else ""
            status = server.ask(f"{path}?{pair}{more}")[0]
            t.eq(status, 409, f"{path} of the old one")
        refused = begin_session(server, pid=new, started=listed["started"])
        until(t, lambda: server.json(refused)["state"] == "failed", "a session of the old one fails")
        for path in (f"/processes/{new}?started={listed['started']}", f"/processes/{new}/stacks?started={listed['started']}"):
            t.eq(visitor.ask(path).status, 409, f"the page {path}")
        form = [("csrf", visitor.csrf()), ("started", listed["started"]), ("seconds", "60")]
        begun = visitor.post(f"/processes/{new}/record", form)
        if begun.status == 303:
            until(t, lambda: server.json("/v1" + begun.headers["location"])["state"] == "failed", "a session by the old one's form fails")
        until(t, lambda: server.json(running)["state"] == "finished", "the recording of the old one ends")
        with open(t.path("x.tapir"), "wb") as file:
            file.write(server.ask(running + "/trace")[2])
        t.eq(len({record["start_ns"] if "start_ns" in record else record.get("start") for record in t.events(t.path("x.tapir"), "process")
                  if record["pid"] == new}), 1, "processes of this number in it")
        t.eq((breakpoints(new, t.target_path("storm")), semaphore(new, t.target_path("storm"))), ([], 0), "probes in the new one")
        page = visitor.ask(f"/processes/{new}")
        t.ok(page.status == 200 and running.replace("/v1", "") not in page.links, "its page has no session of the old one")
    finally:
        os.kill(new, signal.SIGKILL)
        os.waitpid(new, 0)


def test_killed_agent_leaves_nothing_in_its_targets(t):
    """A probe with a semaphore, and a library with its thread: gone a few seconds after SIGKILL; a trace that was finished is kept."""
    native = t.target("storm", 1000, 100000000)
    managed = t.start(build_dotnet(t, "Counting"))
    managed.wait_line("pid ")
    server = Server(t)
    finished = begin_session(server, pid=native.pid, events="storm:hit")
    server.ask(finished + "/stop", method="POST")
    sessions = [begin_session(server, pid=native.pid, events="storm:hit"),
                begin_session(server, pid=managed.pid, events="MyCompany-*")]
    until(t, lambda: semaphore(native.pid, t.target_path("storm")) == 1, "the semaphore of a probe")
    t.ok(breakpoints(native.pid, t.target_path("storm")), "its probe in the program's code")
    until(t, lambda: maps_of_us(managed.pid), "the library in a .NET process")
    server.process.signal(signal.SIGKILL)
    server.process.wait()
    until(t, lambda: not semaphore(native.pid, t.target_path("storm")), "the semaphore afterwards")
    until(t, lambda: not breakpoints(native.pid, t.target_path("storm")), "the probe afterwards")
    until(t, lambda: not maps_of_us(managed.pid), "no library in the process")
    until(t, lambda: "tapir" not in comms(managed.pid).values(), "no thread in it")
    again = Server(t)
    t.eq(again.json(finished)["state"], "finished", "a session that was over")
    t.eq([again.json(path)["state"] for path in sessions], ["cut", "cut"], "those that ran")
    with open(t.path("kept.tapir"), "wb") as file:
        file.write(again.ask(finished + "/trace")[2])
    t.ok(t.events(t.path("kept.tapir")), "its trace")
    managed.signal(signal.SIGUSR1)
    managed.wait_line("done", timeout=30)  # it runs as before


def test_recording_ends_at_its_cpu_time(t):
    target = t.target("storm", 0, 1000000000)
    server = Server(t, "--config", write_config(t, {"limits": {"cpu_seconds": 3}}))
    path = begin_session(server, pid=target.pid, events="storm:hit", seconds=300)
    until(t, lambda: server.json(path)["state"] == "finished", "its end", seconds=90)
    t.ok(server.json(path)["events"] > 0, "what it had recorded")


# A stack is of one moment: this program is in its function at each.
ALWAYS_THERE = """
static volatile unsigned long sum;

__attribute__((noinline)) static void burn_much(void)
{
	for (;;)
		sum++;
}

int main(void)
{
	burn_much();
}
"""


def test_agent_without_privileges_serves_its_own_user(t):
    """As the application's user: lists, stacks and a profile of its processes; what is missing is listed."""
    t.need_others()
    nobody = (t.need("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups")
    os.chmod(t.tmp, 0o777)
    with open(t.path("always.c"), "w", encoding="ascii") as file:
        file.write(ALWAYS_THERE)
    t.eq(t.run(t.need("gcc"), "-O1", "-fno-omit-frame-pointer", t.path("always.c"), "-o", t.path("always")).rc, 0, "gcc")
    target = t.start(*nobody, t.path("always"))
    target.wait_cpu(0.1)  # it has started
    agent = t.start(*nobody, t.tapir_path, "serve", "--listen", f"unix:{t.path('sock')}", "--state", "memory")
    agent.wait_line("tapir: listening on ")

    def ask(path):
        out = t.run(t.need("curl"), "-sf", "--unix-socket", t.path("sock"), "http://localhost" + path).out
        return json.loads(out)

    process = ask(f"/v1/processes/{target.pid}")
    t.eq(process["user"], "nobody", "its user")
    t.ok([check for check in process["checks"] if check["state"] != "ok"], "what is missing is listed")
    t.ok("burn_much" in json.dumps(ask(f"/v1/stacks?pid={target.pid}")), "its stacks")
    t.ok("burn_much" in json.dumps(ask(f"/v1/findings?pid={target.pid}&seconds=1")), "its profile")
    other = t.target("burner", 60000)
    status = t.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", t.path("sock"),
                   f"http://localhost/v1/findings?pid={other.pid}&seconds=1").out
    t.ok(status != "200", f"a process of another user: {status}")


# The machine's own clock is others' as well: this is the agent's, by what a file says.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile long *offset_s;

__attribute__((constructor)) static void begin(void)
{
	offset_s = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, open(getenv("TEST_CLOCK"), O_RDONLY | O_CLOEXEC), 0);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime"), ret = real(id, out);

	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
		out->tv_sec += offset_s ? *offset_s : 0;
	return ret;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}
"""


def test_clock_that_is_set_ends_nothing(t):
    """Two days ahead, a month back: logins, leases and recordings go on; a token's day of expiry is one of the clock's."""
    with open(t.path("clock.c"), "w", encoding="ascii") as file:
        file.write(CLOCK)
    t.eq(t.run(t.need("gcc"), "-shared", "-fPIC", "-O1", t.path("clock.c"), "-ldl", "-o", t.path("clock.so")).rc, 0, "gcc")

    def set_clock(days):
        with open(t.path("offset"), "r+b" if os.path.exists(t.path("offset")) else "wb") as file:
            file.write(struct.pack("q", days * 86400))

    set_clock(0)
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
    tokens = tokens_file(t, [{"name": "a", "role": "admin", "token": "a" * 32},
                             {"name": "b", "role": "view", "token": "b" * 32, "expires": tomorrow}])
    server = Server(t, "--config", write_config(t, {"tokens_file": tokens}),
                    wrap=("env", "LD_PRELOAD=" + t.path("clock.so"), "TEST_CLOCK=" + t.path("offset")))
    server.token = "a" * 32
    target, visitor = t.target("burner", 60000), Visitor(server)
    visitor.sign_in("a" * 32)
    leased = begin_session(server, pid=target.pid, seconds=300, lease=120)
    timed = begin_session(server, pid=target.pid, seconds=3)
    start = time.monotonic()
    for days, status in ((2, 401), (-30, 200)):
        set_clock(days)
        t.eq(visitor.ask("/sessions").status, 200, f"a login, {days} days later")
        t.eq(server.ask("/v1/whoami", token="b" * 32)[0], status, f"a token that expires tomorrow, {days} days later")
        t.eq(server.json(leased)["state"], "recording", f"a session with a lease, {days} days later")
        today = time.strftime("%Y-%m-%dT", time.gmtime(time.time() + days * 86400))
        server.json("/v1/profile?pid=0", expect=400)
        until(t, lambda: any(today in line for line in server.audit()), f"a line of the log on {today}")
    until(t, lambda: server.json(timed)["state"] == "finished", "the end of a session of 3 s", seconds=60)
    t.ok(time.monotonic() - start > 2 and 2.9 < server.json(timed)["seconds"] < 30, f"how long it was: {server.json(timed)}")
    status, _, trace = server.ask(leased, method="DELETE")
    t.eq(status, 200, "the end of the other one")
    with open(t.path("x.tapir"), "wb") as file:
        file.write(trace)
    t.ok(t.report(t.path("x.tapir"))["samples"], "samples of a recording in which the clock was set")


def ready_children(pid):
    return [child for child in all_children(pid) if name_of(child) == "tapir-ready"]


def attached_by(pid):
    """What a process holds that is attached to something: links of BPF programs and perf events."""
    names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    return [name for name in names if "perf_event" in name or name.endswith("bpf_link") or name.endswith("bpf-link")], names


def test_child_that_is_ready_makes_the_next_recording(t):
    """It has its programs and nothing attached; it is the session, or the profile, that is asked for next; it ends with its time or its agent."""
    target = t.target("burner", 60000)
    server = Server(t)
    server.json("/v1/sessions")
    time.sleep(0.5)
    t.eq(ready_children(server.pid), [], "children that are ready before anybody looks for what to record")
    server.json("/v1/processes")
    until(t, lambda: ready_children(server.pid), "a child that is ready")
    ready, = ready_children(server.pid)
    until(t, lambda: any("bpf-prog" in name for name in attached_by(ready)[1]), "its programs")
    time.sleep(1)
    t.eq(attached_by(ready)[0], [], "what it has attached")
    session = begin_session(server, pid=target.pid)
    until(t, lambda: server.json(session)["samples"] > 0, "samples of a session")
    t.eq(ready_children(server.pid), [], "ready while a recording runs")
    t.ok(ready in all_children(server.pid), "the session is made by the child that was ready")
    status, _, trace = server.ask(session, method="DELETE")
    t.eq(status, 200, f"its trace: {trace[:200]}")
    with open(t.path("x.tapir"), "wb") as file:
        file.write(trace)
    report = t.report(t.path("x.tapir"))
    t.eq([one["pid"] for one in report["processes"]], [target.pid], "processes of its trace")
    until(t, lambda: ready_children(server.pid), "the next one")
    ready, = ready_children(server.pid)
    folded = server.ask(f"/debug/pprof/profile?pid={target.pid}&seconds=0.3")
    t.eq((folded[0], folded[2][:2]), (200, b"\x1f\x8b"), "a profile by it, in the format of its resource")
    until(t, lambda: ready_children(server.pid), "the one after that")
    ready, = ready_children(server.pid)
    server.process.signal(signal.SIGTERM)
    t.eq(server.process.wait().rc, 0, "exit status of the agent")
    t.ok(not os.path.exists(f"/proc/{ready}"), "what was ready has ended with it")


def test_child_that_is_ready_ends_with_its_time_its_client_and_its_agent(t):
    target = t.target("burner", 60000)
    server = Server(t, "--config", write_config(t, {"limits": {"ready_seconds": 2}}))
    front = all_children(server.pid)
    server.ask(f"/v1/profile?pid={target.pid}&seconds=0.1")
    until(t, lambda: ready_children(server.pid), "a child that is ready")
    until(t, lambda: all_children(server.pid) == front, "its end")
    server.ask(f"/v1/profile?pid={target.pid}&seconds=0.1")
    until(t, lambda: ready_children(server.pid), "another one")
    ready, = ready_children(server.pid)
    sock = server.connect()
    sock.sendall(f"GET /v1/profile?pid={target.pid}&seconds=60 HTTP/1.1\r\nHost: localhost\r\n"
                 f"Authorization: Bearer {server.token}\r\n\r\n".encode())
    until(t, lambda: server.json("/healthz")["recordings"] == 1, "a recording")
    t.ok(ready in all_children(server.pid), "made by it")
    sock.close()
    until(t, lambda: not os.path.exists(f"/proc/{ready}"), "its end when its client has gone")
    until(t, lambda: ready_children(server.pid), "one more")
    ready, = ready_children(server.pid)
    server.process.signal(signal.SIGKILL)
    until(t, lambda: not os.path.exists(f"/proc/{ready}"), "its end with a killed agent")


def test_target_that_goes_ends_its_recordings(t):
    """A profile and a session of a process that is killed are over then, with what there was; the next request says that it has gone."""
    target = t.target("burner", 60000)
    server = Server(t)
    session = begin_session(server, pid=target.pid)
    until(t, lambda: server.json(session)["samples"] > 0, "samples of a session")
    sock = server.connect()
    sock.sendall(f"GET /v1/profile?pid={target.pid}&seconds=60&format=folded HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 f"Authorization: Bearer {server.token}\r\n\r\n".encode())
    until(t, lambda: server.json("/healthz")["recordings"] == 2, "a profile beside it")
    time.sleep(1.5)
    target.kill()
    answer = b""
    while part := sock.recv(65536):
        answer += part
    sock.close()
    t.ok(answer.startswith(b"HTTP/1.1 200") and b"burn" in answer, f"a profile of a process that was killed: {answer[:200]}")
    until(t, lambda: server.json(session)["state"] == "finished", "the end of the session")
    t.eq(server.ask(session + "/trace?format=folded")[0], 200, "its trace")
    for path in ("/v1/profile", "/v1/stacks", "/v1/findings"):
        server.json(f"{path}?pid={target.pid}", expect=404)


def test_clients_that_begin_at_once_get_what_there_is_room_for(t):
    """Twelve begin a session at the same moment and stop it: as many as the limit allows have one, the others hear when to ask again."""
    target = t.target("burner", 60000)
    server = Server(t, "--config", write_config(t, {"limits": {"sessions": 3}}))
    statuses, lock = [], threading.Lock()

    def client():
        status, headers, data = server.ask("/v1/sessions", method="POST", body=json.dumps({"pid": target.pid, "seconds": 60, "no_sched": True}))
        with lock:
            statuses.append((status, "retry-after" in headers, json.loads(data).get("id")))

    clients = [threading.Thread(target=client) for _ in range(12)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    t.eq(sorted(status for status, _, _ in statuses), [201] * 3 + [429] * 9, "statuses")
    t.ok(all(retry for status, retry, _ in statuses if status == 429), "Retry-After")
    begun = [f"/v1/sessions/{one}" for status, _, one in statuses if status == 201]
    ended = []

    def stop(path):
        status = server.ask(path, method="DELETE")[0]
        with lock:
            ended.append(status)

    clients = [threading.Thread(target=stop, args=(path,)) for path in begun * 2]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    t.eq(ended.count(200), 3, f"traces that were handed out: {ended}")
    t.ok(set(ended) <= {200, 404, 409}, f"what the others heard: {ended}")
    t.eq(server.json("/v1/sessions")["sessions"], [], "sessions that are left")
