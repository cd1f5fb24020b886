// SPDX-License-Identifier: GPL-2.0-or-later
// Otel FILE [URL] - a web service with OpenTelemetry's SDK on a port of its own (the line "url ..." says which). Its spans,
// of ASP.NET, of HttpClient and one of its own, are lines of FILE as the SDK exports them: trace id, span id, parent's id,
// kind, microseconds, name. Sampled as the caller's are, all others always. GET /order/ID calls URL/stock/ID;
// GET /stock/ID takes 20 ms.
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Threading;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;
using OpenTelemetry;
using OpenTelemetry.Trace;

var source = new ActivitySource("Shop.Otel");
using var traces = Sdk.CreateTracerProviderBuilder()
    .SetSampler(new ParentBasedSampler(new AlwaysOnSampler()))
    .AddSource("Shop.Otel", "Microsoft.AspNetCore", "System.Net.Http")
    .AddProcessor(new SimpleActivityExportProcessor(new Lines(args[0])))
    .Build();
var builder = WebApplication.CreateBuilder();
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.WebHost.UseUrls("http://127.0.0.1:0");
var app = builder.Build();
var http = new HttpClient();
var url = args.Length > 1 ? args[1] : "";
app.MapGet("/stock/{id:int}", (int id) =>
{
    using var look = source.StartActivity("look");
    Thread.Sleep(20);
    return id.ToString();
});
app.MapGet("/order/{id:int}", (int id) => http.GetStringAsync($"{url}/stock/{id}"));
await app.StartAsync();
Console.WriteLine($"pid {Environment.ProcessId}");
Console.WriteLine($"url {app.Urls.First()}");
Thread.Sleep(Timeout.Infinite);

class Lines : BaseExporter<Activity>
{
    readonly StreamWriter to;
    public Lines(string path) => to = new StreamWriter(path) { AutoFlush = true };

    public override ExportResult Export(in Batch<Activity> batch)
    {
        lock (to)
            foreach (var a in batch)
                to.WriteLine($"{a.TraceId} {a.SpanId} {a.ParentSpanId} {a.Kind} {a.Duration.TotalMicroseconds:F0} {a.DisplayName}");
        return ExportResult.Success;
    }
}
