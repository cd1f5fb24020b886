# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir query: what SQL says of a recording is what the other readers say of the same file. Nothing here depends on time."""
import collections
import csv
import io
import json
import pathlib
import re

GOLDEN = "tests/data/golden-v1.tapir"  # the runner stands in the repository
THREADS, EVENTS, KEYS = 4, 480, 50


def recording(t):
    file = t.path("asked.tapir")
    t.tapir("record", "asked:*", "-f", "-o", file, "--", t.target_path("asked"), THREADS, EVENTS, KEYS)
    return file


def statements():
    """{what: SQL} of `tapir help queries`."""
    text = pathlib.Path("user/cli/topics/queries.txt").read_text(encoding="utf-8")
    found = re.findall(r"^(\S[^\n]*(?:\n\S[^\n]*)*):\n\n((?:  [^\n]*\n)+)", text, re.M)
    return {" ".join(what.split()): sql for what, sql in found}


def query(t, file, sql, *options, **more):
    return t.tapir("query", file, sql, *options, **more)


def rows(t, file, sql):
    return json.loads(query(t, file, sql, "--json").out)


class Readers:
    """What `tapir events --json` and `tapir report --json` say of a file."""

    def __init__(self, t, file):
        self.lines = collections.defaultdict(list)
        for line in t.tapir("events", "--json", file).json_lines():
            self.lines[line["type"]].append(line)
        self.folded = t.tapir("export", "--format", "folded", file).out.splitlines()
        self.report = json.loads(t.tapir("report", "--json", "--top", 0, file).out)


def leaf(record):
    """The innermost function of a stack, as the help says."""
    for key in ("kernel_stack", "stack"):
        if record.get(key):
            return record[key][0]
    return None


def counted(values):
    return dict(collections.Counter(values))


def by(answer, *keys, value):
    return {tuple(row[key] for key in keys): row[value] for row in answer}


def captured(row):
    return row["events"], row["samples"], row["switches"]


def check_events(t, answers, readers):
    events = readers.lines["event"]
    t.eq(by(answers["How many events of each kind"], "provider", "event", value="n"),
         counted((e["provider"], e["event"]) for e in events), "events of each kind")
    t.eq(sum(row["n"] for row in answers["Events of each second"]), len(events), "events of all seconds")
    last = answers["The last events"]
    t.eq([row["time_ns"] for row in last], sorted((e["time_ns"] for e in events), reverse=True)[:10], "the last events")
    t.eq(collections.Counter(json.dumps(json.loads(row["args"])) for row in last)
         - collections.Counter(json.dumps(e["args"]) for e in events), collections.Counter(), "arguments of the last events")
    t.eq(by(answers["Which threads fired them"], "pid", "tid", value="n"),
         counted((e["pid"], e["tid"]) for e in events), "events of each thread")
    t.eq(answers["What was done for each trace"], [], "traces")
    gaps = []
    for tid in {e["tid"] for e in events}:
        times = sorted(e["time_ns"] for e in events if e["tid"] == tid)
        gaps += [b - a for a, b in zip(times, times[1:])]
    t.eq([row["took_ns"] for row in answers["The time between an event and the next one of its thread"]],
         sorted(gaps, reverse=True)[:10], "times between events")
    t.ok(sum(row["n"] for row in answers["A field of all events that have it"]) <= len(events), "a field")


def check_samples(t, answers, readers):
    samples = readers.lines["sample"]
    functions = counted((leaf(s) or {}).get("name") for s in samples)
    for row in answers["Which functions used the CPU"]:
        if row["function"] in functions:
            t.eq(row["samples"], functions[row["function"]], f"samples of {row['function']}")
    periods = collections.Counter()
    for row in answers["CPU time of processes, in seconds"]:  # a row for each name of a process
        periods[row["pid"]] += round(row["seconds"] * 1e9)
    t.eq(dict(periods), {pid: sum(s["period"] for s in samples if s["pid"] == pid) for pid in {s["pid"] for s in samples}}, "periods")
    t.eq(by(answers["Samples of each CPU"], "cpu", value="samples"), counted((s["cpu"],) for s in samples), "CPUs")
    t.ok(sum(row["samples"] for row in answers["Samples of each thread between two moments"]) <= len(samples), "a window")
    total = {f["name"]: f["total"] for f in readers.report["functions"]}
    for row in answers["The same with the functions that they call"]:
        if row["function"] in total:
            t.eq(row["samples"], total[row["function"]], f"TOTAL of {row['function']}")
    folded = collections.Counter()
    for line in readers.folded:  # "process;[callers lost ...];outermost;...;innermost count"
        stack, _, cnt = line.rpartition(" ")
        folded[re.sub(r"^[^;]*(;\[callers lost[^;]*)?;?", "", stack)] += int(cnt)
    hottest = [row for row in answers["The hottest stacks"] if row["stack"]]
    for row in hottest:
        t.eq(row["samples"], folded[row["stack"]], f"samples of {row['stack']}")


