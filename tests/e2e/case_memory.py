# SPDX-License-Identifier: GPL-2.0-or-later
"""What reads a recording as a stream takes as much memory for a long one as for a short one. The limit is of private writable
memory (RLIMIT_DATA): libraries and their versions do not count. The recording has 250,000 records, 16 MiB as they are in memory.
Each figure is what the command needed when it was measured, rounded up, and 8 MiB more: a command that keeps the records needs more than that."""

SAMPLES, EVENTS = 200_000, 50_000
MIB = {("report",): 44,
       ("report", "--view", "cpu"): 38,
       ("export", "--format", "folded", "-o", "/dev/null"): 40,
       ("events",): 22}


def test_reading_stays_below_its_limit_however_much_there_is(t):
    file = t.path("long.tapir")
    t.eq(t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", SAMPLES, "--events", EVENTS, "--stacks", 500, "--depth", 4,
               "--seconds", 40).rc, 0, "make_trace")
    for command, mib in MIB.items():
        result = t.run(t.need("prlimit"), f"--data={mib << 20}", t.tapir_path, *command, file)
        t.eq(result.rc, 0, f"tapir {' '.join(command)} with {mib} MiB: {result.err[-300:]}")
