# SPDX-License-Identifier: GPL-2.0-or-later
"""Trace and span ids that threads publish by OpenTelemetry's thread context (OTEP 4947), beside samples and
context switches. The witness is the publisher's own log: which thread worked in which span, from when to when."""
import bisect
import collections
import gzip
import json
import os
import pathlib
import signal

from harness import args_of

HZ = 997
SPANS = 20
# How the publisher is compiled and loaded: name of the program, library that is there from the start, by dlopen.
MODELS = {
    "local-exec": ("spansle", None, None),
    "libtapir": ("spanslib", None, None),
    "initial-exec": ("spans", "spanie", None),
    "initial-exec, dlopened": ("spans", None, "spanie"),
    "descriptor, static": ("spans", "spandesc", None),
    "descriptor, dynamic": ("spans", None, "spandesc"),
    "general dynamic": ("spans", "spangd", None),
    "general dynamic, dlopened": ("spans", None, "spangd"),
}


class Spans:
    """The log of one publisher."""

    def __init__(self, path, ahead_ns=0):
        """ahead_ns: of the publisher's clock."""
        self.by_thread = collections.defaultdict(list)
        with open(path, encoding="ascii") as lines:
            for line in lines:
                tid, *times, trace, span = line.split()
                before, begin, end, after = (int(time_ns) - ahead_ns for time_ns in times)
                self.by_thread[int(tid)].append((begin, end, trace, span, before, after))

    def at(self, tid, time_ns):
        """The ids that the thread had; None: it was outside any span; False: at its edge, or no thread of it."""
        spans = self.by_thread.get(tid)
        if not spans:
            return False
        i = bisect.bisect_right(spans, (time_ns,)) - 1
        if i >= 0 and time_ns < spans[i][1]:
            return spans[i][2:4]
        after = spans[i][5] if i >= 0 else 0
        before = spans[i + 1][4] if i + 1 < len(spans) else 1 << 63
        return None if after + 50000 < time_ns < before - 50000 else False  # a record's time is not the one when its ids were read


def start(t, model):
    program, preload, lib = MODELS[model]
    log = t.path(model.replace(" ", "_") + ".log")
    env = {**os.environ, "LD_PRELOAD": t.target_path(preload)} if preload else None
    process = t.start(t.target_path(program), "--wait", log, SPANS, 2, *([t.target_path(lib)] if lib else []), env=env)
    process.wait_line("pid ")
    return process, log


def record_all(t):
    """One recording of a publisher for each model: its name -> (log, pid), and the file."""
    file, started = t.path("trace.tapir"), {model: start(t, model) for model in MODELS}
    pids = ",".join(str(process.pid) for process, _ in started.values())
    tapir = t.start_tapir("record", "spans:work", "Spans-Ring", "-F", HZ, "--sched", "-p", pids, "-f", "-o", file)
    tapir.wait_ready()
    for process, _ in started.values():
        process.go()
    for process, _ in started.values():
        t.eq(process.wait().rc, 0, "exit of a publisher")
    t.eq(tapir.wait().rc, 0, "exit")
    return file, {model: (Spans(log), process.pid) for model, (process, log) in started.items()}


def ids_of(record):
    return (record["trace_id"], record["span_id"]) if "trace_id" in record else None


def judge(t, model, what, records, spans):
    """How many records were taken inside a span, after all that must hold for them does."""
    inside, carried = 0, 0
    for record in records:
        said, seen = spans.at(record["tid"], record["time_ns"]), ids_of(record)
        if said is None:
            t.eq(seen, None, f"{model}: ids of a {what} outside any span")
        elif said:
            inside += 1
            carried += seen is not None
            t.ok(seen in (None, said), f"{model}: a {what} has {seen}, worked for {said}")
    t.ok(carried >= 0.99 * inside, f"{model}: {carried} of {inside} {what} inside a span have its ids")
    return inside


def from_first_seen(records, dlopened):
    """tapir learns of a library that is opened later from the kernel, some milliseconds later."""
    seen = [i for i, record in enumerate(records) if ids_of(record)]
    return records[seen[0]:] if dlopened and seen else records