def check_switches(t, answers, readers):
    switches = [s for s in readers.lines["switch"] if not s.get("snapshot")]
    t.eq(by(answers["Why threads left their CPU"], "state", value="n"),
         counted((s["state"],) for s in switches if s["pid"]), "states")
    futexes = counted(int(s["futex"], 16) for s in readers.lines["switch"] if s.get("futex"))
    t.eq([row["n"] for row in answers["Which locks they waited for"]], sorted(futexes.values(), reverse=True)[:10], "futexes")
    for row in answers["Which locks they waited for"]:
        t.eq(row["n"], futexes[row["futex"]], "waits for a futex")
    longest = answers["The longest waits"]
    t.eq(longest, sorted(longest, key=lambda row: -row["took_ns"]), "longest waits")


def check_report(t, answers, readers):
    report = readers.report
    t.eq(by(answers["What was lost"], "cause", value="n"),
         counted(cause for line in readers.lines["loss"] for cause in [(line["cause"],)] * line["count"]), "losses")
    t.eq([(row["kind"], row["text"], row["evidence"]) for row in answers["What the report found"]],
         [(found["kind"], found["text"], found["evidence"]) for found in report["findings"]], "findings")
    # A thread has a row for each of its names: those of its program before and after exec() are in no order.
    t.eq(collections.Counter((row["pid"], row["name"], row["exe"], captured(row)) for row in answers["Processes, by what was recorded of them"]),
         collections.Counter((p["pid"], p["comm"], p["exe"], captured(p)) for p in report["processes"]), "processes")
    t.eq(collections.Counter((row["pid"], row["tid"], row["name"], captured(row)) for row in answers["Threads that did something"]),
         collections.Counter((p["pid"], p["tid"], p["comm"], captured(p)) for p in report["threads"]), "threads")
    t.eq({row["key"]: row["value"] or "" for row in answers["How the recording was made"]}, report["meta"], "meta")
    t.eq({(row["provider"], row["name"]): row["n"] for row in answers["Intervals, as in the report"]},
         {(i["provider"], i["name"]): i["count"] for i in report["intervals"] if i["count"]}, "intervals")
    t.eq(by(answers["Counters"], "provider", "name", value="n"),
         counted((c["provider"], c["name"]) for c in readers.lines["counter"]), "counters")


def check(t, file):
    asked = statements()
    t.ok(len(asked) >= 25, f"{len(asked)} statements")
    answers = {what: rows(t, file, sql) for what, sql in asked.items()}
    readers = Readers(t, file)
    for check_part in (check_events, check_samples, check_switches, check_report):
        check_part(t, answers, readers)
    return readers


def test_statements_of_the_help_answer_as_other_readers_do(t):
    check(t, GOLDEN)
    readers = check(t, recording(t))
    t.ok(len(readers.lines["event"]) > THREADS * EVENTS, "events of the program")


def test_largest_part_of_each_route_is_the_view_s(t):
    for name in ("calls", "semaphore"):
        file = f"tests/corpus/dotnet-awaits-{name}.tapir"
        viewed = json.loads(t.tapir("report", file, "--view", "requests", "--json").out)["routes"]
        t.eq([(row["route"], row["count"], row["part"], row["ns"]) for row in rows(t, file, statements()[
            "Requests by route, and the largest part of their time"])],
             [(row["route"], row["count"], most["part"], most["ns"])
              for row in viewed for most in [max(row["parts"], key=lambda part: part["ns"])]], name)


def test_collections_are_intervals_of_their_table(t):
    t.need("/usr/bin/python3")
    if "gc__start" not in t.tapir("list", "/usr/bin/python3", expect=None).out:
        t.skip("this Python has no probes")
    app = t.path("collects.py")
    pathlib.Path(app).write_text("import gc\ngc.disable()\nfor generation in (0, 1, 2, 2):\n    gc.collect(generation)\n", encoding="ascii")
    file = t.path("gc.tapir")
    t.tapir("record", "python:gc__*", "-f", "-o", file, "--", "/usr/bin/python3", "-I", app)
    said = {i["name"]: i for i in json.loads(t.tapir("report", "--json", file).out)["intervals"] if i["provider"] == "python"}["gc"]
    t.ok(said["count"] >= 4, said)
    whole = rows(t, file, "SELECT count(*) AS count, sum(took_ns) AS ns, max(took_ns) AS worst_ns FROM gc WHERE is_whole")
    t.eq(whole, [{key: said[key] for key in ("count", "ns", "worst_ns")}], "collections")
    parts = rows(t, file, "SELECT took_ns, running_ns + runnable_ns + sleeping_ns AS parts FROM gc WHERE is_whole")
    t.ok(all(row["parts"] <= row["took_ns"] for row in parts), parts)
    begun = rows(t, file, "SELECT generation, count(*) AS n FROM gc__start GROUP BY generation")
    t.ok({row["generation"] for row in begun} >= {0, 1, 2} and sum(row["n"] for row in begun) == said["count"], begun)


