# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what blocks the event loop of Node.js. programs/event_loop.js has a mode for each way; the witnesses
are the clock of its own functions, and perf_hooks.monitorEventLoopDelay."""
import os
import pathlib
import re

from answers import alone, has_none, leads, measures, near, recorded, span, within

ALONE = True  # it measures time
SOURCE = str(pathlib.Path(__file__).parent / "programs" / "event_loop.js")
SECONDS = 3
NO_NAMES = "its functions have no names: start node with --perf-basic-prof"
CHECK_LONG = {"test_first_line_names_synchronous_calls", "test_first_line_says_that_too_many_threads_compute"}  # unit tests hold them, too
COMMANDS = {"named": ("--perf-basic-prof", "report"), "report": ("report",), "child": ("child",), "sleep": ("sleep",), "idle": ("idle",),
            "short": ("short",)}


def longest_ms(text):
    number, unit = re.search(r", ([\d.]+) (ms|s) at most", text).groups()
    return float(number) * (1000 if unit == "s" else 1)


def is_true(t, report, counted, *words):
    """The share of the time is the one of its own clock, and the longest time no shorter than that of a call, nor than the loop was late."""
    begin, end = span(t, t.path("answers.tapir"))
    blocked = leads(t, report, "event-loop", *words)
    near(t, blocked, 100e9 * within(counted["calls"], begin, end) / (end - begin), "percent blocked")
    longest = longest_ms(report["findings"][0]["text"])
    near(t, longest, 1e3 * max(within([call], begin, end) for call in counted["calls"]), "longest time in ms", 0.1)


@alone
def test_first_line_names_what_blocks_the_event_loop(t):
    node = t.need("node")
    answers = recorded(t, {mode: (node, *words[:-1], SOURCE, words[-1]) for mode, words in COMMANDS.items()}, SECONDS)
    is_true(t, *answers["named"], " in burn event_loop.js:")
    is_true(t, *answers["report"], NO_NAMES)
    is_true(t, *answers["child"], "in a call of node::SyncProcessRunner::", "waiting for a child", NO_NAMES)
    is_true(t, *answers["sleep"], "AtomicsWait", "waiting for a condition", NO_NAMES)
    has_none(t, answers["idle"][0], "event-loop")
    # Many short turns take all of the CPU that there is: none of them blocks the loop.
    report, counted = answers["short"]
    told = [f for f in report["findings"] if f["kind"] == "event-loop"]
    measures(t, not told or longest_ms(told[0]["text"]) <= 2 * counted["loop_longest_ms"] + 60, f"{told} {counted}")


@alone
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


@alone
def test_first_line_says_that_too_many_threads_compute(t):
    node = t.need("node")
    cpus = len(os.sched_getaffinity(0))
    if cpus > 8:
        t.skip(f"12 threads are not too many for {cpus} CPUs")
    report, _ = recorded(t, {"workers": (node, SOURCE, "workers")}, SECONDS)["workers"]
    leads(t, report, "cpu", "; its threads want ", f" CPUs of {cpus}: they waited ")
    wanted = float(re.search(r"want ([\d.]+) CPUs", report["findings"][0]["text"]).group(1))
    near(t, wanted, 12, "threads that want a CPU")
