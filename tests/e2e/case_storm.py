# SPDX-License-Identifier: GPL-2.0-or-later
"""Many events at once: captured + lost = fired, exactly, and what is captured is whole."""
import collections

from harness import args_of

CHECK_LONG = {"test_nothing_is_lost_when_two_threads_fire_flat_out"}


def totals(t, file):
    """Captured and lost events of storm:hit, as the report says."""
    entries = [e for e in t.report(file)["events"] if (e["provider"], e["event"]) == ("storm", "hit")]
    return sum(e["captured"] for e in entries), sum(e["lost"] for e in entries)


def check_whole(t, events):
    """Each event's fields belong together; a thread's events rise without a gap in order."""
    last = collections.defaultdict(lambda: -1)
    for event in events:
        thread, i, triple, negative, text = args_of(event)
        t.eq((triple, negative, text), (i * 3, -i, f"storm-thread-{thread:03d}"), f"fields of event {i}")
        t.ok(i > last[thread], f"event {i} of thread {thread} came after {last[thread]}")
        last[thread] = i


def storm(t, *args):
    said, events = t.record(["storm:hit"], ["storm", *args], timeout=90)
    captured, lost = totals(t, t.path("trace.tapir"))
    t.eq(captured, len(events), "captured events in the report and in the file")
    t.eq(captured + lost, said[-1]["fired"], "captured + lost")
    check_whole(t, events)
    return lost


def test_nothing_is_lost_when_one_thread_is_paced(t):
    t.eq(storm(t, 20000, 20000, 1), 0, "lost")


def test_nothing_is_lost_when_two_threads_fire_flat_out(t):
    t.eq(storm(t, 0, 120000, 2), 0, "lost")


def test_captured_and_lost_add_up_when_eight_threads_fire_flat_out(t):
    storm(t, 0, 12000, 8)


def test_events_are_exact_when_attached_to_a_running_process(t):
    file = t.path("trace.tapir")
    target = t.target("storm", "--wait-attached", 20000, 20000, 2)
    tapir = t.start_tapir("record", "storm:hit", "-p", target.pid, "-o", file)
    fired = target.wait(30).witness()["fired"]
    t.eq(tapir.wait(30).rc, 0, "tapir's exit when its last process is gone")
    captured, lost = totals(t, file)
    t.eq(captured + lost, fired, "captured + lost")
