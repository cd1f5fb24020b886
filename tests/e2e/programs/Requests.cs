// SPDX-License-Identifier: GPL-2.0-or-later
// Requests [URL] - a web service on a port of its own (the line "url ..." says which). GET /order/ID calls
// URL/inventory/ID and answers what that answered. GET /inventory/ID answers the traceparent header it was sent, after
// 1 ms; where ID ends in 0, after it has waited for a lock that another thread holds for 40 ms from then on (400
// ms where ID ends in 00). GET
// /burn/MS takes MS milliseconds on one CPU. GET /outside calls URL/inventory/1 from a thread that has no activity. Each answer has the header
// Server-Timing: how long it took until then. It runs until it is killed.
using System;
using System.Diagnostics;
using System.Linq;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

var builder = WebApplication.CreateBuilder();
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.WebHost.UseUrls("http://127.0.0.1:0");
var app = builder.Build();
var http = new HttpClient();
var url = args.Length > 0 ? args[0] : "";
var gate = new object();

string WaitForLock(int ms)
{
    using var held = new ManualResetEventSlim();
    var holder = new Thread(() => { lock (gate) { held.Set(); Thread.Sleep(ms); } });
    holder.Start();
    held.Wait();
    lock (gate) { }
    holder.Join();
    return "";
}

app.Use(async (context, next) =>
{
    var watch = Stopwatch.StartNew();
    context.Response.OnStarting(() =>
    {
        context.Response.Headers["Server-Timing"] = $"total;dur={watch.Elapsed.TotalMilliseconds}";
        return Task.CompletedTask;
    });
    await next(context);
});
app.MapGet("/inventory/{id:int}", (int id, HttpRequest request) =>
{
    if (id % 10 == 0) WaitForLock(id % 100 == 0 ? 400 : 40); else Thread.Sleep(1);
    return request.Headers.TraceParent.ToString();
});
app.MapGet("/order/{id:int}", (int id) => http.GetStringAsync($"{url}/inventory/{id}"));
app.MapGet("/burn/{ms:int}", (int ms) =>
{
    for (var watch = Stopwatch.StartNew(); watch.ElapsedMilliseconds < ms;) { }
    return "";
});
app.MapGet("/outside", () =>
{
    string said = "";
    using (ExecutionContext.SuppressFlow())
    {
        var thread = new Thread(() => { Activity.Current = null; said = http.GetStringAsync($"{url}/inventory/1").Result; });
        thread.Start();
        thread.Join();
    }
    return said;
});
await app.StartAsync();
Console.WriteLine($"pid {Environment.ProcessId}");
Console.WriteLine($"url {app.Urls.First()}");
Thread.Sleep(Timeout.Infinite);
