# SPDX-License-Identifier: GPL-2.0-or-later
"""Coroutines of CPython that are suspended have no thread: `stacks --async` lists them from the process's memory. programs/coroutines.py says for
each task which functions and lines its chain of awaits has, by the coroutines' own cr_await and cr_frame."""
import json
import os
import pathlib
import re

SOURCE = str(pathlib.Path(__file__).parent / "programs" / "coroutines.py")
PYTHON = "/usr/bin/python3"
# Of each kind, by their function: how many, and what they await.
KINDS = {"deliver": (40, "Queue.get"), "nap": (27, "sleep"), "order_all": (1, "asyncio.gather"), "promise": (1, "a future"), "read_counts": (1, "sleep"),
         "sell": (1, "Lock.acquire (held by Shop.refund)"), "refund": (1, "Lock.acquire (held by Shop.sell)")}


def built_python(t, version):
    """One that was built with headers of its own, as developers have."""
    return t.need(os.path.expanduser(f"~/.pyenv/versions/{version}/bin/python3"))


def listed(t, pid, *options):
    return json.loads(t.tapir("stacks", "-p", pid, "--async", "--json", *options).out)


def started(t, python, *args):
    program = t.start(t.need(python), SOURCE, *(str(arg) for arg in args))
    pid = int(program.wait_line("pid ", 60).split()[1])
    chains = json.loads(program.wait_line("chains ", 60).split(" ", 1)[1])
    return program, pid, chains


def frames(row):
    """[[name, file, line], ...] of a row's functions, innermost first."""
    return [[name, file, int(line)] for name, file, line in (re.fullmatch(r"(.*)\((.*):(\d+)\)", text).groups() for text in row["methods"].split(" < "))]


def are_what_the_program_says(t, python):
    program, pid, chains = started(t, python, 1000)
    found = listed(t, pid)
    rows = found["suspended"]
    t.eq(found["waiting_for_each_other"], 2, "tasks that wait for each other")
    for kind, (cnt, awaits) in KINDS.items():
        of_kind = [row for row in rows if row["own_methods"].split("(")[0] == f"Shop.{kind}" or f" < Shop.{kind}(" in row["own_methods"]]
        of_kind = [row for row in of_kind if kind != "nap" or "Shop.order" not in row["own_methods"]]
        t.eq([(row["count"], row["awaits"], bool(row["waits_for_each_other"])) for row in of_kind], [(cnt, awaits, kind in ("sell", "refund"))], kind)
    seen = {row["task"].removesuffix(", ..."): frames(row) for row in rows if row["task"]}
    for task, chain in seen.items():
        witness = chains.get(task)
        if task == "nap of an order":
            witness = witness + chains[next(name for name in chains if name.startswith("order "))]
        t.ok(witness is None and task == "Task-1" or chain == witness, f"{task}: {chain}, by the program {witness}")
    t.ok({"sell 0", "refund 1", "nap of an order"} <= set(seen), f"tasks: {sorted(seen)}")
    said = t.tapir("stacks", "-p", pid, "--async", "--top", 1).out
    t.ok("deadlock: 2 coroutines wait for each other: Shop." in said and "deliver" not in said, said)
    t.ok(program.child.poll() is None, "the program runs on")


def test_coroutines_are_those_that_the_program_says(t):
    are_what_the_program_says(t, PYTHON)


def test_coroutines_of_python_3_11_7_are_those_that_the_program_says(t):
    are_what_the_program_says(t, built_python(t, "3.11.7"))


def test_coroutines_of_python_3_12_are_those_that_the_program_says(t):
    are_what_the_program_says(t, built_python(t, "3.12.1"))


def test_coroutines_of_python_3_13_are_those_that_the_program_says(t):
    are_what_the_program_says(t, built_python(t, "3.13.0"))


def test_coroutines_are_found_while_objects_come_and_go(t):
    """What is listed is there, and no list that changed is taken for a whole one without a word."""
    program, pid, _ = started(t, PYTHON, 100000, 2000)
    for _ in range(5):
        found = listed(t, pid)
        cnt = {kind: sum(row["count"] for row in found["suspended"] if f"Shop.{kind}(" in row["own_methods"]) for kind in ("deliver", "refund")}
        t.ok(cnt == {"deliver": 40, "refund": 1} or found.get("notes"), f"{cnt}: {found.get('notes')}")
        t.ok(cnt["deliver"] <= 40 and cnt["refund"] <= 1, f"{cnt}")
    t.ok(program.child.poll() is None, "the program runs on")


def test_python_without_coroutines_has_none(t):
    program = t.start(t.need(PYTHON), "-c", "import os, time; print('pid', os.getpid(), flush=True); time.sleep(3600)")
    pid = int(program.wait_line("pid ").split()[1])
    found = listed(t, pid)
    t.eq((found["coroutines"], found["suspended"]), (0, []), "coroutines")


def test_program_that_is_no_runtime_is_refused(t):
    program = t.start("/bin/sleep", "3600")
    result = t.tapir("stacks", "-p", program.pid, "--async", expect=None)
    t.ok(result.rc and "nor CPython 3.11 to 3.13" in result.err, f"{result.rc}: {result.err}")
