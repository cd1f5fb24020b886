// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Linq;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.Logging;

/// <summary>
/// Web: a small service on a free port of 127.0.0.1. Prints "pid N port P", ends with its input.
/// GET /orders answers 20 orders as JSON: allocations, LINQ and serialization, no I/O of its own.
/// </summary>
static class Web
{
    record Order(int Id, string Name, decimal Price, DateTime At);

    static void Main()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        var app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        app.MapGet("/orders", () => Enumerable.Range(1, 20)
            .Select(i => new Order(i, "order " + i, i * 1.5m, DateTime.UnixEpoch.AddDays(i)))
            .OrderByDescending(o => o.Price).ToArray());
        app.StartAsync().Wait();
        Console.WriteLine($"pid {Environment.ProcessId} port {new Uri(app.Urls.First()).Port}");
        Console.ReadLine();
    }
}
