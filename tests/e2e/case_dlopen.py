# SPDX-License-Identifier: GPL-2.0-or-later
"""A shared object that appears while the program runs."""
from harness import args_of, named

EVENTS_OF_PLUG = [[i, "from the plug"] for _ in range(3) for i in range(20)]


def test_first_events_are_caught_when_an_object_is_opened_later(t):
    said, events = t.record(["dlopener", "plug"], ["dlopener", 3, 20])
    t.eq(len(named(events, "dlopener:before")), said[-1]["before"], "events of the program")
    t.eq([args_of(e) for e in named(events, "plug:hit")],
         EVENTS_OF_PLUG, "events of the object")


def test_gap_is_recorded_when_probes_come_late(t):
    """A process that tapir may not hold maps a file: its first events may be missed, which is reported."""
    file = t.path("trace.tapir")
    target = t.target("dlopener", "--wait", 3, 20)
    tapir = t.start_tapir("record", "dlopener:*", "plug:*", "-p", target.pid, "-o", file)
    tapir.wait_ready("1 probe")
    target.go()
    said = target.wait().witness()
    t.eq(tapir.wait().rc, 0, "exit")
    report, events = t.report(file), t.events(file)
    t.eq(len(named(events, "dlopener:before")), said["before"], "events of the program")
    fired, seen = EVENTS_OF_PLUG, [args_of(e) for e in named(events, "plug:hit")]
    t.eq(said["plug_fired"], len(fired), "what the program says")
    t.eq(seen, fired[len(fired) - len(seen):], "events of the object, without some of the first")
    # Where the probes come before its thread runs again, nothing can be missing, and there is no gap.
    t.ok(report["gaps"] or seen == fired, f"events without some, and no gap: {seen}")
    t.ok(all(gap["pid"] == target.pid for gap in report["gaps"]), f"whose gaps: {report['gaps']}")
    t.ok(all(gap["path"].endswith("/plug") and gap["from_ns"] < gap["until_ns"] for gap in report["gaps"]),
         f"gaps: {report['gaps']}")
