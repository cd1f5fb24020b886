// SPDX-License-Identifier: GPL-2.0-or-later
// A program whose counters and metrics are known: an EventSource with one counter of each kind and
// a Meter with one instrument of each kind. It waits for SIGUSR1, makes all values, and goes on
// until the next SIGUSR1; then it prints, as one JSON line, what it did. It ends then, or, if its
// argument is "stay", after one more SIGUSR1.
using System;
using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Threading;

[EventSource(Name = "MyCompany-Counting")]
sealed class CountingSource : EventSource
{
    public static readonly CountingSource Log = new();
    public volatile int Depth = 40;
    public long Total;
    public EventCounter Latency;
    public IncrementingEventCounter Orders;
    PollingCounter depth;
    IncrementingPollingCounter total;

    protected override void OnEventCommand(EventCommandEventArgs command)
    {
        if (command.Command != EventCommand.Enable)
            return;
        Latency ??= new EventCounter("latency", this) { DisplayName = "Latency of orders", DisplayUnits = "ms" };
        Orders ??= new IncrementingEventCounter("orders", this)
        {
            DisplayName = "Orders placed",
            DisplayUnits = "orders",
            DisplayRateTimeScale = TimeSpan.FromSeconds(1),
        };
        if (depth == null)
        {
            depth = new PollingCounter("depth", this, () => Depth) { DisplayName = "Queue depth", DisplayUnits = "items" };
            depth.AddMetadata("queue", "main");
        }
        total ??= new IncrementingPollingCounter("total", this, () => Interlocked.Read(ref Total)) { DisplayName = "All" };
    }

    [Event(1, Level = EventLevel.Informational)]
    public void Placed(int number) => WriteEvent(1, number);
}

// Its command handler throws: all a tool gets of it is its event 0.
[EventSource(Name = "MyCompany-Broken")]
sealed class BrokenSource : EventSource
{
    public static readonly BrokenSource Log = new();

    protected override void OnEventCommand(EventCommandEventArgs command) => throw new InvalidOperationException("no such luck");
}

static class Counting
{
    static void Main(string[] args)
    {
        var meter = new Meter("MyCompany.Meter", "1.2", new[] { new KeyValuePair<string, object>("region", "eu") });
        var sold = meter.CreateCounter<int>("sold", "{item}", "Items sold");
        var open = meter.CreateUpDownCounter<long>("open", "{order}", "Orders open");
        double temperature = 21.5;
        meter.CreateObservableGauge("temperature", () => temperature, "Cel");
        var took = meter.CreateHistogram<double>("took", "ms", "How long it took");
        var log = CountingSource.Log;
        GC.KeepAlive(BrokenSource.Log);

        using var go = new SemaphoreSlim(0);
        using var signal = PosixSignalRegistration.Create((PosixSignal)10, context => { context.Cancel = true; go.Release(); });
        Console.WriteLine($"pid {Environment.ProcessId}");
        go.Wait();
        var garbage = new byte[16][];
        for (int round = 0; round < 25; round++)
        {
            log.Placed(round);
            for (int i = 0; i < 40; i++)
            {
                log.Latency?.WriteMetric(round + i / 100.0);
                log.Orders?.Increment(3);
                Interlocked.Add(ref log.Total, 2);
                sold.Add(2, new KeyValuePair<string, object>("colour", i % 4 == 0 ? "red" : "blue"));
                took.Record(i + 1, new KeyValuePair<string, object>("route", "/a,b=c"));
            }
            open.Add(5);
            open.Add(-3);
            for (int i = 0; i < 200; i++)
                garbage[i % 16] = new byte[8000];
            if (round % 5 == 0)
                GC.Collect(0, GCCollectionMode.Forced, true);
            log.Depth = 40 + round;
            temperature = 21.5 + round;
            Thread.Sleep(100);
        }
        Console.WriteLine("done");
        go.Wait();
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{{\"latency\": 1000, \"orders\": 3000, \"total\": 2000, \"depth\": {log.Depth}, \"red\": 500, \"blue\": 1500, " +
            $"\"open\": 50, \"temperature\": {temperature}, \"took\": 1000, \"took_sum\": {25 * 820}, " +
            $"\"heap_mb\": {GC.GetTotalMemory(false) / 1e6}, \"gen0\": {GC.CollectionCount(0)}, " +
            $"\"allocated\": {GC.GetTotalAllocatedBytes(false)}, \"on\": {(log.Orders != null ? "true" : "false")}}}"));
        if (args.Length > 0 && args[0] == "stay")
            go.Wait();
    }
}
