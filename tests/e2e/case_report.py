# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording adds up to: against what the program says it fired, and the file's own lines."""
import collections
import json

from harness import EVENTS_ONLY

COUNT = 3
END_BYTES = 48  # the chunk that ends a file: a header and nothing else


def record_types(t, *options):
    file = t.path("trace.tapir")
    result = t.tapir("record", "types:*", "--stack", *EVENTS_ONLY, "-f", "-o", file, *options, "--",
                     t.target_path("types"), COUNT)
    return file, {line["event"]: line["count"] for line in result.json_lines()}


def names_of(stack):
    """A stack as the report names it: functions, or module+0x where there is no name."""
    return [frame["name"] or f"{frame['module'].rsplit('/', 1)[-1]}+{frame['offset']:#x}" for frame in stack]


def test_counts_equal_what_was_fired(t):
    file, fired = record_types(t)
    report = t.report(file)
    t.eq({f"{e['provider']}:{e['event']}": e["captured"] + e["lost"] for e in report["events"]}, fired, "events")
    t.eq([p["comm"] for p in report["processes"] if p["events"]], ["types"], "processes")
    t.eq(sum(p["events"] for p in report["processes"]), sum(fired.values()), "events of processes")
    t.eq((report["samples"], report["functions"], report["switches"]),
         ({"captured": 0, "lost": 0, "named": 0}, [], {"captured": 0, "lost": 0}), "nothing was sampled")
    t.eq((report["lost"], report["complete"]), ({}, True), "lost, complete")
    t.ok(0 < report["duration_ns"] < 60e9, f"duration: {report['duration_ns']}")


def test_stacks_equal_those_of_the_events(t):
    file, _ = record_types(t)
    expected = collections.Counter((e["event"], *names_of(e["stack"])) for e in t.events(file))
    seen = {(s["event"], *s["functions"]): s["events"] for s in t.report(file)["stacks"]}
    t.eq(seen, dict(expected), "stacks")
    t.ok(any("fire_ints" in stack and "main" in stack for stack in seen), f"functions have names: {list(seen)}")


def test_text_says_what_how_many_and_from_where(t):
    file, fired = record_types(t)
    text = t.tapir("report", file).out
    for part in ("command: ", f"{sum(fired.values())} events of {len(fired)} kinds from 1 process, 0 lost",
                 "EVENT", "types:ints", "PROGRAM", "STACKS", "fire_ints < main"):
        t.ok(part in text, f"{part!r} in {text}")


def test_one_stack_of_many_processes_is_one_row(t):
    file = t.path("forks.tapir")
    t.tapir("record", "forker:*", "--stack", *EVENTS_ONLY, "-f", "-o", file, "--", t.target_path("forker"), 4, 10)
    report = t.report(file)
    rows = collections.Counter((s["provider"], s["event"], *s["functions"]) for s in report["stacks"])
    t.eq([row for row, cnt in rows.items() if cnt > 1], [], "rows that are the same")
    t.ok(len([p for p in report["processes"] if p["events"]]) > 1, f"processes: {report['processes']}")
    t.eq({p["exe"] for p in report["processes"] if p["events"]}, {t.target_path("forker")}, "programs of children")


def test_report_is_the_same_when_it_comes_by_a_pipe(t):
    file, _ = record_types(t)
    piped = t.run("bash", "-c", f"{t.tapir_path} report --json - < {file}")
    t.eq((piped.rc, json.loads(piped.out)), (0, t.report(file)), "report of a pipe")


def test_file_without_end_is_reported_and_said_to_have_none(t):
    file, fired = record_types(t)
    with open(file, "rb") as f:
        whole = f.read()
    with open(t.path("cut.tapir"), "wb") as f:
        f.write(whole[:-END_BYTES])
    result = t.tapir("report", t.path("cut.tapir"))
    t.ok("no end: " in result.out and "has no end" in result.err, f"{result.out} {result.err}")
    document = t.report(t.path("cut.tapir"))
    t.eq(document["complete"], False, "complete")
    t.eq(sum(e["captured"] for e in document["events"]), sum(fired.values()), "events before the end")


def test_file_cut_inside_a_chunk_is_reported_and_exits_1(t):
    file, fired = record_types(t)
    with open(file, "rb") as f:
        whole = f.read()
    with open(t.path("cut.tapir"), "wb") as f:
        f.write(whole[:-1])
    result = t.tapir("report", "--json", t.path("cut.tapir"), expect=1)
    document = json.loads(result.out)
    t.eq((document["complete"], len(result.err.splitlines())), (False, 1), "complete, lines of warning")
    t.eq(sum(e["captured"] for e in document["events"]), sum(fired.values()), "events before the cut")


def test_damaged_file_is_reported_and_exits_1(t):
    file, _ = record_types(t)
    with open(file, "rb") as f:
        flipped = bytearray(f.read())
    flipped[len(flipped) // 2] ^= 0x41
    with open(t.path("flipped.tapir"), "wb") as f:
        f.write(flipped)
    result = t.tapir("report", t.path("flipped.tapir"), expect=1)
    t.ok("damaged" in result.out.splitlines()[1], f"the second line says so: {result.out}")
    t.ok("is damaged" in result.err, f"stderr says so: {result.err}")
    document = json.loads(t.tapir("report", "--json", t.path("flipped.tapir"), expect=1).out)
    t.eq(document["complete"], False, "complete")
