// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Buffers;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

/// <summary>
/// Catalog: a service on a free port of 127.0.0.1 whose requests are quick but for some. It keeps all its products in
/// memory (Catalog PRODUCTS) and draws a preview of 4 MB for each request of GET /preview/ID: a large object, so the
/// collector goes through all products each time that enough of them came together. "Catalog PRODUCTS pooled" takes
/// the previews from a pool. Prints "pid N port P", ends at SIGTERM. The witness: each request is answered with
/// the milliseconds it took, GET /health with {"gen2": collections, "pause_ms": what they took}.
/// </summary>
static class Catalog
{
    const int PreviewBytes = 4_000_000, RowBytes = 1000, Shelf = 1000;

    sealed class Product
    {
        public string Name;
        public decimal Price;
    }

    static Product[][] shelves; // each of them a small object
    static bool isPooled;

    static void Fill(int count)
    {
        shelves = new Product[(count + Shelf - 1) / Shelf][];
        for (int i = 0; i < shelves.Length; i++)
        {
            shelves[i] = new Product[Shelf];
            for (int at = 0; at < Shelf; at++)
                shelves[i][at] = new Product { Name = $"product {i * Shelf + at}", Price = at * 0.01m };
        }
    }

    static Product Find(int id) => shelves[id / Shelf % shelves.Length][id % Shelf];

    [MethodImpl(MethodImplOptions.NoInlining)]
    static byte[] DrawPreview(Product product)
    {
        byte[] preview = isPooled ? ArrayPool<byte>.Shared.Rent(PreviewBytes) : new byte[PreviewBytes];
        for (int at = 0; at < PreviewBytes; at += RowBytes)
            preview.AsSpan(at, RowBytes).Fill((byte)product.Name[at % product.Name.Length]);
        return preview;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Preview(int id)
    {
        byte[] preview = DrawPreview(Find(id));
        int sum = 0;
        for (int at = 0; at < PreviewBytes; at += RowBytes)
            sum = sum * 31 + preview[at];
        if (isPooled)
            ArrayPool<byte>.Shared.Return(preview);
        return sum;
    }

    static string Answer(int id)
    {
        long from = Stopwatch.GetTimestamp();
        int sum = Preview(id);
        double ms = Stopwatch.GetElapsedTime(from).TotalMilliseconds;
        return FormattableString.Invariant($"{{\"name\": \"{Find(id).Name}\", \"sum\": {sum}, \"ms\": {ms:F3}}}");
    }

    static string Health() => FormattableString.Invariant(
        $"{{\"gen2\": {GC.CollectionCount(2)}, \"pause_ms\": {GC.GetTotalPauseDuration().TotalMilliseconds:F3}}}");

    static void Main(string[] args)
    {
        isPooled = args.Contains("pooled");
        Fill(int.Parse(args[0]));
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        var app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        app.MapGet("/preview/{id}", (int id) => Results.Text(Answer(id), "application/json"));
        app.MapGet("/health", () => Results.Text(Health(), "application/json"));
        app.StartAsync().Wait();
        Console.WriteLine($"pid {Environment.ProcessId} port {new Uri(app.Urls.First()).Port}");
        app.WaitForShutdown();
    }
}
