# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir top: what it counts equals the clocks and threads of programs that know them; the screen is drawn within the terminal."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

from case_cli import as_nobody, one_line
from harness import PATIENCE

# Burns 0.4 s of its own clock when it is told to, says what it has used, and sleeps. Three threads wait for a lock, two for a socket.
PROGRAM = """
import ctypes, os, socket, sys, threading, time
lock = threading.Lock()
lock.acquire()
a, b = socket.socketpair()
for what in (lock.acquire,) * 3 + (lambda: a.recv(1),) * 2:
    threading.Thread(target=what, daemon=True).start()
def sleeps(tid):
    call = open(f"/proc/self/task/{tid}/syscall").read().split()
    return call[0] == "45" or call[0] == "202" and call[4] == "0x0"  # without a timeout: not for the interpreter's own lock
while sum(map(sleeps, os.listdir("/proc/self/task"))) < 5:
    time.sleep(0.001)
ctypes.CDLL(None).prctl(15, b"\\x1b[31mred\\n", 0, 0, 0)
print("ready", flush=True)
for _ in sys.stdin:
    before = time.process_time_ns()
    while time.process_time_ns() < before + 400_000_000:
        pass
    print(time.process_time_ns() - before, flush=True)
"""


def witness(t):
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.eq(program.stdout.readline(), "ready\n", "the program")
    return program


def rows_of(line):
    top = json.loads(line)
    return top.get("processes") or top.get("threads") or []


def test_cpu_time_is_that_of_the_programs_clock(t):
    """All of what it burns is in one interval or another."""
    program = witness(t)
    top = subprocess.Popen([t.tapir_path, "top", "--json", "--interval", "0.25", "-p", str(program.pid)], stdout=subprocess.PIPE)
    top.stdout.readline()
    program.stdin.write("\n")
    program.stdin.flush()
    used = int(program.stdout.readline())
    lines = [top.stdout.readline()]
    while any(row["cpu"] > 0.01 for row in rows_of(lines[-1])):
        lines.append(top.stdout.readline())
    top.send_signal(signal.SIGINT)
    rest, _ = top.communicate(timeout=60 * PATIENCE)
    program.kill()
    t.eq(top.returncode, 0, "exit")
    lines += rest.splitlines()
    seen = sum(row["cpu"] * json.loads(line)["interval_ns"] for line in lines for row in rows_of(line))
    t.ok(used <= seen * 1.001 and seen <= used + 100_000_000, f"used {used}, seen {seen:.0f}")
    samples = [row["work"] for line in lines for row in rows_of(line) if row["samples"]]
    for work in samples:
        t.ok(abs(sum(work.values()) - max(row["cpu"] for line in lines for row in rows_of(line) if row["work"] == work)) < 1e-6, work)


def test_waits_are_those_of_the_threads(t):
    program = witness(t)
    whole = t.tapir("top", "--once", "--json", "--interval", "0.3", "-p", f"{program.pid},{os.getpid()}").json_lines()[0]
    threads = t.tapir("top", "--once", "--json", "--threads", "--interval", "0.1", "-p", program.pid).json_lines()[0]["threads"]
    asked = t.tapir("top", "--once", "--json", "--interval", "0.3", "--where", f"pid == {program.pid} && futex > 2.9 && net > 1.9").json_lines()[0]
    none = t.tapir("top", "--once", "--json", "--interval", "0.3", "--where", f"pid == {program.pid} && futex > 3.1").json_lines()[0]
    program.kill()
    t.eq(([row["pid"] for row in asked["processes"]], none["processes"]), ([program.pid], []), "--where")
    t.eq({row["pid"] for row in whole["processes"]}, {program.pid, os.getpid()}, "processes")
    row = next(row for row in whole["processes"] if row["pid"] == program.pid)
    t.eq((row["threads"], row["waiting"]["futex"], row["waiting"]["net"]), (6, 3, 2), "threads that wait")
    t.eq(sorted((row["waiting"]["futex"], row["waiting"]["net"]) for row in threads), [(0, 0), (0, 1), (0, 1), (1, 0), (1, 0), (1, 0)], "each")


def test_names_do_no_harm_and_a_pipe_may_close(t):
    program = witness(t)
    result = t.tapir("top", "--interval", "0.1", "-p", program.pid)
    few = t.tapir("top", "--threads", "--interval", "0.1", "--top", 1, "-p", program.pid).out.splitlines()
    t.eq(result.err, "", "a table where there is no terminal")
    t.ok("\033" not in result.out and re.search(rf"^ *{program.pid} .*\\x1b\[31mred\\n$", result.out, re.M), result.out)
    t.ok(len(few) == 4 and few[-1] == "... and 5 more (--top 0)", few)
    for words in (("top",), ("top", "--json")):
        piped = t.run("sh", "-c", '"$@" --interval 0.1 | head -n 1', "sh", t.tapir_path, *words, "-p", program.pid)
        t.eq((piped.rc, len(piped.out.splitlines()), piped.err), (0, 1, ""), f"{words} | head")


