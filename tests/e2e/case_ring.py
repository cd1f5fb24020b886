# SPDX-License-Identifier: GPL-2.0-or-later
"""The ring lane: events with stacks through shared memory, by the library and the reader."""
import collections
import fcntl
import json
import os
import signal
import struct
import time

from case_ring_life import lane_file
from harness import EVENTS_ONLY, args_of, named

CHECK_LONG = {"test_captured_and_lost_are_what_fired_when_flat_out",
              "test_a_process_that_rewrites_its_lane_harms_nobody",
              "test_nothing_is_lost_when_a_burst_follows_a_rest"}


def fire(t, target, *specs, options=(), is_stopped=False):
    """Records a target that waits, with tapir stopped while it fires or not; its witness."""
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", *specs, *EVENTS_ONLY, *options, "-p", target.pid, "-f", "-o", file)
    tapir.wait_ready()
    if is_stopped:
        tapir.stop()
    target.go()
    said = target.wait().json_lines()
    os.kill(tapir.pid, signal.SIGCONT)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    return said[-1]


def losses_of(t, file):
    """Counts by cause."""
    losses = collections.Counter()
    for loss in t.events(file, "loss"):
        losses[loss["cause"]] += loss["count"]
    return losses


def record(t, target, *specs, options=()):
    """(witness, events, losses by name)."""
    said = fire(t, target, *specs, options=options)
    return said, t.events(t.path("trace.tapir")), losses_of(t, t.path("trace.tapir"))


def test_every_event_arrives_with_its_stack_when_it_is_paced(t):
    said, events, losses = record(t, t.target("ringer", "--wait", 20000, 2, 500), "ringer:tick")
    t.eq(len(events), said["fired"], "events")
    t.eq(losses, {}, "losses")
    t.eq(collections.Counter(tuple(args_of(e)) for e in events),
         collections.Counter((thread, i) for thread in range(2) for i in range(20000)), "arguments")
    t.eq({(e["provider"], e["event"]) for e in events}, {("ringer", "tick")}, "names")
    t.eq(len({e["tid"] for e in events}), 2, "threads")
    for event in events:
        t.eq([f["name"] for f in event["stack"]][:4], ["tick", "ring_inner", "ring_outer", "run"], "stack")


