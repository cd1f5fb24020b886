# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's work in numbers: page faults as getrusage(2) counts them, interrupts and waits for locks as bpftrace counts them."""
import json
import re

QUIET = ("--no-samples", "--no-sched")
PAGES, ROUNDS = 6000, 3000
# Faults of the program after its last look at the numbers: it prints and ends.
FAULTS_AFTER = 40
SCRIPT = """
tracepoint:irq:softirq_entry /pid == PID && !@ended/ { @softirq[args->vec] = count(); }
tracepoint:irq:irq_handler_entry /pid == PID && !@ended/ { @irq[args->irq] = count(); }
tracepoint:irq_vectors:local_timer_entry /pid == PID && !@ended/ { @vector = count(); }
tracepoint:lock:contention_end /pid == PID && !@ended/ { @lock = count(); }
tracepoint:sched:sched_process_exit /pid == PID && tid == PID/ { @ended = 1; exit(); }
BEGIN { printf("ready\\n"); }
"""
# It reads a tracefs, which need not be mounted.
BPFTRACE = 'test -d /sys/kernel/tracing/events/lock || mount -t tracefs tracefs /sys/kernel/tracing; exec "$0" -e "$1"'


def record(t, target, *options):
    """What the target says, the records of its process, the file, and what tapir says."""
    file = t.path("kernel.tapir")
    tapir = t.start_tapir("record", *options, *QUIET, "-p", target.pid, "-o", file)
    tapir.wait_ready(timeout=30)
    target.go()
    said = target.wait(60).json_lines()[0]
    result = tapir.wait(30)
    t.eq(result.rc, 0, result.err)
    t.ok(", 0 lost, " in result.err, result.err)
    return said, [r for r in t.events(file, "kernel") if r["pid"] == target.pid], file


def view(t, file, *options):
    return json.loads(t.tapir("report", file, "--view", "kernel", "--top", 10000, "--json", *options).out)


def check_near(t, actual, expected, difference, what):
    t.ok(abs(actual - expected) <= difference, f"{what}: {actual}, expected {expected}")


def counts(records, *kinds):
    """{(kind, number): count}"""
    found = {}
    for r in records:
        if r["kind"] in kinds:
            found[r["kind"], r["number"]] = found.get((r["kind"], r["number"]), 0) + r["count"]
    return found


def test_page_faults_are_those_that_getrusage_counts(t):
    target = t.target("faulter", "--wait", PAGES, 0)
    said, records, file = record(t, target, "--kernel=faults")
    t.eq({r["kind"] for r in records}, {"fault"}, "what was asked for")
    found = sum(r["count"] for r in records)
    t.ok(said["faults"] <= found <= said["faults"] + FAULTS_AFTER, f"{found} faults; the kernel counts {said['faults']}")
    by_function = {}
    for r in records:
        name = r["stack"][0]["name"] if r.get("stack") else None
        by_function[name] = by_function.get(name, 0) + r["count"]
    check_near(t, by_function.get("touch_pages", 0), PAGES, 100, f"in its own code: {by_function}")
    check_near(t, by_function.get(None, 0), PAGES, 100, f"in read(2): {by_function}")
    of = view(t, file)
    t.eq([r["faults"] for r in of["faults"] if r["pid"] == target.pid], [found], "the view")
    t.ok("interrupts" not in of and "locks" not in of, "what was not asked for")
    rows = json.loads(t.tapir("report", file, "--view", "processes", "--json").out)["processes"]
    t.eq([r["faults"] for r in rows], [found], "the view of processes")
    n = json.loads(t.tapir("query", file, "SELECT sum(count) AS n FROM kernel_work WHERE kind = 'fault'", "--json").out)[0]["n"]
    t.eq(n, found, "the table")


def test_page_faults_of_a_program_from_its_start_are_counted(t):
    file = t.path("kernel.tapir")
    result = t.tapir("record", "--kernel=faults", *QUIET, "-o", file, "--", t.target_path("faulter"), PAGES, 10)
    said, pid = result.json_lines()[0], int(re.search(r"^pid (\d+)", result.out, re.M).group(1))
    found = sum(r["count"] for r in t.events(file, "kernel") if r["pid"] == pid)
    t.ok(said["faults"] <= found <= said["all"] + FAULTS_AFTER, f"{found} faults; the kernel counts {said}")


def test_interrupts_and_lock_waits_are_those_that_bpftrace_counts(t):
    bpftrace = t.need("bpftrace")
    target = t.target("faulter", "--wait", PAGES, ROUNDS)
    tracer = t.start("unshare", "-m", "sh", "-c", BPFTRACE, bpftrace, SCRIPT.replace("PID", str(target.pid)))
    tracer.wait_line("ready", timeout=30)
    _, records, file = record(t, target, "--kernel=irqs,locks")
    seen = tracer.wait(60).out
    t.eq({r["kind"] for r in records} - {"irq", "softirq", "vector", "lock"}, set(), "what was asked for")
    found = counts(records, "softirq", "irq", "vector", "lock")
    for kind, name in (("softirq", "softirq"), ("irq", "irq")):
        theirs = {(kind, int(number)): int(n) for number, n in re.findall(rf"^@{name}\[(\d+)\]: (\d+)$", seen, re.M)}
        ours = {key: n for key, n in found.items() if key[0] == kind}
        t.eq(set(ours), set(theirs), f"kinds of {kind}")
        for key, n in ours.items():
            check_near(t, n, theirs[key], 2, f"{kind} {key[1]}")
    timer = int(re.search(r"^@vector: (\d+)$", seen, re.M).group(1))
    check_near(t, found.get(("vector", 0), 0), timer, 2, "ticks of the local timer")
    lock = int(re.search(r"^@lock: (\d+)$", seen, re.M).group(1))
    check_near(t, sum(n for key, n in found.items() if key[0] == "lock"), lock, 2 + lock // 100, "waits for locks")
    callers = {row["caller"] for row in view(t, file)["locks"] if row["kind"].startswith("rwsem, write")}
    t.ok(any("mmap" in caller or "munmap" in caller for caller in callers), f"who waits for the memory's lock: {callers}")


def test_a_kind_that_is_none_is_refused(t):
    result = t.tapir("record", "--kernel=faults,irq", *QUIET, "-o", t.path("none.tapir"), "--", "true", expect=2)
    t.ok("the kernel's work has no 'irq'" in result.err, result.err)
