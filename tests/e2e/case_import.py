# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir import: files of other tools. The witnesses: perf script for perf.data, nettrace_counts.py for nettrace of version 4, the JDK's own jfr for
flight recordings; what is exported as version 6 is imported again."""
import collections
import json
import pathlib
import re

import nettrace_counts

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


def events_of(t, file):
    return {(e["provider"], e["event"]): e["captured"] for e in t.report(file)["events"]}


def test_a_stream_of_eventpipe_has_the_events_of_its_blocks(t):
    file, out = str(DATA / "dotnet" / "fire-v4.nettrace"), t.path("fire.tapir")
    t.tapir("import", file, "-o", out)
    want, got = collections.Counter(), collections.Counter()
    for (provider, _), times in nettrace_counts.count(file).items():
        want[provider, times] += 1
    for (provider, _), times in events_of(t, out).items():
        got[provider, times] += 1
    t.eq(got, want, "kinds of events by how often they came")
    placed = [e for e in t.events(out) if e["event"] == "OrderPlaced"]
    t.ok(len(placed) == 20 and all(e["stack"] and "args" in e for e in placed), "with fields and stacks")
    t.ok("no samples: the sample profiler was off" in t.report(out)["meta"]["imported.lacks"], "what it lacks")


def test_a_profile_of_v8_has_its_samples(t):
    node, file, out = t.need("node"), t.path("x.cpuprofile"), t.path("x.tapir")
    program = "function leaf(n){let s=0;for(let i=0;i<n;i++)s+=Math.sqrt(i);return s} for(let i=0;i<40;i++)leaf(3e5)"
    t.eq(t.run(node, "--cpu-prof", f"--cpu-prof-dir={t.path('')}", "--cpu-prof-name=x.cpuprofile", "-e", program).rc, 0, "node")
    profile = json.loads(pathlib.Path(file).read_text())
    functions = {node["id"]: node["callFrame"]["functionName"] for node in profile["nodes"]}
    want = collections.Counter(functions[sample] for sample in profile["samples"])
    t.tapir("import", file, "-o", out)
    got = collections.Counter(e["stack"][0]["name"].split(":*")[-1].split(" ")[0] if e.get("stack") else "(root)" for e in t.events(out, "sample"))
    t.eq(sum(got.values()), sum(want.values()) - want["(idle)"], "samples")
    t.eq(got["leaf"], want["leaf"], "of a function")
    t.ok("native functions are one" in t.report(out)["meta"]["imported.lacks"], "what it lacks")


# Events that are two of hotspot's here.
JFR_PAIRS = {"jdk.GCPhasePause": "gc__begin", "jdk.JavaMonitorEnter": "monitor__contended__enter", "jdk.JavaMonitorWait": "monitor__wait",
             "jdk.ThreadPark": "thread__park__begin", "jdk.ThreadSleep": "thread__sleep__begin", "jdk.Compilation": "method__compile__begin"}


def jfr_event(name):
    """The witness's name of an event, as tapir's."""
    return ("hotspot", JFR_PAIRS[name]) if name in JFR_PAIRS else tuple(name.rsplit(".", 1))


def test_a_flight_recording_has_what_the_jdk_reads_in_it(t):
    jfr, file, out = t.need("jfr"), t.path("x.jfr"), t.path("x.tapir")
    source = str(pathlib.Path(__file__).resolve().parent / "programs" / "Flown.java")
    t.eq(t.run(t.need("javac"), "-d", t.path("classes"), source).rc, 0, "javac")
    flown = t.run(t.need("java"), "-Xmx64m", f"-XX:StartFlightRecording=filename={file},settings=profile", "-cp", t.path("classes"), "Flown", timeout=120)
    t.eq(flown.rc, 0, flown.err[-300:])
    summary = re.findall(r"^ (\S+) +(\d+) +\d+$", t.run(jfr, "summary", file).out, re.M)
    want = {name: int(cnt) for name, cnt in summary if int(cnt) and name not in ("jdk.Metadata", "jdk.CheckPoint")}
    samples = want.pop("jdk.ExecutionSample")
    t.tapir("import", file, "-o", out)
    report, got = t.report(out), events_of(t, out)
    t.eq(report["samples"]["captured"], samples, "samples")
    t.eq({name: got.get(jfr_event(name)) for name in want}, want, "events")
    printed = json.loads(t.run(jfr, "print", "--json", "--stack-depth", "64", "--events", "JavaMonitorEnter,ExecutionSample", file).out)["recording"]["events"]
    waits = [e["values"] for e in printed if e["type"] == "jdk.JavaMonitorEnter"]
    leaves = [e["values"]["stackTrace"]["frames"][0]["method"] for e in printed if e["type"] == "jdk.ExecutionSample" and e["values"]["stackTrace"]]
    t.eq(sum(e["stack"][0]["name"].startswith("double Flown.leaf(int)") for e in t.events(out, "sample") if e.get("stack")),
         sum((method["type"]["name"], method["name"]) == ("Flown", "leaf") for method in leaves), "samples in a method")
    rows = json.loads(t.tapir("query", out, "SELECT count(*) AS cnt, sum(took_ns) AS ns FROM intervals WHERE name = 'monitor'", "--json").out)
    ns = sum(float(values["duration"][2:-1]) for values in waits) * 1e9
    t.eq(rows[0]["cnt"], len(waits), "waits for monitors")
    t.ok(abs(rows[0]["ns"] - ns) <= 1000 * len(waits), f"their time: {rows[0]['ns']}, {ns}")
    t.ok("waits for locks" in t.tapir("report", out).out, "the planted defect")


def test_what_is_exported_as_nettrace_is_imported_again(t):
    file, trace, out = str(DATA.parent / "corpus" / "dotnet-awaits-calm.tapir"), t.path("calm.nettrace"), t.path("calm.tapir")
    t.tapir("export", "--format", "nettrace", file, "-o", trace)
    t.tapir("import", trace, "-o", out)
    want, got = events_of(t, file), events_of(t, out)
    t.eq({key: got.get(key) for key in want}, want, "events")
    before, after = t.report(file)["samples"], t.report(out)["samples"]
    t.ok(abs(before["captured"] - after["captured"]) <= 1 + before["captured"] // 100, f"samples: {before['captured']}, {after['captured']}")
    t.ok(after["named"] >= before["named"] * 0.9, f"names of their functions: {before['named']}, {after['named']}")
