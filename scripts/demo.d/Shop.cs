// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.Linq;
using System.Threading;

[EventSource(Name = "Demo-Shop")]
sealed class ShopEvents : EventSource
{
    public static readonly ShopEvents Log = new();
    [Event(1, Level = EventLevel.Informational)]
    public void OrderServed(int id, string customer, long micros) => WriteEvent(1, id, customer, micros);
}

/// <summary>Serves orders in two threads, keeps some of them for too long, and fails at times.</summary>
static class Shop
{
    static readonly List<string[]> basket = new();

    static string[] Price(int id) =>
        Enumerable.Range(0, 400).Select(i => $"article {id}.{i}").OrderByDescending(s => s.Length).ToArray();

    static void Keep(string[] order)
    {
        lock (basket)
        {
            basket.Add(order);
            if (basket.Count > 3000)
                basket.RemoveRange(0, 1500);
        }
    }

    static void Serve(int id)
    {
        var clock = System.Diagnostics.Stopwatch.StartNew();
        Keep(Price(id));
        try
        {
            if (id % 50 == 0)
                throw new InvalidOperationException($"order {id}: the card was refused");
        }
        catch (InvalidOperationException) { }
        ShopEvents.Log.OrderServed(id, $"customer {id % 7}", clock.ElapsedTicks / 1000);
    }

    static void Main()
    {
        for (int t = 0; t < 2; t++)
            new Thread(first =>
            {
                for (int id = (int)first!; ; id += 2)
                {
                    Serve(id);
                    if (id % 20 < 2)
                        Thread.Sleep(1);
                }
            }) { Name = $"server-{t}" }.Start(t);
        Console.WriteLine("serving");
    }
}
