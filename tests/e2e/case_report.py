# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording adds up to: against what the program says it fired, and the file's own lines."""
import csv
import collections
import json
import pathlib
import re
import shlex
import time

from harness import EVENTS_ONLY
from screen import on_terminal, plain_lines

COUNT = 3
END_BYTES = 48  # the chunk that ends a file: a header and nothing else
HOTTEST = "STACKS (innermost function first)"  # the title of the table


def record_types(t, *options):
    file = t.path("trace.tapir")
    result = t.tapir("record", "types:*", "--stack", *EVENTS_ONLY, "-f", "-o", file, *options, "--",
                     t.target_path("types"), COUNT)
    return file, {line["event"]: line["count"] for line in result.json_lines()}


def names_of(stack):
    """A stack as the report names it: functions, or module!fn_ or module+0x where there is no name."""
    return [frame["name"] or place_of(frame) for frame in stack]


def place_of(frame):
    if not frame["module"]:
        return f"{frame['addr']:#x}"
    module = frame["module"].rsplit("/", 1)[-1]
    return f"{module}!{frame['range']}" if "range" in frame else f"{module}+{frame['offset']:#x}"


def test_counts_equal_what_was_fired(t):
    file, fired = record_types(t)
    report = t.report(file)
    t.eq({f"{e['provider']}:{e['event']}": e["captured"] + e["lost"] for e in report["events"]}, fired, "events")
    t.eq([p["comm"] for p in report["processes"] if p["events"]], ["types"], "processes")
    t.eq(sum(p["events"] for p in report["processes"]), sum(fired.values()), "events of processes")
    t.eq((report["samples"]["captured"], report["functions"], report["switches"]),
         (0, [], {"captured": 0, "lost": 0}), "nothing was sampled")
    t.eq((report["lost"], report["complete"]), ({}, True), "lost, complete")
    t.ok(0 < report["duration_ns"] < 60e9, f"duration: {report['duration_ns']}")


def test_duration_is_that_of_the_recording_when_nothing_happens(t):
    """Neither the time to attach nor that to describe what was recorded counts."""
    file, sleeper = t.path("idle.tapir"), t.start("sleep", "60")
    begin = time.monotonic()
    t.tapir("record", "-d", 1, "-f", "-o", file, "-p", sleeper.pid)
    took = time.monotonic() - begin
    t.ok(1 <= t.report(file)["duration_ns"] / 1e9 < took, f"{t.report(file)['duration_ns']} ns in {took} s")
    said = f" in {t.report(file)['duration_ns'] / 1e9:.0f}."
    t.ok(said in t.tapir("report", file, "--all").out.splitlines()[0], "the finding says the same")


def test_stacks_equal_those_of_the_events(t):
    file, _ = record_types(t)
    expected = collections.Counter((e["event"], *names_of(e["stack"])) for e in t.events(file))
    seen = {(s["event"], *s["functions"]): s["events"] for s in t.report(file)["stacks"]}
    t.eq(seen, dict(expected), "stacks")
    t.ok(any("fire_ints" in stack and "main" in stack for stack in seen), f"functions have names: {list(seen)}")


def test_text_says_what_how_many_and_from_where(t):
    file, fired = record_types(t)
    text = t.tapir("report", "--stacks", file).out
    for part in ("command: ", f"{sum(fired.values())} events of {len(fired)} kinds from 1 process, 0 lost",
                 "EVENT", "types:ints", "PROGRAM", "STACKS", "fire_ints < main"):
        t.ok(part in text, f"{part!r} in {text}")


def test_stacks_are_shown_when_they_are_asked_for(t):
    file, _ = record_types(t)
    short, long = t.tapir("report", "--all", file).out, t.tapir("report", "--all", "--stacks", file).out
    t.ok(short.endswith("\n--stacks shows the hottest stacks of each event\n"), short[-200:])
    t.ok(HOTTEST not in short and HOTTEST in long and long.startswith(short[:-len("--stacks shows the hottest stacks of each event\n")]), long)
    t.ok("fire_ints < main" in long and "--stacks" not in long, long[-400:])
    t.ok(t.report(file)["stacks"], "in JSON they are in any case")
    t.ok("cannot be used with --view" in t.tapir("report", "--stacks", "--view", "gc", file, expect=2).err, "a view has its own")


