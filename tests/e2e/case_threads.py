# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir stacks, and the snapshot of threads with which a recording begins. Witness: gdb, afterwards."""
import json
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stacks"))

import witness  # noqa: E402
from case_jvm import TIMEOUT  # noqa: E402
from harness import PATIENCE


def stacks_of(t, pid, *args):
    return json.loads(t.tapir("stacks", "-p", pid, "--json", *args).out)


def native(group):
    """The functions of user code, innermost first."""
    return [frame["function"] for frame in group["frames"] if frame["kind"] != "kernel"]


def snapshot(t, pid):
    """{tid: addresses of user code} of the snapshot of a recording. Functions of Python lie between those of its interpreter, gdb has none."""
    file = t.path("snapshot.tapir")
    t.tapir("record", "-p", pid, "-d", "0.2", "--no-samples", "--lane", "probe", "-f", "-o", file)
    return {event["tid"]: [frame["addr"] for frame in event["stack"] if not (frame.get("name") or "").startswith("py::")]
            for event in t.events(file, "switch") if event.get("snapshot") and event["tid"]}


def executable(pid):
    """A process's [(start, end)] of code, and of those without a file."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        lines = [line.split() for line in file]
    code = [(*(int(end, 16) for end in words[0].split("-")), len(words)) for words in lines if "x" in words[1]]
    return [(start, end) for start, end, _ in code], [(start, end) for start, end, cnt in code if cnt == 5]


def is_in(ranges, va):
    return any(start <= va < end for start, end in ranges)


def without_methods(pid, ours, theirs):
    """A frame of a JVM's interpreter has the method as its address (what it is called is compared with jstack's), gdb the interpreter's code."""
    code, generated = executable(pid)
    pairs = [(None, None) if is_in(generated, their) and not is_in(code, our) else (our, their) for our, their in zip(ours, theirs)]
    return [our for our, _ in pairs] + ours[len(theirs):], [their for _, their in pairs] + theirs[len(ours):]


def assert_as_gdb(t, pid, least):
    ours, theirs = snapshot(t, pid), {tid: [pc for pc, _ in stack] for tid, stack in witness.by_gdb(t, pid).items()}
    for tid in ours.keys() & theirs.keys():
        ours[tid], theirs[tid] = without_methods(pid, ours[tid], theirs[tid])
    t.ok(len(theirs) >= least, f"threads by gdb: {len(theirs)}")
    t.eq(sorted(ours), sorted(theirs), "threads")
    wrong = [(tid, [a and hex(a) for a in ours[tid]], [a and hex(a) for a in theirs[tid]]) for tid in theirs if ours[tid] != theirs[tid]]
    t.ok(not wrong, f"{len(wrong)} of {len(theirs)} stacks differ from gdb's: {wrong[:1]}")


def test_every_thread_has_the_stack_that_gdb_finds(t):
    target = t.start(t.target_path("blocked"), 3)
    target.wait_line("ready")
    assert_as_gdb(t, target.pid, 22)


