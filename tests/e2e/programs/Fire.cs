// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

[EventSource(Name = "MyCompany-Demo")]
sealed class Demo : EventSource
{
    public static readonly Demo Log = new();

    public static class Keywords
    {
        public const EventKeywords Orders = (EventKeywords)1;
        public const EventKeywords Stock = (EventKeywords)2;
    }

    [Event(1, Level = EventLevel.Informational, Keywords = Keywords.Orders)]
    public void OrderPlaced(int id, int items, long cents, string customer) => WriteEvent(1, id, items, cents, customer);

    [Event(2, Level = EventLevel.Verbose, Keywords = Keywords.Stock)]
    public void StockLow(int item) => WriteEvent(2, item);

    [NonEvent]
    [MethodImpl(MethodImplOptions.NoInlining)]
    unsafe void WriteEvent(int eventId, int id, int items, long cents, string customer)
    {
        fixed (char* text = customer)
        {
            EventData* data = stackalloc EventData[4];
            data[0] = new EventData { DataPointer = (IntPtr)(&id), Size = 4 };
            data[1] = new EventData { DataPointer = (IntPtr)(&items), Size = 4 };
            data[2] = new EventData { DataPointer = (IntPtr)(&cents), Size = 8 };
            data[3] = new EventData { DataPointer = (IntPtr)text, Size = (customer.Length + 1) * 2 };
            WriteEventCore(eventId, 4, data);
        }
    }
}

/// <summary>
/// Fire [threads=N] [events=N] [gcs=N] [exceptions=N] [contentions=N] [queued=N] [pace=US] [now]: prints "pid N",
/// waits for SIGUSR1 (not with "now"), does it, prints what it did as one line of JSON, waits for SIGUSR1 again (not with
/// "now"), prints "over" and ends with 7.
/// </summary>
static class Fire
{
    static int Arg(string[] args, string name)
    {
        foreach (var arg in args)
            if (arg.StartsWith(name + "="))
                return int.Parse(arg[(name.Length + 1)..]);
        return 0;
    }

    static void Place(int thread, int events, int pace)
    {
        for (int i = 0; i < events; i++)
        {
            Demo.Log.OrderPlaced(i, thread, 1000L * i, "customer-" + (i % 1000).ToString("d6"));
            if (i % 100 == 0)
                Demo.Log.StockLow(i);
            if (pace > 0)
                Thread.Sleep(TimeSpan.FromMicroseconds(pace));
        }
    }

    static void Throw(int exceptions)
    {
        for (int i = 0; i < exceptions; i++)
            try
            {
                throw new InvalidOperationException("nr " + i);
            }
            catch (InvalidOperationException)
            {
            }
    }

    /// <summary>Each lock is released when the other thread has been seen to wait for it: so many waits, and no other, are here.</summary>
    static void Contend(int contentions)
    {
        for (int i = 0; i < contentions; i++)
        {
            var held = new object();
            bool asks = false;
            Thread other;
            lock (held)
            {
                other = new Thread(() => { Volatile.Write(ref asks, true); lock (held) { } });
                other.Start();
                while (!Volatile.Read(ref asks) || other.ThreadState != ThreadState.WaitSleepJoin)
                    Thread.Sleep(1);
            }
            other.Join();
        }
    }

    /// <summary>One after the other: each is taken from the queue once.</summary>
    static long Queue(int items)
    {
        long before = ThreadPool.CompletedWorkItemCount;
        for (int i = 0; i < items; i++)
            ThreadPool.UnsafeQueueUserWorkItem(_ => { }, null);
        while (ThreadPool.CompletedWorkItemCount - before < items)
            Thread.Sleep(1);
        return ThreadPool.CompletedWorkItemCount - before;
    }

    /// <summary>What the runtime's own clock says of each: its number, the milliseconds of its pause.</summary>
    static string Collect(int gcs)
    {
        var pauses = new string[gcs];
        for (int i = 0; i < gcs; i++)
        {
            GC.Collect(i % 3);
            var info = GC.GetGCMemoryInfo(GCKind.Any);
            pauses[i] = $"\"{info.Index}\": {info.PauseDurations[0].TotalMilliseconds}";
        }
        return string.Join(", ", pauses);
    }

    static void Main(string[] args)
    {
        using var go = new SemaphoreSlim(0);
        using var signal = PosixSignalRegistration.Create((PosixSignal)10, context => { context.Cancel = true; go.Release(); });
        bool waits = Array.IndexOf(args, "now") < 0;
        int threads = Math.Max(1, Arg(args, "threads")), events = Arg(args, "events");

        int[] before = [GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2)];
        long locks = Monitor.LockContentionCount;
        Console.WriteLine("pid " + Environment.ProcessId);
        if (waits)
            go.Wait();
        var all = new Thread[threads];
        for (int i = 0; i < threads; i++)
        {
            int nr = i;
            all[i] = new Thread(() => Place(nr, events, Arg(args, "pace")));
            all[i].Start();
        }
        foreach (var thread in all)
            thread.Join();
        Throw(Arg(args, "exceptions"));
        Contend(Arg(args, "contentions"));
        long queued = Queue(Arg(args, "queued"));
        string pauses = Collect(Arg(args, "gcs"));
        Console.WriteLine($"{{\"orders\": {threads * events}, \"lows\": {threads * ((events + 99) / 100)}, " +
                          $"\"exceptions\": {Arg(args, "exceptions")}, \"contentions\": {Monitor.LockContentionCount - locks}, " +
                          $"\"queued\": {queued}, " +
                          $"\"gcs\": [{GC.CollectionCount(0) - before[0]}, {GC.CollectionCount(1) - before[1]}, {GC.CollectionCount(2) - before[2]}], " +
                          $"\"pauses_ms\": {{{pauses}}}}}");
        if (waits)
            go.Wait();
        Console.WriteLine("over");
        Environment.Exit(7);
    }
}
