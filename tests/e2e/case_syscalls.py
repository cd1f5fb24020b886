# SPDX-License-Identifier: GPL-2.0-or-later
"""System calls in numbers: exactly those that the program, or strace, counts."""
import collections
import json
import os
import re
import shutil
import signal
import time

from harness import PATIENCE, Failure

QUIET = ("--no-samples", "--no-sched")
THREADS, CALLS, SLEEPS = 4, 500, 4
# Calls, and then a wait that the recording's end finds it in.
STAYS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("pid", os.getpid(), flush=True)
signal.sigwait([signal.SIGUSR1])
for _ in range(3000): os.getppid()
print("done", flush=True)
signal.sigwait([signal.SIGUSR1])
"""
# One file from four threads, its end, both ends of connections, and what has no path.
OF_FILES = """
import json, os, signal, socket, sys, threading
path = sys.argv[1]
before = os.open(path + "-before", os.O_WRONLY | os.O_CREAT)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("pid", os.getpid(), flush=True)
signal.sigwait([signal.SIGUSR1])
file = os.open(path, os.O_RDWR | os.O_CREAT)
threads = [threading.Thread(target=lambda: [os.pread(file, 1, 0) for _ in range(700)]) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
for at in range(300): os.pwrite(file, b"x", at)
for _ in range(3): os.fsync(file)
server, client = socket.socket(), socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
client.connect(server.getsockname())
accepted, _ = server.accept()
for _ in range(200):
    client.send(b"x")
    accepted.recv(1)
reader, writer = os.pipe()
for _ in range(70): os.write(writer, b"x")
for _ in range(40):
    try: os.read(writer, 1)
    except OSError: pass
event = os.eventfd(0)
for _ in range(30): os.eventfd_write(event, 1)
stat = os.fstat(file)
os.unlink(path)
second = os.open(path, os.O_WRONLY | os.O_CREAT)
for _ in range(50): os.write(second, b"x")
os.close(before)
print(json.dumps({"inode": stat.st_ino, "dev": os.major(stat.st_dev) << 20 | os.minor(stat.st_dev), "second": os.fstat(second).st_ino, "pipe": os.fstat(reader).st_ino,
                  "client": "tcp %s:%d to %s:%d" % (client.getsockname() + client.getpeername())}))
"""


def record(t, *options):
    """What `caller` says it did, its pid, the records, the file. It waits until it is traced."""
    file = t.path("calls.tapir")
    target = t.target("caller", "--wait", THREADS, CALLS)
    said = t.record_waiting(target, file, *options, *QUIET)
    return said, target.pid, t.events(file, "calls"), file


def sums(records, kind="thread"):
    """{(call, error): count}"""
    found = {}
    for r in records:
        if r["kind"] == kind:
            key = r["call"], r["error"]
            found[key] = found.get(key, 0) + r["count"]
    return found


def wait_until_in(pid, call):
    end = time.monotonic() + 10 * PATIENCE
    while True:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            if file.read().split()[0] == str(call):
                return
        if time.monotonic() > end:
            raise Failure(f"{pid} is not in system call {call}")
        time.sleep(0.005)


def test_each_call_is_counted_with_its_error(t):
    said, pid, records, file = record(t, "--syscalls")
    found = sums(records)
    t.eq(found["getppid", None], said["getppid"], "that succeed")
    t.eq(found["close", "EBADF"], said["ebadf"], "of no descriptor")
    t.eq(found["openat", "ENOENT"], said["enoent"], "of no file")
    t.eq(found["prctl", None], said["renames"], "renames")
    t.eq(found["kill", None], said["signals"], "signals")
    t.eq(found["nanosleep", None], said["sleeps"], "sleeps")
    t.eq({r["pid"] for r in records}, {pid}, "processes")
    by_tid = {}
    for r in records:
        if r["kind"] == "thread" and r["call"] == "getppid":
            by_tid[r["tid"]] = by_tid.get(r["tid"], 0) + r["count"]
    t.eq(sorted(by_tid.values()), [CALLS] * THREADS, "of each thread")
    slept = [r for r in records if r["kind"] == "thread" and r["call"] == "nanosleep"]
    t.ok(sum(r["sum_ns"] for r in slept) >= said["slept_ns"], "the time of sleeps")
    t.eq(sum(r["unbegun"] for r in records), 1, "in which it waited to be traced")
    t.eq([r["call"] for r in records if r["open"]], [], "that had not returned when it ended")
    check_stacks(t, records, found)
    check_view(t, file, said)


def check_stacks(t, records, found):
    stacks = sums(records, "stack")
    t.ok(0 < stacks["close", "EBADF"] <= found["close", "EBADF"], "some of those that failed have a stack")
    t.ok(("getppid", None) not in stacks, "what does not fail has none")
    ends = [(any(f["name"] == "run" for f in r["stack"]), r.get("stack_end")) for r in records if r["kind"] == "stack" and r["call"] == "close"]
    t.ok(ends and all(has_function or end for has_function, end in ends), f"of the function that made them, or with a reason: {ends}")


def check_view(t, file, said):
    view = json.loads(t.tapir("report", file, "--view", "syscalls", "--top", 1000, "--json").out)
    rows = {row["call"]: row for row in view["calls"]}
    t.eq((rows["getppid"]["calls"], rows["getppid"]["failed"]), (said["getppid"], 0), "getppid")
    t.eq(rows["openat"]["failed"], said["enoent"], "openat")
    made = sum(row["calls"] for row in view["calls"])
    t.ok(2_000_000 <= rows["nanosleep"]["p50_ns"] * 1.07 and rows["nanosleep"]["p50_ns"] <= rows["nanosleep"]["max_ns"], "the median of sleeps")
    t.eq(sum(row["calls"] for row in view["threads"]), made, "threads add up")
    t.eq(sum(row["calls"] for row in view["processes"]), made, "processes add up")
    use = json.loads(t.tapir("report", file, "--view", "processes", "--json").out)["processes"]
    failed = sum(row["failed"] for row in view["calls"])
    t.eq([(row["calls"], row["failed_calls"]) for row in use], [(made, failed)], "the same of the process")
    t.ok(re.search(r" CALLS +FAILED +PROCESS", t.tapir("report", file, "--view", "processes").out), "columns")
    t.eq(next(row["failed"] for row in view["errors"] if row["call"] == "close"), said["ebadf"], "errors")
    out = t.tapir("query", file, "SELECT sum(count) AS n FROM calls WHERE kind = 'thread' AND error = 'EBADF'", "--json").out
    t.eq(json.loads(out)[0], {"n": said["ebadf"]}, "of the table")
    text = t.tapir("report", file).out
    t.ok(re.search(r"Failed .* failed calls a second: caller \(\d+\) (close EBADF|openat ENOENT)", text), text)
    t.eq(t.report(file)["syscalls"]["captured"], made, "of the report")


def test_calls_of_a_list_alone(t):
    said, _, records, _ = record(t, "--syscalls=getppid,nano*")
    t.eq(sums(records), {("getppid", None): said["getppid"], ("nanosleep", None): said["sleeps"]}, "calls")


def test_process_that_stays(t):
    file = t.path("stays.tapir")
    target = t.start("python3", "-c", STAYS)
    target.wait_line("pid ")
    tapir = t.start_tapir("record", "--syscalls", *QUIET, "-p", target.pid, "-o", file)
    tapir.wait_ready()
    target.go()
    target.wait_line("done")
    wait_until_in(target.pid, 128)  # rt_sigtimedwait
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "record")
    records = t.events(file, "calls")
    t.eq(sums(records)["getppid", None], 3000, "that it made")
    t.eq([(r["call"], r["open"]) for r in records if r["open"]], [("rt_sigtimedwait", 1)], "in which it waits")
    target.go()
    target.wait()


def test_segments_add_up(t):
    stem = t.path("ring")
    target = t.start("python3", "-c", STAYS)
    target.wait_line("pid ")
    tapir = t.start_tapir("record", "--syscalls", *QUIET, "-p", target.pid, "--continuous", 8, "-o", stem)
    tapir.wait_ready()
    target.go()
    target.wait_line("done")
    tapir.signal(signal.SIGINT)  # what is frozen has all until then
    t.eq(tapir.wait().rc, 0, "record")
    file, = (os.path.join(t.tmp, name) for name in os.listdir(t.tmp) if name.startswith("ring") and name.endswith(".tapir"))
    t.eq(sums(t.events(file, "calls"))["getppid", None], 3000, "that it made")
    target.go()
    target.wait()


def test_as_many_as_strace_counts(t):
    if not shutil.which("strace"):
        t.skip("strace is not installed")
    command = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=2000")
    log, file = t.path("strace.txt"), t.path("dd.tapir")
    chosen = ("read", "openat", "mmap")  # before it executes dd, the child of tapir makes none of these
    # The -c of strace 6.1 crashes at the kernel's uretprobe(2), which programs call while any tracer probes returns in their libc.
    t.eq(t.run("strace", "-f", "-e", f"trace={','.join(chosen)}", "-o", log, *command).rc, 0, "strace")
    with open(log, encoding="utf-8", errors="replace") as lines:
        counted = collections.Counter(match[1] for match in (re.match(r"\d+ +(\w+)\(", line) for line in lines) if match)
    t.tapir("record", "--syscalls", *QUIET, "-o", file, "--", *command)
    found = sums(t.events(file, "calls"))
    for call in chosen:
        t.eq(sum(n for (name, _), n in found.items() if name == call), counted[call], call)


def test_calls_by_file_are_those_of_the_program(t):
    file, path = t.path("files.tapir"), t.path("data")
    target = t.start("python3", "-c", OF_FILES, path)
    target.wait_line("pid ")
    said = t.record_waiting(target, file, "--syscall-files", *QUIET)
    records = [r for r in t.events(file, "calls") if r["kind"] == "file"]
    found = {}
    for r in records:
        key = r.get("file"), r["inode"], r["call"], r["error"]
        found[key] = found.get(key, 0) + r["count"]
    own = {key[2:]: n for key, n in found.items() if key[:2] == (path, said["inode"])}
    t.eq({key: own[key] for key in (("pread64", None), ("pwrite64", None), ("fsync", None))},
         {("pread64", None): 2800, ("pwrite64", None): 300, ("fsync", None): 3}, "of the file, from all threads")
    t.eq({r["dev"] for r in records if r["inode"] == said["inode"] and r.get("file") == path}, {said["dev"]}, "its device")
    t.eq(found[path, said["second"], "write", None], 50, "of another file of that name")
    t.eq(found[path + "-before", os.stat(path + "-before").st_ino, "close", None], 1, "a file that was open before, and is closed")
    t.eq(sum(n for (name, _, call, _), n in found.items() if (name, call) == (said["client"], "sendto")), 200, "of the client's socket")
    peer = said["client"].split()
    t.eq(sum(n for (name, _, call, _), n in found.items() if (name, call) == (f"tcp {peer[3]} to {peer[1]}", "recvfrom")), 200, "of the server's")
    pipe = f"pipe:[{said['pipe']}]", said["pipe"]
    t.eq((found[(*pipe, "write", None)], found[(*pipe, "read", "EBADF")]), (70, 40), "of the pipe")
    event, = [key for key in found if key[0] == "anon_inode:[eventfd]" and key[2] == "write"]
    t.eq((event[1], found[event]), (None, 30), "of the event")
    check_files_in_view(t, file, path)


def check_files_in_view(t, file, path):
    view = json.loads(t.tapir("report", file, "--view", "syscalls", "--top", 1000, "--json").out)
    rows = [row for row in view["files"] if (row["file"], row["call"]) == (path, "pread64")]
    t.eq([(row["calls"], row["failed"]) for row in rows], [(2800, 0)], "of the view")
    t.ok(0 < rows[0]["p50_ns"] <= rows[0]["p99_ns"] <= rows[0]["max_ns"] <= rows[0]["sum_ns"], f"times: {rows[0]}")
    with_file = sum(row["calls"] for row in view["files"])
    t.ok(with_file < sum(row["calls"] for row in view["calls"]), "calls without a file are in no such row")
    out = t.tapir("query", file, f"SELECT sum(count) AS n FROM calls WHERE file = '{path}' AND call = 'fsync'", "--json").out
    t.eq(json.loads(out)[0], {"n": 3}, "of the table")


# Paths that are there and that are not, relative ones, a long one, names with special characters.
OF_PATHS = """
for i in 1 2 3 4 5 6 7 8 9; do cat /etc/nosuch-tapir.conf; done
mkdir "$1/a"; echo x > "$1/a/[x]"; mv "$1/a/[x]" "$1/a/y z"; ln -s /nowhere "$1/a/link"
readlink "$1/a/link"; stat "$1/a/y z" "$1/a/none"; cd "$1/a"; cat ./none; test -e none
chmod 600 "y z"; ls -l . "$1/none"; cat /nosuch/$(printf "%0240d" 0); rm "y z" link; rmdir "$1/a"
/nosuch/program; env nosuch-tapir-program
"""


def test_calls_by_path_are_those_of_strace(t):
    if not shutil.which("strace"):
        t.skip("strace is not installed")
    log, file = t.path("strace.txt"), t.path("paths.tapir")
    command = ("sh", "-c", OF_PATHS, "sh", t.tmp)
    t.run("strace", "-f", "-qq", "-s", 4096, "-e", "trace=%file", "-o", log, *command)
    t.run(t.tapir_path, "record", "--syscall-files", *QUIET, "-o", file, "--", *command)
    found = {}
    for r in t.events(file, "calls"):
        if r["kind"] == "path":
            key = r["call"], r["file"], r["error"]
            found[key] = found.get(key, 0) + r["count"]
            t.eq((r["inode"], r["dev"]), (None, None), f"of {key}")
    counted = paths_of_strace(log)
    # Who starts the command looks for its program: strace itself, not tapir's child.
    t.eq({key: n for key, n in found.items() if not key[1].endswith("/sh")},
         {key: n for key, n in counted.items() if not key[1].endswith("/sh")}, "by call, path and error")
    t.eq(found["openat", "/etc/nosuch-tapir.conf", "ENOENT"], 9, "of a file that is not there")
    t.eq(t.report(file)["lost"], {}, "lost")
    view = json.loads(t.tapir("report", file, "--view", "syscalls", "--top", 1000, "--json").out)
    rows = [row for row in view["paths"] if row["path"] == "/etc/nosuch-tapir.conf"]
    t.eq([(row["calls"], row["call"], row["error"]) for row in rows], [(1, "openat", "ENOENT")] * 9, "of each process")


def paths_of_strace(log):
    """{(call, path, error): count} of calls that have no descriptor of a file afterwards."""
    counted = {}
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            call = re.match(r'\d+ +(\w+)\((?:AT_FDCWD, )?"((?:[^"\\\\]|\\\\.)*)".* = (-?\d+)(?: ([A-Z]+))?', line)
            if call and call[2] and call[1] != "symlinkat" and (call[4] or call[1] not in ("open", "openat", "creat")):
                key = call[1], call[2], call[4]
                counted[key] = counted.get(key, 0) + 1
    return counted


def test_path_that_cannot_be_read_is_a_loss(t):
    file = t.path("unread.tapir")
    call = "import ctypes; [ctypes.CDLL(None).unlink(ctypes.c_void_p(1)) for _ in range(7)]"
    t.tapir("record", "--syscall-files", *QUIET, "-o", file, "--", "python3", "-c", call)
    records = t.events(file, "calls")
    t.eq(sums(records)["unlink", "EFAULT"], 7, "calls")
    t.ok(("unlink", "EFAULT") not in sums(records, "path"), "they have no path")
    t.eq([(r["cause"], r["count"]) for r in t.events(file, "loss")], [("calls_path_unread", 7)], "each is a loss of its own")


def test_calls_by_file_over_segments(t):
    stem, path = t.path("ring"), t.path("data")
    target = t.start("python3", "-c", OF_FILES, path)
    target.wait_line("pid ")
    tapir = t.start_tapir("record", "--syscall-files", *QUIET, "-p", target.pid, "--continuous", 8, "-o", stem)
    tapir.wait_ready()
    target.go()
    target.wait()
    t.eq(tapir.wait().rc, 0, "record")
    file, = (os.path.join(t.tmp, name) for name in os.listdir(t.tmp) if name.startswith("ring") and name.endswith(".tapir"))
    t.eq(sum(r["count"] for r in t.events(file, "calls") if r["kind"] == "file" and r["call"] == "pread64" and r.get("file") == path), 2800, "reads")


def test_name_of_no_call(t):
    result = t.tapir("record", "--syscalls=openat,nosuch", "--", "true", expect=2)
    t.ok("no system call is called 'nosuch'" in result.err and result.err.count("\n") == 1, result.err)


def test_calls_that_nobody_asked_for(t):
    file = t.path("no.tapir")
    t.tapir("record", "-o", file, "--", "true")
    out = t.tapir("report", file, "--view", "syscalls").out
    t.ok("system calls were not recorded: `tapir record --syscalls` records them" in out, out)