def check_events(t, model, events):
    """Their payload is what it is without ids, whatever its length."""
    t.ok(len(events) >= 10, f"{model}: {len(events)} events")
    for event in events:
        number, text = args_of(event)
        t.eq(text, "12345678"[number % 8:], f"{model}: argument")


def view(t, file, name, *options):
    return json.loads(t.tapir("report", file, "--view", name, "--all", "--json", *options).out)


def check_views(t, file, trace, chosen):
    """A view of one trace has the records of that trace: here no interval says what else is of it."""
    cpu = view(t, file, "cpu", "--trace-id", trace)
    samples = t.events(file, "sample")
    t.eq((cpu["ids_samples"], cpu["ids_recorded"], cpu["ids_joined"]),
         (len(samples), sum(ids_of(r) is not None for r in samples), 0), "samples, with ids, joined by an interval")
    share = f"ids: {100 * cpu['ids_recorded'] / len(samples):.1f}% of {len(samples)} samples are of a trace"
    t.ok(share in t.tapir("report", file, "--view", "cpu", "--trace-id", trace).out, share)
    t.ok("ids_samples" not in view(t, file, "cpu"), "a view that uses no ids")
    t.eq(sum(row["samples"] for row in cpu["works"]), sum(r["type"] == "sample" for r in chosen), "samples of the view cpu")
    waits = sum(row["count"] for row in view(t, file, "offcpu", "--trace-id", trace)["waits"])
    t.ok(0 < waits <= sum(r["type"] == "switch" for r in chosen), f"{waits} waits of the view offcpu")
    for options, rc, said in ((("--view", "cpu", "--trace-id", "0" * 31 + "1"), 1, "has no records with trace id 0"),
                              (("--view", "gc", "--trace-id", trace), 2, "it shows the whole process"),
                              (("--view", "cpu", "--trace-id", "12"), 2, "is not 32 hex digits"),
                              (("--trace-id", trace), 2, "--trace-id requires --view")):
        answer = t.tapir("report", file, *options, expect=rc)
        t.eq((answer.out, said in answer.err), ("", True), f"{options}: {answer.err}")


def check_exports(t, file, trace, chosen):
    """An export of one trace, too."""
    samples = sum(r["type"] == "sample" for r in chosen)
    folded = t.tapir("export", "--format", "folded", "--trace-id", trace, file).out.splitlines()
    t.eq(sum(int(line.rsplit(" ", 1)[1]) for line in folded), samples, "samples, folded")
    t.eq(t.tapir("export", "--format", "perfscript", "--trace-id", trace, file).out.count(" cpu-clock:\n"), samples, "samples, perfscript")
    waits = view(t, file, "offcpu", "--trace-id", trace)["waited_ns"] / 1000
    folded = t.tapir("export", "--format", "folded", "--event", "offcpu", "--trace-id", trace, file).out.splitlines()
    t.ok(abs(sum(int(line.rsplit(" ", 1)[1]) for line in folded) - waits) <= 0.01 * waits + len(folded), f"{waits} us off the CPU: {folded}")
    for form in "pprof", "otlp":
        out = [t.path(name) for name in ("one." + form, "all." + form)]
        t.tapir("export", "--format", form, "--trace-id", trace, file, "-o", out[0])
        t.tapir("export", "--format", form, file, "-o", out[1])
        one, all_of_it = ((gzip.decompress if form == "pprof" else bytes)(pathlib.Path(path).read_bytes()) for path in out)
        raw, other = (value.encode() if form == "pprof" else bytes.fromhex(value) for value in (trace, other_trace(t, file, trace)))
        t.eq((raw in one, other in one, raw in all_of_it, other in all_of_it), (True, False, True, True), f"traces in {form}")
    for options, rc, said in ((("folded", "--trace-id", "0" * 31 + "1"), 1, "has no records with trace id 0"),
                              (("nettrace", "--trace-id", trace), 2, "holds the whole recording"),
                              (("folded", "--trace-id", "12"), 2, "is not 32 hex digits")):
        answer = t.tapir("export", file, "--format", *options, expect=rc)
        t.eq((answer.out, said in answer.err), ("", True), f"{options}: {answer.err}")


