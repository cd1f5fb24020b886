// SPDX-License-Identifier: GPL-2.0-or-later
// Declared PATH - declares an EventSource that no other program has. Prints "pid N"; when PATH is there, makes the source, waits until it
// is on, for ten seconds at most, fires Happened(number) 100 times and prints {"fired": 100}; ends when PATH is gone.
using System;
using System.Diagnostics.Tracing;
using System.IO;
using System.Threading;

[EventSource(Name = "Tapir-Declared")]
sealed class Declared : EventSource
{
    [Event(1)] public void Happened(int Number) => WriteEvent(1, Number);
}

static class Program
{
    static void Main(string[] args)
    {
        Console.WriteLine($"pid {Environment.ProcessId}");
        while (!File.Exists(args[0]))
            Thread.Sleep(10);
        var source = new Declared();
        for (int i = 0; i < 1000 && !source.IsEnabled(); i++)
            Thread.Sleep(10);
        for (int i = 0; i < 100; i++)
            source.Happened(i);
        Console.WriteLine("{\"fired\": 100}");
        while (File.Exists(args[0]))
            Thread.Sleep(10);
    }
}
