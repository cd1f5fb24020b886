// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

/// <summary>Graph SECONDS: Main calls Middle calls Leaf, which burns, and sleeps; a thread waits for a monitor.</summary>
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
