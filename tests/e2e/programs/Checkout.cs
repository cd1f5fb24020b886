// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics;
using System.Linq;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

/// <summary>
/// Checkout: a web service on a free port of 127.0.0.1. GET /checkout/ID asks the warehouse, GET /stock/ID, which
/// answers after 100 ms, and blocks its thread of the pool until it has the answer; "Checkout URL await" awaits it.
/// "Checkout" without URL is the warehouse. Prints "pid N port P", ends at SIGTERM. The witness: each checkout is
/// answered with the milliseconds that it took, GET /health with {"threads": of the pool, "queued": work items}.
/// </summary>
static class Checkout
{
    static readonly HttpClient warehouse = new();

    static string AskWarehouse(int id) => warehouse.GetStringAsync($"/stock/{id}").Result;

    static object Reserve(int id)
    {
        long begin = Stopwatch.GetTimestamp();
        string left = AskWarehouse(id);
        return new { id, left, ms = Stopwatch.GetElapsedTime(begin).TotalMilliseconds };
    }

    static async Task<object> ReserveAsync(int id)
    {
        long begin = Stopwatch.GetTimestamp();
        string left = await warehouse.GetStringAsync($"/stock/{id}");
        return new { id, left, ms = Stopwatch.GetElapsedTime(begin).TotalMilliseconds };
    }

    static void Main(string[] args)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        var app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        app.MapGet("/health", () => new { threads = ThreadPool.ThreadCount, queued = ThreadPool.PendingWorkItemCount });
        app.MapGet("/stock/{id:int}", async (int id) => { await Task.Delay(100); return $"{id % 7} left"; });
        if (args.Length > 0)
            warehouse.BaseAddress = new Uri(args[0]);
        if (args.Length > 1)
            app.MapGet("/checkout/{id:int}", (int id) => ReserveAsync(id));
        else
            app.MapGet("/checkout/{id:int}", (int id) => Reserve(id));
        app.StartAsync().Wait();
        Console.WriteLine($"pid {Environment.ProcessId} port {new Uri(app.Urls.First()).Port}");
        app.WaitForShutdownAsync().Wait();
    }
}