def other_trace(t, file, trace):
    return next(r["trace_id"] for r in t.events(file, "sample") if r.get("trace_id", trace) != trace)


def check_choice(t, file, records):
    """--trace-id gives the records that have it, and no others."""
    trace = collections.Counter(r["trace_id"] for r in records if r["type"] == "sample" and ids_of(r)).most_common(1)[0][0]
    chosen = t.tapir("events", file, "--trace-id", trace.upper(), "--json").json_lines()
    t.eq(chosen, [r for r in records if r.get("trace_id") == trace], f"records of {trace}")
    t.ok({"sample", "event"} <= {r["type"] for r in chosen}, "kinds of records")
    svg = t.tapir("flamegraph", file, "--trace-id", trace).out
    t.ok(f"{sum(r['type'] == 'sample' for r in chosen)} samples" in svg, "samples of the flame graph")
    check_views(t, file, trace, chosen)
    check_exports(t, file, trace, chosen)
    none = t.tapir("events", file, "--trace-id", "0" * 31 + "1", "--json")
    t.eq((none.out, "nothing of this trace" in none.err), ("", True), "a trace that is not there")
    for wrong in ("12", trace + "0", "g" * 32):
        t.eq(t.tapir("events", file, "--trace-id", wrong, expect=2).out, "", "a wrong id")


def test_every_record_has_the_ids_of_its_span_for_every_tls_model(t):
    file, published = record_all(t)
    records = t.events(file, None)
    check_choice(t, file, records)
    for model, (spans, pid) in published.items():
        own = from_first_seen([r for r in records if r.get("pid") == pid and not r.get("snapshot")], MODELS[model][2])
        samples = [r for r in own if r["type"] == "sample"]
        switches = [r for r in own if r["type"] == "switch"]
        events = [r for r in own if r["type"] == "event" and r["provider"] == "spans"]
        if model == "libtapir":
            ring = [r for r in own if r["type"] == "event" and r["provider"] == "Spans-Ring"]
            t.eq({r["lane"] for r in ring}, {"ring"}, "lane")
            t.eq(judge(t, model, "events of the ring lane", ring, spans), 2 * SPANS, "events of the ring lane")
            t.eq(sum(ids_of(r) is not None for r in ring), 2 * SPANS, "... with ids")
        t.ok(judge(t, model, "samples", samples, spans) >= 10, f"{model}: {len(samples)} samples")
        t.ok(judge(t, model, "switches", switches, spans) >= 10, f"{model}: {len(switches)} switches")
        t.ok(judge(t, model, "events", events, spans) >= 10, f"{model}: {len(events)} events")
        check_events(t, model, events)
    report = t.report(file)
    t.eq(report["samples"]["lost"], 0, "lost samples")
    t.eq(report["lost"], {}, "losses")
    t.eq(report["loss_times"], [], "parts of records that were lost")


def test_intervals_of_a_published_span_are_its_tree(t):
    """A function that burns 2 ms runs once in each span, and once between two of them, which is of no span."""
    process, log = start(t, "local-exec")
    program, file = t.target_path(MODELS["local-exec"][0]), t.path("trace.tapir")
    begin, end = f"uprobe:{program}:burn", f"uretprobe:{program}:burn"
    tapir = t.start_tapir("record", begin, end, "-p", process.pid, "-f", "-o", file)
    tapir.wait_ready()
    process.go()
    t.eq((process.wait().rc, tapir.wait().rc), (0, 0), "exits of both")
    t.eq(t.report(file)["lost"], {}, "losses")
    logged = {trace: after - before for spans in Spans(log).by_thread.values() for _, _, trace, _, before, after in spans}
    found = json.loads(t.tapir("report", file, "--view", "requests", "--pair", f"{begin},{end}", "--top", 100, "--json").out)["slowest"]
    t.eq({row["trace_id"]: row["pid"] for row in found}, dict.fromkeys(logged, process.pid), "a tree a span")
    for row in found:
        burnt = [part["ns"] for part in row["parts"] if part["kind"] == "span" and part["part"].strip() == "burn"]
        t.eq(len(burnt), 1, f"intervals of {row['trace_id']}")
        t.ok(2e6 <= burnt[0] <= row["ns"] <= logged[row["trace_id"]], f"{burnt[0]} of {row['ns']} ns, {logged[row['trace_id']]} by its log")
        # A thread that lost its CPU outside of burn spent most of its time there.
        t.eq([" > burn " in hop["path"] for hop in row.get("path", [])], [True] if 2 * burnt[0] >= row["ns"] else [], f"the way of {row}")