def test_frames_without_names_are_one_when_they_follow_each_other(t):
    bare, file = t.path("bare"), t.path("bare.tapir")
    t.eq(t.run("strip", "-o", bare, t.target_path("depth")).rc, 0, "strip")
    t.tapir("record", "depth:hit", "--stack", *EVENTS_ONLY, "-f", "-o", file, "--", bare, 5, 40)
    nameless = [frame["name"] is None and frame["module"].endswith("/bare") for frame in t.events(file)[0]["stack"]]
    run = nameless.index(False)
    t.ok(run > 6, f"frames without a name: {t.events(file)[0]['stack']}")
    stacks = t.tapir("report", "--stacks", file).out.split(HOTTEST)[1]
    # Where libc's table was there in time, the stack goes down to a frame of its own, _start.
    t.ok(f"[bare, {run} frames]" in stacks and "bare!fn_" not in stacks.split("__libc_start")[0], stacks)
    t.ok("bare!fn_" in t.tapir("report", "--stacks", "--unfold", file).out, "each of them")
    t.eq(sum(name.startswith("bare!fn_") for name in t.report(file)["stacks"][0]["functions"]), sum(nameless), "JSON has all")


def folded(t, file, *options):
    return [line.rpartition(" ") for line in t.tapir("export", "--format", "folded", *options, file).out.splitlines()]


def test_runs_of_frames_are_one_where_a_person_reads(t):
    """What is folded is as often there as it was, in a picture as in a list of stacks."""
    bare, file = t.path("bare"), t.path("bare.tapir")
    t.eq(t.run("strip", "-o", bare, t.target_path("depth")).rc, 0, "strip")
    t.tapir("record", "depth:hit", "--stack", *EVENTS_ONLY, "-f", "-o", file, "--", bare, 5, 40)
    each, runs = folded(t, file), folded(t, file, "--fold")
    t.eq(sum(int(cnt) for _, _, cnt in runs), sum(int(cnt) for _, _, cnt in each), "events")
    t.ok(any("bare!fn_" in stack for stack, _, _ in each) and all("bare!fn_" not in stack and "[bare]" in stack for stack, _, _ in runs), runs)
    picture, whole = (t.tapir("flamegraph", *more, file).out for more in ([], ["--unfold"]))
    t.ok("[bare]" in picture and "bare!fn_" not in picture and "bare!fn_" in whole, "the flame graph")
    page, whole = (t.tapir("html", *more, file).out for more in ([], ["--unfold"]))
    t.ok('"[bare]"' in page and '"bare!fn_' not in page and '"bare!fn_' in whole, "the page")
    for format in "speedscope", "perfscript":
        t.ok("--fold cannot be used" in t.tapir("export", "--fold", "--format", format, file, expect=2).err, format)
    t.ok("requires --view or --stacks" in t.tapir("report", "--unfold", file, expect=2).err, "where no stack is shown")


def test_only_records_of_the_window_and_thread_are_counted(t):
    file, script = t.path("window.tapir"), f"{t.target_path('burner')} 600 2; sleep 0.4; {t.target_path('burner')} 600 1"
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", "sh", "-c", script)
    whole, times = t.report(file), sorted(r["time_ns"] for r in t.events(file, "sample"))
    earliest, latest = 0, times[0]  # the start of the recording, by what was counted
    for share in 0.3, 0.5, 0.8:
        edge_ns = int(whole["duration_ns"] * share / 1e6) * 1000000
        first, second = t.report(file, "--to", f"{edge_ns // 1000000}ms"), t.report(file, "--from", f"{edge_ns // 1000000}ms")
        cnt = first["samples"]["captured"]
        t.ok(0 < cnt < len(times), f"{cnt} of {len(times)} samples")
        earliest, latest = max(earliest, times[cnt - 1] - edge_ns), min(latest, times[cnt] - edge_ns)
        t.eq(first["duration_ns"] + second["duration_ns"], whole["duration_ns"], "durations of both parts")
        t.eq(first["window"]["until_ns"], edge_ns, "window")
        t.eq(second["window"]["from_ns"], edge_ns, "window")
        for key in "samples", "switches":
            t.eq(first[key]["captured"] + second[key]["captured"], whole[key]["captured"], f"{key} of both parts")
        for part in first, second:
            own = sum(f["samples"] for f in part["functions"]) + part["samples"]["without_stack"]
            t.eq(own, part["samples"]["captured"], "samples of functions")
    t.ok(earliest <= latest, f"what is counted is what lies before the edge: {earliest} to {latest}")
    text = t.tapir("report", file, "--all", "--from", f"{int(whole['duration_ns'] * 0.8 / 1e6)}ms").out.splitlines()
    t.ok(re.search(r": [0-9.]+ m?s \([0-9.]+ s to [0-9.]+ s of [0-9.]+ m?s\) from ", next(line for line in text[1:] if not line.startswith("also: "))), text[:4])


