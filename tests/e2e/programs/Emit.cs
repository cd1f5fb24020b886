// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

[EventSource(Name = "Tapir-Bench")]
sealed class BenchSource : EventSource
{
    public static readonly BenchSource Log = new();

    [Event(1, Level = EventLevel.Informational)]
    public unsafe void Order(int id, int count, long price, string name)
    {
        if (!IsEnabled())
            return;
        fixed (char* text = name)
        {
            EventData* data = stackalloc EventData[4];
            data[0] = new EventData { DataPointer = (IntPtr)(&id), Size = 4 };
            data[1] = new EventData { DataPointer = (IntPtr)(&count), Size = 4 };
            data[2] = new EventData { DataPointer = (IntPtr)(&price), Size = 8 };
            data[3] = new EventData { DataPointer = (IntPtr)text, Size = (name.Length + 1) * 2 };
            WriteEventCore(1, 4, data);
        }
    }
}

/// <summary>
/// Emit events THREADS COUNT RATE: COUNT events of Tapir-Bench a thread, RATE a second (0: flat out).
/// Emit exceptions COUNT | Emit allocate COUNT: as many throws and catches, or objects of 100 bytes.
/// Prints "pid N", then "enabled NS" (CLOCK_MONOTONIC) when somebody listens to Tapir-Bench; starts
/// with a line on stdin, prints one JSON object: fired, ns_each (the slowest thread's), rss_grown_kib,
/// gen0; and ends with the next line.
/// </summary>
static class Emit
{
    const int Depth = 15;

    static long NowNs() => Stopwatch.GetTimestamp() * (1_000_000_000L / Stopwatch.Frequency);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Deeper(int depth, int count, int rate)
    {
        long ns = depth > 0 ? Deeper(depth - 1, count, rate) : Fire(count, rate);
        return ns + depth - depth;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Fire(int count, int rate)
    {
        long start = NowNs();
        for (int i = 0; i < count; i++)
        {
            if (rate > 0 && i % 64 == 0)
                while ((NowNs() - start) * (double)rate / 1e9 < i)
                    Thread.SpinWait(20);
            BenchSource.Log.Order(i, count, start, "sixteen letters!");
        }
        return NowNs() - start;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw() => throw new InvalidOperationException("as asked");

    static long Exceptions(int count)
    {
        long start = NowNs();
        for (int i = 0; i < count; i++)
            try { Throw(); }
            catch (InvalidOperationException) { }
        return NowNs() - start;
    }

    static readonly byte[][] kept = new byte[1024][];

    static long Allocate(int count)
    {
        long start = NowNs();
        for (int i = 0; i < count; i++)
            kept[i & 1023] = new byte[76];
        return NowNs() - start;
    }

    static long RssKib() => long.Parse(File.ReadLines("/proc/self/status").First(l => l.StartsWith("VmRSS:"))
        .Split(':', 'k')[1], CultureInfo.InvariantCulture);

    static void TellWhenEnabled()
    {
        while (!BenchSource.Log.IsEnabled())
            Thread.Sleep(0);
        Console.WriteLine($"enabled {NowNs()}");
    }

    static int Main(string[] args)
    {
        int count = int.Parse(args[^1] is var last && args[0] == "events" ? args[2] : last);
        int threads = args[0] == "events" ? int.Parse(args[1]) : 1;
        Func<long> work = args[0] switch
        {
            "events" => () => Deeper(Depth, count, int.Parse(args[3])),
            "exceptions" => () => Exceptions(count),
            _ => () => Allocate(count),
        };

        Deeper(Depth, 1000, 0);
        Exceptions(200);
        Allocate(200_000);
        new Thread(TellWhenEnabled) { IsBackground = true }.Start();
        Console.WriteLine($"pid {Environment.ProcessId}");
        Console.ReadLine();

        long before = RssKib(), slowest = 0;
        var all = Enumerable.Range(0, threads).Select(_ => new Thread(() =>
        {
            long ns = work();
            for (long seen = slowest; ns > seen && Interlocked.CompareExchange(ref slowest, ns, seen) != seen;)
                seen = slowest;
        })).ToList();
        all.ForEach(t => t.Start());
        all.ForEach(t => t.Join());
        Console.WriteLine($"{{\"fired\": {(long)count * threads}, \"ns_each\": " +
            ((double)slowest / count).ToString("F2", CultureInfo.InvariantCulture) +
            $", \"rss_grown_kib\": {RssKib() - before}, \"gen0\": {GC.CollectionCount(0)}}}");
        Console.ReadLine();
        return 0;
    }
}