def test_processes_of_two_time_namespaces_are_on_one_clock(t):
    """Events of the ring lane have the clock of their process, whose offsets differ by hours."""
    file, started = t.path("trace.tapir"), []
    for ahead_s in (100000, 7000):
        log = t.path(f"{ahead_s}.log")
        process = t.start(t.need("unshare"), "--time", "--monotonic", ahead_s, "--boottime", ahead_s, "--fork",
                          t.target_path("spanslib"), "--wait", log, SPANS, 2)
        started.append((process, int(process.wait_line("pid ").split()[1]), log, ahead_s * 10**9))
    tapir = t.start_tapir("record", "spans:work", "Spans-Ring", "-F", HZ, "--sched", "-p",
                          ",".join(str(pid) for _, pid, _, _ in started), "-f", "-o", file)
    tapir.wait_ready()
    for _, pid, _, _ in started:
        os.kill(pid, signal.SIGUSR1)
    for process, _, _, _ in started:
        t.eq(process.wait().rc, 0, "exit of a publisher")
    t.eq(tapir.wait().rc, 0, "exit")
    records = t.events(file, None)
    for _, pid, log, ahead_ns in started:
        own, spans = [r for r in records if r.get("pid") == pid and not r.get("snapshot")], Spans(log, ahead_ns)
        ring = [r for r in own if r["type"] == "event" and r["provider"] == "Spans-Ring"]
        t.eq(judge(t, "ring", "events", ring, spans), 2 * SPANS, f"events of the ring lane, {ahead_ns} ns ahead")
        t.ok(judge(t, "samples", "samples", [r for r in own if r["type"] == "sample"], spans) >= 10, "samples")
        t.ok(judge(t, "switches", "switches", [r for r in own if r["type"] == "switch"], spans) >= 10, "switches")
    t.eq(t.report(file)["lost"], {}, "losses")


def test_nothing_is_believed_of_a_hostile_publisher(t):
    file, target = t.path("trace.tapir"), t.target("spanhostile", "--wait", 30)
    tapir = t.start_tapir("record", "-F", HZ, "--no-sched", "-p", target.pid, "-f", "-o", file)
    tapir.wait_ready()
    target.go()
    tids = target.wait().witness()
    t.eq(tapir.wait().rc, 0, "exit")
    by_thread = collections.defaultdict(list)
    for sample in t.events(file, "sample"):
        by_thread[sample["tid"]].append(ids_of(sample))
    by_thread = {name: by_thread[tid] for name, tid in tids.items()}
    for name in "itself", "unmapped", "kernel", "pageend", "invalid":
        t.ok(by_thread[name], f"samples of {name}")
        t.eq(set(by_thread[name]), {None}, f"ids of {name}")
    t.ok(by_thread["huge"].count(("77" * 16, "77" * 8)) >= 0.9 * len(by_thread["huge"]) > 0, "ids beside huge attributes")
    t.ok(by_thread["torn"], "samples of a torn record")
    lost = {loss["cause"]: loss["count"] for loss in t.report(file)["loss_times"]}
    unreadable = sum(len(by_thread[name]) for name in ("unmapped", "kernel", "pageend"))
    t.ok(lost.get("trace_ids_unreadable", 0) >= 0.8 * unreadable, f"{lost}, {unreadable} samples of such threads")
    t.eq(t.report(file)["samples"]["lost"], 0, "lost samples")