def test_only_records_of_a_thread_are_counted(t):
    file, whole, samples = record_burner(t)
    tid = max(whole["threads"], key=lambda thread: thread["samples"])["tid"]
    one = t.report(file, "--thread", tid)
    t.eq({thread["tid"] for thread in one["threads"]}, {tid}, "threads, of which one has a row for each name that it bore")
    t.eq(one["samples"]["captured"], sum(r["tid"] == tid for r in samples), "its samples")
    t.ok("; 1 thread of burner" in one["headline"], one["headline"])
    t.ok("thread 1 is not in" in t.tapir("report", file, "--thread", 1, expect=1).err, "of no thread")
    t.ok("must be later" in t.tapir("report", file, "--from", 2, "--to", 1, expect=2).err, "a window without time")


def test_pairs_of_ones_own_are_in_the_plain_report(t):
    file, fired = record_types(t)
    first, second = sorted(fired)[:2]
    pair = f"{first},{second}"
    t.eq([i for i in t.report(file)["intervals"] if i["name"] == first], [], "without --pair")
    found = t.report(file, "--pair", pair)["intervals"]
    t.ok(any(i["count"] + i["half"] for i in found), f"--pair {pair}: {found}")
    for view in ((), ("--view", "gc")):
        none = t.tapir("report", file, *view, "--pair", "types:nope,types:nothing", expect=1)
        t.eq(none.out, "", "no report that looks as if nothing had begun")
        t.ok("has neither an event types:nope nor its end" in none.err, none.err)
        half = t.tapir("report", file, *view, "--pair", f"{first},types:nothing").err
        t.ok("has no event types:nothing" in half, half)
    t.ok("is not BEGIN,END" in t.tapir("report", file, "--pair", "x", expect=2).err, "half a pair")


def test_tables_fit_the_terminal_and_are_whole_in_a_pipe(t):
    file, _ = record_types(t)
    wide = t.tapir("report", file, "--all").out
    t.ok("…" not in wide, "nothing is cut in a pipe")
    for command in ("report", "--all", file), ("report", "--view", "offcpu", record_burner(t)[0]), ("doctor",), ("list", t.target_path("types")):
        lines = plain_lines(on_terminal(t, 80, 24, *command))
        rows = [line for line in lines if re.match(r"\s*([0-9.,]+[ %]|ok |[a-z]+ +[a-z]+ |[A-Z]{3,} )", line) and " of " not in line]
        t.ok(len(rows) > 2, f"rows of {command}: {lines}")
        t.eq([line for line in rows if len(line) > 80], [], f"{command} is wider than the terminal")
        t.eq([line for line in lines if len(line) > 80 and "  " not in line], [], f"sentences of {command} are wrapped")


def test_first_screen_fits_a_terminal_and_leads_on(t):
    """What a person reads first: the findings of --json, each with a command that works, on one screen."""
    file, report, _ = record_burner(t)
    screen = t.tapir("report", file).out
    lines = plain_lines(on_terminal(t, 80, 48, "report", file))
    t.eq(lines, screen.splitlines(), "the same on a terminal of 80 columns")
    t.ok(len(lines) <= 40, f"{len(lines)} lines")
    commands = [line for line in lines if line.lstrip().startswith(("next: ", "more: "))]
    t.eq([line for line in lines if len(line) > 80 and line not in commands], [], "lines are not wider than the terminal")
    pid = next(p["pid"] for p in report["processes"] if p["samples"])
    t.ok(lines[0].startswith(f"burner ({pid}) · "), lines[0])
    shown = report["findings"][:3]
    t.eq([line.split()[-1] for line in lines if re.match(r"\d  ", line)], [f["level"] for f in shown], "findings")
    for found in shown:
        t.ok(f"   next: tapir report {shlex.quote(file)} --view {found['view']}" in lines, f"{found['kind']}: {screen}")
    t.ok(re.search(r"^CPU +\d+%  burn_much$", screen, re.M), screen)
    t.eq(report["first_screen"], screen, "and in JSON")
    t.eq(lines[-1], f"more: tapir report {shlex.quote(file)} --all", "the last line")


