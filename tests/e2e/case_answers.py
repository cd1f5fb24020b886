# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what is wrong with a process. Each planted defect of programs/Defects.cs is recorded as a
person does it, with the default profile and after it has begun, and its magnitude is compared with what the program counts in the
same time."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

from answers import Sums, first_finding, measured, measures, near, span, started, times
from dotnet_program import build_dotnet, publish_dotnet
from harness import PATIENCE, cpu_seconds

TIMEOUT = 120
SECONDS = "3"
# What unit tests of made-up recordings hold, too.
CHECK_DOTNET = {"test_what_the_holder_waits_for_is_reported",
                "test_time_in_the_queue_of_the_pool_is_a_part", "test_deadlock_from_before_the_recording_leads", "test_neighbours_lead", "test_sampled_allocations_stand_for_all"}
# What recordings of the corpus hold, too: dotnet-*.
CHECK_LONG = {"test_starved_pool_leads", "test_pool_whose_threads_sleep_leads", "test_deadlock_leads", "test_convoy_leads", "test_exceptions_lead",
              "test_large_objects_lead", "test_leak_leads", "test_growth_of_native_memory_leads", "test_compilation_leads", "test_slow_dependency_leads",
              "test_backtracking_leads", "test_induced_collections_lead", "test_timers_lead", "test_finalizer_that_is_stuck_leads",
              "test_idle_process_is_idle", "test_quota_leads", "test_of_two_defects_both_are_named",
              "test_orders_over_awaits_are_paired_by_their_ids", "test_orders_without_ids_have_no_invented_duration"}


