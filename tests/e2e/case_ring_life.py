# SPDX-License-Identifier: GPL-2.0-or-later
"""The ring lane at its ends: tracers and targets that are killed, forked, executed anew, several at a time, or
in namespaces of their own."""
import collections
import fcntl
import os
import signal
import struct
import subprocess
import sys
import time

from harness import EVENTS_ONLY, PATIENCE, args_of

ENDED = 3
CTL_SESSIONS, SESSION_BYTES = 4096, 256
DATA_HEADER = "<QIIQQIIIIQQQ"  # up to ring_bytes


def lane_file(pid, name, flags):
    """A descriptor of one of the memfds of a process."""
    for link in os.scandir(f"/proc/{pid}/fd"):
        if os.readlink(link.path).startswith(f"/memfd:{name} "):
            return os.open(link.path, flags)
    raise LookupError(name)


def record(t, target, *specs, file="trace.tapir", options=()):
    """A tapir that records a target, once it is ready."""
    tapir = t.start_tapir("record", *specs, *EVENTS_ONLY, *options, "-p", target.pid, "-f", "-o", t.path(file))
    tapir.wait_ready()
    return tapir


def state_of(ctl, session):
    return struct.unpack("<I", os.pread(ctl, 4, CTL_SESSIONS + session * SESSION_BYTES))[0]


def counts(events):
    return collections.Counter(tuple(args_of(e)) for e in events)


def test_a_killed_tracers_session_ends_and_the_next_one_names_everything(t):
    target = t.target("ringpace", "--wait", 4, 2, 2000)
    first = record(t, target, "ringpace:*")
    target.go()
    ctl = lane_file(target.pid, "tapir-ctl", os.O_RDONLY)
    time.sleep(0.5)
    first.signal(signal.SIGKILL)
    watch, end = target.watch(), time.monotonic() + 10 * PATIENCE
    while state_of(ctl, 0) != ENDED and time.monotonic() < end:
        time.sleep(0.005)
    took = watch.seconds()
    t.eq(state_of(ctl, 0), ENDED, "state of the session")
    t.ok(took < 1, f"{took:.3f} s")  # 0.2 s where the target has a CPU; without the lock it takes five
    record(t, target, "ringpace:*", file="second.tapir").wait()
    os.close(ctl)
    events = t.events(t.path("second.tapir"))
    t.ok(len(events) > 1000, f"{len(events)} events")
    t.eq({(e["event"], e["comm"]) for e in events}, {("event", "ringpace")}, "names")
    t.eq({e["stack"][0]["name"] for e in events}, {"pace_fire"}, "stacks")


def test_all_that_a_killed_target_wrote_is_read(t):
    target = t.target("ringpace", "--wait", 30, 1, 600000)
    tapir = record(t, target, "ringpace:*")
    target.go()
    data = lane_file(target.pid, "tapir-ring.0", os.O_RDONLY)
    time.sleep(1)
    target.signal(signal.SIGKILL)
    target.wait()
    header = struct.unpack(DATA_HEADER, os.pread(data, struct.calcsize(DATA_HEADER), 0))
    slots_off, rings_off = header[9], header[10]
    head, cap = struct.unpack("<QQ", os.pread(data, 16, slots_off))
    last = struct.unpack("<q", os.pread(data, 8, rings_off + (head - 104) % cap + 48))[0]  # of the last record
    os.close(data)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    report = t.report(t.path("trace.tapir"))
    t.eq((report["events"][0]["captured"] + report["events"][0]["lost"], report["lost"].get("malformed", 0)),
         (last + 1, 0), "captured and lost, malformed")
    t.ok(last > 200000, f"{last} events")


def test_two_tracers_get_each_what_it_asked_for(t):
    target = t.target("ringer", "--wait", 4000, 2, 50)
    all_of_it = record(t, target, "ringer:tick", file="all.tapir")
    some = record(t, target, "ringer:*", file="some.tapir", options=("--rate", 20))
    target.go()
    said = target.wait().witness()
    t.eq((all_of_it.wait().rc, some.wait().rc), (0, 0), "exits")
    t.eq(counts(t.events(t.path("all.tapir"))), counts_of(2, 4000), "without a limit")
    limited = t.events(t.path("some.tapir"))
    t.ok(0 < len(limited) < 2000, f"{len(limited)} with a limit")
    t.eq(len(limited) + t.report(t.path("some.tapir"))["not_wanted"]["ring_lane_limited"], said["fired"], "sum")
    t.ok(all(e["stack"][0]["name"] == "tick" for e in limited), "stacks of the second")


def counts_of(thread_cnt, hits):
    return collections.Counter((thread, i) for thread in range(thread_cnt) for i in range(hits))


def test_a_ninth_tracer_is_told_that_there_is_no_room(t):
    target = t.target("ringer", "--wait", 10)
    ctl = lane_file(target.pid, "tapir-ctl", os.O_RDWR)
    fcntl.fcntl(ctl, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 8, 0))
    result = t.run(t.tapir_path, "record", "ringer:tick", *EVENTS_ONLY, "--comm", "ringer", "-d", 1.5, "-f", "-o",
                   t.path("trace.tapir"))
    os.close(ctl)
    t.eq(result.err.count("all 8 sessions of its ring lane are in use"), 1, result.err)


OLD_LANE = """
import fcntl, mmap, os, struct, sys, time
fd = os.memfd_create("tapir-ctl", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
os.write(fd, struct.pack("<QIIQQI", 0x314c544350415421, 2, 4096, 7, 1 << 20, os.getpid()))
os.ftruncate(fd, 1 << 20)
held = mmap.mmap(fd, 1 << 20)
fcntl.fcntl(fd, 1033, 7)  # F_ADD_SEALS
print("ready", flush=True)
time.sleep(20)
"""


