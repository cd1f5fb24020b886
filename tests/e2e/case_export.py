# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports contain what the recording holds."""
import collections
import html
import json
import os
import pty
import re
import sqlite3
import struct
import subprocess
import time

from harness import EVENTS_ONLY, made_once
from messages import profiles_of
from npm_package import npm_package


def record(t, *options):
    file = t.path("trace.tapir")
    t.tapir("record", "depth:hit", "--stack", *EVENTS_ONLY, "-f", "-o", file, *options, "--",
            t.target_path("depth"), 3, 40)
    return file


def test_folded_lines_add_up_to_the_events(t):
    lines = t.tapir("export", "--format", "folded", record(t)).out.splitlines()
    stacks = {stack: int(cnt) for stack, cnt in (line.rsplit(" ", 1) for line in lines)}
    t.eq(sum(stacks.values()), 40, "events")
    t.ok(all(stack.endswith("fire_at;d1;d2;d3;bottom") for stack in stacks), f"outermost first: {stacks}")
    t.eq({stack.split(";")[0] for stack in stacks}, {"depth"}, "the process is the root, as stackcollapse-perf.pl has it")


def test_perfscript_has_a_block_an_event(t):
    out = t.tapir("export", "--format", "perfscript", record(t)).out
    edge, first, rest = out.split("\n", 2)
    t.eq(edge, "# ========", "Firefox Profiler takes a text for one of perf by exactly this line")
    t.ok(first.startswith("# ") and "nothing lost" in first, f"the finding is a comment: {first}")
    t.ok("\n# ========\n#\n" in "\n" + rest.split(" depth:hit:")[0], f"the end of the header: {rest[:200]}")
    blocks = re.sub("^#.*\n", "", rest, flags=re.M).strip().split("\n\n")
    t.eq(len(blocks), 40, "events")
    for block in blocks:
        head, *frames = block.splitlines()
        t.ok(re.fullmatch(r"depth \d+/\d+ \[\d{3}\] \d+\.\d{6}: 1 depth:hit:", head), head)
        names = [re.fullmatch(r"\t *[0-9a-f]+ (.*)\+0x[0-9a-f]+ \(.*\)", frame).group(1) for frame in frames[:5]]
        t.eq(names, ["bottom", "d3", "d2", "d1", "fire_at"], "frames")


def test_samples_come_before_events_when_there_are_any(t):
    file = t.path("samples.tapir")
    t.tapir("record", "-F", 997, "-o", file, "--", t.target_path("burner"), 300, 1)
    cnt = len(t.events(file, "sample"))
    lines = t.tapir("export", "--format", "folded", file).out.splitlines()
    t.eq(sum(int(line.rsplit(" ", 1)[1]) for line in lines), cnt, "samples, folded")
    t.eq(t.tapir("export", "--format", "perfscript", file).out.count(" cpu-clock:\n"), cnt, "samples, perf script")


HEAD = re.compile(r"(\S.*?)\s+(\d+)/(\d+)\s+\[\d{3}\]\s+(\d+\.\d{6}):\s+\d+\s+(\S+):\s*")
FRAME = re.compile(r"\s+([0-9a-f]+)\s(.+) \((\S*)\)")


def as_read(name, module):
    """A name as stackcollapse-perf.pl keeps it; speedscope and Firefox Profiler keep as much, in another form."""
    name = re.sub(r"\+0x[0-9a-f]+$", "", name)
    return f"[{module.rsplit('/', 1)[-1]}]" if name == "[unknown]" else name.replace(";", ":")


def collapse(text):
    """What readers of perf script's output make of it: stacks, outermost first, without offsets."""
    stacks = collections.Counter()
    text = re.sub("^#.*\n", "", text, flags=re.M)  # comments, which all of them skip
    for block in text.strip().split("\n\n"):
        head, *frames = block.split("\n")
        if not HEAD.fullmatch(head):
            raise ValueError(f"no head of a sample: {head!r}")
        parsed = [FRAME.fullmatch(frame) for frame in frames]
        if None in parsed:
            raise ValueError(f"no frame: {frames[parsed.index(None)]!r}")
        stacks[tuple(as_read(m.group(2), m.group(3)) for m in reversed(parsed))] += 1
    return stacks


