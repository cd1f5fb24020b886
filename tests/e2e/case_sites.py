# SPDX-License-Identifier: GPL-2.0-or-later
"""Many sites of one program."""
import collections
import os

from harness import args_of


def test_every_site_fires_when_there_are_500(t):
    _, events = t.record(["manysites"], ["manysites", 3])
    counts = collections.Counter((e["event"], *args_of(e)) for e in events)
    t.eq(counts, {(f"s{i:03d}", i): 3 for i in range(500)}, "events by name and argument")
    headline = t.report(t.path("trace.tapir"))["headline"]
    t.ok("1,500 events; nothing lost" in headline, f"no kind is more than the others: {headline}")


def test_every_site_fires_when_each_needs_a_file_descriptor(t):
    """Without uprobe_multi; more sites than the limit of open files allows at first."""
    file = t.path("trace.tapir")
    env = {**os.environ, "TAPIR_DISABLE": "uprobe_multi"}
    result = t.run(t.need("prlimit"), "--nofile=48:4096", t.tapir_path, "record", "manysites:s0[34]*", "--force", "-o",
                   file, "--", t.target_path("manysites"), 3, env=env)
    t.eq(result.rc, 0, result.err)
    counts = collections.Counter((e["event"], *args_of(e)) for e in t.events(file))
    t.eq(counts, {(f"s{i:03d}", i): 3 for i in range(30, 50)}, "events by name and argument")


def test_only_matching_sites_fire_when_the_spec_is_a_glob(t):
    _, events = t.record(["manysites:s04*"], ["manysites", 2])
    t.eq(sorted({e["event"] for e in events}), [f"s04{i}" for i in range(10)], "names")
    t.eq(len(events), 20, "events")
