# SPDX-License-Identifier: GPL-2.0-or-later
"""What other tools are given is what the file holds."""
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


def test_formats_are_named_when_none_was_given(t):
    result = t.tapir("export", "x.tapir", expect=2)
    t.ok("--format folded or --format perfscript" in result.err, result.err)
