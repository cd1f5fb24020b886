# SPDX-License-Identifier: GPL-2.0-or-later
"""Events defined at run time (tapir/dynamic.h) are typed probes for every tool, and ring events."""
import json
import os
import re
import signal
import time

from harness import EVENTS_ONLY, args_of

PROVIDER = "Tapir-Test-Plugin"
COUNT = 200


def image_of(t, pid):
    """The image of its probes, by the descriptor that the program has."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        if "/memfd:tapir-events." + PROVIDER in os.readlink(path):
            return path
    t.ok(False, "the program has no image")
    return None


def recorded(t, lane, target):
    tapir = t.start_tapir("record", PROVIDER + ":Called", *EVENTS_ONLY, "--lane", lane, "-p", target.pid, "-f",
                          "-o", t.path(lane + ".tapir"))
    tapir.wait_ready()
    return tapir


def test_an_event_defined_at_run_time_is_seen_by_tapir_and_bpftrace(t):
    target = t.target("plugin", "--wait", COUNT)
    listed = t.tapir("list", "-p", target.pid).out
    t.ok("Called" in listed and "(u32 Number, str Name, i64 Cost)" in listed, listed)
    image = image_of(t, target.pid)
    tapirs = {lane: recorded(t, lane, target) for lane in ("ring", "probe")}
    watcher = t.start(t.need("bpftrace"), "-e",
                      f'usdt:{image}:{PROVIDER}:Called {{ @calls = count(); @sum = sum(arg0); '
                      'if (arg0 == 7) { printf("%d %s %d\\n", arg0, str(arg1), arg2); } }'
                      f'usdt:{target.argv[0]}:tapir_event:warning {{ @json[str(arg1), str(arg2), arg3, arg5] = count(); }}'
                      f'usdt:{image}:{PROVIDER}:Loaded {{ @loads = count(); }} BEGIN {{ printf("watching\\n"); }}',
                      "-p", target.pid)
    watcher.wait_line("watching")
    target.go()
    t.eq(target.wait().witness(), {"fired": COUNT}, "fired")
    out = watcher.wait().out
    for line in ("7 plug-in -7", f"@calls: {COUNT}", f"@loads: {COUNT}", f"@sum: {sum(range(COUNT))}",
                 f'@json[Untyped, {{"a":1}}, 7, 5]: {COUNT}'):
        t.ok(line in out, out)
    for lane, tapir in tapirs.items():
        t.eq(tapir.wait().rc, 0, lane)
        events = t.events(t.path(lane + ".tapir"))
        t.eq({event["event"] for event in events}, {"Called"}, "one event of two: " + lane)
        t.eq(sorted(args_of(event) for event in events), [[n, "plug-in", -n] for n in range(COUNT)], "fields: " + lane)
        t.eq({event.get("lane", "probe") for event in events}, {lane}, "lane")


def test_events_come_as_json_where_no_image_may_be_made(t):
    target = t.target("plugin", "--no-images", "--wait", COUNT)
    listed = t.tapir("list", "-p", target.pid)
    t.ok("2 events defined at run time have no USDT probe of their own (Permission denied)" in listed.err, listed.err)
    ring = recorded(t, "ring", target)
    probe = t.start_tapir("record", "tapir_event:informational", *EVENTS_ONLY, "-p", target.pid, "-f", "-o", t.path("json.tapir"))
    probe.wait_ready()
    watcher = t.start(t.need("bpftrace"), "-e",
                      f'usdt:{target.argv[0]}:tapir_event:informational {{ @calls[str(arg0), str(arg1), arg5, arg4] = count(); '
                      'printf("%s\\n", str(arg2)); } BEGIN { printf("watching\\n"); }', "-p", target.pid)
    watcher.wait_line("watching")
    time.sleep(0.3)  # the library looks for tools each 0.1 s
    target.go()
    t.eq(target.wait().witness(), {"fired": COUNT}, "fired")
    right = [{"Number": n, "Name": "plug-in", "Cost": -n} for n in range(COUNT)]
    out = watcher.wait().out
    seen = [json.loads(line) for line in re.findall(r"^\{.*\}$", out, re.M)]
    t.eq(sorted((e["Number"], e["Name"], e["Cost"]) for e in seen), sorted(2 * [(n, "plug-in", -n) for n in range(COUNT)]), "bpftrace")
    for event, keywords in (("Loaded", 1), ("Called", 2)):
        t.ok(f"@calls[{PROVIDER}, {event}, {keywords}, {keywords}]: {COUNT}" in out, out)  # id and keywords are one number
    t.eq(probe.wait().rc, 0, "probe")
    called = [args_of(event)[2] for event in t.events(t.path("json.tapir")) if args_of(event)[1] == "Called"]
    t.eq([json.loads(text) for text in called], right, "tapir's probe lane")
    t.eq(ring.wait().rc, 0, "ring")
    t.eq(sorted(args_of(event) for event in t.events(t.path("ring.tapir"))), [[n, "plug-in", -n] for n in range(COUNT)], "ring lane")


def test_events_defined_while_a_recording_runs_are_recorded_by_their_probes(t):
    """Those of an image that is mapped already, and those of one that is mapped later; in one process, and in all."""
    for options in ((), ("-a",)):
        target = t.target("plugin", "--wait", "--later", COUNT)
        file = t.path("later.tapir")
        which = options or ("-p", target.pid)
        tapir = t.start_tapir("record", PROVIDER + "*", *EVENTS_ONLY, "--lane", "probe", *which, "-f", "-o", file)
        tapir.wait_ready()
        time.sleep(0.2)
        target.go()
        t.eq(target.wait().witness(), {"fired": COUNT}, "fired")
        if options:
            tapir.signal(signal.SIGINT)
        t.eq(tapir.wait().rc, 0, "exit of tapir")
        events = t.events(file)
        for name in ("Loaded", "Called", "Opened"):
            t.eq([args_of(event) for event in events if event["event"] == name], [[n, "plug-in", -n] for n in range(COUNT)], name)
        gaps = [gap for gap in t.events(file, "gap") if "tapir-events." + PROVIDER in gap["path"]]
        t.ok(gaps and all(0 < gap["until_ns"] - gap["from_ns"] < 5e9 for gap in gaps), f"when they were not attached yet: {gaps}")
