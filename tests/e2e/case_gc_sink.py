# SPDX-License-Identifier: GPL-2.0-or-later
"""A collector in a library of its own, which links nothing of tapir's, and its events (tapir/gc_event_sink.h)."""
from harness import EVENTS_ONLY

RUNTIME = "Tapir-Test-Runtime"
COUNT = 50
OBJECT_BYTES = 32


def seen(t, *specs):
    """(what the program counted, events by name) of a recording of `gchost`."""
    t.ok("libtapir" not in t.run(t.need("readelf"), "-d", t.target_path("gccollector")).out, "the collector links tapir")
    target = t.target("gchost", "--wait", COUNT, len(specs))
    tapir = t.start_tapir("record", *specs, *EVENTS_ONLY, "-p", target.pid, "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    target.go()
    counted = target.wait().witness()
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    by_name = {}
    for event in t.events(t.path("trace.tapir")):
        by_name.setdefault(event["event"], []).append(event["args"])
    return counted, by_name


def test_a_collectors_own_event_has_its_fields_and_the_runtime_adds_its_own(t):
    counted, by_name = seen(t, RUNTIME, RUNTIME + "-Private")
    t.eq({name: len(events) for name, events in by_name.items()},
         {name: COUNT for name in ("GCStart", "GCEnd", "GCMarkWithType", "Swept", "MarkDepth", "GCDynamicEvent")}, "counts")
    t.eq(by_name["GCStart"][0], {"Count": 1, "Depth": 0, "Reason": 1, "Type": 2, "ClrInstanceID": 9,
                                 "ClientSequenceNumber": 77}, "GCStart")
    t.eq(sum(args["Objects"] for args in by_name["Swept"]), counted["swept"], "swept objects")
    t.eq({(args["Bytes"] // args["Objects"], args["Phase"]) for args in by_name["Swept"]}, {(OBJECT_BYTES, "sweep")}, "Swept")
    t.eq({args["Bytes"] for args in by_name["GCMarkWithType"]}, {10 * OBJECT_BYTES}, "GCMarkWithType")
    t.eq({(args["Name"], args["DataSize"]) for args in by_name["GCDynamicEvent"]}, {("Unlisted", 4)}, "GCDynamicEvent")


def test_keywords_reach_the_collector(t):
    _, by_name = seen(t, RUNTIME + ":0x100")
    t.eq(sorted(by_name), ["GCDynamicEvent", "Swept"], "events with the keyword, or with none")


def test_a_semaphore_alone_reaches_the_collector(t):
    target = t.target("gchost", "--wait", COUNT, 1)
    watcher = t.start(t.need("bpftrace"), "-e", f'usdt:{target.argv[0]}:{RUNTIME}:GCEnd {{ @ends = count(); }}'
                      'BEGIN { printf("watching\\n"); }', "-p", target.pid)
    watcher.wait_line("watching")
    target.go()
    t.eq(target.wait().witness()["collections"], COUNT, "collections")
    t.ok(f"@ends: {COUNT}" in watcher.wait().out, "bpftrace has not seen each GCEnd")
