// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

/// <summary>Hot SECONDS: Main calls Middle calls Leaf, which burns.</summary>
static class Hot
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Leaf(int n)
    {
        long sum = n;
        for (int i = 0; i < 200_000; i++)
            sum = sum * 31 + (sum >> 7) + i;
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Middle(int n) => Leaf(n) + 1;

    static void Main(string[] args)
    {
        double seconds = double.Parse(args[0], CultureInfo.InvariantCulture);
        var watch = Stopwatch.StartNew();
        long sink = 0;

        Console.WriteLine("pid " + Environment.ProcessId);
        for (int n = 0; watch.Elapsed.TotalSeconds < seconds; n++)
            sink += Middle(n);
        GC.KeepAlive(sink);
    }
}
