# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir cut: a part of a recording as a smaller one. The parts are of recordings of the corpus, so that they are the same everywhere; the
whole recording, restricted by the report's own options, is the witness."""
import json
import os
import pathlib
import re

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
CONVOY = str(CORPUS / "python-lock-convoy.tapir")


def lines(t, file, *kinds):
    return [line for line in t.tapir("events", file, "--json").json_lines() if line["type"] in kinds]


def middle(t, file):
    """A stretch of half a second, in ns of CLOCK_MONOTONIC, and as the options that choose it."""
    printed = t.tapir("cut", file, "-o", t.path("whole.tapir"), "-f").err
    whole = float(re.search(r" to ([\d.]+) s of ", printed).group(1))
    return ("--from", f"{whole / 2 - 0.25:.3f}", "--to", f"{whole / 2 + 0.25:.3f}")


def test_cut_holds_the_same_records_with_their_names(t):
    stretch, part = middle(t, CONVOY), t.path("part.tapir")
    t.tapir("cut", CONVOY, *stretch, "-o", part)
    want, got = (json.loads(t.tapir("report", *words, "--json").out) for words in ((CONVOY, *stretch), (part,)))
    for key in ("samples", "switches"):
        t.eq(got[key], want[key], key)
    at = {line["time_ns"] for line in lines(t, part, "sample", "switch")}
    whole = [line for line in lines(t, CONVOY, "sample", "switch") if line["time_ns"] in at]
    kept = {(line["type"], line["time_ns"]): line for line in lines(t, part, "sample", "switch")}
    t.ok(len(whole) > 20, f"{len(whole)} records")
    for line in whole:
        t.eq(kept[line["type"], line["time_ns"]].get("stack"), line.get("stack"), "names of its stack")
    t.ok(os.path.getsize(part) < os.path.getsize(CONVOY), "it is smaller")
    t.eq([f["kind"] for f in got["findings"]], [f["kind"] for f in want["findings"]], "findings")
    t.ok(abs(got["findings"][0]["magnitude"] - want["findings"][0]["magnitude"]) < 0.15, "threads that waited before it wait from its beginning")


def test_report_says_what_was_left_out(t):
    part = t.path("part.tapir")
    stretch = middle(t, CONVOY)
    t.tapir("cut", CONVOY, *stretch, "-o", part)
    whole, got = t.report(CONVOY), t.report(part)
    said = re.search(r"(?m)^cut: ([\d.]+) s to ([\d.]+) s of [\d.]+ m?s; left out: .* (\d+) samples?, (\d+) switch", t.tapir("report", part, "--all").out)
    t.ok(said, "the report's line")
    t.eq(said.groups()[:2], (stretch[1], stretch[3]), "the stretch")
    t.eq(int(said.group(3)), whole["samples"]["captured"] - got["samples"]["captured"], "samples")
    t.ok("part of a recording: " + stretch[1] in t.tapir("report", part).out, "its first screen")
    t.ok("left out" in got["meta"]["cut"], "in JSON, too")
    t.tapir("cut", part, "--to", "0.1", "-o", t.path("again.tapir"))
    t.ok("of what had been cut before" in t.report(t.path("again.tapir"))["meta"]["cut"], "cut twice")


def test_cut_by_process_and_by_event(t):
    file = str(CORPUS / "jvm-more-threads.tapir")
    pid = t.report(file)["processes"][0]["pid"]
    t.tapir("cut", file, "-p", str(pid), "--event", "thread__*", "-o", t.path("part.tapir"))
    want = [line for line in lines(t, file, "event") if line["event"].startswith("thread__")]
    t.eq(lines(t, t.path("part.tapir"), "event"), want, "these events, with their arguments and stacks")
    t.eq({line["event"] for line in lines(t, t.path("part.tapir"), "event")}, {"thread__start"}, "and no others")
    err = t.tapir("cut", file, "-p", "4194304", "-o", t.path("none.tapir"), expect=1).err
    t.ok("process 4194304 is not in" in err and not os.path.exists(t.path("none.tapir")), err)


def test_cut_that_fails_leaves_no_file(t):
    out = t.path("out.tapir")
    t.ok("is the recording itself" in t.tapir("cut", CONVOY, "-o", CONVOY, "-f", expect=2).err, "the same file")
    t.ok("-o OUT is required" in t.tapir("cut", CONVOY, expect=2).err, "no OUT")
    t.tapir("cut", CONVOY, "--from", "2", "--to", "1", "-o", out, expect=2)
    t.ok("nothing was written" in t.tapir("cut", CONVOY, "--from", "900", "-o", out, expect=1).err, "after the end")
    t.ok("No space left" in t.tapir("cut", CONVOY, "-o", "/dev/full", expect=1).err, "a full disk")
    t.eq([name for name in os.listdir(t.tmp) if name.startswith("out")], [], "nothing is left")
    pathlib.Path(out).write_text("mine", encoding="utf-8")
    t.ok("it exists" in t.tapir("cut", CONVOY, "-o", out, expect=1).err, "without --force")
    t.eq(pathlib.Path(out).read_text(encoding="utf-8"), "mine", "the file that was there")
    t.tapir("cut", CONVOY, "-o", out, "-f")
    t.eq(len(t.report(out)["findings"]), len(t.report(CONVOY)["findings"]), "replaced")


def test_ctrl_c_leaves_no_file(t):
    """It reads a pipe, which holds 64 KB: what was written is more, so that it reads when the write has ended, and waits for the rest."""
    fifo = t.path("fifo")
    os.mkfifo(fifo)
    child = t.start("sh", "-c", 'exec "$0" cut - -o "$1" <"$2"', t.tapir_path, t.path("out.tapir"), fifo)
    with open(fifo, "wb", buffering=0) as pipe:
        pipe.write(pathlib.Path(CONVOY).read_bytes() + bytes(200_000))
        child.signal(2)
        t.ok(child.wait(30).rc != 0, "it is interrupted")
    t.eq([name for name in os.listdir(t.tmp) if name.startswith("out")], [], "nothing is left")
