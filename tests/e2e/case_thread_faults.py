# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir stacks of processes that make it hard: very many threads, threads and children that come and go, an end meanwhile, names that
are no names, and what has no stacks to show."""
import contextlib
import json
import os
import signal
import struct
import subprocess
import time

from case_threads import native, stacks_of

CHECK_STACKS = {"test_five_thousand_threads_are_all_there"}

COMES_AND_GOES = """
import os, threading, time
def one():
    time.sleep(0.001)
def storm():
    while True:
        some = [threading.Thread(target=one) for _ in range(20)]
        for thread in some: thread.start()
        for thread in some: thread.join()
def fork():
    while True:
        child = os.fork()
        if not child: os._exit(0)
        os.waitpid(child, 0)
threading.Thread(target=%s, daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""

CALLS_ITSELF = r"""
import threading, time
def one():
    with open("/proc/thread-self/comm", "wb", buffering=0) as file:
        file.write(b"\x1b[31m\r\x07x\x9b1m")
    time.sleep(1000)
for _ in range(2):
    threading.Thread(target=one, daemon=True).start()
time.sleep(0.2)
print("ready", flush=True)
one()
"""


def members(found):
    return [member for group in found["groups"] for member in group["members"]]


def test_five_thousand_threads_are_all_there(t):
    target = t.start(t.target_path("blocked"), 715)
    target.wait_line("ready", 60)
    found = stacks_of(t, target.pid)
    tids = sorted(member["tid"] for member in members(found))
    t.eq(tids, sorted(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")), "the kernel's list")
    t.eq([group["threads"] for group in found["groups"]], [715] * 7 + [1], "groups")
    t.ok(all(native(group)[-1] == "clone3" for group in found["groups"][:7]), "down to the thread's start")


def sleeper(found, pid):
    """The stack of the main thread, which sleeps all the time."""
    return next((native(group) for group in found["groups"] for member in group["members"] if member["tid"] == pid), [])


def assert_calm(t, what):
    """Snapshots of a process in which something comes and goes all the time."""
    python = t.need("/usr/bin/python3")
    target = t.start(python, "-c", COMES_AND_GOES % what)
    target.wait_line("ready")
    for _ in range(4):
        result = t.tapir("stacks", "-p", target.pid, "--json")
        found = json.loads(result.out)
        t.eq(result.err, "", "messages")
        t.eq({member["pid"] for member in members(found)}, {target.pid}, "processes")
        t.eq(len(members(found)), len({member["tid"] for member in members(found)}), "each thread once")
        t.ok(any("nanosleep" in name for name in sleeper(found, target.pid)), f"the main thread: {found['headline']}")
        t.ok("_start" in sleeper(found, target.pid), "down to its start")


def test_threads_that_end_while_they_are_read_harm_nothing(t):
    assert_calm(t, "storm")


def test_process_that_forks_meanwhile_is_shown_alone(t):
    assert_calm(t, "fork")


def test_process_that_ends_meanwhile_is_shown_or_one_line(t):
    for delay in (0, 0.05, 0.1, 0.2):
        target = t.start(t.target_path("blocked"), 20)
        target.wait_line("ready")
        tapir = subprocess.Popen([t.tapir_path, "stacks", "-p", str(target.pid), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)
        time.sleep(delay)
        os.kill(target.pid, signal.SIGKILL)
        out, err = tapir.communicate(timeout=30)
        if tapir.returncode:
            t.eq((tapir.returncode, len(err.splitlines())), (1, 1), f"after {delay} s: {err}")
            t.ok(str(target.pid) in err, err)
        else:
            t.ok(len(members(json.loads(out))) <= 141, f"after {delay} s: {out[:200]}")


def test_names_of_control_characters_do_not_reach_the_terminal(t):
    target = t.start(t.need("/usr/bin/python3"), "-c", CALLS_ITSELF)
    target.wait_line("ready")
    result = t.run(t.tapir_path, "stacks", "-p", target.pid)
    t.eq((result.rc, [c for c in "\x1b\x07\r\x9b" if c in result.out + result.err]), (0, []), result.out[:300])
    t.ok("31m" in result.out, "the rest of the name")
    text = t.tapir("stacks", "-p", target.pid, "--json", "--threads", "*31m*").out
    t.eq([c for c in "\x1b\x07\r\x9b" if c in text], [], "escaped in JSON")
    t.eq({member["name"][:9] for member in members(json.loads(text))}, {"\x1b[31m\r\x07x\ufffd"}, "what it is")
    t.eq(len(members(json.loads(text))), 3, "threads")


def parent_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])
    return 0


def of_32_bits(path):
    """A static program of 32 bits that waits for a signal: its system call is pause."""
    code = bytes.fromhex("b81d000000cd80ebf7")
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    load = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096)
    with open(path, "wb") as file:
        file.write(header + load + code)
    os.chmod(path, 0o755)


def test_what_has_no_stacks_is_one_line(t):
    of_32_bits(t.path("small"))
    try:
        small = t.start(t.path("small"))
    except OSError:
        t.skip("this kernel runs no 32-bit programs")
    time.sleep(0.2)
    kernel = next((pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if parent_of(pid) == 2), 0)
    parent = t.start("/bin/sh", "-c", "sleep 0 & echo $!; exec sleep 100")
    zombie = int(parent.wait_line("").split()[0])
    time.sleep(0.3)
    for pid, code, words in ((small.pid, 3, "is a 32-bit program"), (kernel, 3, "is a kernel thread"), (zombie, 1, "zombie")):
        result = t.run(t.tapir_path, "stacks", "-p", pid) if pid else None
        t.ok(not pid or (result.rc, len(result.err.splitlines()), result.out) == (code, 1, "") and words in result.err,
             f"{words}: {result and (result.rc, result.out[:100], result.err)}")
