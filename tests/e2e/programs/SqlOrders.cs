// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Data.SqlClient;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

/// <summary>SqlOrders PORT: a web service whose requests read from programs/sql_peer.py through Microsoft.Data.SqlClient: /order/N one statement,
/// /basket/N three of another one. Prints "pid PID" and "url URL". An answer's Server-Timing is how long its statements took, by the clock around
/// them.</summary>
static class SqlOrders
{
    static string database;

    static async Task<string> Read(string sql, int id)
    {
        await using var connection = new SqlConnection(database);
        await connection.OpenAsync();
        await using var command = new SqlCommand(sql, connection);
        command.Parameters.AddWithValue("@id", id);
        return (string)await command.ExecuteScalarAsync();
    }

    static async Task<string> LoadOrder(int id) => await Read("select note from orders where id = @id and year > 2020", id);

    static async Task<string> ListPrices(int id)
    {
        for (int i = 0; i < 2; i++)
            await Read("select price from prices where id = @id", id + i);
        return await Read("select price from prices where id = @id", id);
    }

    static async Task<string> Serve(Task<string> answer, long from, HttpResponse response)
    {
        string note = await answer;
        response.Headers["Server-Timing"] = $"db;dur={Stopwatch.GetElapsedTime(from).TotalMilliseconds:F3}";
        return note;
    }

    static void Main(string[] args)
    {
        database = $"Server=tcp:127.0.0.1,{args[0]};User ID=shop;Password=shop;Database=shop;Encrypt=False;Max Pool Size=20";
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        var app = builder.Build();
        app.MapGet("/order/{id:int}", (int id, HttpResponse response) => Serve(LoadOrder(id), Stopwatch.GetTimestamp(), response));
        app.MapGet("/basket/{id:int}", (int id, HttpResponse response) => Serve(ListPrices(id), Stopwatch.GetTimestamp(), response));
        app.StartAsync().Wait();
        Console.WriteLine($"pid {Environment.ProcessId}\nurl {app.Urls.First()}");
        app.WaitForShutdown();
    }
}