def test_first_screen_of_the_machine_tells_of_each_process(t):
    """Findings of all processes together would add up what belongs to different ones; what they used adds up to the machine."""
    file = t.path("machine.tapir")
    t.tapir("record", "-a", "--sched", "-d", 1, "-f", "-o", file)
    screen, report = t.tapir("report", file).out, t.report(file)
    lines = screen.splitlines()
    t.ok(re.match(r"\S+, \d+ process(es)? · [\d.]+ m?s · ", lines[0]) and len(lines) <= 40, screen)
    t.ok(re.search(r"^CPUs       [\d.]+ of \d+: ", screen, re.M), screen)
    worst, findings = [], report["findings"]
    for at, found in enumerate(findings):  # the worst of each process, and one alone says that the machine has too few CPUs
        if not any(found["pid"] == other["pid"] or found["kind"] == other["kind"] == "neighbour" for other in findings[:at]):
            worst.append(found)
    named = [line for line in lines if re.match(r"\d  ", line)]
    t.eq(len(named), min(len(worst), 4), f"one finding of each process: {screen}")
    shown = worst
    for line, found in zip(named, shown):
        t.ok(re.search(rf"{re.escape(found['process'])}(?: and \d+ more)?: {re.escape(found['title'])} ", line), f"{found}: {line}")
    t.ok(not report["findings"] or report["headline"].startswith(f"{shown[0]['process']}: "), report["headline"])
    view = json.loads(t.tapir("report", "--view", "processes", "--json", file).out)
    used = sum(program["cpu_ns"] for program in report["programs"])
    t.ok(abs(used - view["cpu_ns"]) <= 0.01 * view["cpu_ns"], f"{used} of {view['cpu_ns']} ns")
    if not report["switches"]["lost"]:  # and what the kernel counts in ticks, of the whole recording
        cpus, by_stat = view["cpu_ns"] / view["switched_ns"], view["machine_ns"] / view["machine_wall_ns"]
        t.ok(abs(cpus - by_stat) <= 0.02 * by_stat + 0.2, f"{cpus} CPUs, by /proc/stat {by_stat}")
    piped = t.run("sh", "-c", f"cat {shlex.quote(file)} | {shlex.quote(t.tapir_path)} report --json -").out
    t.eq(json.loads(piped)["programs"], report["programs"], "the same of a pipe")
    for line in lines:
        if line.startswith("   next: "):
            t.tapir(*shlex.split(line.split(": ", 1)[1])[1:])


def test_view_tells_what_was_not_recorded_from_what_did_not_happen(t):
    file, _ = record_types(t)
    said = t.tapir("report", file, "--view", "gc").out
    t.eq(said, "collections were not recorded: `tapir record --profile gc` records them\n", "nobody asked for any")
    t.eq(json.loads(t.tapir("report", file, "--view", "threadpool", "--json").out)["recorded"], False, "in JSON")
    file, _ = record_types(t, "hotspot:gc__*")
    t.eq(t.tapir("report", file, "--view", "gc").out, "no collection was seen\n", "there was none")


def record_burner(t):
    file = t.path("burner.tapir")
    t.tapir("record", "-F", 997, "-f", "-o", file, "--", t.target_path("burner"), 400, 2)
    return file, t.report(file), t.events(file, "sample")


def test_shares_are_those_of_the_samples(t):
    file, report, samples = record_burner(t)
    own, total, modules, frame_cnt, named_cnt, stacks = (collections.Counter() for _ in range(6))
    for sample in samples:
        frames = sample.get("kernel_stack", []) + sample.get("stack", [])
        names = names_of(frames)
        # Files may have functions of one name: the loader has a _start, too.
        keys = [(name, frame["module"] or "[unknown]") for name, frame in zip(names, frames)]
        own[keys[0] if keys else None] += 1
        total.update(set(keys))
        modules.update({frame["module"] or "[unknown]" for frame in frames})
        stacks[tuple(names)] += 1
        frame_cnt[""] += len(frames)
        named_cnt[""] += sum(bool(frame["name"]) for frame in frames)
    t.eq({(f["name"], f["module"]): f["samples"] for f in report["functions"] if f["samples"]}, {k: v for k, v in own.items() if k}, "self")
    t.eq({(f["name"], f["module"]): f["total"] for f in report["functions"]}, dict(total), "total")
    t.eq({m["module"]: m["total"] for m in report["modules"]}, dict(modules), "modules")
    reported = collections.Counter()
    for stack in report["sample_stacks"]:  # two may have the same names, of functions in other files
        reported[tuple(stack["functions"])] += stack["samples"]
    t.eq(dict(reported), {k: v for k, v in stacks.items() if k}, "stacks")
    t.eq((report["samples"]["frames"], report["samples"]["frames_named"], report["samples"]["without_stack"]),
         (frame_cnt[""], named_cnt[""], own[None]), "frames, named ones, samples without a stack")
    t.eq(sum(report["samples"]["kinds"].values()) + own[None], len(samples), "kinds")
    by_thread = collections.Counter(s["tid"] for s in samples)
    rows = collections.Counter()  # a thread has one for each name that it bore
    for row in report["threads"]:
        rows[row["tid"]] += row["samples"]
    t.eq(dict(+rows), dict(by_thread), "threads")
    t.eq([f["samples"] for f in report["functions"]], sorted((f["samples"] for f in report["functions"]), reverse=True), "order")


