# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names the function of a native program, which has no runtime: the innermost of its own file that is not its
language's. programs/native_defects.cc has a mode for each; the witness is what its threads' clocks say."""
import pathlib

from answers import leads, measured, measures, near, recorded, span, within

SOURCE = str(pathlib.Path(__file__).parent / "programs" / "native_defects.cc")
SECONDS = 2
# What recordings of the corpus hold, too: native-*.
CHECK_LONG = {"test_first_line_names_the_function_of_a_native_program"}
MODES = ("convoy", "journal", "sort", "deadlock", "idle")


@measured
def test_first_line_names_the_function_of_a_native_program(t):
    t.run(t.need("g++"), "-O2", SOURCE, "-o", t.path("shop"), "-pthread")
    answers = recorded(t, {mode: (t.path("shop"), mode) for mode in MODES}, SECONDS)
    begin, end = span(t, t.path("answers.tapir"))

    def threads(mode):
        return 1e9 * within(answers[mode][1]["waits"], begin, end) / (end - begin)

    near(t, leads(t, answers["convoy"][0], "locks", "for a mutex: ", ", in Stock::reserve"), threads("convoy"), "threads, convoy")
    report = answers["journal"][0]
    leads(t, report, "disk", " for a disk in Journal::commit")
    cpu = [f["text"] for f in report["findings"] if f["kind"] == "cpu"]
    measures(t, cpu and "% of the CPU in Journal::commit (" in cpu[0] and "% in the kernel, most in fdatasync)" in cpu[0], report["findings"])
    leads(t, answers["sort"][0], "cpu", "% of the CPU in sort_prices (", " within std::", "<...>)")
    report = answers["deadlock"][0]
    measures(t, leads(t, report, "deadlock", "2 threads wait for each other's locks", " in transfer") == 2, report["headline"])
    t.ok(answers["idle"][0]["headline"].startswith("idle: "), answers["idle"][0]["headline"])

