# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir stacks of runtimes: every thread down to its start while they run, and address by address what gdb finds in the same
process when it is stopped. Snapshots at the begin and the end of a recording hold threads that sleep throughout."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import time

from answers import Witness
from case_answers import service
from case_jvm import javas
from case_runtimes import Server
from case_threads import assert_as_gdb, native, stacks_of
from harness import PATIENCE

TIMEOUT = 180
CHECK_STACKS = {"test_threads_of_a_jvm_are_those_of_gdb", "test_interpreted_methods_are_those_of_jstack",
                "test_compiled_methods_are_those_of_jstack", "test_inlined_methods_are_those_of_jstack", "test_processes_of_postgresql_are_those_of_gdb"}
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
STARTS = {"_start", "clone3"}


def tids_of(pid):
    return sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))


def state_of(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat", encoding="latin-1") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


@contextlib.contextmanager
def frozen(t, pid):
    """Stopped, so that two witnesses see the same: a signal stops a thread in its system call, whose registers stay."""
    os.kill(pid, signal.SIGSTOP)
    try:
        until = time.monotonic() + 10 * PATIENCE
        while any(state_of(pid, tid) != "T" for tid in tids_of(pid)):
            t.ok(time.monotonic() < until, f"threads of {pid} do not stop")
            time.sleep(0.01)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def start_of(pid):
    """_start of a program without symbols."""
    path = os.readlink(f"/proc/{pid}/exe")
    with open(path, "rb") as file:
        entry = int.from_bytes(file.read(32)[24:], "little")
    return f"{os.path.basename(path)}!fn_{entry:x}"


def assert_whole(t, pid, least):
    """While it runs; a thread that runs at that moment may have no sample: asked again."""
    starts = STARTS | {start_of(pid)}
    for _ in range(5):
        groups = stacks_of(t, pid)["groups"]
        cut = [(group["members"][0]["name"], group["state"], native(group)) for group in groups
               if not native(group) or native(group)[-1] not in starts]
        if all(state == "running" for _, state, _ in cut):
            break
    t.eq(cut, [], "stacks that do not reach the thread's start")
    t.ok(sum(group["threads"] for group in groups) >= least, f"threads of {pid}")


def assert_in_a_recording(t, pid, name):
    """Threads with this function that sleep throughout, in no switch, are in both snapshots. (A JVM's may wake up to look.)"""
    file = t.path("asleep.tapir")
    t.tapir("record", "-p", pid, "-d", "0.5", "--no-samples", "-f", "-o", file)
    switched = {event["tid"] for event in t.events(file, "switch") if not event.get("snapshot")}
    found = {}
    for view in ("stacks", "stacks-end"):
        groups = json.loads(t.tapir("report", "--view", view, "--json", file).out)["groups"]
        found[view] = {member["tid"] for group in groups if any(name in function for function in native(group))
                       for member in group["members"]} - switched
    t.ok(found["stacks"] and found["stacks"] == found["stacks-end"], f"threads in {name} that sleep: {found}, {len(switched)} do not")


def assert_all(t, pid, least, name):
    assert_whole(t, pid, least)
    with frozen(t, pid):
        assert_as_gdb(t, pid, least)
    assert_in_a_recording(t, pid, name)


def test_threads_of_dotnet_are_those_of_gdb(t):
    with service(t, "deadlock") as running:
        time.sleep(1)
        assert_all(t, running.pid, 8, "Defects.Transfer")


def test_many_looks_have_the_names_of_methods(t):
    """The runtime was taken for another process of the same id in every second one. It has a second to answer, which a busy
    machine may not give it once."""
    with service(t, "deadlock") as running:
        time.sleep(0.5)
        named = ["Defects.Transfer" in t.tapir("stacks", "-p", running.pid).out for _ in range(8)]
    t.ok(named.count(True) >= 7, f"looks with names: {named}")


def test_threads_of_a_jvm_are_those_of_gdb(t):
    java = t.need("java")
    jvm = t.start(java, "-Xmx64m", "-XX:+PreserveFramePointer", os.path.join(PROGRAMS, "Deadly.java"))
    jvm.wait_line("ready", 120)
    assert_all(t, jvm.pid, 10, "ObjectMonitor::enter")


def by_jstack(t, pid):
    """{thread's name: its methods, innermost first}"""
    out = t.run(t.need("jstack"), str(pid)).out
    return {match[1]: re.findall(r"^\s+at ([^(]+)\(", match[2], re.M)
            for match in re.finditer(r'^"([^"]+)".*\n((?:[ \t]+.*\n)*)', out, re.M)}


def java_methods(group):
    """Java methods of a group, as jstack has them: "java.lang.Object Shop$$Lambda/0x000.call(int)" is Shop$$Lambda/0x000.call."""
    names = (frame["function"] for frame in group["frames"] if frame["kind"] in ("interpreter", "JIT"))
    return [name.split("(")[0].split(" ")[-1] for name in names if re.match(r"\S+ \S+\(", name)]


def test_interpreted_methods_are_those_of_jstack(t):
    """Every Java method of every thread: those of a thread that has just begun are interpreted."""
    for java in javas(t):
        classes = t.path("classes")
        os.makedirs(classes, exist_ok=True)
        t.eq(t.run(t.need("javac"), "--release", "11", "-d", classes, os.path.join(PROGRAMS, "JvmDefects.java")).rc, 0, "javac")
        jvm = t.start(java, "-Xmx64m", "-XX:+PreserveFramePointer", "-cp", classes, "JvmDefects", "starved")
        jvm.wait_line("pid", TIMEOUT)
        time.sleep(1)
        jstack = by_jstack(t, jvm.pid)
        ours = {member["name"]: group for group in stacks_of(t, jvm.pid)["groups"] for member in group["members"]}
        t.ok(len(jstack["pool-1-thread-4"]) >= 9, f"by jstack: {jstack}")
        for name in ("Reference Handler", *(f"pool-1-thread-{i}" for i in range(1, 5))):
            t.eq(java_methods(ours[name[:15]]), jstack[name], f"methods of {name} of {java}")
            t.ok("Interpreter" not in native(ours[name[:15]]), f"frames without a name: {native(ours[name[:15]])}")
        jvm.kill()


def pythons(t):
    """Of versions whose frames are known: Debian's, and those of pyenv."""
    found = [t.need("/usr/bin/python3")]
    if shutil.which("pyenv"):
        found += sorted(glob.glob(t.run("pyenv", "root").out.strip() + "/versions/3.1[123].*/bin/python3"))
    return found


def test_functions_of_python_are_those_that_it_says_itself(t):
    """Every function of every thread that sleeps, through calls from C and from generators, and where recursion is deep."""
    programs = {python: Witness(python, os.path.join(PROGRAMS, "python_frames.py")) for python in pythons(t)}
    for python, program in programs.items():
        pid = int(program.first())
        groups = stacks_of(t, pid)["groups"]
        ours = {member["tid"]: [frame["function"][4:] for frame in group["frames"] if frame["function"].startswith("py::")]
                for group in groups for member in group["members"]}
        program.ask()
        said = {int(tid): names for tid, names in program.answer().items()}
        program.end()
        t.ok(len(said) == 5 and max(map(len, said.values())) > 60, said)
        for tid, names in said.items():
            if tid != pid:  # it read its input and answered meanwhile
                t.eq(ours[tid], names, f"functions of thread {tid} of {python}")
        t.ok(ours[pid][-1].startswith("<module>:"), f"first thread: {ours[pid]}")


def test_compiled_methods_are_those_of_jstack(t):
    """Every Java method of every thread, without frame pointers: all are compiled before they run, and inlined or not."""
    for java, *options in ((java, *options) for java in javas(t) for options in (("-XX:-Inline",), ())):
        classes = t.path("classes")
        os.makedirs(classes, exist_ok=True)
        t.eq(t.run(t.need("javac"), "--release", "11", "-d", classes, os.path.join(PROGRAMS, "JvmDefects.java")).rc, 0, "javac")
        jvm = t.start(java, "-Xmx128m", "-Xcomp", *options, "-cp", classes, "JvmDefects", "starved")
        jvm.wait_line("pid", TIMEOUT)
        time.sleep(2)
        jstack = by_jstack(t, jvm.pid)
        ours = {member["name"]: group for group in stacks_of(t, jvm.pid)["groups"] for member in group["members"]}
        t.ok(len(jstack["pool-1-thread-4"]) >= 9, f"by jstack: {jstack}")
        for name in ("Reference Handler", "Common-Cleaner", "clients", *(f"pool-1-thread-{i}" for i in range(1, 5))):
            t.eq(java_methods(ours[name[:15]]), jstack[name], f"methods of {name} of {java} {options}")
            t.ok(native(ours[name[:15]])[-1] in STARTS, f"end of {name}: {native(ours[name[:15]])}")
        jvm.kill()


def test_inlined_methods_are_those_of_jstack(t):
    """As people start it: what is hot is compiled, with what it calls inlined, and then waits there. In a recording, too."""
    for java in javas(t):
        classes = t.path("classes")
        os.makedirs(classes, exist_ok=True)
        t.eq(t.run(t.need("javac"), "--release", "11", "-d", classes, os.path.join(PROGRAMS, "JvmDefects.java")).rc, 0, "javac")
        jvm = t.start(java, "-Xmx64m", "-cp", classes, "JvmDefects", "appender", "starved")  # starved: that keeps it alive
        jvm.wait_line("pid", TIMEOUT)
        until = time.monotonic() + 20 * PATIENCE
        while t.tapir("stacks", "-p", jvm.pid).out.count("(inlined)") < 4:
            t.ok(time.monotonic() < until, "nothing was inlined")
        jstack = by_jstack(t, jvm.pid)
        ours = {member["name"]: group for group in stacks_of(t, jvm.pid)["groups"] for member in group["members"]}
        inlined = {frame["function"] for frame in ours["app-1"]["frames"] if "(inlined)" in frame["function"]}
        t.ok(len(inlined) >= 2, f"inlined by {java}: {inlined}")
        for name in ("app-0", "app-1", "app-2"):
            t.eq(java_methods(ours[name]), jstack[name], f"methods of {name} of {java}")
        file = t.path("inlined.tapir")
        t.tapir("record", "-p", jvm.pid, "-d", "1", "-f", "-o", file)
        waits = t.tapir("export", "--format", "folded", "--event", "offcpu", file).out
        t.ok(re.search(r"JvmDefects.log\(.*;void java.util.concurrent.ArrayBlockingQueue.put\(.*;.*ConditionObject.await\(", waits),
             "a wait with what is inlined: " + waits[:3000])
        jvm.kill()


def test_processes_of_postgresql_are_those_of_gdb(t):
    with Server(t) as server:
        time.sleep(0.5)
        with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children", encoding="ascii") as file:
            pids = [server.process.pid, *map(int, file.read().split())]
        t.ok(len(pids) >= 4, f"processes: {pids}")
        for pid in pids[:3]:
            assert_whole(t, pid, 1)
            with frozen(t, pid):
                assert_as_gdb(t, pid, 1)
        assert_in_a_recording(t, server.process.pid, "PostmasterMain")


def test_threads_of_cpython_are_those_of_gdb(t):
    snake = t.start(t.need("/usr/bin/python3"), "-c", """
import threading, time, queue
for i in range(4): threading.Thread(target=queue.Queue().get, daemon=True).start()
time.sleep(0.2)
print("ready", flush=True)
time.sleep(1000)
""")
    snake.wait_line("ready")
    assert_all(t, snake.pid, 5, "sem")


def test_threads_of_node_are_whole(t):
    node = t.start(t.need("node"), "-e", "console.log('ready'); setTimeout(() => 0, 1e6)")
    node.wait_line("ready", 30)
    assert_whole(t, node.pid, 5)
