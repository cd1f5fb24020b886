// SPDX-License-Identifier: GPL-2.0-or-later
// AwaitRate WORK - suspends at awaits, one after the other, until it is killed: three for each of its rounds, one of
// Task.Yield and two of a task, each followed by WORK steps of arithmetic. Every 0.1 s a line: nanoseconds of processor
// time an await, and whether somebody listens to events of tasks ("on", "off"; "between": not all of that time).
using System;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

static class Program
{
    static long sum, awaits;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Work(int steps)
    {
        long s = sum;
        for (int i = 0; i < steps; i++) s = s * 31 + i;
        sum = s;
    }

    static async Task Inner(int steps) { await Task.Yield(); Work(steps); }

    static async Task Middle(int steps) { await Inner(steps); Work(steps); }

    static async Task Outer(int steps)
    {
        while (true)
        {
            await Middle(steps);
            Work(steps);
            awaits += 3;
        }
    }

    static bool IsOn() => EventSource.GetSources().Any(s => s.Name == "System.Threading.Tasks.TplEventSource" && s.IsEnabled());

    static void Main(string[] args)
    {
        _ = Task.Run(() => Outer(int.Parse(args[0])));
        bool was = IsOn();
        long count = 0;
        double cpu = 0;
        Console.WriteLine($"pid {Environment.ProcessId}");
        while (true)
        {
            Thread.Sleep(100);
            bool on = IsOn();
            long now = Volatile.Read(ref awaits);
            double used = Environment.CpuUsage.TotalTime.TotalNanoseconds;
            if (now > count) Console.WriteLine($"{(used - cpu) / (now - count):F1} {(on != was ? "between" : on ? "on" : "off")}");
            (was, count, cpu) = (on, now, used);
        }
    }
}
