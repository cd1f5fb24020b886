# SPDX-License-Identifier: GPL-2.0-or-later
"""Fire (programs/Fire.cs), which says what it fired, and a recording of it."""
import json
import os
import re
import signal
import time

from dotnet_program import build_dotnet
from harness import EVENTS_ONLY

RUNTIME = "Microsoft-Windows-DotNETRuntime"
DEMO = "MyCompany-Demo"
END = 7  # what Fire ends with


def start(t, *args, before=(), env=None, path=None):
    fire = t.start(*before, path or build_dotnet(t, "Fire"), *args, env={**os.environ, **(env or {})})
    fire.wait_line("pid ")
    return fire


def fire_now(fire):
    """Releases it and returns what it prints that it did."""
    fire.go()
    return json.loads(fire.wait_line("{", timeout=60))


def record(t, pid, *specs, file="trace.tapir", options=EVENTS_ONLY):
    tapir = t.start_tapir("record", *specs, *options, "-p", pid, "-f", "-o", t.path(file))
    tapir.wait_ready(".NET events")
    return tapir


def stop(t, tapir, file="trace.tapir"):
    """The events of the file, how many the recording lost, and what it said."""
    time.sleep(0.2)
    tapir.signal(signal.SIGINT)
    result, took = tapir.wait_timed()
    t.eq(result.rc, 0, result.err)
    t.ok(took < 8, f"it stops in time: {took:.1f} s")
    lost = re.search(r" ([\d,]+) lost", result.err)
    t.ok(lost, result.err)
    return t.events(t.path(file)), int(lost.group(1).replace(",", "")), result


def count(events, provider, name):
    return sum(e["provider"] == provider and e["event"] == name for e in events)


def most_pauses_are_those_of_the_runtime(t, seen, did):
    """seen: milliseconds by the number of the collection. The runtime starts its clock before the event that begins the pause
    and stops it before the one that ends it: where its thread loses the CPU in one of these gaps, the two differ by as much,
    in either direction. That is so for a few collections of a run; what firing the events takes is a fifth of a short pause."""
    pairs = {number: (seen[number], ms) for number, ms in did["pauses_ms"].items()}  # each has been seen
    near = [number for number, (ours, its) in pairs.items() if 0.95 * its <= ours <= 2 * its]
    t.ok(len(near) > len(pairs) / 2, f"pauses, and by the runtime's own clock: {pairs}")


def ends_as_always(t, fire):
    fire.go()
    result = fire.wait()
    t.eq(result.rc, END, "its exit code")
    lines = [line for line in result.out.splitlines() if not line.startswith("{")]
    t.eq(lines, [f"pid {fire.pid}", "over"], "its output")
    t.eq(result.err, "", "its stderr")


def exact(t, threads, events, share, options=EVENTS_ONLY):
    """Flat out, captured and lost are what was fired; at least this share of it was captured."""
    fire = start(t, f"threads={threads}", f"events={events}")
    tapir = record(t, fire.pid, DEMO, options=options)
    did = fire_now(fire)
    seen, lost, _ = stop(t, tapir)
    got = count(seen, DEMO, "OrderPlaced") + count(seen, DEMO, "StockLow")
    t.eq(got + lost, did["orders"] + did["lows"], f"{got} captured + {lost} lost")
    t.ok(got >= share * did["orders"], f"{got} captured")
    ends_as_always(t, fire)


def counts_of_the_runtime(t, options=EVENTS_ONLY):
    """Exceptions, contentions and collections of each generation are as many as the program says."""
    fire = start(t, "exceptions=300", "contentions=20", "gcs=60")
    tapir = record(t, fire.pid, f"{RUNTIME}:GC,Exception,Contention:Informational", options=options)
    did = fire_now(fire)
    seen, lost, _ = stop(t, tapir)
    t.eq(lost, 0, "lost")
    t.eq(count(seen, RUNTIME, "ExceptionThrown"), did["exceptions"], "exceptions")
    t.eq(count(seen, RUNTIME, "ContentionStart"), did["contentions"], "contentions")
    starts = [e for e in seen if e["event"] == "GCStart"]
    t.eq(len(starts), did["gcs"][0], "collections")
    for generation in (0, 1, 2):
        deep = sum(int(e["args"]["Depth"]) >= generation for e in starts)
        t.eq(deep, did["gcs"][generation], f"of generation {generation} or older")
    ends_as_always(t, fire)
