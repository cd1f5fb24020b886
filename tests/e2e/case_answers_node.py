# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what blocks the event loop of Node.js. programs/event_loop.js has a mode for each way; the witnesses
are the clock of its own functions, and perf_hooks.monitorEventLoopDelay."""
import os
import pathlib
import re

from answers import Sums, has_none, leads, measured, measures, near, recorded, span, within

SOURCE = str(pathlib.Path(__file__).parent / "programs" / "event_loop.js")
SECONDS = 3
# What recordings of the corpus hold, too: node-*.
CHECK_LONG = {"test_first_line_names_what_blocks_the_event_loop", "test_first_line_names_synchronous_calls", "test_first_line_says_that_too_many_threads_compute",
              "test_first_line_names_the_worse_of_two_defects", "test_loop_that_serves_many_without_a_rest_is_busy_and_not_blocked"}
COMMANDS = {"named": ("--perf-basic-prof", "report"), "report": ("report",), "child": ("child",), "sleep": ("sleep",), "idle": ("idle",)}
PAIRS = {"parse leak": ("v8::internal::Builtin_JsonParse"), "regex read": ("event_loop.js:",),
         "promises": ("to make promises and run their callbacks, all at one go",)}


def longest_ms(text):
    number, unit = re.search(r", ([\d.]+) (ms|s) at most", text).groups()
    return float(number) * (1000 if unit == "s" else 1)


def is_true(t, report, counted, *words):
    """The share of the time is the one of its own clock, and the longest time no shorter than that of a call, nor than the loop was late."""
    begin, end = span(t, t.path("answers.tapir"))
    blocked = leads(t, report, "event-loop", *words)
    near(t, blocked, 100e9 * within(counted["calls"], begin, end) / (end - begin), "percent blocked")
    longest = longest_ms(report["findings"][0]["text"])
    measures(t, longest <= 1.05 * counted["loop_longest_ms"], f"longest: {longest} ms, monitorEventLoopDelay() saw {counted['loop_longest_ms']}")
    near(t, longest, 1e3 * max(within([call], begin, end) for call in counted["calls"]), "longest time in ms", 0.1)


@measured
def test_first_line_names_what_blocks_the_event_loop(t):
    node = t.need("node")
    answers = recorded(t, {mode: (node, *words[:-1], SOURCE, words[-1]) for mode, words in COMMANDS.items()}, SECONDS)
    is_true(t, *answers["named"], " in burn event_loop.js:")
    is_true(t, *answers["report"], " in burn event_loop.js:")
    is_true(t, *answers["child"], "waiting for a child")
    is_true(t, *answers["sleep"], "waiting for a condition")
    has_none(t, answers["idle"][0], "event-loop")


def share(t, counted, key):
    """Percent of the time."""
    begin, end = span(t, t.path("answers.tapir"))
    if key == "calls":
        return 100e9 * within(counted["calls"], begin, end) / (end - begin)
    return Sums(counted[key]).rate("active_ns", begin, end) / 1e7


@measured
def test_loop_that_serves_many_without_a_rest_is_busy_and_not_blocked(t):
    """As long as performance.eventLoopUtilization() says. Where others have the CPUs half of the time it is not its own fault."""
    report, counted = recorded(t, {"short": (t.need("node"), "--perf-basic-prof", SOURCE, "short")}, SECONDS)["short"]
    told = [f for f in report["findings"] if f["kind"] == "event-loop"]
    measures(t, not told or longest_ms(told[0]["text"]) <= 2 * counted["loop_longest_ms"] + 60, f"blocked: {told}")
    told = [f for f in report["findings"] if f["kind"] == "busy-loop"]
    measures(t, told, f"that it is busy: {[f['text'] for f in report['findings']]}")
    for f in told:
        t.ok(" in burn event_loop.js:" in f["text"], f["text"])
        near(t, f["magnitude"], share(t, counted, "utilization"), "percent busy")


@measured
def test_first_line_names_the_worse_of_two_defects(t):
    node = t.need("node")
    answers = recorded(t, {mode: (node, "--perf-basic-prof", SOURCE, mode, t.tmp) for mode in PAIRS}, SECONDS)
    # What else it does it may do at once before, or after: the loop is no longer blocked than it is active.
    for mode, words in PAIRS.items():
        report, counted = answers[mode]
        blocked, calls, active = leads(t, report, "event-loop", *words), share(t, counted, "calls"), share(t, counted, "utilization")
        measures(t, 0.95 * calls <= blocked <= 1.05 * active, f"percent blocked, {mode}: {blocked}, calls take {calls}, the loop is active {active}")
    kinds = [f["kind"] for f in answers["parse leak"][0]["findings"]]
    t.ok("memory-growth" in kinds, f"the leak, too: {kinds}")


@measured
def test_first_line_names_synchronous_calls(t):
    """However short each is. Where fsync costs nothing there is nothing to find."""
    node = t.need("node")
    for mode, call in (("read", "node::fs::Read"), ("fsync", "node::fs::Fsync")):
        report, counted = recorded(t, {mode: (node, "--perf-basic-prof", SOURCE, mode, t.tmp)}, SECONDS)[mode]
        begin, end = span(t, t.path("answers.tapir"))
        share = 100e9 * within(counted["calls"], begin, end) / (end - begin)
        if mode == "fsync" and share < 20:
            t.skip(f"fsync takes {share:.0f}% of the time")
        near(t, leads(t, report, "event-loop", f"in {call}"), share, f"percent of the time, {mode}")


@measured
def test_first_line_says_that_too_many_threads_compute(t):
    node = t.need("node")
    cpus = len(os.sched_getaffinity(0))
    if cpus > 8:
        t.skip(f"12 threads are not too many for {cpus} CPUs")
    report, _ = recorded(t, {"workers": (node, SOURCE, "workers")}, SECONDS)["workers"]
    leads(t, report, "cpu", "; its threads want ", f" CPUs of {cpus}: they waited ")
    wanted = float(re.search(r"want ([\d.]+) CPUs", report["findings"][0]["text"]).group(1))
    near(t, wanted, 12, "threads that want a CPU")