def test_it_says_what_it_needs(t):
    one_line(t, as_nobody(t, "top", "--once"), "requires CAP_BPF and CAP_PERFMON")
    one_line(t, t.tapir("top", "-p", 2**22 + 5, expect=1), "does not exist")
    one_line(t, t.tapir("top", "--interval", "1us", expect=2), "--interval")
    mistake = t.tapir("top", "--once", "--where", "cpux > 5", expect=2)
    t.ok("a row has no field 'cpux'" in mistake.err and "^~~~" in mistake.err and "cpu, own" in mistake.err, mistake.err)


class Screen:
    """tapir top on a terminal of its own."""

    def __init__(self, t, *words, term="xterm", size=(24, 80)):
        self.leader, follower = pty.openpty()
        self.before = termios.tcgetattr(follower)
        self.follower = follower
        self.size = size
        self.resize(*size)
        self.text = b""
        self.child = subprocess.Popen([t.tapir_path, "top", "--interval", "0.2", *words], stdin=follower, stdout=follower, stderr=follower,
                                      env={**os.environ, "TERM": term}, cwd=t.tmp, start_new_session=True)

    def resize(self, rows, columns):
        self.size = rows, columns
        fcntl.ioctl(self.follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if select.select([self.leader], [], [], seconds)[0]:
            self.text += os.read(self.leader, 65536)

    def frames(self):
        return [re.sub("\033\\[[0-9;?]*[a-zA-Z]", "", frame).replace("\r", "").split("\n")
                for frame in self.text.decode().split("\033[H")[1:]]

    def wait(self, t, is_it, what):
        """A whole frame of which that is true."""
        until = time.monotonic() + 20 * PATIENCE
        while not any(map(is_it, self.frames()[:-1])):
            t.ok(time.monotonic() < until, f"{what}: {self.frames()[-2:]}")
            self.read(0.5)
        found = next(filter(is_it, self.frames()[:-1]))
        self.text = b""
        return found

    def key(self, keys):
        self.text = b""
        os.write(self.leader, keys)

    def end(self, t):
        while self.child.poll() is None:
            self.read(0.2)
        self.read(0)
        t.eq(self.child.returncode, 0, "exit")
        t.ok(b"\033[?1049l" in self.text, "the first screen is back")
        t.eq(termios.tcgetattr(self.follower), self.before, "the terminal is as it was")
        os.close(self.leader)
        os.close(self.follower)


def recordings(t):
    return [name for name in os.listdir(t.tmp) if name.endswith(".tapir")]


def samples_in(t):
    """What is in the file so far: more than nothing once the process is sampled."""
    for name in recordings(t):
        result = t.run(t.tapir_path, "query", t.path(name), "SELECT count(*) AS n FROM samples", "--json")
        return result.rc == 0 and json.loads(result.out)[0]["n"]
    return 0


def test_screen_is_drawn_and_takes_keys(t):
    name = f"bn{os.getpid()}"  # other programs of this machine may be called burner
    shutil.copy2(t.target_path("burner"), t.path(name))
    target = t.start(t.path(name), 600000)
    target.wait_line("pid ")
    screen = Screen(t)
    frame = screen.wait(t, lambda f: any(str(target.pid) in line and name in line for line in f), "the program")
    t.ok(len(frame) <= 24 and all(len(line) <= 80 for line in frame) and "q quit" in frame[-1], frame)
    screen.key(b"/" + name.encode() + b"\n")
    screen.wait(t, lambda f: f[-1].startswith(f"only {name}") and name in f[2], "a filter")
    screen.key(b"/ && cpu >")
    screen.wait(t, lambda f: "is required here" in f[-1], "a mistake")
    screen.key(b"\033/cpu > 1 && name ~ \"" + name.encode() + b"*\"\n")
    screen.wait(t, lambda f: f[-1].startswith("only cpu > 1") and name in f[2] and not f[3].strip(), "an expression")
    screen.key(b"\n")
    screen.wait(t, lambda f: any("burn_" in line for line in f), "its stacks")
    screen.key(b"")
    screen.resize(10, 40)
    frame = screen.wait(t, lambda f: len(f) == 10, "a smaller terminal")
    t.ok(all(len(line) <= 40 for line in frame), frame)
    screen.key(b"t\033[B\033[A")
    screen.wait(t, lambda f: "TID" in f[1], "threads")
    screen.key(b"S")
    screen.wait(t, lambda f: "recording 10 s to" in f[-1], "a recording")
    while not samples_in(t):
        screen.read(0.2)
    target.kill()
    screen.wait(t, lambda f: "recorded: tapir" in f[-1], "that it is there")
    screen.key(b"q")
    screen.end(t)
    t.eq([name.startswith(f"tapir-{target.pid}-") for name in recordings(t)], [True], "files")


def test_ctrl_c_gives_the_terminal_back(t):
    screen = Screen(t)
    screen.wait(t, lambda f: "CPU%" in f[1], "a frame")
    os.kill(screen.child.pid, signal.SIGINT)
    screen.end(t)


def test_dumb_terminal_gets_a_table(t):
    screen = Screen(t, term="dumb")
    while screen.child.poll() is None:
        screen.read(0.2)
    screen.read(0)
    t.eq(screen.child.returncode, 0, "exit")
    t.ok(b"\033" not in screen.text and b"CPU%" in screen.text, screen.text)
