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
    return [frame["name"] or (f"{frame['module'].rsplit('/', 1)[-1]}+{frame['offset']:#x}" if frame["module"]
                              else f"{frame['addr']:#x}") for frame in stack]


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
        own[names[0] if names else None] += 1
        total.update(set(names))
        modules.update({frame["module"] or "[unknown]" for frame in frames})
        stacks[tuple(names)] += 1
        frame_cnt[""] += len(frames)
        named_cnt[""] += sum(bool(frame["name"]) for frame in frames)
    t.eq({f["name"]: f["samples"] for f in report["functions"] if f["samples"]}, {k: v for k, v in own.items() if k}, "self")
    t.eq({f["name"]: f["total"] for f in report["functions"]}, dict(total), "total")
    t.eq({m["module"]: m["total"] for m in report["modules"]}, dict(modules), "modules")
    t.eq({tuple(s["functions"]): s["samples"] for s in report["sample_stacks"]}, {k: v for k, v in stacks.items() if k}, "stacks")
    t.eq((report["samples"]["frames"], report["samples"]["frames_named"], report["samples"]["without_stack"]),
         (frame_cnt[""], named_cnt[""], own[None]), "frames, named ones, samples without a stack")
    t.eq(sum(report["samples"]["kinds"].values()) + own[None], len(samples), "kinds")
    by_thread = collections.Counter(s["tid"] for s in samples)
    t.eq({r["tid"]: r["samples"] for r in report["threads"] if r["samples"]}, dict(by_thread), "threads")
    t.eq([f["samples"] for f in report["functions"]], sorted((f["samples"] for f in report["functions"]), reverse=True), "order")


def test_report_leads_with_what_was_found(t):
    file, report, samples = record_burner(t)
    lines = t.tapir("report", file).out.splitlines()
    share = 100 * report["functions"][0]["samples"] / len(samples)
    t.ok(lines[0].startswith(f"{share:.1f}% of the CPU time in burn_much (native); 3 threads of burner ("), lines[0])
    t.eq(lines[0], report["headline"], "the same in JSON")
    table = lines[next(i for i, line in enumerate(lines) if "FUNCTION" in line):][:4]
    t.eq(len({line.index("burner") for line in table if "burner" in line}), 1, f"columns line up: {table}")
    pid = samples[0]["pid"]
    t.eq(t.tapir("report", file, "--pid", pid).out.splitlines()[0], lines[0], "of its only process")
    for view in ((), ("--view", "offcpu")):
        wrong = t.tapir("report", file, "--pid", 1, *view, expect=1)
        t.eq((wrong.out, wrong.err), ("", f"tapir: process 1 is not in {file}: {pid} (burner) is\n"), "of another one")
    short = t.tapir("report", file, "--top", 1).out
    t.ok("burn_much" in short and "burn_little" not in short and "(--all shows them)" in short, short)


def test_losses_are_said_with_their_time(t):
    file = t.path("made.tapir")
    t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", 1000, "--stacks", 10)
    line = next(line for line in t.tapir("report", file).out.splitlines() if line.startswith("lost "))
    t.ok(line.startswith("lost 12: no space in the ring buffer for a CPU sample; 58.9"), line)
    loss = t.report(file)["loss_times"][0]
    t.eq((loss["cause"], loss["count"], sum(loss["counts"])), ("sample_ring_full", 12, 12), "in JSON")


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
