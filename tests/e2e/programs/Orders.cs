// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics;
using System.Linq;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Npgsql;

/// <summary>Orders CONNECTION: a web service whose requests read from PostgreSQL through Npgsql. Prints "pid PID" and "url URL". An answer's
/// Server-Timing is how long its statement took, by the clock around it.</summary>
static class Orders
{
    static NpgsqlDataSource database;

    static async Task<string> LoadOrder(int id, HttpResponse response)
    {
        long from = Stopwatch.GetTimestamp();
        await using var command = database.CreateCommand("select note from orders, pg_sleep(0.06) where id = $1");
        command.Parameters.Add(new NpgsqlParameter<int> { TypedValue = id });
        string note = (string)await command.ExecuteScalarAsync();
        response.Headers["Server-Timing"] = $"db;dur={Stopwatch.GetElapsedTime(from).TotalMilliseconds:F3}";
        return note;
    }

    static void Main(string[] args)
    {
        database = NpgsqlDataSource.Create(args[0]);
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        var app = builder.Build();
        app.MapGet("/order/{id:int}", (int id, HttpResponse response) => LoadOrder(id, response));
        app.StartAsync().Wait();
        Console.WriteLine($"pid {Environment.ProcessId}\nurl {app.Urls.First()}");
        app.WaitForShutdown();
    }
}
