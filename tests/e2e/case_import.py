# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir import: files of other tools. The witness is the tool's own reader: perf script for perf.data."""
import collections
import json
import pathlib
import re

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def test_perf_data_has_what_perf_script_prints(t):
    perf, data, out = t.need("perf"), t.path("perf.data"), t.path("perf.tapir")
    made = t.run(perf, "record", "-q", "-g", "-F", "199", "-e", "cpu-clock", "-e", "sched:sched_switch", "-e", "sched:sched_wakeup",
                 "--no-bpf-event", "-o", data, "--", "sh", "-c", 'gzip -c "$0" >/dev/null', "/bin/bash")
    if made.rc:
        t.skip(f"perf record: {made.err.strip()[:80]}")
    printed = t.run(perf, "script", "-i", data, "-F", "comm,pid,tid,event", "--no-inline").out
    want = collections.Counter(re.findall(r"(cpu-clock|sched:sched_switch|sched:sched_wakeup):", printed))
    t.tapir("import", data, "-o", out)
    got = t.report(out)
    t.eq(got["samples"]["captured"], want["cpu-clock"], "samples")
    t.eq(got["switches"]["captured"], want["sched:sched_switch"], "switches")
    t.eq({e["event"]: e["captured"] for e in got["events"]}.get("sched_wakeup", 0), want["sched:sched_wakeup"], "events")
    by_pid = collections.Counter(re.findall(r"(\d+)/\d+ +cpu-clock:", printed))
    rows = json.loads(t.tapir("query", out, "SELECT pid, count(*) AS cnt FROM samples GROUP BY pid", "--json").out)
    t.eq({str(row["pid"]): row["cnt"] for row in rows}, dict(by_pid), "samples by process")


def test_a_recording_says_what_perf_data_lacks(t):
    out = t.path("gzip.tapir")
    t.tapir("import", str(DATA / "perf" / "gzip.data"), "-o", out)
    screen = t.tapir("report", out).out
    t.ok("imported from perf.data: waits have no stacks" in " ".join(screen.split()), screen)
    t.ok(screen.startswith("gzip ("), "the process")
    t.tapir("html", out, "-o", t.path("gzip.html"))
    t.tapir("export", "--format", "perfscript", out, "-o", t.path("gzip.txt"))
    t.tapir("import", str(DATA / "golden-v1.tapir"), "-o", t.path("x.tapir"), expect=3)
    t.tapir("import", str(DATA / "perf" / "gzip.data"), "-o", out, expect=1)
