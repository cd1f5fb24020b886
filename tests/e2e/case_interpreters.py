# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that an interpreter runs are frames of CPU samples and waits, between the native ones that called them, without a flag or a
restart. programs/python_calls.py says by its own code which of its functions may call which."""
import pathlib
import re
import signal

from debian_root import in_debian_root
from harness import wait_cpu

# Interpreters of later releases are fetched and unpacked first.
CHECK_STACKS = {"test_functions_of_cpython_3_13_are_between_the_functions_that_call_them",
                "test_functions_of_cpython_3_14_are_between_the_functions_that_call_them",
                "test_functions_of_cpython_3_15_are_between_the_functions_that_call_them",
                "test_functions_of_php_8_4_are_between_the_functions_that_call_them",
                "test_time_of_functions_of_php_8_4_is_what_the_program_counts"}

PYTHON = "/usr/bin/python3"
FRAMES = str(pathlib.Path(__file__).parent / "programs" / "python_calls.py")
# Of CPU time of each process: as many samples, whatever else runs.
SECONDS = 0.3
CHAINS = re.compile("<module>( compute_in_child( compute)?)?|sleep_in_thread|work( Shop.sort_parcels( Shop.weigh( compute)?)?| sort_in_c( compare( compute)?)?"
                    "| count_parcels( parcels( compute)?)?|( descend)+( compute)?)?")
PHP_FRAMES = str(pathlib.Path(FRAMES).parent / "php_frames.php")
PHP_SHARES = str(pathlib.Path(FRAMES).parent / "php_shares.php")
PHP_NAME = r"php::(.*):(?:.*/php_frames\.php|\[internal\])$"
PHP_CHAINS = re.compile(r"{main}( work( Shop::weigh| sort_parcels( range| usort( Shop::compare( Shop::weigh)?)?)?"
                        "| count_letters( array_fill| array_map( strlen)?)?)?)?")
LEAVES = ("compute_in_child compute", "Shop.weigh compute", "sort_in_c compare compute", "parcels compute", "descend compute")


def functions(stack, of=r"py::(.*):.*/python_calls\.py$"):
    """Those of the program, outermost first."""
    names = (re.match(of, frame["name"] or "") for frame in reversed(stack))
    return " ".join(name[1] for name in names if name)


def recorded(t, *program, seconds=SECONDS, events=()):
    """A program that says "pid N", and perhaps another one's number; returns the file and the first."""
    file = t.path("frames.tapir")
    pids = re.findall(r"\d+", t.start(t.need(program[0]), *program[1:]).wait_line("pid "))
    t.tapir("stacks", "-p", pids[0])  # it waits for unwind tables, which a recording finds in the cache
    tapir = t.start_tapir("record", *events, *(["--stack"] if events else []), "-p", ",".join(pids), "-o", file, "-f")
    tapir.wait_ready()
    for pid in pids:
        wait_cpu(int(pid), seconds)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "tapir")
    return file, int(pids[0])


def are_between_their_callers(t, *program):
    """Samples and waits of python_calls.py, started so."""
    file, pid = recorded(t, *program)
    samples = [e for e in t.events(file, "sample") if e.get("stack")]
    chains = [chain for chain in (functions(e["stack"]) for e in samples) if chain]
    wrong = [chain for chain in chains if not CHAINS.fullmatch(chain)]
    t.ok(not wrong, f"{len(wrong)} of {len(chains)}: {wrong[:3]}")
    for leaf in LEAVES:
        t.ok(any(chain.endswith(leaf) for chain in chains), f"nothing of {leaf} in {len(chains)} samples")
    whole = [e for e in samples if e["stack_end"] == "whole"]
    t.ok(sum(bool(functions(e["stack"])) for e in whole) >= 0.99 * len(whole) > 0, f"{len(whole)} whole stacks of {len(samples)}")
    for sample in whole:
        names = [frame["name"] or "" for frame in reversed(sample["stack"])]
        of_c = [i for i, name in enumerate(names) if name.startswith("qsort")]
        compare = [i for i, name in enumerate(names) if name.startswith("py::compare:")]
        t.ok(not compare or of_c and of_c[0] < compare[0], f"compare is called by qsort: {names}")
    asleep = [e for e in t.events(file, "switch") if e["pid"] == pid and functions(e.get("stack") or []) == "sleep_in_thread"]
    t.ok(asleep, "a thread that sleeps is in its function, which has let go of the GIL")
    t.tapir("flamegraph", file, "-o", t.path("frames.svg"))
    t.ok("Shop.weigh" in pathlib.Path(t.path("frames.svg")).read_text(encoding="utf-8"), "the flame graph")


