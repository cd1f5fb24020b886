# SPDX-License-Identifier: GPL-2.0-or-later
"""Events as they happen: the same lines as of a file, while the program still runs."""
import json
import signal

from harness import args_of, named


def test_events_equal_those_of_the_program(t):
    result = t.tapir("trace", "types", "--json", "--", t.target_path("types"), 5)
    lines = result.json_lines()
    said = [line for line in lines if "type" not in line and line["event"] != "types:strings"]
    events = [line for line in lines if line.get("type") == "event"]
    for line in said:
        hits = named(events, line["event"])
        t.eq(len(hits), line["count"], f"events of {line['event']}")
        t.ok(all(args_of(hit) == line["args"] for hit in hits), f"arguments of {line['event']}")
    t.ok(all(e["utc"] and e["comm"] == "types" for e in events), "each has a time and a name")


def test_event_is_printed_while_the_program_runs(t):
    target = t.target("storm", "--wait-attached", 10, 100000, 1)
    tapir = t.start_tapir("trace", "storm:hit", "--json", "-p", target.pid)
    first = json.loads(tapir.wait_line('{"type":"event"', timeout=5))
    t.eq(args_of(first)[1], 0, "the first event comes first, within seconds")
    tapir.signal(signal.SIGINT)
    result = tapir.wait(5)
    t.eq(result.rc, 0, "exit on Ctrl-C")
    indexes = [args_of(e)[1] for e in result.json_lines() if e["type"] == "event"]
    t.eq(indexes, list(range(len(indexes))), "events, without a hole")
    target.kill()


def test_stack_is_below_its_event(t):
    out = t.tapir("trace", "depth:hit", "--stack", "--", t.target_path("depth"), 3, 1).out
    block = out[out.index("depth:hit"):].splitlines()
    t.eq([line.split("+")[0].strip() for line in block[1:6]], ["bottom", "d3", "d2", "d1", "fire_at"], "frames")


def test_tracing_ends_quietly_when_nobody_reads(t):
    storm = t.target_path("storm")
    result = t.run("bash", "-c", f"{t.tapir_path} trace -q storm:hit -- {storm} 0 20000 1 | head -3", timeout=20)
    t.eq((result.rc, result.err), (0, ""), "exit and words")
    t.eq(len(result.out.splitlines()), 3, "lines")


def test_events_are_named_when_none_were_asked_for(t):
    result = t.tapir("trace", "-p", 1, expect=2)
    t.ok("SPEC" in result.err or "which events" in result.err, result.err)
