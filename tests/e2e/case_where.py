# SPDX-License-Identifier: GPL-2.0-or-later
"""record --where: what is in the file, what was left out and what was lost are together all that the program fired, whoever decides:
the kernel (numbers of probes), tapir (texts, and whatever a process sends itself)."""
import json
import os
import signal

import dotnet_fire
from case_mcp import session, text, tool
from case_questions import EVENTS, KEYS, THREADS, events, program, recording
from case_ring import fire
from dotnet_fire import DEMO
from harness import EVENTS_ONLY
from serve_agent import Server, begin_session, until

TIMEOUT = 300
CHECK_DOTNET = {"test_events_of_dotnet_are_left_out_in_each_lane"}
NUMBERS, TEXT = "arg2 > 5000 && arg2 <= 9999", 'arg3 ~ "/cart*"'


def counts(t, file):
    """(captured, left out) of all events."""
    report = t.report(file)
    t.eq(report["lost"], {}, "losses")
    captured = sum(row["captured"] for row in report["events"])
    left_out = sum(row.get("left_out", 0) for row in report["events"])
    t.eq(report["not_wanted"].get("not_where", 0), left_out, "left out, by cause and by event")
    return captured, left_out


def record(t, where, *spec, argv=None, expect=0):
    file = t.path("some.tapir")
    result = t.tapir("record", *spec, "--where", where, *EVENTS_ONLY, "-f", "-o", file, "--", *(argv or program(t)), expect=expect)
    return file, result


def test_a_file_has_the_events_for_which_it_is_true(t):
    whole, _ = recording(t)
    for where in (NUMBERS, TEXT, f"{NUMBERS} && {TEXT}", 'comm == "asked"', "arg2 < 0"):
        file, result = record(t, where, "asked:order")
        said = result.witness()
        kept = events(t, whole, "order", "--where", where, "--count")
        kept = kept["rows"][0]["count"] if kept["rows"] else 0
        t.eq(counts(t, file), (kept, said["fired"] - kept), where)
        t.ok(f"tapir: {kept:,} event{'s' * (kept != 1)}, {said['fired'] - kept:,} left out, 0 lost" in result.err, result.err)
        if kept:
            t.eq(events(t, file, "order", "--by", "arg3", "--sum", "arg2")["rows"],
                 events(t, whole, "order", "--where", where, "--by", "arg3", "--sum", "arg2")["rows"], "the same events")
    text = t.tapir("report", file, "--all").out
    t.ok(f"left out {said['fired']:,}: events for which --where is not true" in text, text)


def test_many_hits_are_decided_in_the_kernel(t):
    """From the second tick on nothing of what it rejects comes: the sums are those of the program wherever that begins."""
    file, result = record(t, "arg2 > 5000", "asked:order", argv=(t.target_path("asked"), THREADS, 50000, KEYS))
    said = result.witness()
    t.eq(counts(t, file), (said["big"], said["fired"] - said["big"]), "captured and left out")


def test_events_that_lack_a_field_are_left_out_and_said(t):
    file, result = record(t, "arg2 >= 0", "asked:*")
    fired = result.witness()["fired"]
    t.ok("has no field 'arg2': such events are left out" in result.err, result.err)
    t.eq({row["event"]: (row["captured"], row.get("left_out", 0)) for row in t.report(file)["events"]},
         {"order": (fired, 0), "work__start": (0, fired), "work__done": (0, fired)}, "by event")
    _, result = record(t, "centz > 5", "asked:order", expect=2)
    lines = result.err.splitlines()
    t.ok(any("centz > 5" in line for line in lines) and any(line.strip() == "^~~~~" for line in lines), result.err)


def test_a_mistake_is_said_before_anything_runs(t):
    result = t.tapir("record", "asked:order", "--where", "arg2 = 5", "-o", t.path("none.tapir"), "--", *program(t), expect=2)
    t.ok("'=' does not compare" in result.err, result.err)
    t.ok("fired" not in result.out and not os.path.exists(t.path("none.tapir")), "nothing was started")


def test_events_of_a_ring_are_left_out(t):
    said = fire(t, t.target("ringer", "--wait", 2000, 2, 200), "ringer:tick", options=("--where", "i >= 1500 && .thread == 1"))
    t.eq(counts(t, t.path("trace.tapir")), (500, said["fired"] - 500), "captured and left out")