def test_functions_of_cpython_are_between_the_functions_that_call_them(t):
    are_between_their_callers(t, PYTHON, FRAMES)


def test_functions_of_cpython_3_13_are_between_the_functions_that_call_them(t):
    are_between_their_callers(t, *in_debian_root(t, "trixie", "python3.13", "python3.13", FRAMES))


def test_functions_of_cpython_3_14_are_between_the_functions_that_call_them(t):
    are_between_their_callers(t, *in_debian_root(t, "sid", "python3.14", "python3.14", FRAMES))


def test_functions_of_cpython_3_15_are_between_the_functions_that_call_them(t):
    are_between_their_callers(t, *in_debian_root(t, "sid", "python3.15", "python3.15", FRAMES))


def test_functions_of_a_program_that_tapir_starts_have_names(t):
    t.need(PYTHON)
    file = t.path("started.tapir")
    program = "import time\ndef spin():\n while time.process_time() < 1: pass\nspin()"
    t.tapir("record", "-o", file, "-f", "--", PYTHON, "-c", program)
    stacks = [[frame["name"] for frame in e["stack"]] for e in t.events(file, "sample") if e.get("stack")]
    t.ok(any("py::spin:<string>" in names and "py::<module>:<string>" in names[names.index("py::spin:<string>"):] for names in stacks),
         f"{len(stacks)} samples")


def are_between_their_callers_of_php(t, *program):
    """Samples of php_frames.php, started so."""
    file, _ = recorded(t, *program)
    stacks = [e["stack"] for e in t.events(file, "sample") if e.get("stack")]
    chains = [chain for chain in (functions(stack, PHP_NAME) for stack in stacks) if chain]
    wrong = [chain for chain in chains if not PHP_CHAINS.fullmatch(chain)]
    t.ok(not wrong, f"{len(wrong)} of {len(chains)}: {wrong[:3]}")
    t.ok(len(chains) >= 0.95 * len(stacks) > 0, f"{len(chains)} of {len(stacks)} stacks are in the program")
    for leaf in ("work Shop::weigh", "usort Shop::compare Shop::weigh", "array_map"):
        t.ok(any(leaf in chain for chain in chains), f"nothing of {leaf} in {len(chains)} samples")


def need_php(t):
    if "PHP 8.2" not in t.run(t.need("php"), "-v").out:
        t.skip("this PHP is not 8.2")


def test_functions_of_php_are_between_the_functions_that_call_them(t):
    need_php(t)
    are_between_their_callers_of_php(t, "php", PHP_FRAMES)


def test_functions_of_php_8_4_are_between_the_functions_that_call_them(t):
    are_between_their_callers_of_php(t, *in_debian_root(t, "trixie", "php8.4-cli", "php8.4", PHP_FRAMES))


def shares_are_those_it_counts(t, *program):
    """Self time of php_shares.php's functions, by samples and by its own count: within 5 points, or 3 sigma of the samples."""
    file = t.path("shares.tapir")
    counted = t.tapir("record", "--no-sched", "-o", file, "-f", "--", *program, "1.5").witness()
    stacks = [e["stack"] for e in t.events(file, "sample") if e.get("stack")]
    leaves = [name[1] for stack in stacks for name in [re.match(r"php::(\w+):.*/php_shares", next((f["name"] for f in stack if "php::" in (f["name"] or "")), ""))]
              if name and name[1] in counted]
    t.ok(len(leaves) >= 300, f"{len(leaves)} samples of functions of {len(stacks)}")
    for name, share in counted.items():
        found = leaves.count(name) / len(leaves)
        limit = max(0.05, 3 * (share * (1 - share) / len(leaves)) ** 0.5)
        t.ok(abs(found - share) <= limit, f"{name}: {found:.3f} of {len(leaves)} samples, {share:.3f} by its own count")


def test_time_of_functions_of_php_is_what_the_program_counts(t):
    need_php(t)
    shares_are_those_it_counts(t, "php", PHP_SHARES)


def test_time_of_functions_of_php_8_4_is_what_the_program_counts(t):
    shares_are_those_it_counts(t, *in_debian_root(t, "trixie", "php8.4-cli", "php8.4", PHP_SHARES))
