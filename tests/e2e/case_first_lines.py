# SPDX-License-Identifier: GPL-2.0-or-later
"""One program of each runtime is recorded, and the report's first line says what is wrong with it. They sleep, so that it is the same
however many others want the CPUs. How much of it there is, and what is said of all other defects, is held by recordings (tests/corpus) and by
the cases of answers*, of which these are the shortest."""
import time

import case_answers_jvm
import case_answers_native
import case_answers_node
import case_answers_postgresql
import case_answers_python
from answers import leads, recorded
from case_answers import record
from case_answers_postgresql import HOT, LOGGING, Clients, end_sessions, make_tables, recorded_together
from case_runtimes import Server

SECONDS = 1.5


def leads_when_recorded(t, argv, *finding, until=None):
    report, _ = recorded(t, {"defect": argv}, SECONDS, until=until)["defect"]
    leads(t, report, *finding)


def test_lock_of_a_native_program_leads(t):
    t.run(t.need("g++"), "-O2", case_answers_native.SOURCE, "-o", t.path("shop"), "-pthread")
    leads_when_recorded(t, (t.path("shop"), "convoy"), "locks", "for a mutex: ", ", in Stock::reserve")


def test_lock_of_cpython_leads(t):
    leads_when_recorded(t, (case_answers_python.PYTHON, case_answers_python.LOCKS, "convoy"), "locks", "for a Python lock: ", "in got_lock python_locks.py")


def calls_have_ended(programs):
    """A call that begins before a recording and ends after it would be nothing but a wait, and one lasts as long as its child is not run.
    The first answer has what ended before the recording was ready, and is of no use."""
    programs["defect"].ask()
    programs["defect"].answer()
    ended = 0
    while ended < 4:
        time.sleep(0.25)
        programs["defect"].ask()
        ended += len(programs["defect"].answer()["calls"])


def test_synchronous_call_of_node_leads(t):
    leads_when_recorded(t, (t.need("node"), case_answers_node.SOURCE, "child"), "event-loop", "waiting for a child", until=calls_have_ended)


def test_monitor_of_a_jvm_leads(t):
    java = (t.need("java"), "-Xmx256m", "-cp", case_answers_jvm.compiled(t), "JvmDefects", "convoy")
    leads_when_recorded(t, java, "locks", "for a monitor", "clerk-*")


def test_deadlock_of_dotnet_leads(t):
    report, _, _ = record(t, "deadlock", seconds=str(SECONDS))
    leads(t, report, "deadlock", " in Defects.Transfer(object, object)")  # where there is no CPU in time, who holds which lock is not known


def test_lock_of_a_row_leads(t):
    with Server(t, *LOGGING) as server:
        make_tables(server)
        hot = Clients(server, "hot", HOT, 4, 60)
        while len(hot.pids()) < 4 and hot.child.poll() is None:
            time.sleep(0.1)
        reports, _ = recorded_together(t, server, "hot", {"hot": hot}, SECONDS)
        hot.child.kill()
        hot.child.wait()
        end_sessions(server)
    leads(t, reports["hot"], "locks", "lock ", "update accounts set cents = cents + ? where id = ?")
