# SPDX-License-Identifier: GPL-2.0-or-later
"""The example workflow of scripts/ci: its steps, run here, fail exactly when a condition holds. What tapir's own names exists.
Steps of scripts/vmtest go on after a guest has died."""
import os
import pathlib
import re
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "scripts" / "vm"))
import guest_steps  # noqa: E402  (found by the path above)

WORKFLOW = REPO / "scripts" / "ci" / "workflow.yml"
OWN = REPO / ".github" / "workflows" / "check.yml"


def steps(t, job):
    """name -> what it runs."""
    try:
        import yaml
    except ImportError:
        t.skip("python3-yaml is missing")
    document = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    found = document["jobs"][job]
    return {step["name"]: step["run"] for step in found["steps"] if "run" in step}, found["env"]["CONDITIONS"]


def run_step(t, script, program, conditions):
    directory = os.path.dirname(t.path("x"))
    link = os.path.join(directory, "your-test")
    if not os.path.exists(link):
        pathlib.Path(link).write_text(f"#!/bin/sh\nexec {program}\n", encoding="utf-8")
        os.chmod(link, 0o755)
    env = {**os.environ, "CONDITIONS": conditions, "PATH": f"{os.path.abspath(t.build)}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-e", "-c", script], cwd=directory, env=env, timeout=60,
                          capture_output=True, text=True, check=False)


def test_steps_of_the_workflow_fail_when_a_condition_holds(t):
    has, conditions = steps(t, "trace")
    recorded = run_step(t, has["Record"], "sleep 0.3", conditions)
    t.eq(recorded.returncode, 0, recorded.stderr)
    judged = run_step(t, has["Judge"], "", conditions)
    t.eq(judged.returncode, 0, f"nothing is wrong with sleep: {judged.stderr}")
    # Where other programs have the CPUs, waiting for one is what stands out of so short a time.
    judged = run_step(t, has["Judge"], "", "gap,idle,neighbour")
    t.eq(judged.returncode, 1, f"it was idle: {judged.stderr}")
    t.ok(re.search("failed on (idle|neighbour): ", judged.stderr) and "failed on gap" not in judged.stderr, judged.stderr)
    t.eq(run_step(t, has["Judge"], "", "nonsense").returncode, 2, "status of what cannot be read")


def test_status_of_a_test_that_fails_is_its_own(t):
    has, conditions = steps(t, "trace")
    t.eq(run_step(t, has["Record"], "false", conditions).returncode, 1, "of ./your-test")


def test_packages_that_the_workflows_install_are_debians(t):
    """Of the image that it names, whose release this machine has."""
    text = WORKFLOW.read_text(encoding="utf-8") + OWN.read_text(encoding="utf-8")
    release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    if 'VERSION_ID="12"' not in release or set(re.findall(r"debian:(\d+)", text)) != {"12"}:
        t.skip("this is not the release of the workflow")
    names = {word for line in re.findall(r"apt-get install (.*)", text) for word in line.split() if not word.startswith("-")}
    t.ok(len(names) >= 3, f"names: {names}")
    known = t.run(t.need("apt-cache"), "policy", *sorted(names)).out
    if "Candidate" not in known:
        t.skip("apt has no lists of packages here")
    t.eq({name for name in names if f"{name}:\n" not in known}, set(), "packages that Debian does not have")


def test_programs_that_the_own_workflow_runs_exist(t):
    """Nothing else can be known of it here: GitHub runs it."""
    named = set(re.findall(r"(?:scripts|\.ci)/[\w-]+", re.sub(r"^ *#.*", "", OWN.read_text(encoding="utf-8"), flags=re.M)))
    t.ok({".ci/run", "scripts/check-subjects", "scripts/vmtest"} <= named, f"it runs {named}")
    t.eq({name for name in named if not os.access(REPO / name, os.X_OK)}, set(), "programs that are missing")


def test_step_in_which_a_guest_dies_is_run_alone(t):
    """As scripts/vmtest runs them: one step is deadly, another one after others."""
    said, booted = [], []

    def boot(names):
        booted.append(names)
        lines = []
        for name in names:
            lines.append(f"begin {name}")
            if name == "deadly" or name == "weak" and len(names) > 1:
                break
            lines.append("skip  odd: it says" if name == "odd" else f"{'FAIL' if name == 'wrong' else 'ok':<5} {name} 1.0 s")
        return "\n".join(lines)

    found = guest_steps.Steps(["first", "deadly", "odd", "weak", "wrong", "last"], said.append)
    found.run(boot)
    t.eq(found.counts(), (3, 2, 1), "passed, failed, skipped")
    t.eq(found.failed(), ["deadly", "wrong"], "failed")
    t.eq(booted, [found.names, ["deadly"], ["odd", "weak", "wrong", "last"], ["weak"], ["wrong", "last"]], "guests")
    t.ok("deadly" in said[0] and said[1].endswith("FAIL") and "weak" in said[2] and said[3].endswith("ok"), said)
    found = guest_steps.Steps(["first", "second"], said.append)
    found.run(lambda names: "")
    t.eq((found.boots, found.failed()), (2, ["first", "second"]), "no guest")
