# SPDX-License-Identifier: GPL-2.0-or-later
"""The .NET and the Java program that tests trace for a long time."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))

import harness  # noqa: E402
from dotnet_program import build_dotnet  # noqa: E402


def runtimes(build):
    """Commands of a .NET and of a Java program, None where there is no such program."""
    case = harness.Case(build)
    dotnet = java = None
    try:
        dotnet = [build_dotnet(case, "Storm"), "paced", "3600", "STOP"]
    except (harness.Skip, harness.Failure) as why:
        print(f"without .NET: {why}")
    classes = os.path.join(build, "faults", "java")
    if shutil.which("javac") and not subprocess.run(["javac", "-d", classes, os.path.join(HERE, "Idle.java")], check=False).returncode:
        java = [shutil.which("java"), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", classes, "Idle", "STOP"]
    else:
        print("without Java: no javac")
    case.close()
    return dotnet, java
