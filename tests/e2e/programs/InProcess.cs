// SPDX-License-Identifier: GPL-2.0-or-later
// InProcess - what an event costs that an EventListener in the same process receives: four ints and a
// string of 16 characters, in rounds of 500 with a pause between. Prints JSON: ns an event, least and
// median of the rounds, and how many the listener has seen.
using System;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Threading;

const int Rounds = 100, Hits = 500, WarmUp = 400;
var ns = new double[Rounds];
using var listener = new Counter();
for (int round = -WarmUp; round < Rounds; round++)
{
    long start = Stopwatch.GetTimestamp();
    for (int i = 0; i < Hits; i++)
        Source.Log.Bench(i, round, -1, 42, "sixteen chars...");
    if (round >= 0)
    {
        ns[round] = Stopwatch.GetElapsedTime(start).TotalNanoseconds / Hits;
        Thread.Sleep(12);
    }
    else if (round % 50 == 0)
    {
        Thread.Sleep(100); // the compiler's second tier
    }
}
Array.Sort(ns);
Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
    $"{{\"what\": \"EventListener\", \"ns_min\": {ns[0]:F2}, \"ns_median\": {ns[Rounds / 2]:F2}, \"fired\": {(WarmUp + Rounds) * Hits}, \"read\": {listener.Seen}}}"));

[EventSource(Name = "Bench-InProcess")]
sealed class Source : EventSource
{
    public static readonly Source Log = new();

    [Event(1, Level = EventLevel.Informational)]
    public unsafe void Bench(int a, int b, int c, int d, string text)
    {
        if (!IsEnabled())
            return;
        fixed (char* chars = text)
        {
            EventData* data = stackalloc EventData[5];
            data[0] = new EventData { DataPointer = (nint)(&a), Size = 4 };
            data[1] = new EventData { DataPointer = (nint)(&b), Size = 4 };
            data[2] = new EventData { DataPointer = (nint)(&c), Size = 4 };
            data[3] = new EventData { DataPointer = (nint)(&d), Size = 4 };
            data[4] = new EventData { DataPointer = (nint)chars, Size = 2 * (text.Length + 1) };
            WriteEventCore(1, 5, data);
        }
    }
}

sealed class Counter : EventListener
{
    public long Seen;

    protected override void OnEventSourceCreated(EventSource source)
    {
        if (source.Name == "Bench-InProcess")
            EnableEvents(source, EventLevel.Verbose);
    }

    protected override void OnEventWritten(EventWrittenEventArgs e) => Seen++;
}