class Service:
    """A running Defects MODE... It counts from `count` to `counted`."""

    def __init__(self, t, modes, program=None, env=None):
        self.child = subprocess.Popen([program or build_dotnet(t, "Defects"), *modes], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, env={**os.environ, **(env or {})})
        self.pid = int(self.child.stdout.readline().split()[1])

    def tell(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return self.child.stdout.readline()

    def count(self):
        self.tell()

    def counted(self):
        return json.loads(self.tell())


@contextlib.contextmanager
def service(t, *modes, program=None, env=None):
    running = Service(t, modes, program, env)
    try:
        yield running
    finally:
        running.child.kill()
        running.child.wait()


def warm_up(running):
    """Where it has to share the CPUs with many, compiling itself is most of what a program does for seconds."""
    until = time.monotonic() + 20 * PATIENCE
    while time.monotonic() < until:
        if cpu_seconds(running.pid) >= 0.6:
            return
        time.sleep(0.05)


def record(t, *modes, specs=(), is_busy=False, env=None, seconds=SECONDS):
    """The report of the recording, its first lines, and what the program counted meanwhile. is_busy: it uses a CPU."""
    t.need_others()
    file = t.path("answer.tapir")
    with service(t, *modes, env=env) as running:
        if is_busy:
            warm_up(running)
        running.count()
        recorder = t.start_tapir("record", *specs, "-p", str(running.pid), "-d", seconds, "-f", "-o", file)
        recorder.wait(60)
        said = running.counted()
    text = t.tapir("report", file, "--all").out.splitlines()
    if t.verbose:
        print("\n".join("      " + line for line in text[:3]), flush=True)
    report = t.report(file)
    t.eq(text[0], report["headline"], "the same in JSON")
    said["sums"] = Sums(said["sums"])
    return report, text[0], said


def waiting(t, said):
    """How many of its threads waited, on average."""
    return said["sums"].rate("waited_ns", *span(t, t.path("answer.tapir"))) / 1e9


def leads(t, report, kind, *words):
    first = first_finding(t, report, kind, *words)
    severities = [f["severity"] for f in report["findings"]]
    t.eq(severities, sorted(severities, reverse=True), "the worst first")
    return first


@measured
def test_starved_pool_leads(t):
    report, _, said = record(t, "starvation")
    first = leads(t, report, "starvation", "pool threads are blocked", "times")
    # A new worker is known to be one once it has its name.
    near(t, first["magnitude"], waiting(t, said), "blocked threads", 0.08)
    text = t.tapir("report", t.path("answer.tapir"), "--view", "threadpool").out.splitlines()[0]
    t.ok(f"{first['magnitude']:.1f} of " in text and "blocked on average, most in Defects.HandleOrder()" in text, f"{first['magnitude']}: {text}")


@measured
def test_pool_whose_threads_sleep_leads(t):
    report, _, said = record(t, "sleepers")
    first = leads(t, report, "starvation", "pool threads are blocked")
    near(t, first["magnitude"], waiting(t, said), "blocked threads", 0.08)


@measured
def test_deadlock_leads(t):
    report, _, _ = record(t, "deadlock-later")
    first = leads(t, report, "deadlock", "2 threads wait for each other's locks", "Defects.Transfer(", "3 more wait")
    t.eq(first["view"], "contention", "where more is shown")


@measured
def test_deadlock_from_before_the_recording_leads(t):
    report, _, _ = record(t, "deadlock")
    first = leads(t, report, "deadlock", "2 threads wait for each other's locks (Defects ", "in Defects.Transfer(", "; 3 more wait for locks")
    t.eq(first["magnitude"], 2, "each of them")


@measured
def test_convoy_leads(t):
    report, _, said = record(t, "convoy")
    first = leads(t, report, "locks", "Defects.Reserve()")
    near(t, first["magnitude"], waiting(t, said), "waiting threads, five of six")
    # In a part of it, too, although waits begin before it and end after it.
    part = json.loads(t.tapir("report", t.path("answer.tapir"), "--from", "1", "--to", "1.2", "--json").out)
    near(t, leads(t, part, "locks", "Defects.Reserve()")["magnitude"], 5, "threads that wait in a part")
    text = t.tapir("report", t.path("answer.tapir"), "--view", "contention").out
    worst = text.split("\n\n")[1]  # the lock with most of the waits
    t.ok(re.search(r" Defects\.Reserve\(\) < .* Defects\.Reserve\(\) < ", worst) and "futex" not in worst, f"waiter and holder in own code: {text}")
    dictionary = "System.Collections.Generic.Dictionary<,>"
    t.ok(f"({dictionary})" in first["text"] and f"  {dictionary}\n" in worst, f"the type of what is locked: {first} {text}")


@measured
def test_exceptions_lead(t):
    report, _, said = record(t, "exceptions", is_busy=True)
    first = leads(t, report, "exceptions", "System.FormatException", "Defects.ParsePrice(string)")
    thrown = next(e["captured"] for e in report["events"] if e["event"] == "ExceptionThrown")
    rate = thrown / (report["duration_ns"] / 1e9)
    t.ok(abs(first["magnitude"] - rate) < 0.01 * rate, f"{first}: {rate} of {report['duration_ns']}")
    t.ok(thrown <= said["count"], f"{thrown} of {said['count']}")
    text = t.tapir("report", t.path("answer.tapir"), "--view", "exceptions").out
    t.ok(re.search(r"FROM\n +[\d,]+ +Defects\.ParsePrice\(string\) < ", text) and "DispatchEx" not in text, f"thrown in own code: {text[:900]!r}")
    text = t.tapir("report", t.path("answer.tapir"), "--view", "exceptions", "--unfold").out
    t.ok("DispatchEx" in text and "Defects.ParsePrice(string) < " in text, f"all frames: {text}")


@measured
def test_large_objects_lead(t):
    report, line, said = record(t, "loh", is_busy=True)
    leads(t, report, "gc", "in GC: ", " pauses of ")
    pauses = re.search(r"(\d+) pauses? of ([\d.]+) (m?s) in all", line)
    ms = float(pauses.group(2)) * (1000 if pauses.group(3) == "s" else 1)
    begin, end, _ = times(t, t.path("answer.tapir"), "*:GC*EE*")
    # Events are around all of a pause; the runtime's own sum has less of the time in which threads stop and go on (13 % where CPUs are scarce).
    own_ms = said["sums"].between("pause_ns", begin, end) / 1e6
    measures(t, 0.95 * own_ms <= ms <= 1.3 * own_ms, f"ms of pauses: {ms}, its own count is {own_ms}")


@measured
def test_leak_leads(t):
    # Where the processor's cache is large, a collection comes each 1.2 s; fewer than three show no growth.
    report, _, said = record(t, "leak", seconds="6")
    first = leads(t, report, "heap-growth", "MB/s")
    begin, end, _ = times(t, t.path("answer.tapir"), "*:GCHeapStats*")
    near(t, first["magnitude"], said["sums"].rate("ns", begin, end) / 1e6, "MB/s")
    heaps = json.loads(t.tapir("report", t.path("answer.tapir"), "--view", "memory", "--json").out)["heaps"]
    zero = started(t, t.path("answer.tapir"))
    own = [said["sums"].next("committed", zero + heap["at_ns"]) for heap in heaps]
    # At the end of a background collection the runtime has no event of it: what is shown then is of the collection before.
    known = [(heap["committed"], bytes) for heap, bytes in zip(heaps, own) if heap["committed"] is not None]
    near(t, *known[-1], "bytes committed")
    t.ok(all(heap["committed"] is None or heap["committed"] >= heap["heap"] for heap in heaps), f"no heap is larger than what it has: {heaps}")
    measures(t, any(heap["committed"] == bytes for heap, bytes in zip(heaps, own)), f"to the byte: {heaps}, its own count is {own}")


@measured
def test_growth_of_native_memory_leads(t):
    report, _, said = record(t, "native")
    first = leads(t, report, "memory-growth", "resident memory grows by", "no collection")
    t.eq(first["view"], "memory", "where more is shown")
    found = json.loads(t.tapir("report", t.path("answer.tapir"), "--view", "memory", "--json").out)
    resident = [p["resident_bytes"] for p in found["memory"]]
    t.ok(len(resident) >= 4 and resident == sorted(resident), f"each second: {resident}")
    begin, end = (started(t, t.path("answer.tapir")) + found["memory"][i]["at_ns"] for i in (1, -1))  # the first second has the attach
    near(t, first["magnitude"], said["sums"].rate("ns", begin, end) / 1e6, "MB/s")


@measured
def test_compilation_leads(t):
    report, _, said = record(t, "jit", is_busy=True)
    leads(t, report, "jit", "of the CPU in the JIT compiler", "Defects.")
    found = json.loads(t.tapir("report", t.path("answer.tapir"), "--view", "jit", "--json", "--all").out)
    most = found["groups"][0]
    t.eq((most["name"], most["dynamic"]), ("lambda_method#", "dynamic"), "generated code is one row")
    names = [row["name"] for row in found["groups"] if not row["dynamic"]]
    t.ok(any("(" in name for name in names), f"methods are called as in stacks: {names}")
    t.eq([name for name in names if re.search(r"[+]<|^InvokeStub_EventAttribute", name)], [], "as in stacks, and none for the recording's sake")
    t.ok(most["asker"].startswith("Defects."), f"for whom: {most}")
    lines = t.tapir("events", t.path("answer.tapir"), "*:MethodLoadVerbose*", "--json").json_lines()
    loads = [line["time_ns"] for line in lines if line["args"]["MethodName"].startswith("lambda_method")]
    t.eq(most["count"], len(loads), "as many as there are events")
    near(t, len(loads), said["sums"].between("count", min(loads), max(loads)), "methods")


@measured
def test_slow_dependency_leads(t):
    report, _, said = record(t, "slow")
    first = leads(t, report, "waits", "for a socket", "Defects.AskDatabase(")
    near(t, first["magnitude"], waiting(t, said), "waiting threads, all four")


@measured
def test_backtracking_leads(t):
    report, _, said = record(t, "regex", is_busy=True)
    first = leads(t, report, "cpu", "Defects.CheckMail()", "RegularExpressions")
    # Its CPU time has that of tapir's library, too, which is none of the program's.
    near(t, first["magnitude"], said["sums"].rate("cpu_ns", *span(t, t.path("answer.tapir"))) / 1e9, "CPUs", 0.1)


@measured
def test_induced_collections_lead(t):
    report, _, said = record(t, "induced")
    first = leads(t, report, "induced-gc", "Defects.CleanUp()", "are induced")
    near(t, first["magnitude"], said["sums"].rate("gen2", *span(t, t.path("answer.tapir"))), "collections a second")


@measured
def test_timers_lead(t):
    report, _, _ = record(t, "timers", is_busy=True)
    leads(t, report, "timers", "of the CPU in timers, most in Defects.OnTick(object)")


@measured
def test_finalizer_that_is_stuck_leads(t):
    report, _, _ = record(t, "finalizer")
    leads(t, report, "finalizer", "the finalizer thread has not caught up")


@measured
def test_idle_process_is_idle(t):
    report, line, said = record(t, "idle")
    first = leads(t, report, "idle", "s of CPU in ")
    t.eq(len(report["findings"]), 1, f"nothing else: {report['findings']}")
    t.ok("JIT" not in line and "finish_task_switch" not in line, line)
    used_s = float(re.match(r"(?:idle|nothing stands out): ([\d.]+) s", first["text"]).group(1))
    measures(t, "idle: " in first["text"], f"it does nothing: {first['text']}")
    cpu_s = said["sums"].between("cpu_ns", *span(t, t.path("answer.tapir"))) / 1e9
    measures(t, used_s <= cpu_s + 0.05, f"{used_s} s of CPU, by its own clock {cpu_s}")


@contextlib.contextmanager
def cpu_cgroup(t, percent):
    """A cgroup that may use so much of a CPU; how long it was throttled, in ns, and the directory."""
    v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    root = pathlib.Path("/sys/fs/cgroup" if v2 else "/sys/fs/cgroup/cpu")
    home = root / f"tapir-quota-{os.getpid()}"
    try:
        if v2 and "cpu" not in (root / "cgroup.subtree_control").read_text():
            t.skip("cgroups of this machine have no CPU controller")
        home.mkdir()
    except OSError as error:
        t.skip(f"cannot make a cgroup: {error}")
    try:
        try:
            (home / ("cpu.max" if v2 else "cpu.cfs_quota_us")).write_text(f"{percent * 1000} 100000" if v2 else str(percent * 1000))
        except OSError as error:
            t.skip(f"cannot set a quota: {error}")
        key, unit = ("throttled_usec", 1000) if v2 else ("throttled_time", 1)
        yield home, lambda: int(re.search(key + r" (\d+)", (home / "cpu.stat").read_text()).group(1)) * unit
    finally:
        home.rmdir()


@contextlib.contextmanager
def sampled(number):
    """A sum of another's, each 20 ms."""
    sums, over = {"at_ns": [], "ns": []}, threading.Event()

    def sample():
        while not over.wait(0.02):
            sums["at_ns"].append(time.monotonic_ns())
            sums["ns"].append(number())

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield sums
    finally:
        over.set()
        thread.join()


@measured
def test_quota_leads(t):
    t.need_others()
    file = t.path("answer.tapir")
    with cpu_cgroup(t, 25) as (home, throttled):
        with service(t, "regex") as running:
            warm_up(running)
            (home / "cgroup.procs").write_text(str(running.pid))
            with sampled(throttled) as sums:
                t.tapir("record", "-p", str(running.pid), "-d", SECONDS, "-f", "-o", file)
    report = t.report(file)
    first = leads(t, report, "quota", "by a quota of 25% of a CPU (cgroup ", home.name)
    # It is told at the end of each period of 0.1 s, so that either end may be one off.
    share = 100 * Sums(sums).rate("ns", *span(t, file)) / 1e9
    measures(t, abs(first["magnitude"] - share) < 5, f"{first}; by its cpu.stat {share} %")


HOG = "import os\nwhile os.getppid() == %d: sum(range(10000))"


@measured
def test_neighbours_lead(t):
    t.need_others()
    file = t.path("answer.tapir")
    with service(t, "regex") as running:
        hogs = [t.start(sys.executable, "-c", HOG % os.getpid()) for _ in range(4 * os.cpu_count())]
        t.tapir("record", "-p", str(running.pid), "-d", SECONDS, "-f", "-o", file)
        for hog in hogs:
            hog.kill()
    first = leads(t, t.report(file), "neighbour", "for a CPU", "other processes used")
    t.ok(any(f"({hog.pid})" in first["text"] for hog in hogs), f"by name and pid: {first}")


@measured
def test_of_two_defects_both_are_named(t):
    report, _, _ = record(t, "convoy", "exceptions", is_busy=True)
    leads(t, report, "locks", "Defects.Reserve()")
    t.ok("exceptions" in [f["kind"] for f in report["findings"][:3]], f"{report['findings']}")


@measured
def test_what_the_holder_waits_for_is_reported(t):
    report, _, _ = record(t, "full-pipe")
    leads(t, report, "deadlock", "never released: 3 threads", "3 in Defects.WriteLog()", "the thread that holds it, ",
          "waits in Defects.WriteLog() (pipe)")


ORDERS, ORDER = "Shop-Orders", "Shop-Orders:Order"


def slow_orders(t):
    """The view of orders; the parts of each add up to what it took."""
    found = json.loads(t.tapir("report", t.path("answer.tapir"), "--view", f"slow={ORDER}", "--json").out)
    for one in found["slowest"]:
        t.ok(abs(sum(part["ns"] for part in one["parts"]) - one["ns"]) <= 0.01 * one["ns"], f"{one}")
    t.ok(abs(sum(part["ns"] for part in found["all"]) - found["sum_ns"]) <= 0.01 * found["sum_ns"], f"{found['all']} {found['sum_ns']}")
    return found


@measured
def test_orders_over_awaits_are_paired_by_their_ids(t):
    report, _, said = record(t, "orders", specs=(ORDERS, "--activities"))
    found = slow_orders(t)
    begin, end, _ = times(t, t.path("answer.tapir"), "*:OrderStop*")
    # One of four begins before the first end of one that is seen; of 25 one takes ten times as long.
    measures(t, abs(found["count"] - said["sums"].between("count", begin, end)) <= 5, f"{found['count']} orders, {said}")
    own_ns = said["sums"].between("ns", begin, end) / said["sums"].between("count", begin, end)
    near(t, found["sum_ns"] / found["count"], own_ns, "ns an order", 0.1)
    t.ok(39e6 < found["p50_ns"], f"40 ms of a delay: {found['p50_ns']}")
    worst = found["slowest"][0]
    t.ok(390e6 < worst["ns"] <= said["worst_ns"] * 1.05, f"{worst['ns']} {said['worst_ns']}")
    part = max(worst["parts"], key=lambda part: part["ns"])
    t.eq(part["part"], "awaits Task.Delay", f"{worst['parts']}")
    t.ok(any("Defects.Serve (async)" in frame for frame in part["stack"]), f"where it awaits: {part}")
    first = leads(t, report, "requests", f"{ORDER} takes ", "of their time awaiting Task.Delay")
    t.eq(first["view"], f"slow={ORDER}", "where more is shown")


@measured
def test_time_in_the_queue_of_the_pool_is_a_part(t):
    _, _, said = record(t, "crowd", specs=(ORDERS, "--activities"))
    found = slow_orders(t)
    queued = sum(part["ns"] for part in found["all"] if part["state"] == "queued") / found["count"]
    pool = json.loads(t.tapir("report", t.path("answer.tapir"), "--view", "threadpool", "--json").out)
    # Six orders, up to nine other items: it adds one whenever there are fewer than eight.
    t.ok(pool["queued"] > 100 and 5 <= pool["most_queued"] <= 16, f"{pool['queued']} {pool['most_queued']}")
    # Of other orders at either end, and each waits for another time.
    near(t, queued, said["ns"] / said["count"], "ns an order in the queue", 0.15)


@measured
def test_orders_without_ids_have_no_invented_duration(t):
    report, _, _ = record(t, "orders", specs=(ORDERS,))
    t.ok("requests" not in [f["kind"] for f in report["findings"]], f"{report['findings']}")
    kind = next(i for i in report["intervals"] if i["name"] == "Order")
    t.ok(kind["count"] == 0 and kind["half"] > 20, f"counted, not paired: {kind}")
    err = t.tapir("report", t.path("answer.tapir"), "--view", f"slow={ORDER}", expect=1).err
    t.ok("are not known" in err and "--activities" in err, err)


@measured
def test_sampled_allocations_stand_for_all(t):
    """.NET 10 samples objects at random; before, and beside them, there are ticks."""
    _, _, said = record(t, "leak", specs=("--profile", "allocations"))
    found = json.loads(t.tapir("report", t.path("answer.tapir"), "--view", "allocations", "--json").out)
    most = found["allocations"][0]
    t.eq(most["type"], "System.Byte[]", "the type")
    # Of 100 KB one object is taken at random: of some 200 MB the sum is off by 2 % at one standard deviation.
    near(t, found["bytes"], said["sums"].between("allocated", *span(t, t.path("answer.tapir"))), "bytes", 0.1)
    t.ok(any("Defects.Remember(" in frame for frame in most["stacks"][0]["stack"]), f"{most['stacks'][0]}")
