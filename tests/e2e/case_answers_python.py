# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names a CPython whose threads wait for the GIL, and the thread that has it. programs/gil.py has a mode for
each way; the witness is what its workers' clocks say beyond what they meant to sleep. So does programs/asyncio_loop.py, of whose event
loop the witness is how long its handler kept it, and programs/python_locks.py, of whose threads the clocks say how long they waited for a
lock. Debian's python3 has no symbols but exported ones."""
import pathlib
import re

from answers import alone, has_none, leads, measures, near, recorded, span, within

ALONE = True  # it measures time
PROGRAMS = pathlib.Path(__file__).parent / "programs"
SOURCE, LOOP, LOCKS = (str(PROGRAMS / name) for name in ("gil.py", "asyncio_loop.py", "python_locks.py"))
PAIRS = str(PROGRAMS / "python_pairs.py")
SECONDS = 3
LOCK_SECONDS = 1.5
# Unit tests of made-up recordings hold them, too.
CHECK_LONG = {"test_first_line_names_the_event_loop_that_is_blocked", "test_first_line_tells_waits_for_locks_from_others_by_names",
              "test_worse_one_of_two_defects_leads"}
PYTHON = "/usr/bin/python3"
MODES = ("held", "shared", "released", "idle")


@alone
def test_first_line_names_the_gil_and_who_has_it(t):
    answers = recorded(t, {mode: (PYTHON, SOURCE, mode) for mode in MODES}, SECONDS)
    report, counted = answers["held"]
    begin, end = span(t, t.path("answers.tapir"))
    near(t, leads(t, report, "locks", "for the GIL", "of the interpreter's CPU time"), 1e9 * within(counted["waits"], begin, end) / (end - begin),
         "threads")
    holder = re.search(r"thread (\d+) \(", report["findings"][0]["text"]).group(1)
    t.eq(int(holder), counted["holder"], "the thread that holds it")
    report, counted = answers["shared"]
    leads(t, report, "locks", "for the GIL", "threads take turns in the interpreter")
    for mode in ("released", "idle"):
        waiting = [f["text"] for f in answers[mode][0]["findings"] if "GIL" in f["text"] and f["magnitude"] > 0.6]
        measures(t, not waiting, f"{mode}: {waiting}")


@alone
def test_first_line_names_the_event_loop_that_is_blocked(t):
    answers = recorded(t, {mode: (PYTHON, LOOP, mode) for mode in ("sleep", "compute", "callback", "idle")}, SECONDS)
    begin, end = span(t, t.path("answers.tapir"))
    for mode, words in (("sleep", ("event loop", "asleep")), ("compute", ("event loop",)), ("callback", ("event loop", "asleep"))):
        report, counted = answers[mode]
        near(t, leads(t, report, "event-loop", *words), 100e9 * within(counted["waits"], begin, end) / (end - begin), f"percent of the time, {mode}")
    measures(t, "event loop" not in str(answers["idle"][0]["findings"]), f"idle: {answers['idle'][0]['findings']}")


def waiting(t, counted):
    """Threads, on average, by their own clocks."""
    begin, end = span(t, t.path("answers.tapir"))
    return 1e9 * within(counted["waits"], begin, end) / (end - begin)


def is_lock(t, report, counted, words):
    """Its functions have names where threads were seen at the beginning and at the end."""
    near(t, leads(t, report, "locks", "for a Python lock: ", ", in got_lock python_locks.py", words), waiting(t, counted), f"threads {words}")


@alone
def test_first_line_names_the_lock_for_which_threads_wait(t):
    answers = recorded(t, {mode: (PYTHON, LOCKS, mode) for mode in ("convoy", "hog", "queue")}, LOCK_SECONDS)
    is_lock(t, *answers["convoy"], "; whoever has it sleeps")
    report, counted = answers["hog"]
    is_lock(t, report, counted, ", and sleeps")
    t.eq(int(re.search(r"thread (\d+) \(", report["findings"][0]["text"]).group(1)), counted["holder"], "the thread that holds it")
    has_none(t, answers["queue"][0], "locks")  # threads that wait for work


@alone
def test_first_line_tells_waits_for_locks_from_others_by_names(t):
    answers = recorded(t, {mode: (PYTHON, LOCKS, mode) for mode in ("pair", "full", "deadlock", "pool")}, LOCK_SECONDS)
    is_lock(t, *answers["pair"], "; whoever has it sleeps")
    report, counted = answers["full"]
    near(t, leads(t, report, "waits", "for a full queue in fill python_locks.py"), waiting(t, counted), "threads, full")
    report, counted = answers["deadlock"]
    near(t, leads(t, report, "deadlock", "for a Python lock throughout", " in transfer python_locks.py"), waiting(t, counted), "threads, deadlock")
    has_none(t, answers["pool"][0], "locks")


@alone
def test_worse_one_of_two_defects_leads(t):
    """One program after the other: what keeps the interpreter takes a CPU."""
    for mode, words in (("gil-lock", ("locks", "for the GIL", "of the interpreter's CPU time")), ("lock-gil", ("locks", "for a Python lock: ", "in hold"))):
        report, counted = recorded(t, {mode: (PYTHON, PAIRS, mode)}, LOCK_SECONDS)[mode]
        near(t, leads(t, report, *words), waiting(t, counted), f"threads, {mode}")
    report, counted = recorded(t, {"loop": (PYTHON, PAIRS, "loop-exceptions")}, SECONDS)["loop"]
    near(t, leads(t, report, "event-loop", "asleep"), 100 * waiting(t, counted), "percent of the time")
