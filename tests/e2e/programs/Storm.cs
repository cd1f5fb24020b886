// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

[EventSource(Name = "Tapir-Storm")]
sealed class StormSource : EventSource
{
    public static readonly StormSource Log = new();

    [Event(1, Level = EventLevel.Informational)]
    public void Tick(int thread, int round, long number, string text) => WriteEvent(1, thread, round, number, text);

    [Event(2, Level = EventLevel.Verbose)]
    public void Big(string text) => WriteEvent(2, text);

    [NonEvent]
    unsafe void Fast(int id, int thread, int round, long number, string text)
    {
        fixed (char* chars = text)
        {
            EventData* data = stackalloc EventData[4];
            data[0] = new() { DataPointer = (IntPtr)(&thread), Size = 4 };
            data[1] = new() { DataPointer = (IntPtr)(&round), Size = 4 };
            data[2] = new() { DataPointer = (IntPtr)(&number), Size = 8 };
            data[3] = new() { DataPointer = (IntPtr)chars, Size = (text.Length + 1) * 2 };
            WriteEventCore(id, 4, data);
        }
    }

    [Event(3, Level = EventLevel.Informational)]
    public void Quick(int thread, int round, long number, string text) => Fast(3, thread, round, number, text);
}

/// <summary>
/// Storm storm SECONDS [STOP]: until then or the file STOP appears, threads that allocate, throw, and write events; output says what went wrong (0).
/// Storm exact THREADS COUNT [big]: waits until its source is on, writes COUNT Quick events a thread flat
/// out, says how many, and waits until it is off. Storm cost COUNT: ns an event, again and again.
/// Storm paced SECONDS STOP: 10 Quick events each ms. Storm load SECONDS: collectible assemblies with EventSources come and go. Storm quit: ends at once when it is on.
/// </summary>
static class Storm
{
    const string Text = "sixteen chars...";
    static volatile bool over;
    static long wrong, thrown, caught, ticks, allocated;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int n) => throw new InvalidOperationException("storm " + n);

    static void Exceptions()
    {
        for (int n = 0; !over; n++)
            try
            {
                Interlocked.Increment(ref thrown);
                Throw(n);
                Interlocked.Increment(ref wrong);
            }
            catch (InvalidOperationException e)
            {
                Interlocked.Increment(ref caught);
                if (e.Message != "storm " + n)
                    Interlocked.Increment(ref wrong);
            }
    }

    static void Allocations()
    {
        var kept = new byte[64][];
        for (int n = 0; !over; n++)
        {
            var bytes = new byte[100 + n % 2000];
            bytes[n % 100] = (byte)n;
            kept[n % 64] = bytes;
            var older = kept[(n + 1) % 64];
            if (older != null && older.Length != 100 + (n - 63) % 2000)
                Interlocked.Increment(ref wrong);
            Interlocked.Increment(ref allocated);
        }
    }

    static void Events(int thread)
    {
        for (long n = 0; !over; n++)
        {
            StormSource.Log.Tick(thread, 0, n, Text);
            StormSource.Log.Quick(thread, 0, n, Text);
            Interlocked.Add(ref ticks, 2);
        }
    }

    static void ShortThreads()
    {
        for (int n = 0; !over; n++)
        {
            long seen = -1;
            var t = new Thread(() => { StormSource.Log.Tick(100, 1, n, Text); seen = n; });
            t.Start();
            t.Join();
            if (seen != n)
                Interlocked.Increment(ref wrong);
        }
    }

    static void RunStorm(double seconds, string stop)
    {
        var watch = Stopwatch.StartNew();
        var threads = new List<Thread> { new(Exceptions), new(Allocations), new(ShortThreads) };
        for (int i = 0; i < 2; i++)
        {
            int id = i;
            threads.Add(new(() => Events(id)));
        }
        threads.ForEach(t => t.Start());
        for (int n = 0; watch.Elapsed.TotalSeconds < seconds && !File.Exists(stop); n++)
        {
            Thread.Sleep(100);
            Console.WriteLine("tick " + n);
        }
        over = true;
        threads.ForEach(t => t.Join());
        Console.WriteLine($"{{\"wrong\": {wrong}, \"thrown\": {thrown}, \"caught\": {caught}, \"ticks\": {ticks}, \"allocated\": {allocated}}}");
    }

    static void WaitUntil(bool enabled)
    {
        while (StormSource.Log.IsEnabled() != enabled)
            Thread.Sleep(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Write(int thread, int count)
    {
        for (int n = 0; n < count; n++)
            StormSource.Log.Quick(thread, 0, n, Text);
    }

    static void RunExact(int threadCount, int count, bool big)
    {
        WaitUntil(true);
        var threads = Enumerable.Range(0, threadCount).Select(i => new Thread(() => Write(i, count))).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
        if (big)
            foreach (int length in new[] { 10_000, 16_000, 20_000, 31_000 })
                StormSource.Log.Big(new string('x', length));
        Console.WriteLine($"{{\"fired\": {(long)threadCount * count}}}");
        WaitUntil(false);
    }

    static void RunCost(int count)
    {
        Write(0, 200_000);
        while (true)
        {
            var watch = Stopwatch.StartNew();
            Write(0, count);
            Console.WriteLine($"{watch.Elapsed.TotalNanoseconds / count:F1} {(StormSource.Log.IsEnabled() ? 1 : 0)}");
        }
    }

    static void RunPaced(double seconds, string stop)
    {
        var watch = Stopwatch.StartNew();
        long n = 0;
        for (; watch.Elapsed.TotalSeconds < seconds && !File.Exists(stop); Thread.Sleep(1))
            for (int i = 0; i < 10; i++)
                StormSource.Log.Quick(0, 0, n++, Text);
        Console.WriteLine($"{{\"wrong\": 0, \"fired\": {n}}}");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference LoadOnce(int n)
    {
        var context = new AssemblyLoadContext("storm" + n, isCollectible: true);
        var assembly = context.LoadFromAssemblyPath(typeof(Storm).Assembly.Location);
        var source = (EventSource)assembly.GetType("StormSource")!.GetField("Log")!.GetValue(null)!;
        var tick = source.GetType().GetMethod("Tick")!;
        for (long i = 0; i < 100; i++)
            tick.Invoke(source, [n, 2, i, Text]);
        source.Dispose();
        context.Unload();
        return new WeakReference(context);
    }

    static void RunLoad(double seconds)
    {
        var watch = Stopwatch.StartNew();
        int rounds = 0, dead = 0;
        for (; watch.Elapsed.TotalSeconds < seconds; rounds++)
        {
            var context = LoadOnce(rounds);
            for (int i = 0; i < 10 && context.IsAlive; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            dead += context.IsAlive ? 0 : 1;
        }
        Console.WriteLine($"{{\"wrong\": {wrong}, \"rounds\": {rounds}, \"unloaded\": {dead}}}");
    }

    static void Main(string[] args)
    {
        Console.WriteLine("pid " + Environment.ProcessId);
        if (args[0] != "load") // one name, one source at a time
            GC.KeepAlive(StormSource.Log);
        switch (args[0])
        {
            case "storm": RunStorm(double.Parse(args[1], CultureInfo.InvariantCulture), args.Length > 2 ? args[2] : ""); break;
            case "exact": RunExact(int.Parse(args[1]), int.Parse(args[2]), args.Length > 3); break;
            case "cost": RunCost(int.Parse(args[1])); break;
            case "load": RunLoad(double.Parse(args[1], CultureInfo.InvariantCulture)); break;
            case "paced": RunPaced(double.Parse(args[1], CultureInfo.InvariantCulture), args[2]); break;
            case "quit": WaitUntil(true); Console.WriteLine("{\"wrong\": 0}"); break;
        }
    }
}
