# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments of every type: what was recorded equals what the program passed."""
from harness import args_of, named

COUNT = 5


def compare(t, events, expected):
    """Each probe fired as often, and with the arguments, as the target says."""
    for line in expected:
        name = line["event"]
        hits = named(events, name)
        t.eq(len(hits), line["count"], f"events of {name}")
        for hit in hits:
            t.eq(args_of(hit), line["args"], f"arguments of {name}")


def test_arguments_are_equal_when_they_have_every_type(t):
    said, events = t.record(["types"], ["types", COUNT])
    compare(t, events, [line for line in said if line["event"] != "types:strings"])


def test_strings_are_equal_when_short_and_marked_when_cut(t):
    said, events = t.record(["types:strings"], ["types", COUNT])
    expected = next(line for line in said if line["event"] == "types:strings")
    t.eq(len(events), COUNT, "events of types:strings")
    for event in events:
        args = args_of(event)
        t.eq(args[:4], expected["args"][:4], "empty, NULL, UTF-8 and 300 characters")
        whole = expected["args"][4]
        t.ok(args[4] == whole or (args[4] != whole and whole.startswith(args[4].rstrip("."))
                                  and len(args[4]) >= 128),
             f"5,000 characters, or their beginning: {len(args[4])} of {len(whole)}")


def test_identity_is_exact_when_an_event_is_recorded(t):
    _, events = t.record(["types:none"], ["types", 3])
    t.eq({(e["comm"], e["provider"], e["event"]) for e in events}, {("types", "types", "none")}, "identity")
    t.eq(len({(e["pid"], e["tid"]) for e in events}), 1, "processes and threads")
    t.ok(all(e["pid"] == e["tid"] for e in events), "the first thread's tid is the pid")
    times = [e["time_ns"] for e in events]
    t.ok(times == sorted(times) and len(set(times)) == 3, f"times rise: {times}")