def place(name):
    """A frame without a name as perfscript has it."""
    found = re.fullmatch(r"\[?(.+?)\]?(\+0x[0-9a-f]+)", name)
    return f"[{found.group(1)}{found.group(2)}]" if found else name


def folded(text):
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, cnt = line.rsplit(" ", 1)
        stacks[tuple(place(name) for name in stack.split(";")[1:])] += int(cnt)
    return stacks


def test_both_formats_tell_the_same_when_read_back(t):
    live, made = t.path("samples.tapir"), t.path("made.tapir")
    t.tapir("record", "-F", 997, "-o", live, "--", t.target_path("burner"), 300, 2)
    t.eq(t.run(f"{t.build}/tests/bench/make_trace", made, "--samples", 5000, "--stacks", 500).rc, 0, "make_trace")
    for file in (live, made):
        script = collapse(t.tapir("export", "--format", "perfscript", file).out)
        script.pop((), None)  # samples without a stack
        lines = t.tapir("export", "--format", "folded", file).out
        t.eq(folded(lines), script, f"stacks of {file}")
        t.eq(t.tapir("export", "--format", "folded", file).out, lines, "the same again")


def test_hostile_names_break_no_line(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 3000, "--stacks", 200, "--depth", 12, "--hostile")
    script = t.tapir("export", "--format", "perfscript", file).out
    t.eq(sum(collapse(script).values()), 3000, "samples, perf script")
    lines = t.tapir("export", "--format", "folded", file).out
    t.eq(sum(folded(lines).values()), 3000, "samples, folded")
    for text in (script, lines):
        t.ok(not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", text), "no control characters")


SPEEDSCOPE = "speedscope@1.25.0"


def imported(t, file):
    """What speedscope's own importer makes of a file: its profiles."""
    node, package = t.need("node"), npm_package(t, SPEEDSCOPE)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "speedscope_import.js")
    result = t.run(node, script, package, file, timeout=60)
    t.eq(result.rc, 0, f"speedscope imports {os.path.basename(file)}: {result.err}")
    group = json.loads(result.out)
    t.ok(group, f"speedscope knows the form of {os.path.basename(file)}")
    return group["profiles"]


def all_stacks(profiles):
    stacks = collections.Counter()
    for profile in profiles:
        stacks.update(profile["stacks"])
    return stacks


def export(t, file, form, *options):
    out = t.path(f"out.{form}")
    t.tapir("export", "--format", form, file, "-f", "-o", out, *options)
    return out


def test_speedscope_imports_a_profile_a_thread(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 20000, "--stacks", 500)
    profiles = imported(t, export(t, file, "speedscope"))
    t.eq(sorted(profile["name"] for profile in profiles)[:2], ["java 4000/4000", "java 4100/4100"], "names")
    t.eq((len(profiles), {profile["unit"] for profile in profiles}), (16, {"nanoseconds"}), "profiles, their unit")
    t.eq(len({profile["weight"] for profile in profiles}), 1, "all begin and end with the recording")
    busy = [profile["weight"] - profile["stacks"].get("", 0) for profile in profiles]
    t.ok(busy[0] == max(busy), "the busiest comes first")
    lines = t.tapir("export", "--format", "folded", file).out
    t.eq({tuple(place(name) for name in stack.split(";")) for stack in all_stacks(profiles) if stack}, set(folded(lines)),
         "stacks are those of --format folded")


def test_speedscope_takes_hostile_names_and_files_without_samples(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 3000, "--stacks", 200, "--depth", 12, "--hostile")
    t.eq(len({profile["weight"] for profile in imported(t, export(t, file, "speedscope"))}), 1, "time")
    profiles = imported(t, export(t, record(t), "speedscope"))
    t.eq([(profile["unit"], profile["weight"]) for profile in profiles], [("none", 40)], "events, counted")
    t.ok(all(stack.endswith("fire_at;d1;d2;d3;bottom") for stack in all_stacks(profiles)), "their stacks")