def test_fields_are_columns_when_an_event_has_a_table(t):
    file = recording(t)
    events = [e for e in t.tapir("events", "--json", file).json_lines() if e["type"] == "event"]
    for name in sorted({e["event"] for e in events}):
        made = rows(t, file, f'SELECT * FROM "asked:{name}" ORDER BY time_ns, tid')
        said = sorted((e for e in events if e["event"] == name), key=lambda e: (e["time_ns"], e["tid"]))
        t.eq(len(made), len(said), f"{name}: rows")
        for row, event in zip(made, said):
            fields = {("arg_" + key if key in ("pid", "tid", "cpu", "event") else key): v for key, v in event["args"].items()}
            t.eq({key: row.get(key) for key in fields}, fields, f"{name}: fields")


def test_limits_give_what_a_filter_of_all_rows_gives(t):
    file = recording(t)
    every = rows(t, file, "SELECT time_ns, time_s, tid, event FROM events ORDER BY time_ns, tid")
    low, high = every[len(every) // 4], every[len(every) // 2]
    columns = "SELECT time_ns, time_s, tid, event FROM events WHERE"
    order = "ORDER BY time_ns, tid"
    for where, holds in (
            (f"time_ns >= {low['time_ns']} AND time_ns < {high['time_ns']}", lambda r: low["time_ns"] <= r["time_ns"] < high["time_ns"]),
            (f"time_s > {low['time_s']!r} AND time_s <= {high['time_s']!r}", lambda r: low["time_s"] < r["time_s"] <= high["time_s"]),
            (f"time_ns = {low['time_ns']}", lambda r: r["time_ns"] == low["time_ns"]),
            (f"tid = {low['tid']} AND event = '{low['event']}'", lambda r: (r["tid"], r["event"]) == (low["tid"], low["event"])),
            (f"tid = '{low['tid']}'", lambda r: r["tid"] == low["tid"]),
            (f"event = '{low['event'].upper()}' COLLATE NOCASE", lambda r: r["event"] == low["event"]),
            ("time_ns < -1", lambda r: False), ("tid = NULL", lambda r: False), ("time_ns > 1e30", lambda r: False),
            ("tid = 1.5", lambda r: False), ("time_ns < 1e30", lambda r: True)):
        t.eq(rows(t, file, f"{columns} {where} {order}"), [r for r in every if holds(r)], where)
    # The inner table of a join is kept, and searched by its key.
    joined = rows(t, file, "SELECT e.time_ns FROM threads t CROSS JOIN events e ON e.tid = t.tid AND e.time_ns >= "
                  f"{low['time_ns']} ORDER BY e.time_ns, e.tid")
    t.eq([r["time_ns"] for r in joined], [r["time_ns"] for r in every if r["time_ns"] >= low["time_ns"]], "join")


def test_mistake_is_shown_where_it_is(t):
    for sql, message, at in (("SELECT evnt FROM events", "no such column: evnt", 7),
                             ("SELECT * FROM events WHERE nmae = 'x'", "no such column: nmae", 27),
                             ("SELECT count(* FROM events", 'near "FROM"', 15),
                             ('SELECT "tdi" FROM samples', "no such column: tdi", 7)):
        result = query(t, GOLDEN, sql, expect=2)
        lines = [line.removeprefix("tapir: ") for line in result.err.splitlines()]
        t.ok(message in lines[0], lines)
        t.eq(lines[1], "  " + sql, "the statement")
        t.eq(lines[2], " " * (at + 2) + "^", f"the caret of {sql}")


def test_statement_that_does_not_only_read_is_refused(t):
    for sql in ("ATTACH 'x.db' AS x", "PRAGMA temp_store", "CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)", "DROP VIEW gc",
                "INSERT INTO events VALUES(1)", "DELETE FROM events", "UPDATE meta SET key = 1", "VACUUM INTO 'x.db'", "BEGIN",
                "SELECT load_extension('x')", "SELECT * FROM pragma_database_list", "SELECT 1; SELECT 2",
                "CREATE VIRTUAL TABLE t USING events", "EXPLAIN SELECT 1", "REINDEX", "ANALYZE", "DETACH temp", " -- nothing"):
        result = t.tapir("query", GOLDEN, sql, expect=2)
        t.ok(result.err.startswith("tapir: SQL: ") and not result.out, f"{sql}: {result.err}")


def test_statement_without_an_end_is_stopped(t):
    for sql in ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
                "SELECT count(*) FROM " + ", ".join(f"frames f{n}" for n in range(36))):
        result = query(t, GOLDEN, sql, "--timeout", "200ms", expect=1)
        t.ok("did not end in 0.2 s" in result.err, result.err)


