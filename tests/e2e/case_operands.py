# SPDX-License-Identifier: GPL-2.0-or-later
"""Every form of operand: the recorded value is the one that lay there."""
from harness import args_of, named


def unreadable(value):
    """null, or a marker that says why: never a number and never an empty string."""
    return value is None or isinstance(value, dict) or (isinstance(value, str) and value != "")


def test_recorded_value_is_equal_when_the_operand_has_every_form(t):
    said, events = t.record(["operands"], ["operands", 2])
    wrong = []
    for line in (line for line in said if "operand" in line):
        hits = named(events, line["event"])
        if len(hits) != line["count"]:
            wrong.append(f"{line['event']} ({line['operand']}): {len(hits)} events of {line['count']}")
        for got in map(args_of, hits):
            equal = len(got) == len(line["args"]) and all(
                unreadable(value) if expected is None else value == expected
                for value, expected in zip(got, line["args"]))
            if not equal:
                wrong.append(f"{line['event']} ({line['operand']}): {got}, expected {line['args']}")
    t.ok(not wrong, "\n".join(wrong))