def test_report_leads_with_what_was_found(t):
    file, report, samples = record_burner(t)
    lines = t.tapir("report", file, "--all").out.splitlines()
    share = 100 * report["functions"][0]["total"] / len(samples)  # with what the kernel does for it
    # That others have the CPUs is of the machine, and leads where it is so.
    own = [f["text"] for f in report["findings"] if f["kind"] != "neighbour"]
    found = re.match(r"[\d.]+ CPUs used, (\d+)% of the CPU in burn_much$", own[0])
    t.ok(found and abs(int(found.group(1)) - share) < 3, f"{share}: {own}")
    first = report["findings"][0]
    t.ok(lines[0].startswith(f"{first['text']} (--view {first['view']}); ") and "; 3 threads of burner (" in lines[0], f"{first}: {lines[0]}")
    t.eq(lines[0], report["headline"], "the same in JSON")
    table = lines[next(i for i, line in enumerate(lines) if "FUNCTION" in line):][:4]
    t.eq(len({line.index("burner") for line in table if "burner" in line}), 1, f"columns line up: {table}")
    pid = samples[0]["pid"]
    t.eq(t.tapir("report", file, "--all", "--pid", pid).out.splitlines()[0], lines[0], "of its only process")
    for view in ((), ("--view", "offcpu")):
        wrong = t.tapir("report", file, "--pid", 1, *view, expect=1)
        t.eq((wrong.out, wrong.err), ("", f"tapir: process 1 is not in {file}, which has {pid} (burner)\n"), "of another one")
    short = t.tapir("report", file, "--top", 1).out
    t.ok("burn_much" in short and "burn_little" not in short and "(--all shows them)" in short, short)
    t.eq(t.tapir("report", file, "--top", 0).out, t.tapir("report", file, "--all").out, "0 rows are all of them")
    short = json.loads(t.tapir("report", file, "--top", 1, "--json").out)
    t.eq([short[name] for name in ("functions", "modules", "sample_stacks")], [report[name][:1] for name in ("functions", "modules", "sample_stacks")],
         "the first rows of JSON")


def test_record_ends_with_the_finding_and_what_to_do_next(t):
    file, burner = t.path("end.tapir"), (t.target_path("burner"), 200, 1)
    err = t.tapir("record", "-F", 997, "-f", "-o", file, "--", *burner).err.splitlines()
    t.eq(err[-2:], [f"tapir: next: tapir report {file}", f"tapir:       tapir flamegraph {file} -o {t.path('end.svg')}"], "the last lines")
    report = t.report(file)
    also = [f"tapir: also: {f['text']} (--view {f['view']})" for f in report["findings"][1:3]]
    begin = err.index(f"tapir: {report['headline']}")
    t.eq(err[begin + 1:begin + 1 + len(also)], also, f"the next findings: {err}")
    t.eq(t.tapir("record", "-q", "-f", "-o", file, "--", *burner).err, "", "with -q")
    for output in "-", "/dev/null":
        err = t.run("sh", "-c", f"{t.tapir_path} record -f -o {output} -- {' '.join(map(str, burner))} >/dev/null").err
        t.ok("of the CPU in" not in err and "next:" not in err, f"-o {output}: {err}")
    err = t.tapir("record", "types:*", *EVENTS_ONLY, "-f", "-o", file, "--", t.target_path("types"), COUNT).err
    t.ok("next: tapir report" in err and "flamegraph" not in err, f"without stacks: {err}")


