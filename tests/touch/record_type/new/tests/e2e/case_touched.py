# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of signals, compared with what the program sends."""
SENDS = "trap : USR1; i=0; while [ $i -lt 7 ]; do kill -USR1 $$; i=$((i + 1)); done"


def test_each_signal_is_recorded_once(t):
    file = t.path("touched.tapir")
    t.tapir("record", "--touched", "--no-samples", "--no-sched", "-f", "-o", file, "--", "sh", "-c", SENDS)
    sent = [rec for rec in t.events(file, "touched") if rec["signal"] == 10]
    t.eq(len(sent), 7, "signals")
    t.eq({rec["comm"] for rec in sent}, {"sh"}, "who sent them")
    t.eq([rec["to_tid"] for rec in sent], [rec["tid"] for rec in sent], "to whom")
