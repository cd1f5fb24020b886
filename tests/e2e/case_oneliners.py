# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of the page of one-liners ('tapir help oneliners') on their real programs: .NET, PHP, and what the kernel counts of one.
Every number is the program's own. Other lines of the page are in case_questions.py."""
import json
import os
import signal
import socket
import urllib.request

import dotnet_fire
from case_questions import ME, ask, numbers, one_liners, pasted, total
from case_requests import services

TIMEOUT = 300
CHECK_DOTNET = {"test_lines_of_dotnet_count_what_a_program_does", "test_line_of_dotnet_counts_contentions",
                "test_line_of_dotnet_counts_the_requests_to_a_host"}
FAULTS = """
import mmap, os, resource, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
with open("/proc/self/comm", "w") as comm:
    comm.write("oneliner")
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.write(file, bytes(4 << 20))
os.fsync(file)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
pages = mmap.mmap(file, 4 << 20)
pages.madvise(mmap.MADV_RANDOM)
os.write(1, b"pid %d\\n" % os.getpid())
signal.sigwait({signal.SIGUSR1})
before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
for i in range(0, 4 << 20, 64 << 10):
    pages[i]
after = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
os.write(1, b'{"faults": %d}\\n' % (after - before))
os._exit(0)
"""
WRITES = """
import mmap, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
with open("/proc/self/comm", "w") as comm:
    comm.write("oneliner")
try:
    file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR | os.O_DIRECT)
except OSError:
    os.write(1, b"none\\n")
    os._exit(0)
page = mmap.mmap(-1, 4096)
for i in range(30):
    os.pwrite(file, page, i * 4096)
os.fsync(file)
os.write(1, b"pid %d\\n" % os.getpid())
signal.sigwait({signal.SIGUSR1})
for i in range(30):
    os.pwrite(file, page, i * 4096)
os.write(1, b"{}\\n")
os._exit(0)
"""
BURNS = """
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
with open("/proc/self/comm", "w") as comm:
    comm.write("oneliner")
os.write(1, b"pid %d\\n" % os.getpid())
signal.sigwait({signal.SIGUSR1})
before = time.process_time()
while time.process_time() - before < 3:
    pass
os.write(1, b'{"seconds": %f}\\n' % (time.process_time() - before))
os._exit(0)
"""
MOVES = """
import os
first, second = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, {first})
with open("/proc/self/comm", "w") as comm:  # from here on only its own calls move it
    comm.write("oneliner")
for i in range(10):
    os.sched_setaffinity(0, {second})
    os.sched_setaffinity(0, {first})
os.write(1, b'{"cpus": [%d, %d]}\\n' % (first, second))
os._exit(0)
"""


def start(t, text, *args):
    """A program that waits for SIGUSR1; None: it cannot do here what it is for."""
    app = t.path("app.py")
    with open(app, "w", encoding="ascii") as out:
        out.write(text)
    t.need("/usr/bin/python3")
    process = t.start("/usr/bin/python3", "-I", "-S", app, *args)
    if process.wait_line(("pid ", "none")).startswith("none"):
        t.skip("this file system has no O_DIRECT")
    return process


def ask_process(t, begin, process):
    """The table of a line, and what the process said."""
    line = pasted(t, begin)
    if not line:
        t.skip("this kernel has no such tracepoint")
    table = total(t, ask(t, [*line, "--top", 0], process.pid, process.go))
    t.eq((table["lost"], table["unkeyed"]), (0, 0), begin)
    return table, json.loads(process.wait().out.splitlines()[-1])


def count_of(table, me=ME):
    """Of all rows of the process: hits, or what was summed."""
    return sum(number for key, number in numbers(table).items() if key[0] == me)


def test_line_of_major_faults_counts_them(t):
    table, said = ask_process(t, "perf:major-faults", start(t, FAULTS, t.path("pages")))
    if not said["faults"]:
        t.skip("this file system gives its pages without a major fault")
    t.eq(count_of(table), said["faults"], "major faults")


def test_line_of_block_requests_sums_their_bytes(t):
    table, _ = ask_process(t, "tracepoint:block:block_rq_issue", start(t, WRITES, t.path("written")))
    t.eq(sum(number for key, number in numbers(table).items() if key[0] == ME and "W" in key[1]), 30 * 4096, f"bytes: {table['rows']}")


def test_line_of_a_timer_samples_by_cpu_time(t):
    table, said = ask_process(t, "timer:99", start(t, BURNS))
    t.ok(abs(count_of(table) - 99 * said["seconds"]) < 0.2 * 99 * said["seconds"], f"{count_of(table)} ticks of {said}")