def test_events_of_dotnet_are_left_out_in_each_lane(t):
    for lane in ("ring", "stream"):
        fired = dotnet_fire.start(t, "events=500")
        tapir = dotnet_fire.record(t, fired.pid, f"{DEMO}:OrderPlaced", options=("--lane", lane, *EVENTS_ONLY, "--where", "cents >= 100000 && id % 2 == 0"))
        dotnet_fire.fire_now(fired)
        seen, lost, _ = dotnet_fire.stop(t, tapir)
        t.eq((lost, [int(event["args"]["id"]) for event in seen]), (0, list(range(100, 500, 2))), f"by {lane}")
        t.eq(counts(t, t.path("trace.tapir")), (200, 300), "captured and left out")
        dotnet_fire.ends_as_always(t, fired)


PHP = """<?php class Early extends Exception {} class Late extends Exception {}
for ($i = 0; $i < 10; $i++) { try { throw $i < 3 ? new Early() : new Late(); } catch (Exception $e) {} }"""


def test_events_of_a_profile_are_left_out(t):
    """Those of the profile that do not have the field, exceptions that are caught, are all left out."""
    file, script = t.path("php.tapir"), t.path("throw.php")
    with open(script, "w", encoding="ascii") as out:
        out.write(PHP)
    said = t.tapir("record", "--profile", "exceptions", "--where", 'class == "Late"', *EVENTS_ONLY, "-f", "-o", file,
                   "--", "env", "USE_ZEND_DTRACE=1", t.need("php"), script).err
    t.eq(counts(t, file), (7, 13), said)
    t.eq([event["args"]["class"] for event in t.events(file, "event")], ["Late"] * 7, "the classes")


def test_a_continuous_recording_leaves_out_events(t):
    target = t.target("asked", "--wait", THREADS, EVENTS, KEYS)
    tapir = t.start_tapir("record", "asked:order", "--where", NUMBERS, *EVENTS_ONLY, "--continuous", 16, "-p", target.pid,
                          "-o", t.path("kept.tapir"))
    tapir.wait_ready()
    target.go()
    said = target.wait().witness()
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    file, = (t.path(name) for name in os.listdir(t.path("")) if name.startswith("kept"))
    t.eq(counts(t, file), (said["big"], said["fired"] - said["big"]), "captured and left out")


def storm(t):
    """It fires 2,000 events as soon as a tracer is there, and ends."""
    return t.target("storm", "--wait-attached", 2000, 2000)


def test_an_agent_records_what_is_true(t):
    target, server = storm(t), Server(t)
    asked = {"pid": target.pid, "seconds": 60, "events": ["storm:hit"], "no_samples": True, "no_sched": True}
    path = begin_session(server, **asked, where="arg1 >= 1500")
    until(t, lambda: server.json(path)["state"] == "finished", "its end")
    said = server.json(path)
    t.eq((said["events"], said["left_out"], said["lost"]), (500, 1500, 0), "what it says of itself")


def test_an_assistant_records_what_is_true(t):
    target = storm(t)
    answers = session(t, tool(1, "record", pid=target.pid, seconds=60, events=["storm:hit"], where="arg1 >= 1500"),
                      tool(2, "report", recording="r1"))
    event, = json.loads(text(answers[2]))["events"]
    t.eq((event["captured"], event["left_out"], event["lost"]), (500, 1500, 0), "captured, left out and lost")


def test_a_recording_says_what_a_fast_probe_costs(t):
    """In the line of a terminal, in the report, and to an assistant."""
    target, file = t.target("storm", 0, 2**40, 4), t.path("fast.tapir")
    tapir = t.start_tapir("record", "storm:hit", "--where", "arg1 < 0", *EVENTS_ONLY, "-p", target.pid, "-o", file)
    said = tapir.wait_line("tapir: warning: the probes fire", 60)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    said = said.removeprefix("tapir: warning: ").rstrip("\n")
    t.eq(t.report(file)["meta"]["probe_cost"], said, "in JSON")
    t.ok(said in t.tapir("report", file, "--all").out, "in the report")
    answer = session(t, tool(1, "record", pid=target.pid, seconds=4, events=["storm:hit"], where="arg1 < 0"))[1]
    t.ok("the probes fire" in json.loads(text(answer))["probe_cost"], text(answer))
    target.kill()