def test_identical_stacks_are_one_group_the_largest_first(t):
    target = t.start(t.target_path("blocked"), 40)
    target.wait_line("ready")
    found = stacks_of(t, target.pid)
    t.eq(sum(group["threads"] for group in found["groups"]), 40 * 7 + 1, "threads")
    sizes = [group["threads"] for group in found["groups"]]
    t.eq((sizes, sizes[:7]), (sorted(sizes, reverse=True), [40] * 7), "groups")
    ends = {tuple(native(group)[-2:]) for group in found["groups"][:7]}
    t.eq(ends, {("start_thread", "clone3")}, "where threads begin")
    waits = {name: group["waits_for"] for group in found["groups"] for name in native(group) if name.startswith("in_")}
    t.eq((waits["in_mutex"], waits["in_semaphore"], waits["in_sleep"]), ("mutex", "semaphore", "sleep"), "what they wait for")
    handler = next(native(group) for group in found["groups"] if "in_handler" in native(group))
    t.ok(handler.index("on_signal") < handler.index("in_handler") and "deeper" in handler, f"through a signal: {handler}")
    t.ok(all(native(group).count("deeper") == 11 for group in found["groups"][:7]), "every caller")
    tids = sorted(member["tid"] for group in found["groups"] for member in group["members"])
    t.eq(tids, sorted(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")), "the kernel's list")
    each = stacks_of(t, target.pid, "--no-group", "--all")
    t.eq([[member["tid"] for member in group["members"]] for group in each["groups"]], [[tid] for tid in tids], "each by itself")
    t.ok(each["headline"].startswith("281 threads, 0 running; 40 wait for a lock that"), each["headline"])
    t.tapir("stacks", "-p", target.pid, "--group", "--no-group", expect=2)
    text = t.tapir("stacks", "-p", target.pid, "--group").out
    t.ok(text.startswith("281 threads, 0 running, 8 different stacks; 40 share one; 40 wait for a lock that blocked ") and " and 34 more" in text, text[:400])


def test_a_thousand_threads_take_a_moment_and_none_is_stopped(t):
    target = t.start(t.target_path("blocked"), 143)
    target.wait_line("ready", 20)
    tasks = f"/proc/{target.pid}/task"

    def switches():
        return {tid: re.findall(r"ctxt_switches:\s+(\d+)", open(f"{tasks}/{tid}/status", encoding="ascii").read())
                for tid in os.listdir(tasks)}
    time.sleep(0.5)
    before = switches()
    found = stacks_of(t, target.pid)
    t.eq(sum(group["threads"] for group in found["groups"]), 143 * 7 + 1, "threads")
    t.eq({tid: cnt for tid, cnt in switches().items() if cnt != before[tid]}, {}, "threads that ran meanwhile")


def test_jvm_is_shown_down_to_where_its_threads_begin(t):
    java = t.need("java")
    with open(t.path("Hangs.java"), "w", encoding="utf-8") as f:
        f.write("""public class Hangs {
    static final Object a = new Object(), b = new Object();
    static void both(Object x, Object y) throws Exception { synchronized (x) { Thread.sleep(500); synchronized (y) { } } }
    static Thread one(String name, Object x, Object y) {
        Thread t = new Thread(() -> { try { both(x, y); } catch (Exception e) { } }, name);
        t.start();
        return t;
    }
    public static void main(String[] args) throws Exception {
        one("left", a, b); one("right", b, a);
        Thread.sleep(1500);
        System.out.println("ready");
        Thread.sleep(100000);
    }
}
""")
    jvm = t.start(java, "-Xmx64m", "-XX:+PreserveFramePointer", t.path("Hangs.java"))
    jvm.wait_line("ready", TIMEOUT)
    found = stacks_of(t, jvm.pid, "--threads", "[lr]*t")
    names = sorted(member["name"] for group in found["groups"] for member in group["members"])
    t.eq(names, ["left", "right"], "by the names that the JVM gives its threads")
    for group in found["groups"]:
        t.ok("ObjectMonitor::enter" in native(group), f"waits for a monitor: {native(group)}")
        t.eq(native(group)[-2:], ["start_thread", "clone3"], "down to the thread's start")


def test_owners_of_java_locks_are_known_when_the_jvm_is_asked(t):
    """A monitor and a lock of java.util.concurrent, in opposite orders. Only with --jvm-locks: it takes a safepoint."""
    java, source = t.need("java"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Deadly.java")
    jvm = t.start(java, "-Xmx64m", "-XX:TieredStopAtLevel=1", source)
    jvm.wait_line("ready", TIMEOUT)
    result = t.tapir("stacks", "-p", jvm.pid, "--json", "--jvm-locks")
    found = json.loads(result.out)
    tids = {member["name"]: member["tid"] for group in found["groups"] for member in group["members"]}
    words = ["left {left} waits for a java.util.concurrent lock that right {right} holds", "right {right} waits for a monitor that left {left} holds"]
    words = [text.format(**tids) for text in words]
    headline = found["headline"].split("; ")[0]
    t.ok(headline in (f"deadlock: {', '.join(words)}", f"deadlock: {', '.join(words[::-1])}"), found["headline"])
    owners = {member["name"]: member["owner_tid"] for group in found["groups"] for member in group["members"]}
    t.eq(owners["third"], tids["left"], "who holds the monitor")
    t.ok(re.search(rf"process {jvm.pid}: requesting a thread dump, .* safepoint", result.err), result.err)
    unasked = t.tapir("stacks", "-p", jvm.pid, "--json")
    t.ok("safepoint" not in unasked.err and "deadlock" not in json.loads(unasked.out)["headline"], unasked.err)
    t.tapir("record", "-p", jvm.pid, "-d", "0.2", "--no-samples", "--jvm-locks", "-o", t.path("java.tapir"))
    report = t.report(t.path("java.tapir"))
    t.ok(report["headline"].startswith("deadlock: 2 threads wait for each other's locks ("), report["headline"])


def test_threads_that_sleep_throughout_are_in_a_recording(t):
    target, file = t.start(t.target_path("blocked"), 2), t.path("asleep.tapir")
    target.wait_line("ready")
    t.tapir("record", "-p", target.pid, "-d", "0.5", "-f", "-o", file)
    view = json.loads(t.tapir("report", "--view", "stacks", "--json", file).out)
    t.eq(sum(group["threads"] for group in view["groups"]), 15, "threads")
    t.eq(t.report(file)["switches"]["captured"], 0, "a snapshot is no switch")


def test_thread_that_has_work_is_shown_where_it_is(t):
    """A thread that runs is seen by a sample, a preempted one by its registers: either may happen (test_view_stacks)."""
    burner = t.target("burner", "--wait", 20000, 1)
    burner.go()
    stack, until = None, time.monotonic() + 20 * PATIENCE
    while not stack and time.monotonic() < until:
        awake = [native(group) for group in stacks_of(t, burner.pid)["groups"] if group["state"] != "sleeping"]
        stack = next((each for each in awake if "burn" in each), None)  # not the main thread on its way to waiting
    t.ok(stack and stack[-1] == "clone3", str(stack))


def test_recording_ends_with_a_snapshot_too(t):
    """A shell that becomes another program once it is recorded."""
    wait = f"until [ -e {t.path('go')} ]; do sleep 0.05; done; exec {t.target_path('blocked')} 2"
    target, file = t.start("/bin/sh", "-c", wait), t.path("end.tapir")
    tapir = t.start_tapir("record", "-p", target.pid, "-f", "-o", file)
    tapir.wait_ready(timeout=60)
    open(t.path("go"), "w", encoding="ascii").close()
    target.wait_line("ready", 60)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait(60).rc, 0, "record")
    began, ended = (json.loads(t.tapir("report", "--view", view, "--json", file).out) for view in ("stacks", "stacks-end"))
    t.eq(sum(group["threads"] for group in began["groups"]), 1, "threads of the shell")
    t.eq(sum(group["threads"] for group in ended["groups"]), 15, "threads of what it became")
    t.ok(any("in_mutex" in native(group) for group in ended["groups"]), "with their stacks")
    tids = sorted(member["tid"] for group in ended["groups"] for member in group["members"])
    t.eq(tids, sorted(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")), "the kernel's list")


def test_processes_that_a_rule_finds_are_in_the_snapshot(t):
    shutil.copy(t.target_path("blocked"), t.path("blockedbyrule"))
    target, file = t.start(t.path("blockedbyrule"), 2), t.path("comm.tapir")
    target.wait_line("ready")
    t.tapir("record", "--comm", "blockedbyrule", "-d", "1", "-f", "-o", file)
    for view in ("stacks", "stacks-end"):
        found = json.loads(t.tapir("report", "--view", view, "--json", file).out)
        t.eq(sum(group["threads"] for group in found["groups"]), 15, view)


def test_snapshot_leaves_no_file_when_tapir_is_killed(t):
    """The recording is in memory, so no file can be left behind at any moment."""
    target = t.start(t.target_path("blocked"), 20)
    target.wait_line("ready")
    os.mkdir(t.path("tmp"))
    env = {**os.environ, "TMPDIR": t.path("tmp")}
    for delay in (0.02, 0.1, 0.2, 10):
        tapir, until = t.start(t.tapir_path, "stacks", "-p", target.pid, env=env), time.monotonic() + delay
        while tapir.child.poll() is None and time.monotonic() < until:
            t.eq(os.listdir(t.path("tmp")), [], "files while it runs")
        if tapir.child.poll() is None:
            os.kill(tapir.pid, signal.SIGKILL)
        tapir.wait()
        t.eq(os.listdir(t.path("tmp")), [], "files afterwards")


def deadlocked(t, kind):
    """The program, and {name of a thread: tid}."""
    target = t.start(t.target_path("deadlock"), kind)
    first = int(target.wait_line("ready").split()[1], 16)
    tasks = f"/proc/{target.pid}/task"
    return target, first, {open(f"{tasks}/{tid}/comm", encoding="ascii").read().strip(): int(tid) for tid in os.listdir(tasks)}


def test_threads_that_wait_for_each_other_are_named_first(t):
    for kind, words in (("normal", "left {left} waits for a mutex that right {right} holds, "
                                   "right {right} waits for a mutex that left {left} holds"),
                        ("robust", "left {left} waits for a mutex that right {right} holds, "
                                   "right {right} waits for a mutex that left {left} holds"),
                        ("self", "left {left} waits for a mutex that left {left} holds")):
        target, first, tids = deadlocked(t, kind)
        text = t.tapir("stacks", "-p", target.pid).out.splitlines()[0]
        found = stacks_of(t, target.pid)
        expected = f"deadlock: {words.format(**tids)}; 6 threads, 0 running, "
        t.ok(text.startswith(expected) and found["headline"] == text, f"{kind}: {text}")
        [cycle] = found["deadlocks"]
        t.eq(sorted(member["name"] for member in cycle["members"]), ["left"] if kind == "self" else ["left", "right"], kind)
        owners = {member["name"]: member["owner_tid"] for group in found["groups"] for member in group["members"]}
        t.eq({owners[name] for name in ("crowd-0", "crowd-1", "crowd-2")}, {tids["left"]}, "who holds the first mutex")
        calls = {member["call"] for group in found["groups"] for member in group["members"] if member["name"].startswith("crowd")}
        t.eq(calls, {f"futex(wait {first:#x}, no timeout)"}, "the address that the program printed")
        hidden = stacks_of(t, target.pid, "--threads", "crowd*")
        t.ok(hidden["headline"].startswith("deadlock: ") and "; 3 threads, " in hidden["headline"], hidden["headline"])


def test_deadlock_from_before_a_recording_leads_its_report(t):
    """Its threads sleep throughout: no event, switch or sample shows them."""
    (target, _, tids), file = deadlocked(t, "normal"), t.path("dead.tapir")
    t.tapir("record", "-p", target.pid, "-d", "0.6", "-f", "-o", file)
    report = t.report(file)
    t.ok(re.match(rf"deadlock: 2 threads wait for each other's locks \((left {tids['left']}, right {tids['right']}|"
                  rf"right {tids['right']}, left {tids['left']})\) in take, for .* when the recording ended; 3 more wait for locks",
                  report["headline"]), report["headline"])
    t.eq([finding["kind"] for finding in report["findings"]].count("deadlock"), 1, "named once")


def test_mutex_with_priority_inheritance_has_its_owner_and_no_deadlock(t):
    """The kernel refuses the second lock of a cycle, and the C library then waits for nothing for ever."""
    target, _, tids = deadlocked(t, "pi")
    found = stacks_of(t, target.pid)
    owners = {member["name"]: member["owner_tid"] for group in found["groups"] for member in group["members"]}
    t.ok((owners["right"], owners["left"]) in ((tids["left"], None), (None, tids["right"])), f"by the word of the futex: {owners}")
    t.eq({owners[f"crowd-{i}"] for i in range(3)}, {tids["left"]}, "likewise")
    t.eq((found["deadlocks"], "deadlock" in found["headline"]), ([], False), found["headline"])


def test_deadlock_in_a_namespace_of_its_own_is_found(t):
    """The mutexes hold thread ids of the namespace, where the program is process 1 or 2."""
    t.need("unshare")
    outer = t.start("unshare", "--pid", "--fork", "--kill-child", t.target_path("deadlock"), "normal")
    outer.wait_line("ready")
    with open(f"/proc/{outer.pid}/task/{outer.pid}/children", encoding="ascii") as f:
        child = f.read().split()[0]
    text = t.tapir("stacks", "-p", child).out
    t.ok(re.match(r"deadlock: (\S+ \d+) waits for a mutex that (\S+ \d+) holds, \2 waits for a mutex that \1 holds; 6", text),
         text[:300])


def test_tapir_in_a_namespace_of_its_own_sees_what_is_there(t):
    """Its pids are not the kernel's, so that no BPF program could be told which process is meant: /proc alone."""
    t.need("unshare")
    script = f'{t.target_path("deadlock")} normal | {{ read -r ready; {t.tapir_path} stacks -p 2 --json; kill 2; }}'
    result = t.run("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "/bin/sh", "-c", script)
    found = json.loads(result.out)
    t.ok(re.match(r"deadlock: left \d+ waits for a mutex that right \d+ holds|deadlock: right", found["headline"]), found["headline"])
    t.eq(sum(group["threads"] for group in found["groups"]), 6, "threads")
    said = [line for line in result.err.splitlines() if line.startswith("tapir: ")]
    t.ok(len(said) == 1 and "in a container's pid namespace, kernel functions are not shown" in said[0], result.err)


def test_waiting_threads_have_their_calls_with_arguments(t):
    target = t.start(t.target_path("blocked"), 1)
    target.wait_line("ready")
    pipe = next(link for link in map(os.readlink, (f"/proc/{target.pid}/fd/{fd}" for fd in range(3, 6))) if link.startswith("pipe:"))
    found = stacks_of(t, target.pid)
    calls = {name: group["call"] for group in found["groups"] for name in native(group) if name.startswith("in_")}
    t.eq((calls["in_pipe"], calls["in_poll"], calls["in_sleep"]),
         (f"read(fd 3 {pipe}, 1)", f"poll(fd 3 {pipe}, no timeout)", "clock_nanosleep(1000 s)"), "calls")
    t.ok(re.fullmatch(r"futex\(wait 0x[0-9a-f]+, no timeout\)", calls["in_semaphore"]), calls["in_semaphore"])
    owner = {name: group["held_by"] for group in found["groups"] for name in native(group) if name.startswith("in_")}
    t.eq((owner["in_mutex"], owner["in_condition"], owner["in_semaphore"], found["deadlocks"]),
         (f"blocked {target.pid}", None, None, []), "main holds the mutex")
    numbers = {int(tid): int(open(f"/proc/{target.pid}/task/{tid}/syscall", encoding="ascii").read().split()[0])
               for tid in os.listdir(f"/proc/{target.pid}/task")}
    file = t.path("calls.tapir")
    t.tapir("record", "-p", target.pid, "-d", "0.2", "--no-samples", "-f", "-o", file)
    t.eq({wait["tid"]: wait["syscall"] for wait in t.events(file, "wait")},
         {tid: nr for tid, nr in numbers.items() if nr >= 0}, "the kernel's numbers of the calls")


def as_nobody(t, *argv):
    t.need("setpriv")
    return ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", *argv]


def test_ordinary_user_sees_the_threads_of_an_own_process(t):
    """The witness is what root sees of the same process, without kernel functions."""
    target = t.start(*as_nobody(t, t.target_path("deadlock"), "normal"))
    target.wait_line("ready")
    result = t.run(*as_nobody(t, t.tapir_path, "stacks", "-p", target.pid, "--json"))
    t.eq((result.rc, len(result.err.strip().splitlines()), "kernel functions are not shown" in result.err), (0, 1, True), result.err)
    ours, roots = json.loads(result.out), stacks_of(t, target.pid)

    def by_tid(found):
        return {member["tid"]: (member["name"], member["call"], member["owner_tid"], native(group), group["state"])
                for group in found["groups"] for member in group["members"]}
    t.eq({tid: (seen, by_tid(roots).get(tid)) for tid, seen in by_tid(ours).items() if seen != by_tid(roots).get(tid)}, {},
         "threads, calls, owners, functions that differ")
    t.eq(len(by_tid(ours)), 6, "threads")
    t.eq((ours["headline"][:9], ours["headline"][-20:]), (roots["headline"][:9], roots["headline"][-20:]), "a deadlock")
    t.ok(not any(frame["kind"] == "kernel" for group in ours["groups"] for frame in group["frames"]), "no kernel function")


def test_ordinary_user_sees_where_an_own_thread_runs(t):
    burner = t.start(*as_nobody(t, t.target_path("burner"), "--wait", 20000, 1))
    burner.wait_line("pid ")
    burner.go()
    until, stack = time.monotonic() + 20 * PATIENCE, []
    while not stack and time.monotonic() < until:
        found = json.loads(t.run(*as_nobody(t, t.tapir_path, "stacks", "-p", burner.pid, "--json")).out)
        stack = next((native(group) for group in found["groups"] if group["state"] != "sleeping" and "burn" in native(group)), [])
    t.ok("burn" in stack, f"by a sample, or by its registers: {found}")


def test_what_cannot_be_shown_is_one_line(t):
    t.need("setpriv")
    gone = t.start("/bin/true")
    gone.wait()
    target = t.start(t.target_path("blocked"), 1)
    target.wait_line("ready")
    for args, code, words in (([], 2, "a process is required"), (["-p", "x"], 2, "-p"),
                              (["-p", 4194303], 1, "process 4194303 does not exist"),
                              (["-p", gone.pid], 1, f"process {gone.pid} does not exist")):
        result = t.tapir("stacks", *args, expect=code)
        t.ok(words in result.err and len(result.err.strip().splitlines()) == 1, f"{args}: {result.err}")
    result = t.run("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", t.tapir_path, "stacks", "-p", target.pid)
    t.eq((result.rc, len(result.err.strip().splitlines()), result.out), (3, 1, ""), result.err)