def test_an_event_takes_forty_bytes_of_the_file_at_most(t):
    target = t.target("ringpace", "--wait", 1, 2, 100000)
    tapir = t.start_tapir("record", "ringpace:*", *EVENTS_ONLY, "-p", target.pid, "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    target.go()
    fired = target.wait().witness()["fired"]
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    report = t.report(t.path("trace.tapir"))
    t.eq((report["events"][0]["captured"], report["lost"]), (fired, {}), "events, losses")
    size = os.path.getsize(t.path("trace.tapir"))
    t.ok(size <= 40 * fired, f"{size} bytes for {fired} events")


def test_captured_and_lost_are_what_fired_when_flat_out(t):
    said, events, losses = record(t, t.target("ringer", "--wait", 60000, 2), "ringer:*")
    t.eq(len(events) + losses["ring_lane_drop"], said["fired"], f"captured {len(events)} + {losses}")
    t.eq(losses["malformed"], 0, "malformed records")


def test_the_file_says_which_lanes_were_used(t):
    said, events, _ = record(t, t.target("ringer", "--wait", 10), "ringer:tick")
    file = t.path("trace.tapir")
    t.eq(t.report(file)["meta"]["lane"], "ring 1 process, probe", "lane of the recording")
    t.ok("lanes: ring 1 process, probe\n" in t.tapir("report", file, "--all").out, "report")
    t.eq({e["lane"] for e in events}, {"ring"}, "lane of the events")
    record(t, t.target("ringer", "--wait", 10), "ringer:tick", options=("--lane", "ring"))
    t.eq(t.report(file)["meta"]["lane"], "ring 1 process", "lane with --lane ring")


def test_what_is_over_the_rate_is_left_out_and_not_lost(t):
    said, events, losses = record(t, t.target("ringer", "--wait", 5000, 2, 50), "ringer:tick", options=("--rate", 20))
    t.ok(0 < len(events) < 2000, f"{len(events)} events")
    t.eq(losses["ring_lane_drop"], 0, "lost")
    t.eq(len(events) + losses["ring_lane_limited"], said["fired"], "captured and left out")
    report = t.report(t.path("trace.tapir"))
    t.eq(report["lost"], {}, "lost in the report")
    t.eq(report["not_wanted"], {"ring_lane_limited": losses["ring_lane_limited"]}, "left out in the report")
    t.ok("left out " in t.tapir("report", t.path("trace.tapir"), "--all").out, "report as text")


def test_losses_are_those_of_their_event(t):
    said, file = fire(t, t.target("ringer", "--wait", 100000, 2), "ringer:*", is_stopped=True), t.path("trace.tapir")
    rows, losses = {f"{r['provider']}:{r['event']}": r for r in t.report(file)["events"]}, losses_of(t, file)
    t.ok(losses["ring_lane_drop"] > 0, f"a ring that did not fill proves nothing: {rows}, {losses}, {said}")
    t.eq(rows["ringer:tick"]["captured"], t.tapir("events", file, "--json").out.count('{"type":"event",'), "captured")
    t.eq(rows["ringer:tick"]["lost"], losses["ring_lane_drop"], "lost of the event")
    t.eq(rows["ringer:tick"]["captured"] + rows["ringer:tick"]["lost"], said["fired"], "sum")


def test_a_near_miss_is_named_when_no_event_matches(t):
    for lane in ("auto", "ring"):
        target = t.target("ringer", "--wait", 10)
        result = t.run(t.tapir_path, "record", "ringer:tikc", "--lane", lane, *EVENTS_ONLY, "-p", target.pid, "-f",
                       "-o", t.path("trace.tapir"))
        t.eq(result.rc, 1, result.err)
        t.ok("the nearest is ringer:tick" in result.err, result.err)


def test_a_spec_without_an_event_is_warned_of_when_another_has_one(t):
    target = t.target("ringer", "--wait", 10)
    tapir = t.start_tapir("record", "ringer:tick", "ringer:othre", *EVENTS_ONLY, "-p", target.pid, "-f", "-o",
                          t.path("trace.tapir"))
    tapir.wait_ready()
    target.go()
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    t.ok("ringer:othre: the nearest is ringer:other" in result.err, result.err)
    t.ok("ringer:tick" not in "".join(line for line in result.err.splitlines() if "warning" in line), result.err)


def test_list_shows_the_events_of_rings(t):
    target = t.target("ringer", "--wait", 10)
    rows = t.tapir("list", "-p", target.pid, "--json").json_lines()
    t.eq([(r["provider"], r["name"], r["level"], [a["name"] for a in r["args"]]) for r in rows if r.get("lane")],
         [("ringer", "EventID(7)", 2, []), ("ringer", "other", 0, []), ("ringer", "tick", 4, ["thread", "i"])],
         "events")
    text = t.tapir("list", "-p", target.pid, "tick").out
    t.ok("ringer" in text and "(u64 thread, u64 i)" in text and "other" not in text, text)
    result = t.tapir("list", "-p", target.pid, "ringer:tikc", expect=1)
    t.ok("the nearest is 'ringer:tick'" in result.err, result.err)


def test_keywords_and_levels_choose_events(t):
    target = t.target("ringer", "--wait", 10)
    rows = t.tapir("list", "-p", target.pid, "ringer::Error", "--json").json_lines()
    t.eq([r["name"] for r in rows], ["EventID(7)", "other"], "at level 2")
    rows = t.tapir("list", "-p", target.pid, "ringer:0x20", "--json").json_lines()
    t.eq([r["name"] for r in rows], ["other", "tick"], "with keyword 0x20, or none")


def test_an_event_of_both_lanes_is_recorded_once(t):
    # -p: the ring is known before a probe would be attached
    said, events, losses = record(t, t.target("ringboth", "--wait", 500), "ringboth:*")
    t.eq(sorted(args_of(e)[0] for e in named(events, "ringboth:twice")), list(range(500)), "of both")
    t.eq({e.get("lane") for e in named(events, "ringboth:twice")}, {"ring"}, "lane")
    t.eq(len(named(events, "ringboth:site")), 500, "of the site alone")
    t.eq(losses, {}, "no site was put on")


def test_a_probes_copy_is_dropped_when_the_ring_came_later(t):
    said, events = t.record(["ringboth:*"], ["ringboth", "--late", 400])
    twice = named(events, "ringboth:twice")
    t.eq(sorted(args_of(e)[0] for e in twice), list(range(400)), "events")
    t.eq([e.get("lane") for e in sorted(twice, key=lambda e: args_of(e)[0])], [None] * 200 + ["ring"] * 200, "lanes")
    report = t.report(t.path("trace.tapir"))
    t.eq(report["not_wanted"].get("lane_twice"), 200, "left out")  # hits of other cases' ringboth are there as filtered
    t.eq(report["lost"], {}, "lost")
    _, probes = t.record(["ringboth:twice"], ["ringboth", 50], "--lane", "probe")
    t.eq([e.get("lane") for e in probes], [None] * 50, "lane with --lane probe")


def test_the_last_event_is_read_when_the_target_is_killed(t):
    target = t.target("ringer", "--wait", "--end", 20000, 2, 2000)
    said, events, losses = record(t, target, "ringer:tick")
    t.eq(len(events) + losses["ring_lane_drop"], said["fired"], "events")


def test_a_lane_is_found_when_it_is_made_later(t):
    said, events = t.record(["ringer:tick"], ["ringer", "--late", 1000, 1, 100])
    t.eq(len(events), said[-1]["fired"], "events")
    t.ok(all("ring_inner" in [f["name"] for f in e["stack"]] for e in events), "stacks")


def test_the_time_before_a_lane_was_found_is_a_gap(t):
    t.record(["ringer:tick"], ["ringer", "--late", 100])
    gaps = [gap for gap in t.events(t.path("trace.tapir"), "gap") if "ring lane" in gap.values()]
    t.eq(len(gaps), 1, f"{gaps}")
    target = t.target("ringer", "--wait", 100)
    record(t, target, "ringer:tick")
    t.eq(t.events(t.path("trace.tapir"), "gap"), [], "a lane that was there before")


def test_a_lane_is_found_soon_when_something_new_is_executed(t):
    said, events = t.record(["ringer:tick"], ["ringer", "--await", 10])
    t.eq(len(events), 10, "events of a program that was started")
    t.ok(said[-1]["waited_ms"] < 350, f"after an exec: {said[-1]}")
    target = t.target("ringer", "--wait", "--dlopen", 10)
    tapir = t.start_tapir("record", "ringer:tick", *EVENTS_ONLY, "--comm", "ringer", "-d", 3, "-f", "-o",
                          t.path("trace.tapir"))
    tapir.wait_ready()
    target.go()
    said = target.wait().witness()
    t.ok(said["waited_ms"] < 350, f"after a library: {said}")
    tapir.signal(2)
    t.eq(tapir.wait().rc, 0, "exit")
    t.eq(len([e for e in t.events(t.path("trace.tapir")) if e["pid"] == target.pid]), 10, "events")


def test_many_processes_are_looked_at_in_turn(t):
    idle = [t.target("waiter", "--wait") for _ in range(40)]
    target = t.target("ringer", "--wait", "--late", 10)
    tapir = t.start_tapir("record", "ringer:tick", *EVENTS_ONLY, "--comm", "waiter", "--comm", "ringer", "-d", 8, "-f",
                          "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    target.go()
    said = target.wait().witness()
    tapir.signal(2)
    tapir.wait()
    t.ok(said["waited_ms"] < 3000, f"of {len(idle) + 1} processes: {said}")
    t.eq(len([e for e in t.events(t.path("trace.tapir")) if e["pid"] == target.pid]), 10, "events")


def test_nothing_matches_when_the_lane_is_probe(t):
    target = t.target("ringer", "--wait", 10)
    result = t.run(t.tapir_path, "record", "ringer:tick", "--lane", "probe", *EVENTS_ONLY, "-p", target.pid, "-f",
                   "-o", t.path("trace.tapir"))
    t.eq(result.rc, 1, result.err)


def test_trace_prints_from_the_ring_lane(t):
    target = t.target("ringer", "--wait", 10)
    tapir = t.start_tapir("trace", "ringer:tick", "--json", "--lane", "ring", "-p", target.pid)
    tapir.wait_ready()
    target.go()
    target.wait()
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    t.eq([args_of(line) for line in result.json_lines() if line["type"] == "event"],
         [[0, i] for i in range(10)], "arguments")


def test_trace_prints_events_of_many_threads_in_the_order_of_their_times(t):
    target = t.target("ringer", "--wait", 400, 6, 5)
    tapir = t.start_tapir("trace", "ringer:tick", "--json", "-p", target.pid)
    tapir.wait_ready()
    target.go()
    target.wait()
    times = [line["time_ns"] for line in tapir.wait().json_lines() if line["type"] == "event"]
    t.eq(len(times), 2400, "events")
    t.eq([i for i in range(1, len(times)) if times[i] < times[i - 1]], [], "out of order")


def test_a_lane_that_does_not_exist_is_a_usage_error(t):
    result = t.run(t.tapir_path, "record", "--lane", "wire", "-p", 1)
    t.eq(result.rc, 2, result.err)
    t.ok("is not one of auto, probe, ring, stream" in result.err, result.err)


def test_doctor_says_which_lanes_a_process_offers(t):
    def found(target):
        checks = json.loads(t.tapir("doctor", "-p", target.pid, "--json").out)["checks"]
        return next(check["found"] for check in checks if check["name"] == "lanes")

    def listed(target):
        return t.tapir("list", "-p", target.pid).out

    t.eq(found(t.target("ringer", "--wait", 1)), "probe, ring (1)", "of a program with the library")
    t.eq(found(t.target("waiter", "--wait")), "probe", "of a program without it")
    private = t.target("ringer", "--wait", "--private", 1)
    t.eq(found(private), "probe", "of a lane whose tracer has ended")
    t.eq("ringer:tick" in listed(private), False, "nor is it listed")
    ctl = lane_file(private.pid, "tapir-ctl", os.O_RDWR)
    fcntl.fcntl(ctl, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 3, 1, 0))  # as one that uses a session
    t.eq(found(private), "probe; 1 ring of another tracer", "of a lane that is another's")
    t.ok("ring of another tracer" in listed(private), "listed")
    os.close(ctl)
    result = t.run(t.tapir_path, "record", "ringer:tick", "--lane", "ring", *EVENTS_ONLY, "-p", private.pid, "-f", "-o",
                   t.path("trace.tapir"))
    t.eq(result.rc, 1, "a private lane is no lane for us: " + result.err)


def test_a_process_that_rewrites_its_lane_harms_nobody(t):
    for seed in (1, 2):
        good = t.target("ringer", "--wait", 30000, 2, 50)
        bad = t.target("hostile_ring", "--wait", 3, seed)
        file = t.path("trace.tapir")
        tapir = t.start_tapir("record", "ringer:tick", "hostile:*", *EVENTS_ONLY, "-p", f"{good.pid},{bad.pid}", "-f",
                              "-o", file)
        tapir.wait_ready()
        bad.go()
        good.go()
        peak = 0
        while bad.child.poll() is None or good.child.poll() is None:
            peak = max(peak, int(status_of(tapir.pid, "VmHWM") or 0))
            time.sleep(0.05)
        said, wild = good.wait().witness(), bad.wait().witness()
        result = tapir.wait(20)
        t.eq(result.rc, 0, result.err)
        t.ok(wild["rewritten"] > 100000, f"{wild}")
        t.ok(peak < 150000, f"{peak} kB at the most")
        t.ok(len(result.err.splitlines()) <= 6, result.err)
        mine = [e for e in t.events(file) if e["pid"] == good.pid]
        t.eq(collections.Counter(tuple(args_of(e)) for e in mine),
             collections.Counter((thread, i) for thread in range(2) for i in range(30000)), "events of the other")
        report = t.report(file)
        rows = {r["provider"]: r for r in report["events"]}
        t.eq((rows["ringer"]["captured"], rows["ringer"]["lost"]), (said["fired"], 0), "the other in the report")
        t.ok(report["lost"].get("malformed", 0) > 0, "malformed records are counted")
        t.ok(sum(report["lost"].values()) < 1e10, f"{report['lost']}: no process has fired that much")


def status_of(pid, key):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            return next(line.split()[1] for line in status if line.startswith(key + ":"))
    except (OSError, StopIteration):
        return None


def switches_of(pid):
    """Of each thread, by its id: how often it went to sleep."""
    cnt = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii") as file:
            cnt[tid] = next(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    return cnt


def test_nothing_is_lost_when_a_burst_follows_a_rest(t):
    """While the program rests, its reader sleeps; a burst has more than the 4 MB of a ring."""
    hits, file = 700000, t.path("trace.tapir")
    ringer = t.target("ringer", "--await", hits, 1, 500, 2500)
    tapir = t.start_tapir("record", "ringer:*", "--no-samples", "--sched", "-p", ringer.pid, "-o", file)
    tapir.wait_ready()
    seen = []
    while ringer.child.poll() is None:
        seen.append(switches_of(tapir.pid))
        time.sleep(0.5)
    t.eq(ringer.wait().witness()["fired"], hits, "fired")
    t.eq(tapir.wait().rc, 0, "exit")
    report = t.report(file)
    t.eq((report["events"][0]["captured"], report["lost"]), (hits, {}), "events, lost")
    # Every thread of tapir but the main one, which wakes for files that other processes map.
    rates = [max(after[tid] - before[tid] for tid in before if tid in after and tid != str(tapir.pid))
             for before, after in zip(seen, seen[1:])]
    t.ok(min(rates) < 25, f"wake-ups of the busiest thread, by half seconds: {rates}")