def test_losses_are_reported_with_their_time(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 1000, "--stacks", 10)
    line = next(line for line in t.tapir("report", file, "--all").out.splitlines() if line.startswith("lost "))
    t.ok(line.startswith("lost 12: no space in the ring buffer for a CPU sample; 58.9"), line)
    loss = t.report(file)["loss_times"][0]
    t.eq((loss["cause"], loss["count"], sum(loss["counts"])), ("sample_ring_full", 12, 12), "in JSON")


def test_one_stack_of_many_processes_is_one_row(t):
    file = t.path("forks.tapir")
    t.tapir("record", "forker:*", "--stack", *EVENTS_ONLY, "-f", "-o", file, "--", t.target_path("forker"), 4, 10)
    report = t.report(file)
    # On a busy machine some stacks end early, for another reason each.
    rows = collections.Counter((s["provider"], s["event"], s.get("callers_lost"), *s["functions"]) for s in report["stacks"])
    t.eq([row for row, cnt in rows.items() if cnt > 1], [], "rows that are the same")
    t.ok(len([p for p in report["processes"] if p["events"]]) > 1, f"processes: {report['processes']}")
    t.eq({p["exe"] for p in report["processes"] if p["events"]}, {t.target_path("forker")}, "programs of children")


def test_report_is_the_same_when_it_comes_by_a_pipe(t):
    file, _ = record_types(t)
    piped = t.run("bash", "-c", f"{t.tapir_path} report --json - < {file}")
    of_pipe, of_file = json.loads(piped.out), t.report(file)
    screens = [document.pop("first_screen") for document in (of_pipe, of_file)]  # its commands name the file
    t.eq((piped.rc, of_pipe), (0, of_file), "report of a pipe")
    t.eq(*(screen.splitlines()[0] for screen in screens), "first line of the screen")


def test_file_without_end_is_reported_and_said_to_have_none(t):
    file, fired = record_types(t)
    with open(file, "rb") as f:
        whole = f.read()
    with open(t.path("cut.tapir"), "wb") as f:
        f.write(whole[:-END_BYTES])
    result = t.tapir("report", "--all", t.path("cut.tapir"))
    screen = t.tapir("report", t.path("cut.tapir")).out
    t.ok("incomplete: " in screen, f"the first screen: {screen}")
    t.ok("incomplete: " in result.out and "is incomplete" in result.err, f"{result.out} {result.err}")
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
    held = f"is incomplete: it holds {sum(fired.values()):,} events of "
    t.ok(held in result.err and f"its last {END_BYTES - 1} bytes are part of a chunk" in result.err, result.err)
    t.eq(sum(e["captured"] for e in document["events"]), sum(fired.values()), "events before the cut")