def test_speedscope_reads_perfscript_and_folded(t):
    file = t.path("samples.tapir")
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", t.target_path("burner"), 300, 1)
    want = folded(t.tapir("export", "--format", "folded", file).out)
    profiles = imported(t, export(t, file, "folded"))
    t.eq(sum(profile["weight"] for profile in profiles), sum(want.values()), "samples, folded")
    script = imported(t, export(t, file, "perfscript"))
    t.eq({tuple(stack.split(";")) for stack in all_stacks(script) if stack}, set(want), "stacks, perf script")
    t.ok(any("burner" in profile["name"] for profile in script), f"threads: {[p['name'] for p in script]}")


def positions(profile):
    """Of a profile in time: (from, until, stack of names' numbers) of each run that is not idle."""
    at, runs = profile["startValue"], []
    for stack, weight in zip(profile["samples"], profile["weights"]):
        if stack:
            runs.append((at, at + weight, stack))
        at += weight
    return runs, at


def test_speedscope_is_in_time_when_threads_begin_and_pause_at_different_times(t):
    file = t.path("pauses.tapir")
    burner = t.target_path("burner")
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", "sh", "-c", f"{burner} 300 1; sleep 0.5; {burner} 300 1")
    with open(export(t, file, "speedscope"), encoding="utf-8") as out:
        document = json.load(out)
    period_ns = 1e9 / 997
    samples = collections.defaultdict(list)
    for sample in t.events(file, "sample"):
        if sample.get("stack") or sample.get("kernel_stack"):
            samples[f"{sample['pid']}/{sample['tid']}"].append(sample["time_ns"])
    start_ns, ends, all_runs = None, set(), collections.defaultdict(list)
    for profile in document["profiles"]:  # one for each name of a thread: a child of sh is called sh at first
        runs, end = positions(profile)
        ends.add((profile["startValue"], profile["endValue"], end))
        all_runs[profile["name"].split(" ")[-1]] += runs
    for thread, runs in all_runs.items():
        taken = sorted(samples.pop(thread))
        start_ns = start_ns if start_ns is not None else taken[-1] - max(until for _, until, _ in runs)  # a sample ends where it was taken
        for time_ns in taken:
            at = time_ns - start_ns
            t.ok(any(begin < at <= until for begin, until, _ in runs), f"{thread} runs at {at / 1e6:.3f} ms")
        for begin, until, _ in runs:
            inside = [time_ns for time_ns in taken if begin < time_ns - start_ns <= until]
            t.ok(until - begin <= 1.6 * period_ns * len(inside), f"{begin} to {until} is covered by {len(inside)} samples")
    t.eq((len(ends), {end for _, end, _ in ends}), (1, {end for _, _, end in ends}), f"one begin and end: {ends}")
    t.eq(dict(samples), {}, "threads without a profile")
    spans = {}
    for profile in document["profiles"]:
        if profile["name"].startswith("burner "):
            runs, _ = positions(profile)
            spans.setdefault(profile["name"].split("/")[0], []).extend((runs[0][0], runs[-1][1]))
    first, second = sorted((min(span), max(span)) for span in spans.values())
    t.ok(second[0] - first[1] > 0.4e9, f"the second begins half a second after the end of the first: {first}, {second}")


@made_once
def stripped_burner(t):
    bare = t.path("bare")
    t.eq(t.run("strip", "-o", bare, t.target_path("burner")).rc, 0, "strip")
    return bare


def test_functions_without_a_name_stay_apart_in_all_readers(t):
    file = t.path("bare.tapir")
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", stripped_burner(t), 400, 2)
    frames = [frame for sample in t.events(file, "sample") for frame in sample.get("stack", [])
              if not frame["name"] and (frame["module"] or "").endswith("/bare")]
    t.ok(len({frame["offset"] for frame in frames}) > 3, f"there are such frames: {frames[:3]}")
    starts = {f"fn_{int(line.split()[0], 16):x}" for line in t.run("nm", t.target_path("burner")).out.splitlines()
              if line.split()[-2] in "tT"}
    found = {frame["range"] for frame in frames if "range" in frame}
    t.ok(len(found & starts) >= 3, f"functions begin where nm says before they are stripped: {found}, {starts}")
    want = {f"bare!{frame['range']}" if "range" in frame else f"[bare+{frame['offset']:#x}]" for frame in frames}
    script = t.tapir("export", "--format", "perfscript", file).out
    # A mark where callers are missing names the module, too.
    t.eq({name for stack in collapse(script) for name in stack if "bare" in name and not name.startswith("[callers ")}, want, "stackcollapse-perf.pl's rules")
    read = {name for stack in all_stacks(imported(t, export(t, file, "perfscript"))) for name in stack.split(";")}
    t.eq({name for name in read if "bare" in name and not name.startswith("[callers ")}, want, "speedscope")
    t.ok("[unknown]" not in script.replace("([unknown])", ""), "no name that readers merge")


