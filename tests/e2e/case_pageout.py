# SPDX-License-Identifier: GPL-2.0-or-later
"""Strings on pages that are not in memory: read, and nobody else waits for them."""
from harness import args_of, named

COUNT = 1000


def test_every_string_is_read_when_its_page_was_dropped(t):
    said, events = t.record(["pageout:hit"], ["pageout", t.path("pages"), COUNT])
    t.eq(said[-1], {"fired": COUNT, "absent": COUNT}, "pages that were away")
    t.eq([args_of(e) for e in events], [[i, f"text on page {i:06d}"] for i in range(COUNT)], "events")


def test_other_threads_lose_nothing_when_a_page_answers_late(t):
    said, events = t.record(["pageout"], ["pageout", "--slow", 500, 10000, 2])
    t.ok(said[-1]["slow_ms"] >= 500, f"the page was waited for: {said[-1]}")
    t.eq([args_of(e) for e in named(events, "pageout:slow")], [["late text"]], "the late string")
    t.eq(len(named(events, "pageout:other")), said[-1]["other"], "events of the other threads")
