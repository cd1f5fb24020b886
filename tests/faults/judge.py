# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold of every run in which one call failed."""
import json
import os
import re

# What no injected error makes true: resources were short, nothing else was wrong.
FALSE = re.compile(r"kernel has no|kernel lacks|this kernel|\broot\b|(?-i:CAP_[A-Z]+)|no such program|not a tapir|no tapir file|is none|"
                   r"another user|did you mean|[Nn]o process|maps no file|damaged|unknown|not supported|unsupported|corrupt|"
                   r"container|cut off|ended early|malformed|too old|no USDT|Nothing matches|is not one", re.I)
CAUSE = re.compile(r"\bE(MFILE|NFILE|NOMEM|IO|NOSPC|DQUOT|AGAIN|BUSY|NOBUFS)\b|memory|too many open files|No space left|"
                   r"Input/output error|temporarily unavailable|quota|Device or resource busy|descriptors", re.I)
SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV", 13: "SIGPIPE"}


def of_tapir(ended, quiet_err="", knows_cause=True):
    """Problems with how tapir itself ended. quiet_err: what it printed in the run in which nothing failed; knows_cause:
    it was tapir's call that failed, with an error that it could see."""
    if ended.rc is None:
        yield f"hang: {ended.where}"
        return
    if ended.rc < 0:
        yield f"crash: {SIGNALS.get(-ended.rc, -ended.rc)}"
        return
    if ended.rc not in (0, 1):
        yield f"exit: {ended.rc}"
    lines = [line for line in ended.err.splitlines() if line]
    if ended.rc and not any(line.startswith("tapir: ") for line in lines):
        yield "message: none"
    if not knows_cause:
        return
    for line in lines:
        found = FALSE.search(line)
        if found and not FALSE.search(quiet_err) and not CAUSE.search(line):
            yield f"message: false: {found.group()}"
            break
    if ended.rc and lines and not any(CAUSE.search(line) for line in lines):
        yield "message: no cause"


def of_report(worker, path, rc):
    """(report, problems) of the file a recording left; no report without a file."""
    if not os.path.exists(path):
        return None, ["file: none, and exit 0"] if rc == 0 else []
    ended = worker.run([worker.tool("tapir"), "report", path, "--json"])
    if ended.rc:
        return None, [f"file: report says {ended.rc}: {ended.err.strip()[:200]}"]
    return json.loads(ended.out), []


def of_counts(report, provider, event, fired, err, quiet_err=""):
    """captured + lost = fired, or the report states that it is not."""
    entries = [e for e in report["events"] if (e["provider"], e["event"]) == (provider, event)]
    captured, lost = sum(e["captured"] for e in entries), sum(e["lost"] for e in entries)
    if captured + lost > fired:
        yield f"counts: {captured} + {lost} lost of {fired}"
    if captured + lost < fired and not is_reported(report, err, quiet_err):
        yield f"counts: {captured} + {lost} lost of {fired}, and nothing is said"


def is_reported(report, err, quiet_err):
    """Whether file or messages name something that was lost."""
    told = [line for line in err.splitlines() if shape(line) not in {shape(quiet) for quiet in quiet_err.splitlines()}]
    return bool(report["lost"] or report["incomplete"] or told or "nothing lost" not in report["headline"])


def shape(line):
    """A line without its numbers: what it says."""
    return re.sub(r"[\d,.]+ ?[KM]?B?", "#", line)


def witness(text):
    """The last JSON object a program printed, None if it printed none."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    try:
        return json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
