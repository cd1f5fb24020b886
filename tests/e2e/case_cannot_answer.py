# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands on a process that cannot answer: what tapir waits for it, all together, is less than two seconds, and where a runtime would have
been asked, a line says why it was not. The time is what tapir says of its own waiting, not the clock's, which counts a busy machine, too."""
import subprocess

from case_dotnet import start as start_dotnet
from case_jvm import check_waiting, frozen, start as start_jvm, stopped
from case_runtimes import Server

TIMEOUT = 300
CHECK_LONG = {"test_stopped_or_frozen_dotnet_is_named_by_each_command", "test_stopped_or_frozen_jvm_is_named_by_each_command",
              "test_stopped_or_frozen_processes_that_are_asked_nothing_are_not_waited_for"}
REASONS = ((frozen, "its cgroup is frozen"), (stopped, "it is stopped (kill -CONT continues it)"))
COMMANDS = (("stacks",), ("heap",), ("record", "-d", "1", "-f", "-o"), ("trace", "-d", "1"), ("doctor",), ("list",))
# Of these, the memory is read, which waits for no one; list reads files.
ASKS = {"dotnet": ("stacks", "heap", "record", "doctor"), "jvm": ("stacks", "heap", "record")}


def check(t, pid, runtime, commands=COMMANDS):
    for hinder, why in REASONS:
        with hinder(t, pid):
            for command in commands:
                words = (*command, t.path("unable.tapir")) if command[0] == "record" else command
                result = t.tapir("-v", *words, "-p", pid, expect=None, timeout=90)
                cell = f"{runtime}, {hinder.__name__}, {command[0]}"
                check_waiting(t, result, cell)
                if command[0] in ASKS.get(runtime, ()):
                    t.ok(why in result.err + result.out, f"{cell}: why: {result.err[-2000:]}")


def test_stopped_or_frozen_dotnet_is_named_by_each_command(t):
    busy = start_dotnet(t, 280)
    check(t, busy.pid, "dotnet")
    busy.kill()


def test_stopped_or_frozen_jvm_is_named_by_each_command(t):
    jvm = start_jvm(t, t.need("java"))
    check(t, jvm.pid, "jvm")
    jvm.kill()


def test_stopped_or_frozen_processes_that_are_asked_nothing_are_not_waited_for(t):
    programs = (("python", t.need("python3"), "-c", "import time\ndef nap():\n    while True: time.sleep(0.01)\nprint('pid', flush=True)\nnap()"),
                ("node", t.need("node"), "-e", "console.log('pid'); setInterval(function tick() {}, 5)"))
    for runtime, *argv in programs:
        program = t.start(*argv)
        program.wait_line("pid")
        check(t, program.pid, runtime, (("stacks",), ("record", "-d", "1", "-f", "-o")))
        program.kill()
    with Server(t) as server:
        client = subprocess.Popen([f"{server.bin}/psql", "-X", "-q", "-A", "-t", "-h", server.dir, "-d", "postgres"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, user="postgres")
        client.stdin.write("select pg_backend_pid();\n")
        client.stdin.flush()
        check(t, int(client.stdout.readline()), "postgresql", (("stacks",), ("record", "-d", "1", "-f", "-o")))
        client.stdin.close()
        client.wait(30)