def test_perfscript_names_the_kernel_as_perf_does(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 3000, "--stacks", 200)
    script = t.tapir("export", "--format", "perfscript", file).out
    t.ok("([kernel.kallsyms])\n" in script and "([kernel])" not in script, "module of the kernel's frames")


def test_perfscript_has_events_only_where_asked_when_there_are_samples(t):
    file = t.path("both.tapir")
    t.tapir("record", "depth:hit", "--stack", "-F", 997, "-f", "-o", file, "--", t.target_path("depth"), 3, 40)
    out = t.tapir("export", "--format", "perfscript", file).out
    t.eq(out.count(" depth:hit:\n"), 0, "events")
    t.eq(out.count(" cpu-clock:\n"), len(t.events(file, "sample")), "samples")
    out = t.tapir("export", "--format", "perfscript", file, "--event", "h*t").out
    t.eq((out.count(" depth:hit:\n"), out.count(" cpu-clock:\n")), (40, 0), "events that were asked for, samples")


def test_output_is_the_same_in_a_file_and_on_stdout(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 3000, "--stacks", 200)
    for form in ("speedscope", "folded", "perfscript"):
        with open(export(t, file, form)) as out:
            t.eq(out.read(), t.tapir("export", "--format", form, file, "-o", "-").out, form)
        t.eq(os.stat(t.path(f"out.{form}")).st_mode & 0o777, 0o600, "mode")


def test_file_that_is_there_is_replaced_by_force_alone(t):
    file, out = t.path("made.tapir"), t.path("out")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 3000, "--stacks", 200)
    for command in (("export", "--format", "folded", file), ("flamegraph", file)):
        with open(out, "w") as old:
            old.write("what was there")
        result = t.tapir(*command, "-o", out, expect=1)
        t.ok(f"cannot create {out}: it exists (use --force" in result.err, result.err)
        with open(out) as old:
            t.eq(old.read(), "what was there", "what stands under the name")
        t.tapir(*command, "-o", out, "--force")
        t.ok(os.stat(out).st_size > 1000, "the new one")
        t.ok("is the recording itself" in t.tapir(*command, "-f", "-o", file, expect=2).err, "of the recording")


def read_slowly(command, stderr):
    """An export of more than a pipe holds, whose reader begins after more than the second without progress; its exit code."""
    child = subprocess.Popen(command, stderr=stderr, stdout=subprocess.PIPE)
    child.stdout.read(1)
    time.sleep(1.3)
    while child.stdout.read(1 << 20):
        pass
    child.stdout.close()
    return child.wait(60)


def test_progress_is_shown_on_a_terminal_only(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 50000, "--stacks", 2000, timeout=60)
    command = [t.tapir_path, "export", "--format", "perfscript", file]
    leader, follower = pty.openpty()
    t.eq(read_slowly(command, follower), 0, "exit code")
    os.close(follower)
    shown = b""
    try:
        while block := os.read(leader, 4096):
            shown += block
    except OSError:  # EIO: the other end of the terminal is closed
        pass
    os.close(leader)
    lines = shown.split(b"\r\x1b[K")
    t.ok(len(lines) > 2 and re.fullmatch(rb"  \d+ %   [\d,]+ records", lines[1]), f"progress: {shown[:200]}")
    t.ok(b"records" not in lines[-1], "it is wiped away")
    with open(t.path("err"), "w+b") as err:
        t.eq(read_slowly(command, err), 0, "exit code")
        err.seek(0)
        said = err.read()
    t.ok(b"\r" not in said and b"records" not in said, f"no terminal: {said[:200]}")


