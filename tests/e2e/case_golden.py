# SPDX-License-Identifier: GPL-2.0-or-later
"""What each reader makes of a small recording of every record type, byte for byte. When a change of the
output is meant: tests/e2e/run.py --only 'golden.*' says what differs; look at it, then write the new file.
"""
import difflib
import pathlib
import re

FILE = "tests/data/golden-v1.tapir"  # the runner stands in the repository
READERS = {"screen.txt": ("report",), "report.txt": ("report", "--all"), "report.json": ("report", "--json"), "events.txt": ("events",),
           "events.json": ("events", "--json"), "folded.txt": ("export", "--format", "folded"),
           "perfscript.txt": ("export", "--format", "perfscript"), "flamegraph.svg": ("flamegraph",)}


def without_code(svg):
    """Style and script are sources of their own."""
    return re.sub(r"<(style|script)>.*?</\1>", r"<\1/>", svg, flags=re.DOTALL)


def test_readers_print_what_they_always_printed(t):
    for name, reader in READERS.items():
        made = without_code(t.tapir(*reader, FILE).out)
        golden = pathlib.Path("tests/data/golden-v1", name).read_text(encoding="utf-8")
        diff = "\n".join(difflib.unified_diff(golden.splitlines(), made.splitlines(), name, "now", lineterm="", n=0))
        t.ok(made == golden, diff[:3000])
