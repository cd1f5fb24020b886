// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

[EventSource(Name = "Graph-Events")]
sealed class GraphEvents : EventSource
{
    public static readonly GraphEvents Log = new();
    [Event(1)]
    public void AtLeaf(int n) => WriteEvent(1, n);
    [Event(2)]
    public void AtWait() => WriteEvent(2);
}

/// <summary>Graph SECONDS: Main calls Middle calls Leaf, which burns, and sleeps; a thread waits for a monitor. Leaf and
/// the thread have an event each.</summary>
static class Graph
{
    static readonly object Monitored = new object();
    static long sink;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Leaf(int n)
    {
        long sum = n;
        for (int i = 0; i < 20_000; i++)
            sum = sum * 31 + (sum >> 7) + (i & 15).ToString(CultureInfo.InvariantCulture).Length;
        GraphEvents.Log.AtLeaf(n);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Middle(int n) => Leaf(n) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Waiter(Stopwatch watch, double seconds)
    {
        // No lock statement: code that is not optimized calls its finally block, which has this method's name, too.
        while (watch.Elapsed.TotalSeconds < seconds)
        {
            GraphEvents.Log.AtWait();
            Monitor.Enter(Monitored);
            Monitor.Wait(Monitored, 2);
            Monitor.Exit(Monitored);
        }
    }

    static void Main(string[] args)
    {
        double seconds = double.Parse(args[0], CultureInfo.InvariantCulture);
        var watch = Stopwatch.StartNew();
        var thread = new Thread(() => Waiter(watch, seconds));

        Console.WriteLine("pid " + Environment.ProcessId);
        thread.Start();
        for (int n = 0; watch.Elapsed.TotalSeconds < seconds; n++)
        {
            sink += Middle(n);
            if (n % 4 == 0)
                Thread.Sleep(1);
        }
        thread.Join();
    }
}