def test_formats_are_named_when_none_was_given(t):
    result = t.tapir("export", "x.tapir", expect=2)
    t.ok("--format FORMAT is required" in result.err, result.err)
    t.tapir("export", "--format", "nettrace", "--event", "x", "x.tapir", expect=2)
    t.tapir("export", "--format", "speedscope", "--event", "offcpu", "x.tapir", expect=2)
    said = t.tapir("export", "--format", "pprof", "--event", "offcpu", "x.tapir", expect=2).err
    t.ok("requires --format folded" in said, f"the reason is the right one: {said}")


def test_pprof_has_the_stacks_of_the_events_that_were_chosen(t):
    go, file = t.need("go"), t.path("chosen.tapir")
    t.tapir("record", "depth:hit", "--stack", "-F", "997", "-o", file, "--", t.target_path("depth"), 3, 40)
    folded = t.tapir("export", "--format", "folded", "--event", "depth:*", file).out
    want = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    t.tapir("export", "--format", "pprof", "--event", "depth:*", file, "-o", t.path("x.pb.gz"))
    raw = t.run(go, "tool", "pprof", "-raw", t.path("x.pb.gz")).out
    got = sum(int(cnt) for cnt in re.findall(r"^ +(\d+): [\d ]+$", raw, re.M))
    t.eq((got, want), (40, 40), f"its events, not samples:\n{raw[:500]}")
    t.ok("events/count" in raw, raw[:500])


