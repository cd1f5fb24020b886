# SPDX-License-Identifier: GPL-2.0-or-later
"""A .NET process whose sources, kinds of events or payloads are more than there is room for: what was recorded and what
was counted as lost is what the program fired.

The program is tests/e2e/programs/Many.cs.
"""
import collections
import json
import os
import re
import sys

from dotnet_fire import record, stop
from dotnet_program import build_dotnet
from harness import EVENTS_ONLY

TIMEOUT = 240
SHORT_CNT = 9000  # more than twice the 4,096 that have a name in the library at one time
CHECK_DOTNET = {"test_events_of_a_provider_without_a_name_in_the_library_are_counted",
                "test_more_kinds_than_places_are_recorded_when_they_come_one_after_the_other",
                "test_kinds_without_a_place_are_counted_when_they_come_at_once"}


def start(t, *args):
    many = t.start(build_dotnet(t, "Many"), *args)
    many.wait_line("pid ")
    return many


def run(t, spec, *args, options=EVENTS_ONLY):
    """(fired, events, lost, report, what tapir said)"""
    many = start(t, *args)
    tapir = record(t, many.pid, spec, options=options)
    many.go()
    fired = json.loads(many.wait_line("{", timeout=150))["fired"]
    events, lost, result = stop(t, tapir)
    many.go()
    t.eq(many.wait().rc, 0, "exit of the program")
    return fired, events, lost, t.report(t.path("trace.tapir")), result.err


def test_sources_that_are_disposed_give_their_places_back(t):
    fired, events, lost, report, err = run(t, "Many-Short", "sources", SHORT_CNT, 400)
    t.eq((len(events), lost, report["lost"]), (fired, 0, {}), err)
    t.eq({e["event"] for e in events}, {"Short"}, "names")
    t.eq(sorted(int(e["args"]["I"]) for e in events), list(range(SHORT_CNT)), "each once")


def test_more_kinds_than_places_are_recorded_when_they_come_one_after_the_other(t):
    fired, events, lost, report, err = run(t, "Many-Kinds", "kinds", 20000, 100)
    t.eq((len(events), lost, report["lost"]), (fired, 0, {}), err)
    t.ok(all(e["event"] == f"Kind{e['args']['I']}" for e in events), "each has its own name")


def test_kinds_without_a_place_are_counted_when_they_come_at_once(t):
    fired, events, lost, report, err = run(t, "Many-Kinds", "kinds", 30000)
    t.eq(len(events) + lost, fired, f"{len(events)} captured, {lost} lost: {err}")
    t.eq(sum(report["lost"].values()), lost, f"{report['lost']}")
    t.ok(all(e["event"] == f"Kind{e['args']['I']}" for e in events), "each has its own name")


def test_providers_beyond_those_a_process_accepts_are_counted(t):
    """1,024 that match the SPECs, of 4,096 that have a name in the library."""
    fired, events, lost, report, err = run(t, "Many-Living-*", "living", 5000)
    t.eq((fired, len(events), lost), (1024, 1024, 0), err)
    t.eq(len({e["provider"] for e in events}), 1024, "each provider's event")
    left = report["incomplete"].get("providers_left", 0)  # a few of the runtime's own come after the 4,096th
    t.ok(5000 - 1024 <= left <= 5000 - 1024 + 16, f"providers that are missing: {report['incomplete']}")
    t.ok(any(g["path"] == "event providers beyond the limit" for g in report["gaps"]), report["gaps"])
    t.ok("events of up to" in err and "nothing lost" not in err.splitlines()[-1], err)


def test_events_of_a_provider_without_a_name_in_the_library_are_counted(t):
    """Asked for by its whole name it is enabled, whatever number it has."""
    fired, events, lost, report, err = run(t, "Many-Living-4999", "living", 5000, options=("Many-Living-7", *EVENTS_ONLY))
    t.eq((fired, [e["provider"] for e in events], report["lost"]),
         (2, ["Many-Living-7"], {"ring_lane_no_provider": 1}), err)
    t.eq(report["incomplete"].get("providers_left", 0), 0, f"{report['incomplete']}")


