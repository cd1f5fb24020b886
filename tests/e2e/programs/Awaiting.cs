// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Linq;
using System.Net.Http;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;

/// <summary>Awaiting MODE: a web service whose requests await, with one planted defect, or none. It starts its clients and the service
/// that it asks, as processes of their own. Prints "ready PID", and when a second line comes on its standard input what it counted by its own
/// clock, as JSON: how many awaits of the kind in question have ended, and for how long there were any, each 50 ms; "requests": from when
/// until when its clients waited, by their own clock.</summary>
static class Awaiting
{
    static readonly object gate = new();
    static readonly List<long[]> sums = new();
    static long count, done, open, begun;

    static long Now() => Stopwatch.GetTimestamp(); // CLOCK_MONOTONIC, in ns

    static void Sample()
    {
        lock (gate)
        {
            long now = Now();
            sums.Add(new[] { now, count, done + open * now - begun });
        }
    }

    /// <summary>The await in question: by the clock, from before it until after it.</summary>
    static long Begin()
    {
        lock (gate)
        {
            long now = Now();
            open++;
            begun += now;
            return now;
        }
    }

    static void End(long from)
    {
        lock (gate)
        {
            open--;
            begun -= from;
            done += Now() - from;
            count++;
        }
    }

    // ---- what requests await ------------------------------------------------------------------------
    static HttpClient http;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> AskPrice(int id, int ms)
    {
        long from = Begin();
        string price = await http.GetStringAsync($"/price/{id}?ms={ms}");
        End(from);
        return price;
    }

    static async Task<string> Basket(int id)
    {
        for (int i = 0; i < 9; i++)
            await AskPrice(10 * id + i, 8);
        return await AskPrice(id, 8);
    }

    static async Task<string> AskFive(int id) =>
        string.Concat(await Task.WhenAll(Enumerable.Range(0, 5).Select(i => AskPrice(id + i, i == 3 ? 150 : 5))));