def test_pprof_has_the_stacks_of_folded(t):
    go, file = t.need("go"), t.path("pprof.tapir")
    t.tapir("record", "--no-sched", "-F", "499", "-o", file, "--", t.target_path("burner"), 300)
    folded = dict(line.rsplit(" ", 1) for line in t.tapir("export", "--format", "folded", file).out.splitlines())
    t.tapir("export", "--format", "pprof", file, "-o", t.path("x.pb.gz"))
    raw = t.run(go, "tool", "pprof", "-raw", t.path("x.pb.gz")).out
    samples = re.findall(r"^ +(\d+) +(\d+): ([\d ]+)$", raw, re.M)
    names = dict(re.findall(r"^ +(\d+): 0x0 (?:M=\d+ )?(.+?) :0:?\d* s=0", raw, re.M))
    t.ok(len(names) > 3, raw)
    got = {";".join(names[n] for n in reversed(stack.split())): cnt for cnt, _, stack in samples}
    t.eq(got, folded, "stacks")
    t.ok(all(int(ns) == int(cnt) * (10**9 // 499) for cnt, ns, _ in samples), "CPU time of the samples")
    first = t.tapir("report", file, "--all").out.splitlines()[0]
    t.ok(first in t.run(go, "tool", "pprof", "-comments", t.path("x.pb.gz")).out, f"the finding is a comment: {first}")
    svg = t.tapir("flamegraph", file).out
    escaped = html.escape(first, quote=False).replace('"', "&quot;")
    t.ok(f'<text id="finding" x="10" y="108"><title>{escaped}</title>' in svg, "and a line of the flame graph")
    t.ok('id="finding"' not in t.tapir("flamegraph", file, "--event", "*", expect=None).out, "not of a part of the recording")


def otlp(t, file):
    with open(export(t, file, "otlp"), "rb") as out:
        return profiles_of(t, out.read())


def folded_counts(t, file, *options):
    lines = t.tapir("export", "--format", "folded", file, *options).out.splitlines()
    return {stack: int(cnt) for stack, cnt in (line.rsplit(" ", 1) for line in lines)}


def sum_of(profiles, what=len):
    return dict(sum((profile.folded(what) for profile in profiles), collections.Counter()))


def test_otlp_has_the_stacks_and_sums_of_folded_and_the_report(t):
    file, burner = t.path("otlp.tapir"), t.target_path("burner")
    t.tapir("record", "-F", "499", "--sched", "-o", file, "--", "sh", "-c", f"{burner} 200 1; sleep 0.2; {burner} 100 2")
    profiles = otlp(t, file)
    cpu = [profile for profile in profiles if (profile.type, profile.period_type) == (("samples", "count"), ("cpu", "nanoseconds"))]
    off = [profile for profile in profiles if profile.type == ("off_cpu", "nanoseconds")]
    t.eq(len(profiles), len(cpu) + len(off), "types of profiles")
    t.eq(sum_of(cpu), folded_counts(t, file), "stacks of samples")
    samples = t.events(file, "sample")
    facts = t.report(file, "--view", "cpu")
    t.eq(sum(profile.period * sum(values) for profile in cpu for _, _, values, _ in profile.rows), facts["period_sum"], "CPU time")
    t.eq({profile.period for profile in cpu}, {10**9 // 499}, "period")
    # The sum is rounded, each wait is not.
    want = folded_counts(t, file, "--event", "offcpu")
    got = {stack: (ns + 500) // 1000 for stack, ns in sum_of(off, sum).items()}
    t.eq({stack: us for stack, us in got.items() if us}, want, "off-CPU time")
    t.ok(any(stack.endswith(";[sleeping]") for stack in want), f"why: {want}")
    for profile in profiles:
        for _, _, values, times in profile.rows:
            t.eq(len(times), len(values), "a time for each value")
            t.ok(all(profile.begin <= time < profile.end for time in times), "times are within the profile")
    pids = {profile.resource["process.pid"] for profile in cpu if profile.resource["process.executable.path"] == burner}
    t.eq(pids, {sample["pid"] for sample in samples if sample["comm"] == "burner"}, "both processes, apart")
    sums = [sum(sum(values) for _, _, values, _ in profile.rows) for profile in cpu]
    t.eq(sums, sorted(sums, reverse=True), "the one with the most CPU time comes first")
    comments = [line[2:] for line in t.tapir("export", "--format", "perfscript", file).out.splitlines() if line.startswith("# ")]
    comments = [line for line in comments if line != "========"]
    t.eq(comments[0], t.tapir("report", file, "--all").out.splitlines()[0], "the finding of a report")
    t.eq([profile.attributes for profile in profiles], [{"tapir.finding": "; ".join(comments)}] * len(profiles), "the same here")


def test_otlp_links_samples_to_their_spans(t):
    file, log = t.path("otlp.tapir"), t.path("log")
    t.tapir("record", "-F", 997, "--sched", "-o", file, "--", t.target_path("spansle"), log, 20, 2)
    for name, kind, what in (("samples", "sample", "samples"), ("off_cpu", "switch", "switches")):
        got = collections.Counter()
        for profile in otlp(t, file):
            for _, ids, values, times in profile.rows:
                if ids and profile.type[0] == name:
                    got[ids] += len(values)
        want = collections.Counter((record["trace_id"], record["span_id"]) for record in t.events(file, kind)
                                   if "trace_id" in record)
        t.ok(set(got) <= set(want), f"{what} in spans: {want}, {got}")
        if kind == "sample":
            t.ok(len(want) > 1, "samples in spans")
            t.eq(got, want, what)


def var(data, at):
    """A LEB128 number, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def labels_of(block):
    """Lists of labels by their number: a label's kind -> its bytes."""
    number, cnt = struct.unpack_from("<II", block)
    at, lists = 8, {}
    for i in range(number, number + cnt):
        kind, lists[i] = 0, {}
        while not kind & 128:
            kind = block[at]
            size = {1: 16, 2: 16, 3: 16, 4: 8}[kind & 127]
            lists[i][kind & 127] = block[at + 1:at + 1 + size]
            at += 1 + size
    return lists


def rows_of(block):
    """Kind of event and number of labels, of each row."""
    at, kind, label, payload = struct.unpack_from("<H", block)[0], 0, 0, 0
    while at < len(block):
        flags, at = block[at], at + 1
        if flags & 1:
            kind, at = var(block, at)
        for _ in range(3 * bool(flags & 2) + bool(flags & 4) + bool(flags & 8) + 1):  # sequence, thread, stack, time
            _, at = var(block, at)
        if flags & 16:
            label, at = var(block, at)
        if flags & 128:
            payload, at = var(block, at)
        at += payload
        yield kind, label


def nettrace_ids(t, file):
    """Of each row: its kind, and trace and span id or None. NetTraceFormat.md of microsoft/perfview."""
    with open(export(t, file, "nettrace"), "rb") as out:
        data = out.read()
    at, labels = 8 + 12, {}
    while at < len(data):
        head, at = struct.unpack_from("<I", data, at)[0], at + 4
        block, at = data[at:at + (head & 0xffffff)], at + (head & 0xffffff)
        if head >> 24 == 8:
            labels.update(labels_of(block))
        for kind, label in rows_of(block) if head >> 24 == 2 else ():
            own = labels[label] if label else {}
            yield kind, (own[3].hex(), f"{struct.unpack('<Q', own[4])[0]:016x}") if 3 in own else None


def test_pprof_and_nettrace_have_the_ids_of_spans(t):
    go, file, log = t.need("go"), t.path("ids.tapir"), t.path("log")
    t.tapir("record", "-F", 997, "--sched", "-o", file, "--", t.target_path("spansle"), log, 20, 2)
    ids = [(r["type"], (r["trace_id"], r["span_id"]) if "trace_id" in r else None) for r in t.events(file, None)
           if not r.get("snapshot")]
    want = collections.Counter(pair for kind, pair in ids if kind == "sample")
    t.ok(len(want) > 5, f"samples in spans: {want}")
    rows = list(nettrace_ids(t, file))
    t.eq(collections.Counter(pair for kind, pair in rows if kind == 1), want, "samples of nettrace")
    switches = {pair for kind, pair in rows if kind == 2} - {None}
    t.ok(switches and switches <= {pair for kind, pair in ids if kind == "switch"}, f"switches of nettrace: {switches}")
    raw = t.run(go, "tool", "pprof", "-raw", export(t, file, "pprof")).out
    got, cnt = collections.Counter(), 0
    for line in raw[raw.index("samples/count"):raw.index("\nLocations")].splitlines()[1:]:
        pair = re.fullmatch(r" +span_id:\[(\w{16})\] trace_id:\[(\w{32})\]", line)
        if pair:
            got[pair.group(2, 1)] += cnt
            got[None] -= cnt
        else:
            cnt = int(line.split()[0])
            got[None] += cnt
    t.eq(+got, want, "samples of pprof")


def test_otlp_takes_hostile_names_and_files_without_samples(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 3000, "--stacks", 200, "--depth", 12, "--hostile")
    t.eq(sum(sum_of(otlp(t, file)).values()), sum(folded_counts(t, file).values()), "samples")
    file = record(t)
    profiles = otlp(t, file)
    t.eq([profile.type for profile in profiles], [("events", "count")], "events")
    t.eq((sum_of(profiles), profiles[0].period_type, profiles[0].period), (folded_counts(t, file), ("events", "count"), 1), "their stacks")


def rows(t, file, table, where="1"):
    out = t.tapir("query", file, f"SELECT count(*) FROM {table} WHERE {where}", "--csv").out
    return int(out.split()[1])


def test_chrome_has_what_the_tables_count(t):
    """Structural: no reader of this format runs without a browser."""
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 2000, "--requests", 1000, "--stacks", 200, "--hostile")
    with open(export(t, file, "chrome"), encoding="utf-8") as out:
        document = json.load(out)
    events = collections.defaultdict(list)
    for event in document["traceEvents"]:
        events[event["ph"]].append(event)
    t.eq(len(events["P"]), rows(t, file, "samples"), "samples")
    t.eq(len(events["i"]), rows(t, file, "events"), "events")
    t.eq(len(events["X"]) + len(events["b"]), rows(t, file, "intervals"), "intervals")
    t.eq(collections.Counter(e["id"] for e in events["b"]), collections.Counter(e["id"] for e in events["e"]), "pairs")
    lost = {event["name"]: event["args"]["value"] for event in events["C"] if event["name"].startswith("lost: ")}
    t.eq(sum(lost.values()), sum(loss["count"] for loss in t.events(file, "loss")), "losses")
    t.eq(len(events["C"]) - rows(t, file, "losses"), rows(t, file, "counters"), "counters")
    frames = document["stackFrames"]
    t.ok(all(str(e["sf"]) in frames for e in events["P"] if "sf" in e), "each sample's stack is described")
    t.ok(all(str(f["parent"]) in frames for f in frames.values() if "parent" in f), "each frame's caller is, too")
    t.eq({(e["pid"], e["tid"]) for kind in "PiX" for e in events[kind]} -
         {(e["pid"], e["tid"]) for e in events["M"] if e["name"] == "thread_name"}, set(), "threads without a name")
    t.ok(all(0 <= e["ts"] for kind in "PiXbeC" for e in events[kind]), "times since the recording began")


TABLES = ("events", "samples", "switches", "waits", "intervals", "processes", "threads", "stacks", "frames", "counters",
          "losses", "gaps", "findings", "mappings", "meta", "gc", "requests")


def test_sqlite_opens_a_database_with_the_rows_of_query(t):
    made, fired = t.path("made.tapir"), record(t)
    t.run(f"{t.build}/tests/bench/make_trace", made, "--samples", 2000, "--requests", 500, "--stacks", 200, "--hostile")
    for file in (made, fired):
        database = sqlite3.connect(export(t, file, "sqlite"))
        t.eq(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "the database is sound")
        asked = ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
        want = t.tapir("query", file, f"SELECT {asked}", "--csv").out.splitlines()[1]
        t.eq(",".join(str(cnt) for cnt in database.execute(f"SELECT {asked}").fetchone()), want, f"rows of {TABLES}")
        joined = "SELECT count(*), min(stack_id) FROM frames WHERE stack_id IN (SELECT kernel_stack_id FROM samples)"
        want = t.tapir("query", file, joined, "--csv").out.splitlines()[1]
        t.eq(",".join(str("" if value is None else value) for value in database.execute(joined).fetchone()), want, "ids of stacks join")
        lost = database.execute("SELECT coalesce(sum(count), 0) FROM losses").fetchone()[0]
        t.eq(lost, sum(loss["count"] for loss in t.events(file, "loss")), "lost records")
    sql = 'SELECT count(*), count(DISTINCT arg0), max(arg0) FROM "depth:hit"'
    want = t.tapir("query", fired, sql, "--csv").out.splitlines()[1]
    t.eq(",".join(str(value) for value in database.execute(sql).fetchone()), want, "fields of an event")


def test_query_exports_the_same_database(t):
    file, out = t.path("made.tapir"), t.path("query.sqlite")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 500, "--stacks", 50)
    t.tapir("query", file, "--export", out)
    with open(export(t, file, "sqlite"), "rb") as one, open(out, "rb") as other:
        t.eq(one.read() == other.read(), True, "bytes of the database")
    t.ok("it exists (use --force" in t.tapir("query", file, "--export", out, expect=1).err, "a file that is there")
    t.tapir("query", file, "--export", out, "-f")
    for options in (("SELECT 1", "--export", out), ("--export", out, "--csv"), ("--force",), ("--export", file, "-f")):
        t.tapir("query", file, *options, expect=2)


def test_sqlite_says_when_its_temporary_file_cannot_grow(t):
    out = t.path("out.sqlite")
    result = t.run("sh", "-c", 'ulimit -f 16; exec "$@"', "sh", t.tapir_path, "export", "--format", "sqlite", record(t), "-o", out)
    t.eq((result.rc, os.path.exists(out)), (1, False), f"exit status, and no file: {result.err}")
    t.ok("cannot write the database to a temporary file: " in result.err, result.err)


def test_no_format_leaves_a_file_when_its_output_fails(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 500, "--stacks", 50)
    listed = t.tapir("export", "--format", "none", file, expect=2).err
    forms = ("nettrace", "speedscope", "folded", "collapsed", "pprof", "otlp", "perfscript", "chrome", "firefox", "perfetto", "perfetto57", "ctf", "sqlite")
    t.ok(all(form in listed for form in forms), f"formats are listed: {listed}")
    for form in forms:
        out = t.path(f"limited.{form}")
        full = t.run("sh", "-c", 'exec "$@" > /dev/full', "sh", t.tapir_path, "export", "--format", form, file)
        t.ok(full.rc == 1 and "No space left on device" in full.err, f"{form} on a full disk: {full.rc}, {full.err}")
        short = t.run("sh", "-c", 'ulimit -f 1; exec "$@"', "sh", t.tapir_path, "export", "--format", form, file, "-o", out)
        t.eq(os.path.exists(out), short.rc == 0, f"{form} beyond a limit: {short.err}")
