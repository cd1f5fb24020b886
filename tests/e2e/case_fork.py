# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes and threads: children of fork, children of exec, threads, red zones."""
import collections
import json
import os
import time

from harness import args_of, named


def by_pid(events):
    return dict(collections.Counter(event["pid"] for event in events))


def test_children_fire_and_live_when_forked_without_exec(t):
    said, events = t.record(["forker"], ["forker", 3, 50])
    t.eq(said[-1]["bad_exits"], 0, "children that died")
    t.eq(by_pid(named(events, "forker:parent")), {said[-1]["parent"]: 50}, "events of the parent")
    t.eq(by_pid(named(events, "forker:child")), {pid: 50 for pid in said[-1]["children"]},
         "events of the children")


def test_short_children_are_caught_when_they_exec(t):
    said, events = t.record(["spawner"], ["spawner", 10, 3])
    t.eq(said[-1]["bad_exits"], 0, "children that failed")
    t.eq(by_pid(events), {pid: 3 for pid in said[-1]["children"]}, "events of the children")
    t.eq(sorted(args_of(e) for e in events), [[c, i] for c in range(10) for i in range(3)], "arguments")


def test_events_come_when_only_another_thread_fires(t):
    said, events = t.record(["nonleader"], ["nonleader", 100])
    t.eq({(e["pid"], e["tid"]) for e in events}, {(said[-1]["pid"], said[-1]["tid"])}, "who fired")
    t.eq([args_of(e) for e in events], [[i] for i in range(100)], "events")


def test_red_zone_is_whole_when_recorded(t):
    said, events = t.record(["redzone"], ["redzone", 2000])
    t.eq(said[-1], {"fired": 2000, "damaged": 0}, "what redzone says")
    t.eq(len(events), 2000, "events")


def children_for(t, seconds):
    """How many children the spawner makes in that time here, untraced."""
    start = time.monotonic()
    t.run(t.target_path("spawner"), 50, 1)
    return int(seconds * 50 / (time.monotonic() - start))


def test_program_continues_when_recording_ends_before_it(t):
    # Its children are held at exec: none may stay so when nobody is left to let it go. The outer
    # shell keeps the process group from being an orphan, whose stopped members the kernel hangs up.
    said = t.path("said")
    program = f"{t.target_path('spawner')} {children_for(t, 3)} 1 >{said}.part; mv {said}.part {said}"
    t.run("sh", "-c", 'tapir=$1 file=$2 program=$3 said=$4 n=0\n'
          '"$tapir" record spawner --duration 1 -f -o "$file" -- sh -c "$program"\n'
          'while [ ! -e "$said" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done',
          "sh", t.tapir_path, t.path("trace.tapir"), program, said, timeout=50)
    t.ok(os.path.exists(said), "the program is stuck, or died, after the recording")
    with open(said) as file:
        t.eq(json.loads(file.readlines()[-1])["bad_exits"], 0, "children that failed")
