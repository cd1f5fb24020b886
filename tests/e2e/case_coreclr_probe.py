# SPDX-License-Identifier: GPL-2.0-or-later
"""The probe lane: any USDT tool on tapir_coreclr:event of libtapir-coreclr.so."""
import os
import pathlib
import re
import shutil

from case_coreclr_cycles import RUNTIME, STORM, app, driver

SCRIPT = """
usdt:%s:tapir_coreclr:event {
    @cnt[str(arg1), arg2] = count();
    @bytes[str(arg1), arg2] = sum(arg4);
    @first[str(arg1), arg2] = max(*(uint32 *)arg3);
    @keywords[str(arg1), arg2] = max(arg5);
    @of_sessions[arg0] = count();
}
BEGIN { printf("ready\\n"); }
"""


def test_bpftrace_sees_what_is_selected_when_it_attaches_to_the_library(t):
    library = t.path("profiler.so")
    shutil.copy(os.path.join(t.build, "libtapir-coreclr.so"), library)
    target = app(t, "paced", 60, t.path("stop"))
    tracer = t.start(t.need("bpftrace"), "-e", SCRIPT % library)
    tracer.wait_line("ready", timeout=30)
    result = driver(t, target.pid, f"so={library}", "ms=1500", "quiet=1", STORM, f"{RUNTIME}:0x8000:2").wait()
    t.eq(result.rc, 0, result.err)
    got = result.witness()
    tracer.signal(2)
    out = tracer.wait().out
    pathlib.Path(t.path("stop")).touch()
    t.eq(target.wait().rc, 0, "exit of the program")
    seen = {kind: int(value) for kind, value in
            re.findall(rf"@(\w+)\[{STORM}, 3\]: (\d+)", out)}
    fired = got["events"][f"{STORM}/Quick"] + got["lost"]
    t.ok(fired > 1000, got)
    # A thread that fires while the session is closed has passed the probe and finds no session left to count it.
    t.ok(0 <= seen["cnt"] - fired <= 1, f"{seen} of {fired}\n{out}")
    t.eq(seen, {"cnt": seen["cnt"], "bytes": seen["cnt"] * (4 + 4 + 8 + 34), "first": 0, "keywords": 0}, out)
    t.ok(f"@of_sessions[{1}]: " in out, out)
