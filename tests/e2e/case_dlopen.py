# SPDX-License-Identifier: GPL-2.0-or-later
"""A shared object that appears while the program runs."""
from harness import args_of, named


def test_first_events_are_caught_when_an_object_is_opened_later(t):
    said, events = t.record(["dlopener", "plug"], ["dlopener", 3, 20])
    t.eq(len(named(events, "dlopener:before")), said[-1]["before"], "events of the program")
    t.eq([args_of(e) for e in named(events, "plug:hit")],
         [[i, "from the plug"] for _ in range(3) for i in range(20)], "events of the object")
