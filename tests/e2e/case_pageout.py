# SPDX-License-Identifier: GPL-2.0-or-later
"""Strings on pages that are not in memory: read, and nobody else waits for them."""
import os

from harness import args_of, named

COUNT = 1000


def test_every_string_is_read_when_its_page_was_dropped(t):
    said, events = t.record(["pageout:hit"], ["pageout", t.path("pages"), COUNT])
    t.eq([args_of(e) for e in events], [[i, f"text on page {i:06d}"] for i in range(COUNT)], "events")
    if said[-1] == {"fired": COUNT, "absent": 0}:
        t.skip("this file system keeps its pages in memory: nothing was away")
    t.eq(said[-1], {"fired": COUNT, "absent": COUNT}, "pages that were away")


def check_late(t, said, events):
    t.ok(said["slow_ms"] >= 200, f"the page was waited for: {said}")
    t.eq([args_of(e) for e in named(events, "pageout:slow")], [["late text"]], "the late string")
    t.eq(len(named(events, "pageout:other")), said["other"], "events of the other threads")


def test_other_threads_lose_nothing_when_a_page_answers_late(t):
    said, events = t.record(["pageout"], ["pageout", "--slow", 500, 10000, 2])
    check_late(t, said[-1], events)


def test_late_event_is_whole_when_others_fire_on_its_cpu(t):
    """What a waiting BPF program has on its stack must not be the next one's (bpf/common.bpf.h)."""
    t.need("taskset")
    for _ in range(3):
        file = t.path("trace.tapir")
        result = t.tapir("record", "pageout", "-f", "-o", file, "--", "taskset", "-c", min(os.sched_getaffinity(0)),
                         t.target_path("pageout"), "--slow", 200, 5000, 3)
        check_late(t, result.witness(), t.events(file))
