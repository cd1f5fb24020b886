# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir diff: two recordings of one load have no difference, those of different programs have it, and counts are the programs' own."""
import json

CORPUS = "tests/corpus/"  # the runner stands in the repository
STEADY = ["python-gil-held", "native-mutex-convoy", "dotnet-lock-convoy"]
DEFECTS = {  # (without, with): a table and a word of what is in it
    ("native-idle", "native-sort"): ("cpu", "sort_prices"),
    ("node-calm", "node-computes"): ("cpu", "burn"),
    ("jvm-balanced", "jvm-monitor-convoy"): ("counters", "contended-monitor-enters"),
}


def compared(t, first, second, *options):
    return json.loads(t.tapir("diff", "--json", first, second, *options).out)


def test_halves_of_one_recording_do_not_differ(t):
    for name in STEADY:
        halves = [t.path(f"{name}-{i}.tapir") for i in range(2)]
        for i, half in enumerate(halves):
            t.tapir("cut", f"{CORPUS}{name}.tapir", "--from", f"{0.2 + 0.6 * i:.1f}", "--to", f"{0.8 + 0.6 * i:.1f}", "-o", half)
        answer = compared(t, *halves)
        t.eq(answer["changed"], 0, f"{name}: {answer['headline']}")
        t.ok(answer["compared"] > 5, f"{name}: figures were compared")


def test_a_defect_is_what_grew(t):
    for (without, having), (table, word) in DEFECTS.items():
        files = [f"{CORPUS}{name}.tapir" for name in (without, having)]
        grown = [row["name"] for row in compared(t, *files)[table] if row["second"] > row["first"]]
        t.ok(any(word in name for name in grown), f"{having}: {grown}")
        t.ok(t.tapir("diff", *files).out.splitlines()[0], f"{having}: a sentence comes first")
        same = compared(t, files[1], files[1])
        t.eq(same["changed"], 0, f"{having} and itself: {same['headline']}")


def test_counts_are_those_of_the_program(t):
    files, fired = [], []
    for events in (400, 1200):
        files.append(t.path(f"{events}.tapir"))
        run = t.tapir("record", "asked:*", "-f", "-o", files[-1], "--", t.target_path("asked"), 2, events, 50)
        fired.append(json.loads(run.out.splitlines()[-1])["fired"])
    answer = compared(t, *files, "--all")
    rows = {row["name"]: row for row in answer["events"]}
    order = rows["asked:order"]
    for side, expected in zip(("first", "second"), fired):
        t.eq(round(order[side] * answer[f"{side}_span_ns"] / 1e9), expected, f"events of the {side} recording")
    works = {row["figure"]: row for row in answer["intervals"] if row["name"] == "asked:work"}
    t.eq(round(works["count"]["second"] * answer["second_span_ns"] / 1e9), fired[1], "its intervals")
    t.tapir("diff", *files, "--fail-on", 'count("asked:order") > 1000000000')
    failed = t.tapir("diff", *files, "--fail-on", 'count("asked:order") > 0', expect=1)
    t.ok('count("asked:order") is' in failed.err, failed.err)


def test_a_wrong_condition_is_explained(t):
    files = [f"{CORPUS}native-idle.tapir", f"{CORPUS}native-sort.tapir"]
    t.ok("is new" in t.tapir("diff", *files, "--fail-on", 'sum("sort_prices") > 1.2x', expect=1).err, "from nothing to something")
    t.ok("neither recording" in t.tapir("diff", *files, "--fail-on", 'p99("nothing") > 2x', expect=1).err, "a name that is none")
    t.ok("the figures are" in t.tapir("diff", *files, "--fail-on", 'p42("sort_prices") > 2x', expect=1).err, "a figure that is none")
    t.ok("not known" in t.tapir("diff", *files, "--fail-on", 'p99("sort_prices") > 2x', expect=1).err, "a figure that is not known")
    t.ok("required" in t.tapir("diff", *files, "--fail-on", 'p99("x" > 2x', expect=2).err, "a mistake")
    t.ok("no requests" in t.tapir("diff", *files, "--per", "request", expect=2).err, "a base that is not there")
    t.ok("two recordings" in t.tapir("diff", files[0], expect=2).err, "one recording")
