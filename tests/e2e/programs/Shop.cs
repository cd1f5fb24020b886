// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.IO;
using System.Threading;

[EventSource(Name = "My-Shop")]
sealed class Shop : EventSource
{
    public static readonly Shop Log = new();

    [Event(1, Level = EventLevel.Informational)]
    public void OrderPlaced(int Id, string Customer, long Cents, double Rate, bool Paid, Guid Key, DateTime At) =>
        WriteEvent(1, Id, Customer, Cents, Rate, Paid, Key, At);

    [Event(2, Level = EventLevel.Warning)]
    public void OrderShipped(int Burst, int Number) => WriteEvent(2, Burst, Number);

    [Event(3, Level = EventLevel.Critical)]
    public void OnFire(int Number) => WriteEvent(3, Number);

    [Event(4, Level = EventLevel.Error)]
    public void Failed(int Number, string Why) => WriteEvent(4, Number, Why);

    [Event(5, Level = EventLevel.Verbose)]
    public void Chat(int Number) => WriteEvent(5, Number);

    [Event(6, Level = EventLevel.LogAlways)]
    public void Always(int Number) => WriteEvent(6, Number);

    [Event(7, Level = EventLevel.Informational)]
    public void Many(byte A, sbyte B, short C, ushort D, uint E, ulong F, char G, float H, string I, string J, int K,
                     long L, int M, int N) =>
        WriteEvent(7, A, B, C, D, E, F, G, H, I, J, K, L, M, N);

    [Event(8, Level = EventLevel.Informational)]
    public void Nothing() => WriteEvent(8);
}

sealed class Counting(EventSource to, string name)
{
    public void Fire(int n) => to.Write(name, new { n });
}

/// <summary>
/// Shop DIR: prints "pid N", fires each 20 ms with a number that grows; where DIR/burst appears 1,000 OrderShipped(1, i),
/// then DIR/done; ends where DIR/stop does.
/// Shop DIR types TYPES THREADS: all threads fire all of so many types of events until DIR/stop; prints how many.
/// Shop DIR cost N: prints ns an event, the least of rounds of N, until DIR/stop; a line each time DIR/cost appears.
/// </summary>
static class Program
{
    static readonly Guid Key = new("00112233-4455-6677-8899-aabbccddeeff");
    static string dir;

    static bool Take(string name)
    {
        var path = Path.Combine(dir, name);
        if (!File.Exists(path))
            return false;
        File.Delete(path);
        return true;
    }

    static readonly EventSource Namesake = new("tapir_coreclr"); // as the library's link is called

    static void Round(int i, EventSource odd)
    {
        var log = Shop.Log;
        log.OrderPlaced(i, $"caf\u00e9 \"{i}\"", -100L * i, i / 8.0, i % 2 == 1, Key, new DateTime(2026, 8, 5, 10, 11, 12,
                        DateTimeKind.Utc).AddTicks(i));
        log.OrderShipped(0, i);
        log.OnFire(i);
        log.Failed(i, "\U0001F600");
        log.Chat(i);
        log.Always(i);
        log.Many(200, -5, -3000, 60000, 4000000000, 10000000000000000000, 'x', 1.5f, "", new string('y', 3000), -i, i, 1, 2);
        log.Nothing();
        odd.Write("Weird: event/1", new { In = new { X = i, Y = "why" }, M = 0.1m, B = true });
        odd.Write("Array", new { A = new[] { 1, 2, 3 } });
        odd.Write("Weird: event/1", new { i });
        odd.Write("Weird_ event_1", new { text = "t" });
        Namesake.Write("Same", new { i });
    }

    static void Paced()
    {
        var odd = new EventSource("Odd/Provider name \u00e9", EventSourceSettings.EtwSelfDescribingEventFormat);
        for (var i = 1; !Take("stop"); i++, Thread.Sleep(20))
        {
            Round(i, odd);
            if (!Take("burst"))
                continue;
            for (var n = 0; n < 1000; n++)
                Shop.Log.OrderShipped(1, n);
            File.WriteAllText(Path.Combine(dir, "done"), "");
        }
    }

    static void Types(int types, int threads)
    {
        var source = new EventSource("My-Types", EventSourceSettings.EtwSelfDescribingEventFormat);
        var all = new List<Counting>();
        var running = new List<Thread>();
        var stop = false;
        long fired = 0;
        for (var i = 0; i < types; i++)
            all.Add(new Counting(source, $"Event{i}"));
        for (var t = 0; t < threads; t++)
        {
            var thread = new Thread(() =>
            {
                long mine = 0;
                for (; !Volatile.Read(ref stop);)
                    foreach (var one in all)
                    {
                        one.Fire(7);
                        mine++;
                    }
                Interlocked.Add(ref fired, mine);
            });
            thread.Start();
            running.Add(thread);
        }
        while (!Take("stop"))
            Thread.Sleep(20);
        Volatile.Write(ref stop, true);
        running.ForEach(t => t.Join());
        Console.WriteLine($"{{\"fired\": {fired}}}");
    }

    static double Least(int cnt)
    {
        var least = double.MaxValue;
        for (var round = 0; round < 20; round++)
        {
            Thread.Sleep(30); // the tracer empties the ring: a dropped event would cost less
            var from = Stopwatch.GetTimestamp();
            for (var i = 0; i < cnt; i++)
                Shop.Log.OrderShipped(2, i);
            least = Math.Min(least, Stopwatch.GetElapsedTime(from).TotalNanoseconds / cnt);
        }
        return least;
    }

    static void Cost(int cnt)
    {
        for (Least(cnt); !Take("stop"); Thread.Sleep(20))
        {
            Shop.Log.OrderShipped(0, 0);
            if (Take("cost"))
                Console.WriteLine($"{{\"ns\": {Least(cnt):F1}}}");
        }
    }

    static void Main(string[] args)
    {
        dir = args[0];
        Console.WriteLine($"pid {Environment.ProcessId}");
        if (args.Length > 3 && args[1] == "types")
            Types(int.Parse(args[2]), int.Parse(args[3]));
        else if (args.Length > 2 && args[1] == "cost")
            Cost(int.Parse(args[2]));
        else
            Paced();
    }
}