def test_a_lane_of_an_older_library_is_refused_by_its_version(t):
    old = subprocess.Popen([sys.executable, "-c", OLD_LANE], stdout=subprocess.PIPE)
    try:
        t.eq(old.stdout.readline(), b"ready\n", "the lane")
        result = t.run(t.tapir_path, "record", "ringer:tick", *EVENTS_ONLY, "-p", old.pid, "-d", 1, "-f", "-o",
                       t.path("trace.tapir"))
    finally:
        old.kill()
        old.wait()
    t.eq(result.err.count("its ring lane has version 2 and this tapir reads version 4"), 1, result.err)


def test_a_program_that_is_executed_anew_continues(t):
    said, events = t.record(["ringer:tick"], ["ringer", "--await", "--exec", 100])
    t.eq([line["fired"] for line in said if "fired" in line], [100, 100], "fired")
    t.eq(len({e["pid"] for e in events}), 1, "processes")
    t.eq(counts(events), collections.Counter({(0, i): 2 for i in range(100)}), "events")
    t.ok(all(e["stack"][0]["name"] == "tick" for e in events), "stacks")


def test_a_forked_child_does_not_write_in_its_parents_ring(t):
    target = t.target("ringer", "--wait", "--fork", 500, 2)
    tapir = record(t, target, "ringer:tick")
    target.go()
    target.wait()
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    events = t.events(t.path("trace.tapir"))
    t.eq({e["pid"] for e in events}, {target.pid}, "processes")
    t.eq(counts(events), counts_of(2, 500), "events")
    t.eq(t.report(t.path("trace.tapir"))["lost"], {}, "lost")


def prefork(t, *args, options=("--children",)):
    """(what it said, events by pid, losses by name) of a server that forks eight workers a round."""
    target = t.target("prefork", "--wait", *args)
    tapir = record(t, target, "prefork:request", options=options)
    target.go()
    said = target.wait().json_lines()
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    t.eq(said[-1]["bad"], 0, "workers that died")
    events = t.events(t.path("trace.tapir"))
    t.ok(all(args_of(e)[0] == e["pid"] for e in events), "each event is of the process that fired it")
    return said, collections.Counter(e["pid"] for e in events), t.report(t.path("trace.tapir"))["lost"]


def test_workers_of_a_prefork_server_are_recorded_from_their_first_event(t):
    said, counts, lost = prefork(t, 3, 500, 300)
    for line in said[:-1]:
        t.eq(counts[line["pid"]], line["fired"], f"events of {line['pid']}; lost: {lost}")
    t.eq((sum(counts.values()), lost), (said[-1]["all"], {}), "all")


def test_events_of_workers_that_end_at_once_are_counted(t):
    said, counts, lost = prefork(t, 10, 100, 0)
    t.eq(set(lost) - {"ring_lane_child"}, set(), "causes")
    t.eq(sum(counts.values()) + sum(lost.values()), said[-1]["all"], f"captured and lost: {lost}")


def test_workers_are_not_recorded_when_their_parent_alone_is_asked_for(t):
    said, counts, lost = prefork(t, 2, 100, 100, options=())
    t.eq((set(counts), lost), ({said[-2]["pid"]}, {}), "processes, losses")


def test_workers_live_while_recordings_come_and_go(t):
    target = t.target("prefork", "--wait", 60, 200, 20)
    target.go()
    for i in range(12):
        tapir = t.start_tapir("record", "prefork:request", *EVENTS_ONLY, "-p", target.pid, "--children", "-d", 0.1 + i % 3 / 10,
                              "-f", "-o", t.path(f"{i}.tapir"))
        if i % 4 == 3:
            time.sleep(0.2)
            tapir.signal(signal.SIGKILL)
        tapir.wait()
        if target.child.poll() is not None:
            break
    t.eq(target.wait().json_lines()[-1]["bad"], 0, "workers that died")


def test_threads_and_times_are_ours_when_the_namespaces_are_not(t):
    unshare = t.need("unshare")
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    result = t.tapir("record", "ringer:tick", *EVENTS_ONLY, "-f", "-o", t.path("trace.tapir"), "--", unshare, "--fork",
                     "--pid", "--time", "--monotonic", "100000", t.target_path("ringer"), "--await", 200, 2, 10)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    said = result.witness()["threads"]
    events = t.events(t.path("trace.tapir"))
    t.eq(counts(events), counts_of(2, 200), "events")
    t.ok(max(tid for tid, _, _ in said) < 10, f"{said}: thread ids of a namespace of its own")
    shift = 100000 * 10**9
    threads = {r["tid"]: r for r in t.events(t.path("trace.tapir"), "thread")}
    for number, (ns_tid, first_ns, last_ns) in enumerate(said):
        mine = [e for e in events if args_of(e)[0] == number]
        t.eq(len({e["tid"] for e in mine}), 1, "host's id of a thread")
        t.ok(mine[0]["tid"] > 100, f"{mine[0]['tid']} is no id of the host")
        t.ok(first_ns - shift <= mine[0]["time_ns"] <= mine[-1]["time_ns"] <= last_ns - shift,
             f"{first_ns - shift} {mine[0]['time_ns']} {mine[-1]['time_ns']} {last_ns - shift}")
        t.ok(before < mine[0]["time_ns"] < after, "of our clock")
        told = threads.get(mine[0]["tid"])
        t.ok(told is None or told.get("ns_tid", ns_tid) == ns_tid, f"{told}: ns tid {ns_tid}")
