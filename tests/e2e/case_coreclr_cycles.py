# SPDX-License-Identifier: GPL-2.0-or-later
"""libtapir-coreclr.so in live .NET programs: attached, changed, detached under a storm of events."""
import json
import os
import pathlib
import shutil
import time

from dotnet_program import build_dotnet
from harness import maps_of_us

TIMEOUT = 1800 if "TAPIR_CYCLES" in os.environ else 180
CHECK_LONG = {"test_a_storm_is_not_harmed_when_drivers_come_and_go"}
RUNTIME = "Microsoft-Windows-DotNETRuntime"
STORM = "Tapir-Storm"
VERBOSE = (STORM, f"{RUNTIME}:0x8001:5")


def driver(t, pid, *args):
    return t.start(os.path.join(t.build, "tests", "tools", "coreclr_driver"), pid, *args)


def app(t, *args, env=None):
    process = t.start(build_dotnet(t, "Storm"), *args, env=env)
    process.wait_line("pid ", timeout=30)
    return process


def footprint(pid):
    """(threads, descriptors, mappings of tapir, resident and shared-memory KiB)."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        rss = sum(int(line.split()[1]) for line in status if line.startswith(("RssAnon:", "RssShmem:")))
    return len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")), len(maps_of_us(pid)), rss


def test_a_storm_is_not_harmed_when_drivers_come_and_go(t):
    cycles = int(os.environ.get("TAPIR_CYCLES", "24"))
    drivers = 8
    stop = t.path("stop")
    storm = app(t, "storm", 3600, stop)
    running = [driver(t, storm.pid, f"cycles={-(-cycles // drivers)}", "ms=60", "change=2", "quiet=1", f"probes={n % 2}",
                      *VERBOSE) for n in range(drivers)]
    sums = []
    for process in running:
        result = process.wait(timeout=60 + 4 * cycles)
        t.eq(result.rc, 0, result.err)
        sums.append(result.witness())
    t.eq(footprint(storm.pid)[2], 0, "mappings of tapir")
    pathlib.Path(stop).touch()
    result = storm.wait()
    said = result.witness()
    t.eq(result.rc, 0, "exit of the program")
    t.eq(said["wrong"], 0, "what the program found wrong")
    t.eq(said["thrown"], said["caught"], "exceptions")
    t.ok(sum(s["cycles"] for s in sums) >= cycles, sums)
    t.eq(sum(s["bad"] for s in sums), 0, "records that are none")
    t.ok(all(s["total"] for s in sums), sums)
    t.ok(sum(s["raised"] for s in sums), f"published by no driver: {sums}")


def test_every_event_is_read_or_counted_lost_when_flat_out(t):
    for threads in 1, 4:
        target = app(t, "exact", threads, 300_000)
        session = driver(t, target.pid, "ms=60000", "stack=1", STORM)
        fired = json.loads(target.wait_line('{"fired"', timeout=60))["fired"]
        time.sleep(0.1)
        session.signal(15)
        result = session.wait()
        t.eq(result.rc, 0, result.err)
        got = result.witness()
        t.eq(got["events"][f"{STORM}/Quick"] + got["lost"], fired, f"read and lost of {threads} threads: {got}")
        t.eq((got["bad"], got["repeated"], got["nested"]), (0, 0, 0), "bad, repeated, nested")
        t.ok(got["whole_stack"] >= 0.99 * got["wanted_stack"], got)
        t.eq(target.wait().rc, 0, "exit of the program")


def test_events_come_from_the_start_when_the_program_is_started_with_the_library(t):
    library = t.path("profiler.so")
    shutil.copy(os.path.join(t.build, "libtapir-coreclr.so"), library)
    target = app(t, "exact", 1, 10_000, env={
        **os.environ, "CORECLR_ENABLE_NOTIFICATION_PROFILERS": "1", "TAPIR_CORECLR_KEY": "abc123",
        "CORECLR_NOTIFICATION_PROFILERS": library + "={2F8D5B1A-7C46-4E03-9A57-7461706972C1};"})
    session = driver(t, target.pid, f"so={library}", "key=abc123", "ms=60000", STORM, f"{RUNTIME}:0x8:4")
    target.wait_line('{"fired"', timeout=30)
    time.sleep(0.1)
    session.signal(15)
    result = session.wait()
    t.eq(result.rc, 0, result.err)
    got = result.witness()
    t.eq(got["events"][f"{STORM}/Quick"] + got["lost"], 10_000, got)
    t.eq(target.wait().rc, 0, "exit of the program")
