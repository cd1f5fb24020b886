# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's work in numbers: page faults as getrusage(2) counts them, interrupts and waits for locks as bpftrace counts them."""
import json
import os
import re

QUIET = ("--no-samples", "--no-sched")
PAGES, ROUNDS = 6000, 3000
# Faults of the program after its last look at the numbers: it prints and ends.
FAULTS_AFTER = 40
# By kind, number and whether its last thread is ending: from then on tapir may count it, or not.
SCRIPT = """
tracepoint:irq:softirq_entry /pid == PID/ { @n[0, args->vec, @ended] = count(); }
tracepoint:irq:irq_handler_entry /pid == PID/ { @n[1, args->irq, @ended] = count(); }
tracepoint:irq_vectors:local_timer_entry /pid == PID/ { @n[2, 0, @ended] = count(); }
tracepoint:lock:contention_end /pid == PID/ { @n[3, 0, @ended] = count(); }
tracepoint:sched:sched_process_exit /pid == PID && tid == PID/ { @ended = 1; }
tracepoint:sched:sched_process_free /args->pid == PID/ { exit(); }
BEGIN { printf("ready\\n"); }
"""
KINDS = ("softirq", "irq", "vector", "lock")
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


def check_near(t, actual, expected, what):
    t.ok(abs(actual - expected) <= 100, f"{what}: {actual}, expected {expected}")


def counts(records):
    """{(kind, number): count} of what bpftrace is asked for."""
    found = {}
    for r in records:
        number = 0 if r["kind"] == "lock" else r["number"]
        if (r["kind"], number) not in (("vector", n) for n in range(1, 5)):
            found[r["kind"], number] = found.get((r["kind"], number), 0) + r["count"]
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
    check_near(t, by_function.get("touch_pages", 0), PAGES, f"in its own code: {by_function}")
    check_near(t, by_function.get(None, 0), PAGES, f"in read(2): {by_function}")
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
    theirs = {}
    for kind, number, ended, n in re.findall(r"^@n\[(\d), (\d+), (\d)\]: (\d+)$", tracer.wait(60).out, re.M):
        theirs.setdefault((KINDS[int(kind)], int(number)), [0, 0])[int(ended)] = int(n)
    found = counts(records)
    t.ok({"softirq", "vector", "lock"} <= {kind for kind, _ in found} <= set(KINDS), f"what was asked for: {found}")
    for key in found.keys() | theirs.keys():
        before, after = theirs.get(key, (0, 0))
        # Before tapir attaches the target waits, or is about to. bpftrace has no count of an event amid the update of its map by another.
        cnt = found.get(key, 0)
        t.ok(before - 2 <= cnt <= before + after + 1 + cnt // 20, f"{key}: {cnt}; bpftrace counts {before}, and {after} at the end")
    callers = {row["caller"] for row in view(t, file)["locks"] if row["kind"] == "rwsem, write"}
    t.ok(any("mmap" in caller or "munmap" in caller for caller in callers), f"who waits for the memory's lock: {callers}")


def test_a_kind_that_is_none_is_refused(t):
    result = t.tapir("record", "--kernel=faults,irq", *QUIET, "-o", t.path("none.tapir"), "--", "true", expect=2)
    t.ok("the kernel's work has no 'irq'" in result.err, result.err)


def totals():
    """{name: us}"""
    found = {}
    for of in ("cpu", "memory", "io"):
        with open(f"/proc/pressure/{of}", encoding="ascii") as file:
            found.update({f"{of} {line.split()[0]}": int(line.rpartition("total=")[2]) for line in file})
    return found


def test_pressure_is_that_of_the_kernel(t):
    try:
        before = totals()
    except OSError as e:
        t.skip(f"this kernel does not measure pressure: {e}")
    file = t.path("kernel.tapir")
    # One CPU for three that count.
    burn = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    t.tapir("record", "--kernel=pressure", *QUIET, "-o", file, "--", "taskset", "-c", str(min(os.sched_getaffinity(0))), "sh", "-c",
            'for i in 1 2 3; do python3 -c "$0" & done; wait', burn)
    after, found = totals(), {}
    for r in t.events(file, "counter"):
        if r["provider"] == "pressure":
            found[r["name"]] = found.get(r["name"], 0) + r["value"]
    t.eq(set(found), set(before), "names")
    for name, ms in found.items():
        t.ok(0 <= ms <= (after[name] - before[name]) / 1e3 + 0.001, f"{name}: {ms} of {(after[name] - before[name]) / 1e3} ms")
    t.ok(found["cpu some"] >= 500, f"three wait for one CPU: {found}")