def test_line_of_migrations_names_the_cpus(t):
    t.need("/usr/bin/python3")
    if len(os.sched_getaffinity(0)) < 2:
        t.skip("one CPU")
    app = t.path("app.py")
    with open(app, "w", encoding="ascii") as out:
        out.write(MOVES)
    line = pasted(t, "tracepoint:sched:sched_migrate_task")
    result = t.tapir(*line, "--top", 0, "--json", "-a", "--", "/usr/bin/python3", "-I", "-S", app)
    first, second = next(line for line in result.json_lines() if "cpus" in line)["cpus"]
    rows = numbers(next(line for line in result.json_lines() if line.get("type") == "total"))
    t.eq((rows[ME, second], rows[ME, first]), (10, 10), "to the other CPU and back")


def test_line_of_php_counts_its_requests(t):
    php = t.need("php")
    for name in "ab":
        with open(t.path(f"{name}.php"), "w", encoding="ascii") as out:
            out.write("<?php echo 1;")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if "request__startup" not in t.tapir("list", php, expect=None).out:
        t.skip("this PHP has no probes")
    server = t.start(php, "-n", "-S", f"127.0.0.1:{port}", "-t", t.path(""))
    server.wait_line("[")  # that it has started

    def go():
        for name in "aaabb":
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}.php", timeout=30) as answer:
                answer.read()
        server.signal(signal.SIGTERM)
    table = total(t, ask(t, pasted(t, "php:request"), server.pid, go))
    t.eq(numbers(table), {("/a.php",): 3, ("/b.php",): 2}, "requests")


FIRED = {
    "Microsoft-Windows-DotNETRuntime:ExceptionThrown": ("exceptions=7", lambda did: did["exceptions"]),
    "dotnet:gc": ("gcs=6", lambda did: did["gcs"][0]),
    # and the handler of SIGUSR1, which is queued at both signals: Fire counts between them
    "dotnet:queued": ("queued=40", lambda did: did["queued"] + 2),
}


def fired(t, begin, does, *more):
    """The table of a line while Fire does this, and what Fire said."""
    fire = dotnet_fire.start(t, does)
    tapir = t.start_tapir(*pasted(t, begin), *more, "--json", "-p", fire.pid)
    tapir.wait_ready(".NET events")
    did = dotnet_fire.fire_now(fire)
    dotnet_fire.ends_as_always(t, fire)
    table = total(t, tapir.wait())
    t.eq((table["lost"], table.get("unbegun", 0), table.get("unended", 0)), (0, 0, 0), begin)
    return table, did


def test_lines_of_dotnet_count_what_a_program_does(t):
    for begin, (does, cnt) in FIRED.items():
        table, did = fired(t, begin, does)
        t.eq(table["hits"], cnt(did), begin)
        if "Exception" in begin:
            t.eq({row["key"]["ExceptionType"] for row in table["rows"]}, {"System.InvalidOperationException"}, "types")
            t.ok(all("Fire.Throw(" in row["key"]["stack"] for row in table["rows"]), f"stacks: {table['rows']}")
        if "gc" in begin:
            t.eq({row["key"]["Reason"] for row in table["rows"]}, {"Induced"}, "reasons")


def test_line_of_dotnet_counts_contentions(t):
    """Those of Fire's own locks, by the stack: Monitor.LockContentionCount has more, as tapir does, namely those that come about by
    chance, as in SemaphoreSlim.Wait() at SIGUSR1. One that comes after Fire has read that counter is in tapir's count only."""
    table, _ = fired(t, "dotnet:contention", "contentions=5", "--by", "stack", "--top", 0)
    t.eq(sum(row["count"] for row in table["rows"] if "Fire.Contend" in row["key"]["stack"]), 5, f"contentions: {table['rows']}")


def test_line_of_dotnet_counts_the_requests_to_a_host(t):
    inventory, front = services(t)
    front.get("/order/1")  # its connection is there afterwards
    line = next(line for line in one_liners(t) if line[1] == "http_request")
    tapir = t.start_tapir(*line[:line.index("-p")], "--json", "-p", front.pid)
    tapir.wait_ready(".NET events")
    for _ in range(8):
        front.get("/order/1")
    tapir.signal(signal.SIGINT)
    table = total(t, tapir.wait())
    t.eq(numbers(table), {("127.0.0.1",): 8}, "requests by host")
    inventory.process.kill()
    front.process.kill()
