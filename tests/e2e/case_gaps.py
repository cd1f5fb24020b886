# SPDX-License-Identifier: GPL-2.0-or-later
"""Files whose probes were attached late: nobody is stopped for them, and each is a GAP that every summary names."""
import os
import shutil
import signal
import time

from harness import args_of, named

PLUG_EVENTS = [[i, "from the plug"] for _ in range(3) for i in range(20)]


def check_gap(t, file, result, pid, name):
    """The GAP stands in the report, in its first line and in the recording's last."""
    report = t.report(file)
    gaps = [gap for gap in report["gaps"] if gap["path"].endswith("/" + name)]
    t.eq({gap["pid"] for gap in gaps}, {pid}, f"processes with a gap for {name}: {report['gaps']}")
    t.ok(all(gap["from_ns"] < gap["until_ns"] for gap in gaps), f"times: {gaps}")
    headline = t.tapir("report", file, "--all").out.splitlines()[0]
    t.ok(" gap" in headline and "nothing lost" not in headline, headline)
    summary = next(line for line in result.err.splitlines() if " lost" in line)
    t.ok(f", {len(report['gaps'])} gap" in summary, summary)


def stop(t, tapir):
    tapir.signal(signal.SIGINT)
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    return result


def test_gap_is_recorded_when_a_process_found_by_name_opens_an_object(t):
    file, name = t.path("trace.tapir"), f"op-{os.getpid()}"  # no program of another case has it
    for of, to in (("dlopener", name), ("plug", "plug")):
        shutil.copy2(t.target_path(of), t.path(to))
    tapir = t.start_tapir("record", "dlopener:*", "plug:*", "--comm", name, "-o", file)
    tapir.wait_ready()
    target = t.start(t.path(name), "--wait", 3, 20)
    target.wait_line("pid ")
    time.sleep(0.3)
    target.go()
    said = target.wait().witness()
    time.sleep(0.2)
    result = stop(t, tapir)
    events = t.events(file)
    t.eq(len(named(events, "dlopener:before")), said["before"], "events of the program")
    seen = [args_of(e) for e in named(events, "plug:hit")]
    t.eq(seen, PLUG_EVENTS[len(PLUG_EVENTS) - len(seen):], "events of the object, without some of the first")
    check_gap(t, file, result, target.pid, "plug")
    check_gap(t, file, result, target.pid, name)


def test_gap_is_recorded_when_a_child_executes_another_program(t):
    file = t.path("trace.tapir")
    parent = t.target("launcher", "--wait", t.target_path("dlopener"), 3, 20)
    tapir = t.start_tapir("record", "launcher:*", "plug:*", "--children", "-p", parent.pid, "-o", file)
    tapir.wait_ready("1 probe")
    parent.go()
    child = int(parent.wait_line("child ").split()[1])
    said = parent.wait()
    result = tapir.wait()
    t.eq((said.rc, said.witness()["plug_fired"], result.rc), (0, 60, 0), f"the program: {said.err}{result.err}")
    check_gap(t, file, result, child, "plug")


def test_user_switchers_end_when_their_program_is_recorded_by_name(t):
    """su and runuser wait for their child and stop themselves when it is stopped."""
    su, runuser = t.need("su", "runuser")
    t.need_others()
    file, dlopener = t.path("trace.tapir"), t.target_path("dlopener")
    tapir = t.start_tapir("record", "plug:*", "--comm", "dlopener", "-o", file)
    tapir.wait_ready()
    for argv in ((su, "nobody", "-s", "/bin/sh", "-c", f"exec {dlopener} 1 5"),
                 (runuser, "-u", "nobody", "--", dlopener, 1, 5)):
        result = t.run(*argv, timeout=10)
        t.eq((result.rc, result.witness()["plug_fired"]), (0, 5), f"{argv[0]}: {result.err}")
    stop(t, tapir)