def test_payloads_up_to_64_kb_are_whole(t):
    fired, events, lost, report, err = run(t, "Many-Large", "large", 5)
    sizes = collections.Counter(len(e["args"]["text"]) * 2 + 2 for e in events)
    for size in (100, 32600, 32768, 40000, 65000, 65534, 65536):
        t.eq(sizes[size], 5, f"events of {size} bytes; {lost} lost; {report['lost']}; {err}")
    for event in events:
        t.eq(len(set(event["args"]["text"])), 1, "one letter")
    t.eq(report["lost"], {"ring_lane_too_large": 15}, "those of 65,538 bytes and more")
    t.eq(len(events) + lost, fired, "captured and lost")


def test_arguments_of_16_kb_reach_the_provider(t):
    spec = "Many-Listener/Said:-Number;Word"
    filler = "\n".join(f"Other{i}/Event{i}:-A;B" for i in range(700))
    text = f'{filler}\n{spec}'
    t.ok(15000 < len(text) < 16000, f"{len(text)} bytes")
    many = start(t, "listener", 50)
    tapir = record(t, many.pid, f'Microsoft-Diagnostics-DiagnosticSource:::FilterAndPayloadSpecs="{text}"')
    many.go()
    t.eq(json.loads(many.wait_line("{"))["fired"], 50, "fired")
    events, lost, _ = stop(t, tapir)
    t.eq(lost, 0, "lost")
    said = [e for e in events if e["event"] == "Event" and e["args"].get("EventName") == "Said"]
    t.eq(len(said), 50, "events with a filter longer than 287 bytes")
    many.go()
    many.wait()


def test_longer_arguments_are_a_usage_error(t):
    result = t.run(t.tapir_path, "record", "My-Source:::Key=" + "x" * 16384, "-p", 1, "-o", t.path("trace.tapir"))
    t.eq(result.rc, 2, result.err)
    t.eq(len(result.err.strip().splitlines()), 1, result.err)
    t.ok("16383" in result.err, result.err)


def jit_library(t):
    """libclrjit.so of the newest runtime, whose functions hide their callers."""
    lines = t.run(t.need("dotnet"), "--list-runtimes").out.splitlines()
    found = [re.match(r"Microsoft\.NETCore\.App (\S+) \[(.*)\]", line) for line in lines]
    paths = [os.path.join(match[2], match[1], "libclrjit.so") for match in found if match]
    paths = [path for path in paths if os.path.exists(path)]
    return paths[-1] if paths else t.skip("there is no .NET runtime")


def build_id_of(t, path):
    notes = t.run(t.need("readelf"), "-n", path).out
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes).group(1))


MAP_ALL = """
import mmap, os, sys, time
kept = []
for path in sys.argv[2:]:
    fd = os.open(path, os.O_RDONLY)
    kept.append(mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
time.sleep(float(sys.argv[1]))
"""


def test_files_without_room_for_their_unwind_table_are_counted(t):
    path, count, paths = jit_library(t), 18, []
    with open(path, "rb") as file:
        image = file.read()
    own = build_id_of(t, path)
    for i in range(count):  # each a file of its own, also by its build ID
        home = t.path(f"copy{i}")
        os.mkdir(home)
        paths.append(os.path.join(home, "libclrjit.so"))
        with open(paths[-1], "wb") as out:
            out.write(image.replace(own, bytes([i]) + own[1:]))
    file = t.path("trace.tapir")
    for memory, are_left_out in (("1", True), ("100", False)):
        for seconds in ("0", "1", "5", "15"):  # a busy machine builds the tables later
            t.tapir("record", "--unwind-memory", memory, "-f", "-o", file, "--", sys.executable, "-c", MAP_ALL, seconds, *paths)
            left_out = t.report(file)["incomplete"].get("unwind_files_full", 0)
            if left_out > 0 or not are_left_out:
                break
        t.eq(left_out > 0, are_left_out, f"files without a table, with {memory} MB: {left_out}")
