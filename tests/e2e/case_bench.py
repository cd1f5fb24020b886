# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks of tests/bench measure with."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import measure  # noqa: E402

# Prints how long its threads were on a CPU, once all of them have ended.
PROGRAM = """
import sys, threading, time
spent = []
def burn():
    while time.thread_time() < 0.1:
        pass
    spent.append(time.thread_time())
for _ in range(3):
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
print(sum(spent), flush=True)
sys.stdin.read()
"""


def test_cpu_time_has_that_of_threads_that_have_ended(t):
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        spent = float(program.stdout.readline())
        seen = measure.cpu_seconds(program.pid)
        program.stdin.close()
    t.ok(spent <= seen < spent + 1, f"{seen} s, its threads had {spent}")
