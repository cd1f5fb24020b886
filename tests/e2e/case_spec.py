# SPDX-License-Identifier: GPL-2.0-or-later
"""What a SPEC says about arguments is what is recorded."""
from harness import args_of

TEXT = "storm-thread-000"
COUNT = 20


def storm(t, args):
    _, events = t.record([f"storm:hit::{args}"], ["storm", 0, COUNT, 1])
    t.eq(len(events), COUNT, "events")
    return events


def test_string_is_cut_where_the_spec_says(t):
    for event in storm(t, "arg4=str:5"):
        t.eq(args_of(event)[4], TEXT[:5], "text")
        t.eq(event["marks"], {"arg4": "cut"}, "marks")


def test_string_is_whole_when_it_just_fits(t):
    for event in storm(t, "arg4=str:16"):
        t.eq((args_of(event)[4], "marks" in event), (TEXT, False), "text")


def test_length_is_taken_from_the_argument_the_spec_names(t):
    for i, event in enumerate(storm(t, "arg4=strn(arg1)")):
        text = args_of(event)[4]
        t.eq(text[:16], TEXT[:i], f"text of length {i}") if i <= 16 else t.ok(len(text) <= i, "length")


def test_bytes_are_hex_when_the_spec_says_buf(t):
    for i, event in enumerate(storm(t, "arg4=buf(arg1)")[:16]):
        t.eq(args_of(event)[4], TEXT[:i].encode().hex(), f"{i} bytes")


def test_pointer_is_a_number_when_the_spec_says_ptr(t):
    values = {args_of(event)[4] for event in storm(t, "arg4=ptr")}
    t.ok(len(values) == 1 and isinstance(values.pop(), int), "one address")


def test_argument_that_is_not_there_is_refused(t):
    result = t.tapir("record", "storm:hit::arg7=str", "-o", t.path("x.tapir"), "--", t.target_path("storm"), 0, 1,
                     expect=None)
    t.ok(result.rc == 1 and "but no arg7" in result.err, f"{result.rc} {result.err}")


def test_only_what_was_typed_is_missed(t):
    file = t.path("typed.tapir")
    said = t.tapir("record", "--profile", "gc", "types:*", "typo:*", "--no-samples", "-o", file, "--",
                   t.target_path("types"), 1).err
    t.ok("typo:*" in said, "the SPEC that was typed wrongly is named")
    t.ok("hotspot" not in said and "python" not in said, "the profile's SPECs for other runtimes are not")


def test_glob_without_a_match_is_reported(t):
    file = t.path("glob.tapir")
    t.tapir("record", "types:*", "-o", file, "--", t.target_path("types"), 1)
    every = t.tapir("events", file, "types:*", "--json").out
    t.ok(every, "the provider's events")
    t.eq(t.tapir("events", file, "types", "--json").out, every, "its name alone means the same")
    none = t.tapir("events", file, "tpyes:*")
    t.eq(none.out, "", "nothing for a name that is not there")
    t.ok("matches tpyes:*" in none.err, "which is said")
    t.eq(t.tapir("events", file, "types:*").err, "", "and only then")