def test_statement_that_needs_too_much_is_refused(t):
    deep = "SELECT " + "(" * 2000 + "1" + ")" * 2000
    wide = "SELECT " + " + ".join(["1"] * 5000)
    many = " UNION ALL ".join(["SELECT 1"] * 600)
    long = "SELECT '" + "x" * 110000 + "'"
    for sql in (deep, wide, many, long, "SELECT zeroblob(1000000000)"):
        result = query(t, GOLDEN, sql, expect=None)
        t.ok("SQL: " in result.err, result.err[:300])
    grow = ("WITH RECURSIVE c(x, y) AS (SELECT 1, zeroblob(1000000) UNION ALL SELECT x + 1, y FROM c WHERE x < 1000) "
            "SELECT x, hex(y) FROM c ORDER BY y, x")
    result = query(t, GOLDEN, grow, "--jsonl", expect=1)
    t.ok("needs more than 256 MB" in result.err, result.err)


def test_texts_are_harmless_in_each_form(t):
    hostile = "SELECT '=1+1' AS \"=cmd\", char(27) || '[31m' AS e, '<b>' AS h, 'a,\"b\"' AS q, NULL AS n, 1.5 AS r, 1 AS r"
    out = query(t, GOLDEN, hostile, "--csv").out
    t.ok("\x1b" not in out, "escape in CSV")
    head, row = list(csv.reader(io.StringIO(out, newline="")))
    t.eq(head, ["'=cmd", "e", "h", "q", "n", "r", "r_2"], "columns")
    t.eq(row, ["'=1+1", "\\x1b[31m", "<b>", 'a,"b"', "", "1.5", "1"], "cells")
    for form in ("--json", "--jsonl"):
        out = query(t, GOLDEN, hostile, form).out
        t.ok("\x1b" not in out, f"escape in {form}")
        value = json.loads(out)
        t.eq(value[0] if form == "--json" else value, {"=cmd": "=1+1", "e": "\x1b[31m", "h": "<b>", "q": 'a,"b"', "n": None, "r": 1.5, "r_2": 1},
             form)
    t.ok("\x1b" not in query(t, GOLDEN, hostile).out, "escape in a table")
    t.eq(query(t, GOLDEN, "SELECT 1 WHERE 0", "--json").out, "[]\n", "no rows")
    t.eq(query(t, GOLDEN, "SELECT 10 AS ten, 'x' AS word UNION ALL SELECT 2, 'yy'").out.splitlines(), ["TEN  WORD", " 10  x", "  2  yy"], "table")


def test_tables_are_listed_without_a_statement(t):
    out = t.tapir("query", GOLDEN).out
    schema = t.tapir("help", "tables").out
    for name in ("events", "samples", "switches", "waits", "intervals", "processes", "threads", "stacks", "frames", "counters", "losses",
                 "gaps", "findings", "mappings", "meta", "gc", "requests", "request_parts", "spans"):
        t.ok(re.search(rf"^  {name} ", out, re.M), f"{name} in the list")
        t.ok(re.search(rf"^{name}: ", schema, re.M), f"{name} in the help")
    t.ok("  query__start  2 count query arg2\n" in out, out)


def test_damage_is_told_when_all_of_a_file_is_read(t):
    whole = pathlib.Path(recording(t)).read_bytes()
    cut = t.path("cut.tapir")
    pathlib.Path(cut).write_bytes(whole[:len(whole) * 2 // 3])
    said = t.tapir("events", "--json", cut, expect=1)
    result = query(t, cut, "SELECT count(*) AS n FROM events", "--json", expect=1)
    t.eq(json.loads(result.out)[0]["n"], sum(line["type"] == "event" for line in said.json_lines()), "events before the cut")
    t.eq(result.err, said.err, "what is said of the damage")
    t.eq(query(t, recording(t), "SELECT time_ns FROM events LIMIT 1", "--json").err, "", "of a whole file read in part")
