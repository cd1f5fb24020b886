// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics.Tracing;
using System.Threading;

enum Colour { Red = 1, Green = 2 }

[EventSource(Name = "MyCompany-Fields")]
sealed class Fields : EventSource
{
    public static readonly Fields Log = new();

    [Event(1, Version = 3)]
    public void Types(bool b, char c, sbyte s8, byte u8, short s16, ushort u16, int s32, uint u32, long s64, ulong u64,
                      float f, double d, DateTime t, Guid g, string s, Colour e, IntPtr p) =>
        WriteEvent(1, b, c, s8, u8, s16, u16, s32, u32, s64, u64, f, d, t, g, s, e, p);

    [Event(2)]
    public void Bytes(long a, byte[] data) => WriteEvent(2, a, data);

    [Event(3)]
    public void Nothing() => WriteEvent(3);

    [Event(4)]
    public void Small(bool b, char c, sbyte s8, byte u8, short s16, ushort u16, int s32, uint u32, Colour e) =>
        WriteEvent(4, b, c, s8, u8, s16, u16, s32, u32, e);

    [Event(5)]
    public void Large(long s64, ulong u64, float f, double d, DateTime t, Guid g, string s, IntPtr p) =>
        WriteEvent(5, s64, u64, f, d, t, g, s, p);
}

[EventData]
sealed class Inner
{
    public int X { get; set; }
    public string Y { get; set; }
}

/// <summary>Fields [once]: prints "pid N", fires every event each 20 ms until it is ended, or three times.</summary>
static class Program
{
    static readonly Guid Id = new("00112233-4455-6677-8899-aabbccddeeff");

    static void Main(string[] args)
    {
        var self = new EventSource("MyCompany-Self", EventSourceSettings.EtwSelfDescribingEventFormat);
        var counters = new EventSource("MyCompany-Counters", EventSourceSettings.EtwSelfDescribingEventFormat);
        var polled = new PollingCounter("polled", counters, () => 42.5) { DisplayUnits = "MB" };

        Console.WriteLine($"pid {Environment.ProcessId}");
        for (int i = 0; i < 3 || args.Length == 0; i++, Thread.Sleep(20))
        {
            EventSource.SetCurrentThreadActivityId(Id);
            Fields.Log.Types(true, 'x', -5, 200, -3000, 60000, -100000, 4000000000, -5000000000, 10000000000000000000,
                             1.5f, -2.25, new DateTime(2026, 8, 5, 10, 11, 12, DateTimeKind.Utc), Id,
                             "h\u00e9llo \U0001F600", Colour.Green, 0x1234);
            Fields.Log.Small(true, 'x', -5, 200, -3000, 60000, -100000, 4000000000, Colour.Green);
            Fields.Log.Large(-5000000000, 10000000000000000000, 1.5f, -2.25,
                             new DateTime(2026, 8, 5, 10, 11, 12, DateTimeKind.Utc), Id, "h\u00e9llo \U0001F600", 0x1234);
            Fields.Log.Bytes(7, [1, 2, 3]);
            Fields.Log.Nothing();
            self.Write("Object", new { In = new Inner { X = 5, Y = "why" }, M = 1.5m, C = 'z', B = true });
            self.Write("Arrays", new { Numbers = new[] { 1, -2, 3 }, Points = new[] { new Inner { X = 1, Y = "p" }, new Inner { X = 2, Y = "q" } } });
            GC.KeepAlive(polled);
            if (DateTime.UtcNow.Ticks % 5 == 0)
                GC.Collect(0);
        }
    }
}
