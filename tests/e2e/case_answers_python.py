# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names a CPython whose threads wait for the GIL, and the thread that has it. programs/gil.py has a mode for
each way; the witness is what its workers' clocks say beyond what they meant to sleep. So does programs/asyncio_loop.py, of whose event
loop the witness is how long its handler kept it, and programs/python_locks.py, of whose threads the clocks say how long they waited for a
lock. Debian's python3 has no symbols but exported ones. programs/python_hot.py counts the CPU time of its functions itself."""
import pathlib
import re

from answers import first_finding, has_none, leads, measured, measures, near, recorded, span, within

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SOURCE, LOOP, LOCKS = (str(PROGRAMS / name) for name in ("gil.py", "asyncio_loop.py", "python_locks.py"))
PAIRS, HOT = (str(PROGRAMS / name) for name in ("python_pairs.py", "python_hot.py"))
HOT_SECONDS = 4
SECONDS = 3
LOCK_SECONDS = 1.5
# What recordings of the corpus hold, too: python-*.
CHECK_LONG = {"test_first_line_names_the_event_loop_that_is_blocked", "test_first_line_names_the_gil_and_who_has_it",
              "test_first_line_names_the_lock_for_which_threads_wait",
              "test_first_line_tells_waits_for_locks_from_others_by_names",
              "test_worse_one_of_two_defects_leads", "test_first_line_names_the_function_that_computes"}
PYTHON = "/usr/bin/python3"
MODES = ("held", "shared", "released", "idle")


def near_waiting(t, said, counted, what, times=1):
    """Threads, on average, by their own clocks, which continue until they run again: a wait for a CPU is no part of what they waited for."""
    begin, end = span(t, t.path("answers.tapir"))
    seconds = (end - begin) / 1e9
    near(t, said, times * within(counted["waits"], begin, end) / seconds, what, less=times * counted["no_cpu"] / seconds)


@measured
def test_first_line_names_the_gil_and_who_has_it(t):
    answers = recorded(t, {mode: (PYTHON, SOURCE, mode) for mode in MODES}, SECONDS)
    report, counted = answers["held"]
    first = first_finding(t, report, "locks", "for the GIL", "of the interpreter's CPU time, most in add_up gil.py")
    near_waiting(t, first["magnitude"], counted, "threads")
    t.eq(int(re.search(r"thread (\d+) \(", first["text"]).group(1)), counted["holder"], "the thread that holds it")
    report, counted = answers["shared"]
    leads(t, report, "locks", "for the GIL", "threads take turns in the interpreter")
    for mode in ("released", "idle"):
        waiting = [f["text"] for f in answers[mode][0]["findings"] if "GIL" in f["text"] and f["magnitude"] > 0.6]
        measures(t, not waiting, f"{mode}: {waiting}")


@measured
def test_first_line_names_the_function_that_computes(t):
    """Without -X perf, on any Python: each sample has the functions that its interpreter runs."""
    file = t.path("answers.tapir")
    report, counted = recorded(t, {"hot": (PYTHON, HOT)}, HOT_SECONDS)["hot"]
    first_finding(t, report, "cpu", "of the CPU in weigh python_hot.py")
    samples = [line["stack"] for line in t.tapir("events", file, "--json").json_lines() if line["type"] == "sample" and line.get("stack")]
    found, of = (sum(any(name in (frame.get("name") or "") for frame in stack) for stack in samples) for name in ("py::weigh:", "py::measured:"))
    share = counted["weigh"] / (counted["weigh"] + counted["pack"])
    bound = 3 * (share * (1 - share) / of) ** 0.5 + 0.01
    measures(t, abs(found / of - share) <= bound, f"{found} of {of}, by its own clock {share:.3f}")
    own = {row["function"].split(":")[2]: row for row in t.report(file, "--view", "cpu")["own_functions"]}
    measures(t, abs(own["weigh"]["samples"] / own["measured"]["total"] - share) <= bound, f"{own}, by its own clock {share:.3f}")


@measured
def test_first_line_names_the_event_loop_that_is_blocked(t):
    answers = recorded(t, {mode: (PYTHON, LOOP, mode) for mode in ("sleep", "compute", "callback", "computing-callback", "idle")}, SECONDS)
    for mode, words in (("sleep", ("event loop", "asleep")), ("compute", ("event loop",)), ("callback", ("event loop", "asleep")),
                        ("computing-callback", ("event loop", " in count_up asyncio_loop.py"))):
        report, counted = answers[mode]
        near_waiting(t, leads(t, report, "event-loop", *words), counted, f"percent of the time, {mode}", 100)
    measures(t, "event loop" not in str(answers["idle"][0]["findings"]), f"idle: {answers['idle'][0]['findings']}")


def is_lock(t, report, counted, words):
    """Its functions have names where threads were seen at the beginning and at the end."""
    near_waiting(t, leads(t, report, "locks", "for a Python lock: ", ", in got_lock python_locks.py", words), counted, f"threads {words}")


@measured
def test_first_line_names_the_lock_for_which_threads_wait(t):
    answers = recorded(t, {mode: (PYTHON, LOCKS, mode) for mode in ("convoy", "hog", "queue")}, LOCK_SECONDS)
    is_lock(t, *answers["convoy"], "; the holder sleeps")
    report, counted = answers["hog"]
    is_lock(t, report, counted, ", and sleeps")
    t.eq(int(re.search(r"thread (\d+) \(", report["findings"][0]["text"]).group(1)), counted["holder"], "the thread that holds it")
    text = t.tapir("report", "--view", "offcpu", t.path("answers.tapir")).out
    t.ok("py::got_lock:" in text and "_PyEval" not in text, f"the program's callers, not the interpreter's: {text[:600]}")
    has_none(t, answers["queue"][0], "locks")  # threads that wait for work


@measured
def test_first_line_tells_waits_for_locks_from_others_by_names(t):
    answers = recorded(t, {mode: (PYTHON, LOCKS, mode) for mode in ("pair", "full", "deadlock", "pool")}, LOCK_SECONDS)
    is_lock(t, *answers["pair"], "; the holder sleeps")
    report, counted = answers["full"]
    near_waiting(t, leads(t, report, "waits", "for a full queue in fill python_locks.py"), counted, "threads, full")
    report, counted = answers["deadlock"]
    near_waiting(t, leads(t, report, "deadlock", "for a Python lock throughout", " in transfer python_locks.py"), counted, "threads, deadlock")
    has_none(t, answers["pool"][0], "locks")


@measured
def test_worse_one_of_two_defects_leads(t):
    """One program after the other: what keeps the interpreter takes a CPU."""
    for mode, words in (("gil-lock", ("locks", "for the GIL", "of the interpreter's CPU time")), ("lock-gil", ("locks", "for a Python lock: ", "in hold"))):
        report, counted = recorded(t, {mode: (PYTHON, PAIRS, mode)}, LOCK_SECONDS)[mode]
        near_waiting(t, leads(t, report, *words), counted, f"threads, {mode}")
    report, counted = recorded(t, {"loop": (PYTHON, PAIRS, "loop-exceptions")}, SECONDS)["loop"]
    near_waiting(t, leads(t, report, "event-loop", "asleep"), counted, "percent of the time", 100)
