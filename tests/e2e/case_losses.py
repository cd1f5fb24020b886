# SPDX-License-Identifier: GPL-2.0-or-later
"""Every cause of a loss, forced once: it is counted under its own name, and the sum is exact."""
import os
import signal

from harness import args_of


def counts(t, file, event):
    report = t.report(file)
    rows = [row for row in report["events"] if f"{row['provider']}:{row['event']}" == event]
    return report, sum(row["captured"] for row in rows), sum(row["lost"] for row in rows)


def stop_and_go(t, target, event, *options):
    """Records while tapir itself stands still: its rings fill and nobody empties them."""
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", event, "-p", target.pid, "--buffer", 1, "-o", file, *options)
    tapir.wait_ready()
    tapir.stop()
    target.go()
    fired = target.wait(60).witness()["fired"]
    tapir.signal(signal.SIGCONT)
    t.eq(tapir.wait(30).rc, 0, "exit")
    return file, fired


def test_ring_full_is_counted_exactly_when_nobody_drains(t):
    target = t.target("storm", "--wait", 0, 100000, 2)
    file, fired = stop_and_go(t, target, "storm:hit")
    report, captured, lost = counts(t, file, "storm:hit")
    t.eq(captured + lost, fired, "captured + lost")
    t.ok(lost > 0, "the ring was full")
    t.eq(report["lost"], {"ring_full": lost}, "causes")


def test_threads_that_could_not_be_announced_are_counted(t):
    target = t.target("storm", "--wait", 0, 4000, 64)
    file, fired = stop_and_go(t, target, "storm:hit")
    report, captured, lost = counts(t, file, "storm:hit")
    t.eq(captured + lost, fired, "captured + lost")
    t.ok(report["incomplete"].get("thread_ring_full", 0) > 0, f"threads: {report['incomplete']}")


def test_stacks_that_could_not_be_sent_are_counted(t):
    target = t.target("losses", "--wait", "stacks", 100000)
    file, fired = stop_and_go(t, target, "losses:hit", "--stack")
    report, captured, lost = counts(t, file, "losses:hit")
    t.eq(captured + lost, fired, "captured + lost")
    t.eq(report["incomplete"].get("stack_ring_full"), 20, "stacks first seen when the ring was full")


def record(t, *args, options=()):
    file = t.path("trace.tapir")
    result = t.tapir("record", "losses:*", "-o", file, *options, "--", t.target_path("losses"), *args)
    return file, result.witness()["fired"], t.events(file)


def test_fault_is_counted_when_an_argument_cannot_be_read(t):
    file, fired, events = record(t, "fault", 50)
    t.eq(len(events), fired, "events")
    t.ok(all(args_of(e) == [None] and list(e["marks"].values()) == ["fault"] for e in events), "marked")
    t.eq(t.report(file)["incomplete"], {"arg_fault": fired}, "causes")


def test_cut_is_counted_when_a_string_is_long(t):
    file, fired, events = record(t, "cut", 50)
    for event in events:
        text = args_of(event)[0]
        t.ok(1000 <= len(text) < 20000 and set(text) == {"x"}, f"{len(text)} characters")
        t.eq(list(event["marks"].values()), ["cut"], "mark")
    t.eq(t.report(file)["incomplete"], {"arg_cut": fired}, "causes")


def test_fault_is_counted_when_a_frame_cannot_be_read(t):
    file, fired, events = record(t, "frame", 50, options=("--stack",))
    t.eq([e["stack"][0]["name"] for e in events], ["losses_bare_hit"] * fired, "innermost function")
    t.eq({e.get("stack_mark") for e in events}, {"fault"}, "marks")
    t.eq(t.report(file)["incomplete"], {"stack_fault": fired}, "causes")


def test_depth_is_counted_when_a_stack_is_deep(t):
    file = t.path("trace.tapir")
    fired = t.tapir("record", "depth:hit", "--stack", "-o", file, "--", t.target_path("depth"), 150,
                    30).witness()["fired"]
    t.eq(t.report(file)["incomplete"], {"stack_depth": fired}, "causes")


def test_hits_of_others_are_counted_apart(t):
    """One file, two names: the probe is in both processes, one of them was asked for."""
    file, wanted = t.path("trace.tapir"), t.path("wanted")
    os.symlink(t.target_path("storm"), wanted)
    other = t.target("storm", "--wait", 0, 700, 1)
    tapir = t.start_tapir("record", "storm:hit", "--comm", "wan*", "-o", file)
    ours = t.start(wanted, "--wait-attached", 0, 500, 1)
    ours.wait_line("pid ")
    t.eq(ours.wait().rc, 0, "exit of the process that was asked for")
    other.go()
    t.eq(other.wait().rc, 0, "exit of the other")
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit")
    events = t.events(file)
    t.eq({(e["pid"], e["comm"]) for e in events}, {(ours.pid, "wanted")}, "whose events")
    t.eq(len(events), 500, "events")
    t.eq(t.report(file)["not_wanted"], {"filtered": 700}, "hits of the other")


def test_mappings_that_were_missed_are_counted(t):
    target = t.target("losses", "--wait", "maps", 60000)
    file, fired = stop_and_go(t, target, "losses:hit")
    report, captured, lost = counts(t, file, "losses:hit")
    t.eq(captured + lost, fired, "captured + lost")
    t.ok(report["incomplete"].get("perf_lost", 0) > 0, f"side-band: {report['incomplete']}")


def test_processes_that_were_missed_are_counted(t):
    file = t.path("trace.tapir")
    target = t.target("forker", "--wait", 9000, 1)
    tapir = t.start_tapir("record", "forker:child", "-a", "--buffer", 64, "-o", file)
    tapir.wait_ready()
    tapir.stop()
    target.go()
    said = target.wait(100).witness()
    tapir.signal(signal.SIGCONT)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait(30).rc, 0, "exit")
    report, captured, lost = counts(t, file, "forker:child")
    t.eq(captured + lost, len(said["children"]), "captured + lost")
    t.ok(report["incomplete"].get("process_ring_full", 0) > 0, f"processes: {report['incomplete']}")
