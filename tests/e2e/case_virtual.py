# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual threads of a JVM that are parked have no thread of the kernel: `stacks --async` counts them by stack. programs/Parked.java says how many
there are of each kind, once each is parked by its own state."""
import json
import os
import pathlib
import shutil

from case_interpreters_jvm import debian_java, java_of
from case_jvm import javas
from case_stacks import jdk_release, virtual_javas

# JDKs of later releases are fetched and unpacked first.
CHECK_STACKS = {"test_virtual_threads_of_jdk_21_are_counted_by_stack", "test_virtual_threads_of_jdk_27_are_counted_by_stack"}

SOURCE = pathlib.Path(__file__).parent / "programs" / "Parked.java"
KINDS = {"takes": (40, 40), "naps": (25, 25), "locks": (3, 3), "computes": (1, 0)}
WAITS_IN = {"takes": "java.util.concurrent.LinkedBlockingQueue.take", "naps": "java.lang.Thread.sleep", "locks": "java.util.concurrent.locks.ReentrantLock.lock"}


def compiled(t):
    classes = t.path("classes")
    os.makedirs(classes, exist_ok=True)
    t.eq(t.run(virtual_javas(t)[-1] + "c", "--release", "21", "-d", classes, str(SOURCE), timeout=60).rc, 0, "javac")
    return classes


def are_counted_by_stack(t, *java):
    program = t.start(*java, "Parked")
    pid = int(program.wait_line("pid ", 60).split()[1])
    found = json.loads(t.tapir("stacks", "-p", pid, "--async", "--json").out)
    t.eq((found["virtual_threads"], found["parked"]), (69, 68), "virtual threads, of them parked")
    rows = {kind: row for row in found["suspended"] for kind in KINDS if f"Parked.{kind}(Parked.java:" in row["own_methods"]}
    t.eq({kind: (row["count"], row["parked"]) for kind, row in rows.items()}, KINDS, "virtual threads of each kind")
    t.eq({kind: rows[kind]["waits_in"] for kind in WAITS_IN}, WAITS_IN, "functions in which they wait")
    t.ok("VirtualThread.park" in rows["takes"]["methods"], f"all methods: {rows['takes']}")
    said = t.tapir("stacks", "-p", pid, "--async", "--top", 1).out
    t.ok("69 virtual threads, of which 68 are parked" in said and "Parked.takes" in said and "Parked.naps" not in said, said)
    left = [name for name in os.listdir(f"/proc/{pid}/root/tmp") if name.startswith(".tapir")]
    t.eq(left, [], "files in its /tmp")
    t.ok(program.child.poll() is None, "the JVM runs on")


def test_virtual_threads_are_counted_by_stack(t):
    are_counted_by_stack(t, virtual_javas(t)[-1], "-cp", compiled(t))


def of_debian(t, release):
    shutil.copytree(compiled(t), os.path.join(debian_java(t, release), "tmp"), dirs_exist_ok=True)
    are_counted_by_stack(t, *java_of(t, release), "-cp", "/tmp")


def test_virtual_threads_of_jdk_21_are_counted_by_stack(t):
    of_debian(t, 21)


def test_virtual_threads_of_jdk_27_are_counted_by_stack(t):
    of_debian(t, 27)


def test_jdk_without_virtual_threads_is_refused(t):
    java = next((path for path in javas(t) if 0 < jdk_release(os.path.realpath(path)) < 21), None) or t.skip("each JDK has virtual threads")
    program = t.start(java, "-Xmx64m", str(SOURCE.parent / "Hot.java"), "100")
    program.wait_line("pid ", 60)
    result = t.tapir("stacks", "-p", program.pid, "--async", expect=None)
    t.ok(result.rc and "has no virtual threads: JDK 21 and later do" in result.err, f"{result.rc}: {result.err}")
    t.ok(program.child.poll() is None, "the JVM runs on")
