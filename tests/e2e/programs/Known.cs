// SPDX-License-Identifier: GPL-2.0-or-later
// Allocates and waits for locks, and knows how much: prints "pid N", waits for SIGUSR1, does it, prints as one
// line of JSON what the runtime and its own clock say of it, waits for SIGUSR1 again and ends.
using System;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

sealed class Small
{
    public long A, B, C, D;
}

static class Known
{
    const int Threads = 3, SmallCnt = 500_000, LargeCnt = 16, LargeBytes = 1_000_000;

    static object kept;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AllocateSmall()
    {
        for (int i = 0; i < SmallCnt; i++)
            kept = new Small();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AllocateLarge()
    {
        for (int i = 0; i < LargeCnt; i++)
            kept = new byte[LargeBytes];
    }

    /// <summary>What one thread allocated, by its own count.</summary>
    static long AllocateHere()
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        AllocateSmall();
        AllocateLarge();
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    static string Allocate()
    {
        long from = Stopwatch.GetTimestamp(), before = GC.GetTotalAllocatedBytes(true), ofThreads = 0;
        var all = new Thread[Threads];
        for (int i = 0; i < Threads; i++)
        {
            all[i] = new Thread(() => Interlocked.Add(ref ofThreads, AllocateHere()));
            all[i].Start();
        }
        foreach (var thread in all)
            thread.Join();
        return $"\"from_ns\": {Ns(from)}, \"bytes\": {GC.GetTotalAllocatedBytes(true) - before}, \"bytes_of_threads\": {ofThreads}";
    }

    static long Ns(long ticks) => ticks * (1_000_000_000 / Stopwatch.Frequency);

    /// <summary>
    /// Another thread waits for the lock; held: from when it was seen asleep until the lock is let go, waited: all
    /// the time it takes to enter.
    /// </summary>
    static void Hold(object gate, int ms, ref long held, ref long waited)
    {
        long took = 0, since;
        Thread other;
        lock (gate)
        {
            other = new Thread(() =>
            {
                long began = Stopwatch.GetTimestamp();
                lock (gate)
                    took = Stopwatch.GetTimestamp() - began;
            });
            other.Start();
            while (other.ThreadState != System.Threading.ThreadState.WaitSleepJoin)
                Thread.Sleep(1);
            since = Stopwatch.GetTimestamp();
            Thread.Sleep(ms);
            held += Ns(Stopwatch.GetTimestamp() - since);
        }
        other.Join();
        waited += Ns(took);
    }

    /// <summary>before: waits for locks until Allocate began; the runtime's own locks are waited for, too.</summary>
    static string Contend(long before)
    {
        int[] times = [4, 6, 8], ms = [40, 15, 2];
        long[] held = new long[3], waited = new long[3];
        for (int i = 0; i < 3; i++)
        {
            var gate = new object();
            for (int n = 0; n < times[i]; n++)
                Hold(gate, ms[i], ref held[i], ref waited[i]);
            GC.KeepAlive(gate);
        }
        var locks = Enumerable.Range(0, 3).Select(
            i => $"{{\"count\": {times[i]}, \"held_ns\": {held[i]}, \"waited_ns\": {waited[i]}}}");
        return $"\"contentions\": {Monitor.LockContentionCount - before}, \"until_ns\": {Ns(Stopwatch.GetTimestamp())}, \"locks\": [{string.Join(", ", locks)}]";
    }

    static void Main()
    {
        using var go = new SemaphoreSlim(0);
        using var signal = PosixSignalRegistration.Create((PosixSignal)10, context => { context.Cancel = true; go.Release(); });
        Console.WriteLine("pid " + Environment.ProcessId);
        go.Wait();
        long contentions = Monitor.LockContentionCount;
        Console.WriteLine($"{{{Allocate()}, {Contend(contentions)}}}");
        go.Wait();
    }
}
