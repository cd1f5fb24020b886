# SPDX-License-Identifier: GPL-2.0-or-later
"""What reads or writes a recording as a stream takes as much memory for a long one as for a short one. The limit is of private writable
memory (RLIMIT_DATA): libraries and their versions do not count. A command that keeps the records needs more than its figure, and fails.

The recording that is read has 250,000 records, 16 MiB as they are in memory; a figure is what the command needed when it was measured,
rounded up, and 8 MiB more. While it is recorded, 800,000 events go through, 70 MiB; how many wait at one time depends on the load, so that
those figures have 32 MiB more."""
from harness import EVENTS_ONLY

SAMPLES, EVENTS = 200_000, 50_000
READ_MIB = {("report",): 44,
            ("report", "--view", "cpu"): 38,
            ("export", "--format", "folded", "-o", "/dev/null"): 40,
            ("events",): 22,
            ("query", "SELECT count(*), sum(tid) FROM samples"): 22,
            ("cut", "-p", "4000,4100", "-o", "PART"): 36,
            ("symbolize", "-o", "PART"): 36}
FIRED = 400_000  # by each of two threads, 500 a millisecond
LIVE_MIB = {("record", *EVENTS_ONLY, "-o", "PART"): 112,
            ("trace",): 112}


def limited(t, mib, command, *rest):
    """The words that run tapir with so much memory; PART is a new file, and output goes nowhere."""
    words = [t.path(command[0] + ".tapir") if word == "PART" else word for word in command]
    return ["sh", "-c", 'exec "$@" >/dev/null', "sh", t.need("prlimit"), f"--data={mib << 20}", t.tapir_path, *words, *rest]


def check(t, result, mib, command):
    what = f"tapir {' '.join(command)} with {mib} MiB: {result.err[-300:]}"
    t.eq(result.rc, 0, what)
    t.ok("out of memory" not in result.err, what)


def test_reading_stays_below_its_limit_however_much_there_is(t):
    file = t.path("long.tapir")
    t.eq(t.run(f"{t.build}/tests/bench/make_trace", file, "--samples", SAMPLES, "--events", EVENTS, "--stacks", 500, "--depth", 4,
               "--seconds", 40).rc, 0, "make_trace")
    for command, mib in READ_MIB.items():
        words = (command[0], file, *command[1:])
        check(t, t.run(*limited(t, mib, words)), mib, words)


def test_recording_stays_below_its_limit_however_much_comes(t):
    for command, mib in LIVE_MIB.items():
        target = t.target("ringer", "--wait", FIRED, 2, 500)
        tapir = t.start(*limited(t, mib, command, "ringer:tick", "-p", target.pid))
        tapir.wait_ready()
        target.go()
        target.wait()
        check(t, tapir.wait(), mib, command)
        if command[0] == "record":
            t.ok(sum(event["captured"] for event in t.report(t.path("record.tapir"))["events"]) > 0, "nothing was recorded")
