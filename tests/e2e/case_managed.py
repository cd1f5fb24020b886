# SPDX-License-Identifier: GPL-2.0-or-later
"""Native events of libtapir in managed code (usdt/managed): typed, in order, counted by the native library that fires."""
import os

from dotnet_program import build_dotnet

TIMEOUT = 180
CHECK_LIB = {"test_managed_code_receives_each_native_event_with_its_fields"}
SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "usdt", "managed", "Tapir.Listener.cs"))


def test_managed_code_receives_each_native_event_with_its_fields(t):
    program = build_dotnet(t, "Listen", sources=(SOURCE,))
    ran = t.run(program, t.target_path("managedplug"), 300, 4)
    t.eq(ran.rc, 0, ran.err)
    t.eq(ran.witness(), {"orders": 1200, "threads": 4, "wrong": 0, "unordered": 0, "details": 0, "lost": 0,
                         "failure": "on purpose"}, "received")