def test_damaged_file_is_reported_and_exits_1(t):
    file, _ = record_types(t)
    with open(file, "rb") as f:
        flipped = bytearray(f.read())
    flipped[len(flipped) // 2] ^= 0x41
    with open(t.path("flipped.tapir"), "wb") as f:
        f.write(flipped)
    result = t.tapir("report", "--all", t.path("flipped.tapir"), expect=1)
    t.ok("damaged" in result.out.splitlines()[1], f"the second line says so: {result.out}")
    t.ok("is damaged" in result.err, f"stderr says so: {result.err}")
    document = json.loads(t.tapir("report", "--json", t.path("flipped.tapir"), expect=1).out)
    t.eq(document["complete"], False, "complete")


def test_no_cpu_time_is_known_when_no_samples_were_taken(t):
    file = t.path("trace.tapir")
    target = t.target_path("storm")
    t.tapir("record", "storm:hit", "--no-samples", "-f", "-o", file, "--", target, 0, 100000, 1)
    t.ok("CPU" not in t.tapir("report", file, "--all").out.splitlines()[0], "the first line of a busy program that was not sampled")


def rows_of(tables):
    """How many rows the tables of a view's JSON have: (of the view, of rows)."""
    below = [cell for table in tables for row in table for cell in row.values()
             if isinstance(cell, list) and cell and isinstance(cell[0], dict)]
    return sum(len(table) for table in tables), sum(sum(rows_of([table])) for table in below)


def test_views_have_the_same_rows_in_json_lines_and_csv(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 500, "--requests", 500, "--stacks", 100, "--hostile")
    for view in ("cpu", "gc", "offcpu", "requests"):
        document = json.loads(t.tapir("report", file, "--view", view, "--json").out)
        tables = [value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        own, below = rows_of(tables)
        lines = [json.loads(line) for line in t.tapir("report", file, "--view", view, "--jsonl").out.splitlines()]
        t.eq(len(lines), own + below, f"rows of {view} as JSON lines")
        t.ok(all("table" in line for line in lines), f"{view}: each row names its table")
        parts = [list(csv.reader(part.splitlines()))
                 for part in t.tapir("report", file, "--view", view, "--csv").out.strip().split("\r\n\r\n")]
        t.eq(sum(max(len(part) - 1, 0) for part in parts), own, f"rows of {view} as CSV")
        t.ok(all(len(row) == len(part[0]) for part in parts for row in part), f"{view}: all rows have all columns")
        t.ok(not any(cell[:1] in ("=", "+", "@") for part in parts for row in part for cell in row), f"{view}: no formula")
    t.eq(t.tapir("report", file, "--csv", expect=2).rc, 2, "CSV is of a view")


# A program that calls GC.Collect() in a loop and waits for a slow server.
CORPUS = str(pathlib.Path(__file__).resolve().parent.parent / "corpus/dotnet-induced-gc-and-slow-database.tapir")


def test_each_kind_is_explained_as_it_is_reported(t):
    found = {f["kind"]: f for f in json.loads(t.tapir("report", "--json", CORPUS).out)["findings"]}
    kinds = re.findall(r"[a-z-]+", re.search(r"is not one of ([a-z, -]+)", t.tapir(
        "report", "--explain", "no-such-kind", CORPUS, expect=2).err)[1])
    t.ok({"induced-gc", "waits", "idle"} <= set(kinds) and len(kinds) > 30, f"kinds {kinds}")
    for kind in [*found, "gc", "locks", "idle"]:
        explained = json.loads(t.tapir("report", "--explain", kind, "--json", CORPUS).out)
        listed = [f for f in explained["findings"] if f["is_listed"]]
        t.eq([f["text"] for f in listed], [found[kind]["text"]] if kind in found else [], kind)
        if kind in found:
            t.ok(explained["is_met"] and explained["measured"] >= explained["report_at"], f"{kind} is met: {explained}")
            rests_on = [(f["facts"], f["from_ns"], f["to_ns"], f["shown_by"]) for f in (listed[0], found[kind])]
            t.ok(rests_on[0] == rests_on[1] and rests_on[0][1] < rests_on[0][2] and rests_on[0][3], f"{kind} rests on {rests_on}")
        facts = [dict(number.rsplit(" ", 1) for number in f["facts"].split(", ")) for f in listed]
        if kind == "induced-gc":  # its sentence has them
            t.ok(f"{facts[0]['cnt']} of {facts[0]['of']} collections are induced" in listed[0]["text"], f"facts {facts}")


def test_what_was_not_found_is_explained_by_its_numbers(t):
    text = t.tapir("report", "--explain", "gc", CORPUS).out
    explained = json.loads(t.tapir("report", "--explain", "gc", "--json", CORPUS).out)
    t.eq((explained["report_at"], explained["is_met"], explained["findings"]), (5, False, []), "gc")
    t.ok(0 < explained["measured"] < 5, f"measured {explained['measured']}")
    t.ok(f"not found  {explained['measured']:.4g} %, and is reported from 5 % on" in text, text)
    t.ok("induced-gc" not in [c["kind"] for c in explained["close"]], "what was found is not close")
    nothing = t.tapir("report", "--explain", "humongous", CORPUS).out
    t.ok("nothing was measured" in nothing, nothing)
    for words in (["--all"], ["--view", "gc"], ["--stacks"], ["--top", "3"]):
        t.ok("--explain cannot be used with" in
             t.tapir("report", "--explain", "gc", *words, CORPUS, expect=2).err, words)


def record_two_kinds(t):
    """Events of one program and samples of it and another one, which has three threads."""
    file = t.path("where.tapir")
    script = f"{t.target_path('burner')} 200 3; {t.target_path('types')} {COUNT}"
    t.tapir("record", "types:*", "-F", 997, "--sched", "-f", "-o", file, "--", "sh", "-c", script)
    return file


def counted(t, file, condition):
    """What the report counts where it is true, and of how many: by its JSON."""
    report = t.report(file, "--where", condition)
    for key in "samples", "switches":
        t.eq(report[key]["captured"], report["where"][key]["chosen"], f"{key} where {condition}")
    t.eq(sum(e["captured"] for e in report["events"]), report["where"]["events"]["chosen"], f"events where {condition}")
    return report["where"]


def test_condition_chooses_what_is_counted(t):
    """The records one by one are the witness: each has what the condition is about."""
    file = record_two_kinds(t)
    records = {kind: t.events(file, kind) for kind in ("event", "sample")}
    whole = t.report(file)
    pids = {r["comm"]: r["pid"] for r in records["sample"] if r["comm"] in ("burner", "types")}
    tids = sorted({r["tid"] for r in records["sample"] if r["comm"] == "burner"})
    t.ok(len(tids) > 1 and records["event"], f"threads {tids} and {len(records['event'])} events")
    for text, has in ((f"pid == {pids['burner']}", lambda r: r["pid"] == pids["burner"]),
                      (f"tid in ({tids[0]}, {tids[-1]})", lambda r: r["tid"] in (tids[0], tids[-1])),
                      (f"tid != {tids[0]} && cpu == 0", lambda r: r["tid"] != tids[0] and r["cpu"] == 0),
                      ('event ~ "types:i*"', lambda r: r.get("event", "").startswith("i"))):
        where = counted(t, file, text)
        t.eq((where["events"]["chosen"], where["samples"]["chosen"]), tuple(sum(map(has, r)) for r in records.values()), text)
        t.eq((where["events"]["of"], where["samples"]["of"]), tuple(map(len, records.values())), f"of all, {text}")
    one, same = t.report(file, "--where", f"pid == {pids['burner']}"), t.report(file, "--pid", pids["burner"])
    t.eq((one["functions"], one["switches"]), (same["functions"], same["switches"]), "the same as --pid")
    t.ok("where" not in whole, "without a condition")


def test_field_that_a_record_lacks_does_not_choose_it(t):
    file = record_two_kinds(t)
    rows = t.events(file)
    name, field = next((r["event"], field) for r in rows for field, value in r["args"].items() if isinstance(value, int))
    where = counted(t, file, f'event == "types:{name}" && {field} != 12345')
    t.eq(where["events"]["chosen"], sum(r["event"] == name and r["args"][field] != 12345 for r in rows), "events")
    t.eq((where["samples"]["chosen"], where["switches"]["chosen"]), (0, 0), "what has no fields")


def test_condition_is_said_with_what_was_counted(t):
    file = record_two_kinds(t)
    samples = t.events(file, "sample")
    text = f"{sum(r['cpu'] == 0 for r in samples):,} of {len(samples):,} samples"
    screen = " ".join(t.tapir("report", "--where", "cpu == 0", file).out.split())
    t.ok("where cpu == 0: " in screen and text in screen, f"{text!r} in {screen[:400]}")
    t.ok(text in t.tapir("report", "--all", "--where", "cpu == 0", file).out, "tables")
    for view in "cpu", "offcpu":
        t.ok(text in t.tapir("report", "--view", view, "--where", "cpu == 0", file).out, view)
    view = json.loads(t.tapir("report", "--view", "cpu", "--where", "cpu == 0", "--json", file).out)
    t.eq(view["samples"], sum(r["cpu"] == 0 for r in samples), "samples of the view")
    t.ok(text in t.tapir("html", "--where", "cpu == 0", file).out, "html")
    t.eq(t.tapir("diff", "--where", "cpu == 0", file, file).out.count(text), 2, "diff, of both")


def test_condition_that_fits_nothing_has_a_caret(t):
    file = record_two_kinds(t)
    for command in ("report",), ("report", "--view", "cpu"), ("html",), ("diff", file):
        result = t.tapir(*command, "--where", "cpu == 0 && pidd == 3", file, expect=2)
        lines = result.err.splitlines()
        t.eq(result.out, "", "nothing that looks like an answer")
        t.ok("the recording has no field 'pidd'" in lines[0], result.err)
        t.eq(lines[1:3], ["  cpu == 0 && pidd == 3", "  " + " " * 12 + "^~~~"], "expression and caret")
        t.ok("everywhere: pid, tid" in lines[3], lines[3])
    result = t.tapir("report", "--where", 'pid > "x"', file, expect=2)
    t.ok("'pid' is a number, and compared with a text" in result.err, result.err)
    result = t.tapir("report", "--where", "pid ==", t.path("none.tapir"), expect=2)
    t.ok("required here" in result.err, "before the file is opened")
    t.eq(counted(t, file, "pid == 1")["samples"]["chosen"], 0, "what is true of no record is no mistake")