    static readonly SemaphoreSlim seats = new(1), left = new(1), right = new(1);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> ReserveSeat(int id)
    {
        long from = Begin();
        await seats.WaitAsync();
        End(from);
        try
        {
            await Task.Delay(20);
            return $"seat {id}";
        }
        finally
        {
            seats.Release();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> RefreshRates(int id)
    {
        long from = Begin();
        await seats.WaitAsync();
        End(from);
        try
        {
            return await http.GetStringAsync($"/rates/{id}?ms=30");
        }
        finally
        {
            seats.Release();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> Transfer(SemaphoreSlim first, SemaphoreSlim second)
    {
        await first.WaitAsync();
        await Task.Delay(200);
        long from = Begin();
        await second.WaitAsync();
        End(from);
        return "done";
    }

    static Task<string> first, second;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> AwaitOther(bool isFirst)
    {
        await Task.Delay(200);
        return await (isFirst ? second : first);
    }

    static readonly Channel<int> orders = Channel.CreateBounded<int>(4);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> PlaceOrder(int id)
    {
        long from = Begin();
        await orders.Writer.WriteAsync(id);
        End(from);
        return $"order {id}";
    }

    static async Task ShipOrders()
    {
        await foreach (int _ in orders.Reader.ReadAllAsync())
            await Task.Delay(20);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> AwaitJob(int id)
    {
        var job = Task.Delay(130);
        while (!job.IsCompleted)
        {
            long from = Begin();
            await Task.Delay(50);
            End(from);
        }
        return $"job {id}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string AskPriceNow(int id)
    {
        long from = Begin();
        string price = http.GetStringAsync($"/price/{id}?ms=50").Result;
        End(from);
        return price;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> LoadOrder(int id)
    {
        int command = Interlocked.Increment(ref commands);
        long from = Begin();
        SqlClientEvents.Log.BeginExecute(command, "127.0.0.1", "shop", "select price, note from orders where id = @id", "ExecuteReaderAsync");
        string price = await http.GetStringAsync($"/price/{id}?ms=150");
        SqlClientEvents.Log.EndExecute(command, 1, 0, "ExecuteReaderAsync");
        End(from);
        return price;
    }

    static int commands;
    static readonly SemaphoreSlim two = new(2);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> AskThrottled(int id)
    {
        long from = Begin();
        await two.WaitAsync();
        End(from);
        try
        {
            return await http.GetStringAsync($"/rates/{id}?ms=40");
        }
        finally
        {
            two.Release();
        }
    }

    static readonly Channel<int> free = Channel.CreateUnbounded<int>();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> RentConnection(int id)
    {
        long from = Begin();
        int connection = await free.Reader.ReadAsync();
        End(from);
        try
        {
            return await http.GetStringAsync($"/rates/{id}?ms=40");
        }
        finally
        {
            free.Writer.TryWrite(connection);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> SettlePayment(int id)
    {
        long from = Begin();
        await Task.Delay(150);
        End(from);
        return $"payment {id}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> AskAgain(int id)
    {
        string price = "";
        for (int i = 0; i < 3; i++)
        {
            price = await http.GetStringAsync($"/price/{id}?ms=4");
            long from = Begin();
            await Task.Delay(60);
            End(from);
        }
        return price;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> AskInTime(int id)
    {
        long from = Begin();
        await Task.WhenAny(http.GetStringAsync($"/price/{id}?ms=600"), Task.Delay(150));
        End(from);
        return "none in time";
    }

    static TaskCompletionSource<int> batch = new(TaskCreationOptions.RunContinuationsAsynchronously);

    static async Task WriteBatches()
    {
        while (true)
        {
            await Task.Delay(150);
            Interlocked.Exchange(ref batch, new(TaskCreationOptions.RunContinuationsAsynchronously)).SetResult(1);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> AwaitBatch(int id)
    {
        long from = Begin();
        await Volatile.Read(ref batch).Task;
        End(from);
        return $"order {id}";
    }

    static async IAsyncEnumerable<string> ReadPages(int id)
    {
        for (int page = 0; page < 6; page++)
        {
            long from = Begin();
            string prices = await http.GetStringAsync($"/page/{id}?ms=25");
            End(from);
            yield return prices;
        }
    }

    static async Task<string> ListPrices(int id)
    {
        string all = "";
        await foreach (string page in ReadPages(id))
            all += page;
        return all;
    }

    static readonly Channel<TaskCompletionSource<int>> submitted = Channel.CreateUnbounded<TaskCompletionSource<int>>();

    static async Task WorkAlone()
    {
        await foreach (var order in submitted.Reader.ReadAllAsync())
        {
            await Task.Delay(20);
            order.SetResult(1);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> SubmitOrder(int id)
    {
        var order = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        submitted.Writer.TryWrite(order);
        long from = Begin();
        await order.Task;
        End(from);
        return $"order {id}";
    }

    // Nothing is wrong with those that await work.
    static readonly Channel<int> mail = Channel.CreateUnbounded<int>();
    static readonly SemaphoreSlim letters = new(0);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task SendMail()
    {
        while (true)
        {
            await mail.Reader.ReadAsync();
            await Task.Delay(1);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task PrintLetters()
    {
        while (true)
        {
            await letters.WaitAsync();
            await Task.Delay(1);
        }
    }

    static Task<string> OrderMail(int id)
    {
        mail.Writer.TryWrite(id);
        letters.Release();
        return AskPrice(id, 1);
    }

    static readonly Dictionary<string, (int Clients, Func<int, Task<string>> Serve)> modes = new()
    {
        ["slow"] = (6, id => AskPrice(id, 80)),
        ["calls"] = (6, Basket),
        ["one-slow"] = (6, AskFive),
        ["one-percent"] = (6, id => AskPrice(id, id % 50 == 0 ? 300 : 4)),
        ["semaphore"] = (8, ReserveSeat),
        ["lock"] = (8, RefreshRates),
        ["channel"] = (10, PlaceOrder),
        ["polling"] = (6, AwaitJob),
        ["blocking"] = (6, id => Task.FromResult(AskPriceNow(id))),
        ["connections"] = (8, id => AskPrice(id, 20)),
        ["deadlock"] = (2, id => id % 2 == 0 ? Transfer(left, right) : Transfer(right, left)),
        ["circle"] = (2, id => id % 2 == 0 ? first = AwaitOther(true) : second = AwaitOther(false)),
        ["sql"] = (6, LoadOrder),
        ["throttled"] = (8, AskThrottled),
        ["rented"] = (8, RentConnection),
        ["delay"] = (6, SettlePayment),
        ["retry"] = (6, AskAgain),
        ["timeout"] = (6, AskInTime),
        ["batch"] = (6, AwaitBatch),
        ["pages"] = (6, ListPrices),
        ["submitted"] = (8, SubmitOrder),
        ["workers"] = (1, OrderMail),
        ["calm"] = (1, id => AskPrice(id, 1)),
        ["idle"] = (0, id => Task.FromResult("")),
    };

    // ---- the three processes ------------------------------------------------------------------------
    static WebApplication Build()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        return builder.Build();
    }

    static string Start(WebApplication app)
    {
        app.StartAsync().Wait();
        return app.Urls.First();
    }

    static readonly List<Process> children = new();

    /// <summary>Another process of this program, which ends when this one does; its first line.</summary>
    static string Child(params string[] args)
    {
        var info = new ProcessStartInfo(Environment.ProcessPath, args) { RedirectStandardInput = true, RedirectStandardOutput = true };
        var child = Process.Start(info);
        children.Add(child); // whose input is open as long as this process lives
        return child.StandardOutput.ReadLine();
    }

    static void Answer()
    {
        var app = Build();
        app.MapGet("/{what}/{id:int}", async (int id, int ms) =>
        {
            await Task.Delay(ms);
            return $"{id}";
        });
        Console.WriteLine(Start(app));
        Console.ReadLine();
    }

    static void Ask(string url, int clients)
    {
        var client = new HttpClient { BaseAddress = new Uri(url), Timeout = Timeout.InfiniteTimeSpan };
        int id = -1;
        var waits = new List<string>();
        for (int i = 0; i < clients; i++)
            _ = Task.Run(async () =>
            {
                while (true)
                {
                    long from = Now();
                    await client.GetStringAsync($"/serve/{Interlocked.Increment(ref id)}");
                    lock (waits)
                        waits.Add($"[{from},{Now()}]");
                    await Task.Delay(clients == 1 ? 50 : 1);
                }
            });
        Console.WriteLine("asking");
        Console.ReadLine();
        lock (waits)
            Console.WriteLine($"[{string.Join(",", waits)}]");
    }

    static void StartWorkers(string mode)
    {
        free.Writer.TryWrite(1);
        free.Writer.TryWrite(2);
        if (mode == "channel")
            _ = ShipOrders();
        if (mode == "batch")
            _ = WriteBatches();
        if (mode == "submitted")
            _ = WorkAlone();
        for (int i = 0; mode == "workers" && i < 6; i++)
        {
            _ = SendMail();
            _ = PrintLetters();
        }
    }

    static void Serve(string mode)
    {
        var (clients, serve) = modes[mode];
        var handler = new SocketsHttpHandler { MaxConnectionsPerServer = mode == "connections" ? 2 : int.MaxValue };
        http = new HttpClient(handler) { BaseAddress = new Uri(Child("answer")) };
        StartWorkers(mode);
        var app = Build();
        app.Use((context, next) => next(context)); // whose task is not the cause
        app.Use(async (context, next) => await next(context));
        app.MapGet("/serve/{id:int}", (int id) => serve(id));
        string url = Start(app);
        if (clients > 0)
            Child("ask", url, $"{clients}");
        var asking = children.Last();
        new Thread(() => { while (true) { Sample(); Thread.Sleep(50); } }) { IsBackground = true }.Start();
        Console.WriteLine("ready " + Environment.ProcessId);
        Console.ReadLine();
        Console.WriteLine("counting");
        Console.ReadLine();
        Sample();
        if (clients > 0)
            asking.StandardInput.WriteLine();
        string requests = clients > 0 ? asking.StandardOutput.ReadLine() : "[]";
        lock (gate)
        {
            string Column(int i) => "[" + string.Join(",", sums.Select(row => row[i])) + "]";
            Console.WriteLine($$"""{"witness": true, "count": {{count}}, "requests": {{requests}}, "sums": {"at_ns": {{Column(0)}}, "count": {{Column(1)}}, "waited_ns": {{Column(2)}} } }""");
        }
        Environment.Exit(0);
    }

    static void Main(string[] args)
    {
        if (args[0] == "answer")
            Answer();
        else if (args[0] == "ask")
            Ask(args[1], int.Parse(args[2]));
        else
            Serve(args[0]);
    }
}

/// <summary>The events of Microsoft.Data.SqlClient 6, with its names, numbers, keywords and fields. What is awaited between them is no database.</summary>
[EventSource(Name = "Microsoft.Data.SqlClient.EventSource")]
sealed class SqlClientEvents : EventSource
{
    public static readonly SqlClientEvents Log = new();

    public static class Keywords
    {
        public const EventKeywords ExecutionTrace = (EventKeywords)1;
    }

    public static class Tasks
    {
        public const EventTask ExecuteCommand = (EventTask)1;
    }

    [Event(1, Keywords = Keywords.ExecutionTrace, Task = Tasks.ExecuteCommand, Opcode = EventOpcode.Start, Level = EventLevel.Informational)]
    public void BeginExecute(int objectId, string dataSource, string database, string commandText, string message)
    {
        if (IsEnabled(EventLevel.Informational, Keywords.ExecutionTrace))
            WriteEvent(1, objectId, dataSource, database, commandText, message);
    }

    [Event(2, Keywords = Keywords.ExecutionTrace, Task = Tasks.ExecuteCommand, Opcode = EventOpcode.Stop, Level = EventLevel.Informational)]
    public void EndExecute(int objectId, int compositestate, int sqlExceptionNumber, string message)
    {
        if (IsEnabled(EventLevel.Informational, Keywords.ExecutionTrace))
            WriteEvent(2, objectId, compositestate, sqlExceptionNumber, message);
    }
}
