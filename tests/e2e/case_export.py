# SPDX-License-Identifier: GPL-2.0-or-later
"""What other tools are given is what the file holds."""
import collections
import re

from harness import EVENTS_ONLY


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


def test_perfscript_has_a_block_an_event(t):
    out = t.tapir("export", "--format", "perfscript", record(t)).out
    blocks = out.strip().split("\n\n")
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


def collapse(text):
    """What readers of perf script's output make of it: stacks, outermost first, without offsets."""
    stacks = collections.Counter()
    for block in text.strip().split("\n\n"):
        head, *frames = block.split("\n")
        if not HEAD.fullmatch(head):
            raise ValueError(f"no head of a sample: {head!r}")
        parsed = [FRAME.fullmatch(frame) for frame in frames]
        if None in parsed:
            raise ValueError(f"no frame: {frames[parsed.index(None)]!r}")
        stacks[tuple(re.sub(r"\+0x[0-9a-f]+$", "", m.group(2)).replace(";", ":") for m in reversed(parsed))] += 1
    return stacks


def folded(text):
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, cnt = line.rsplit(" ", 1)
        stacks[tuple(re.sub(r"\+0x[0-9a-f]+$", "", name) for name in stack.split(";"))] += int(cnt)
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


def test_formats_are_named_when_none_was_given(t):
    result = t.tapir("export", "x.tapir", expect=2)
    t.ok("--format folded or --format perfscript" in result.err, result.err)
