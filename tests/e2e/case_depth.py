# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks: every frame, by name, in order."""
from harness import EVENTS_ONLY

MAX_FRAMES = 127  # TAPIR_FRAMES of abi.h


def names(event):
    return [frame["name"] for frame in event["stack"]]


def expected(depth):
    return ["bottom"] + [f"d{i}" for i in range(depth, 0, -1)] + ["fire_at"]


def record(t, depth, *rest):
    return t.record(["depth:hit"], ["depth", depth, *rest], "--stack")


def test_stack_names_every_function_when_depth_is_known(t):
    for depth in (1, 10, 31, 100):
        said, events = record(t, depth, 20)
        t.eq(len(events), said[-1]["fired"], f"events at depth {depth}")
        for event in events:
            t.eq(names(event)[:depth + 2], expected(depth), f"stack at depth {depth}")
            t.ok("main" in names(event), f"stack at depth {depth} reaches main: {names(event)}")


def test_stack_keeps_the_leaf_frames_when_it_is_too_deep(t):
    _, events = record(t, 150, 20)
    t.eq(len(events), 20, "events")
    for event in events:
        t.eq(names(event), expected(150)[:MAX_FRAMES], "stack of 150 functions")


def test_stack_has_as_many_frames_as_asked_for(t):
    for asked in (1, 20, 127, 128, 300, 512):
        _, events = t.record(["depth:hit"], ["depth", 600, 20], "--stack", "--frames", asked)
        t.eq(len(events), 20, "events")
        for event in events:
            t.eq(names(event), expected(600)[:asked], f"stack with --frames {asked}")
    for asked in (0, 513):
        t.tapir("record", "--frames", asked, "--", "true", expect=2)


def test_stacks_are_whole_when_threads_share_them(t):
    said, events = record(t, 31, 500, 4)
    t.eq(len(events), said[-1]["fired"], "events")
    t.eq(len({event["tid"] for event in events}), 4, "threads")
    for event in events:
        t.eq(names(event)[:33], expected(31), "stack")


def check_twins(t, events):
    """The event's argument says which of two calls each caller made."""
    whole = [e for e in events if e.get("stack_end") == "whole"]
    t.ok(len(whole) >= 300, f"at least a burst: {len(whole)} of {len(events)} stacks are whole")
    chosen = [[f["addr"] for f in e["stack"]][1:11] for e in whole]  # the callers, innermost first
    calls = {address for addresses in chosen for address in addresses}
    t.eq(len(calls), 2, "return addresses of two calls")
    ways = [int(list(e["args"].values())[0]) for e in whole]
    taken = next(addresses[9 - n] for way, addresses in zip(ways, chosen) for n in range(10) if way >> n & 1)
    wrong = [way for way, addresses in zip(ways, chosen)
             if way != sum((addresses[9 - n] == taken) << n for n in range(10))]
    t.eq(wrong[:3], [], f"ways whose stack is another's, {len(wrong)} of {len(whole)}")


def test_stack_that_differs_in_one_return_address_is_another(t):
    """The walker compares a stack with the last one from the same place."""
    witness, events = t.record(["twins:hit"], ["twins", 40], "--stack")
    t.eq(len(events), witness[-1]["fired"], "events")
    check_twins(t, events)


def test_stack_is_whole_when_returns_are_probed(t):
    """Another tracer's probes have replaced all return addresses but one by the same, in the traced thread's memory."""
    target, file = t.target("twins", "--wait", 40), t.path("trace.tapir")
    tracer = t.start_tapir("trace", "uretprobe:twins:level", "--count", "--json", "-p", target.pid)
    tracer.wait_ready()
    said = t.record_waiting(target, file, "twins:hit", "--stack", *EVENTS_ONLY)
    events = t.events(file)
    t.eq(len(events), said["fired"], "events")
    check_twins(t, events)
    total = next(line for line in tracer.wait().json_lines() if line.get("type") == "total")
    t.eq(total["rows"][0]["count"], 11 * said["fired"], "returns")
