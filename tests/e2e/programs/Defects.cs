// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.IO;
using System.IO.Pipes;
using System.Linq;
using System.Linq.Expressions;
using System.Net;
using System.Net.Http;
using System.Net.Sockets;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Defects MODE: a service with one planted defect. Prints "ready PID", and when a line comes on its standard
/// input what it counted between "go" and that line, as JSON; and its sums each 50 ms, so that any part of that time can be compared.</summary>
static class Defects
{
    static long count, nanoseconds, worst;
    static volatile bool isOver;
    static readonly object first = new(), second = new();

    static void Count(long took = 0)
    {
        Interlocked.Increment(ref count);
        Interlocked.Add(ref nanoseconds, took);
        long seen;
        while (took > (seen = Volatile.Read(ref worst)) && Interlocked.CompareExchange(ref worst, took, seen) != seen)
            ;
    }

    static long Since(long ticks) => (long)Stopwatch.GetElapsedTime(ticks).TotalNanoseconds;

    // ---- its sums, by the clock that recordings have (CLOCK_MONOTONIC) ----------------------------
    struct TimeSpec
    {
        public long Seconds, Nanoseconds;
    }

    [DllImport("libc", EntryPoint = "clock_gettime")]
    static extern int ReadClock(int clock, out TimeSpec time);

    static long CpuNanoseconds(int clock = 2) => ReadClock(clock, out var time) == 0 ? time.Seconds * 1_000_000_000 + time.Nanoseconds : 0;

    static long ThreadCpuNanoseconds() => CpuNanoseconds(3);

    /// <summary>How long a thread waited, with the wait that it is in. Its thread alone writes; a sum is read between two of its writes.</summary>
    sealed class Waits
    {
        static readonly List<Waits> all = new();
        [ThreadStatic] static Waits mine;
        int version;
        long done, from;

        static Waits Mine()
        {
            if (mine != null)
                return mine;
            mine = new();
            lock (all)
                all.Add(mine);
            return mine;
        }

        void Write(long took, long since)
        {
            Interlocked.Increment(ref version);
            done += took;
            from = since;
            Interlocked.Increment(ref version);
        }

        public static void Begin() => Mine().Write(0, Stopwatch.GetTimestamp());
        public static void End() => mine.Write(Stopwatch.GetTimestamp() - mine.from, 0);

        long Until(long now)
        {
            while (true)
            {
                int before = Volatile.Read(ref version);
                long sum = Volatile.Read(ref done), since = Volatile.Read(ref from);
                if (before % 2 == 0 && Volatile.Read(ref version) == before)
                    return since == 0 ? sum : sum + Math.Max(0, now - since);
            }
        }

        public static long Sum(long now)
        {
            lock (all)
                return all.Sum(one => one.Until(now));
        }
    }

    static readonly List<long[]> sums = new();
    static int samplePause = 50; // in milliseconds

    static void Sample()
    {
        lock (sums)
        {
            long now = Stopwatch.GetTimestamp();
            sums.Add(new[] { now, Volatile.Read(ref count), Volatile.Read(ref nanoseconds), Waits.Sum(now), CpuNanoseconds(),
                             GC.CollectionCount(2), (long)GC.GetTotalPauseDuration().TotalNanoseconds,
                             GC.GetTotalAllocatedBytes(), GC.GetGCMemoryInfo().TotalCommittedBytes, GC.CollectionCount(0) });
        }
    }

    static void KeepSampling()
    {
        while (!isOver)
        {
            Sample();
            Thread.Sleep(samplePause);
        }
    }

    static string Sums()
    {
        string[] names = { "at_ns", "count", "ns", "waited_ns", "cpu_ns", "gen2", "pause_ns", "allocated", "committed", "collections" };
        lock (sums)
            return "{" + string.Join(", ", names.Select((name, i) => $"\"{name}\": [{string.Join(", ", sums.Select(row => row[i]))}]")) + "}";
    }

    static void Run(int threads, Action body)
    {
        for (int i = 0; i < threads; i++)
            new Thread(() => { while (!isOver) body(); }) { IsBackground = true }.Start();
    }

    // ---- a pool whose threads wait for work of the pool -------------------------------------------
    static async Task<int> Query()
    {
        await Task.Delay(100);
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void HandleOrder()
    {
        long from = Stopwatch.GetTimestamp();
        Waits.Begin();
        Query().Wait();
        Waits.End();
        Count(Since(from));
    }

    static void Starve() => Run(1, () => { ThreadPool.QueueUserWorkItem(_ => HandleOrder()); Thread.Sleep(5); });

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void SleepInPool()
    {
        Waits.Begin();
        Thread.Sleep(500);
        Waits.End();
        Count();
    }

    static void StarveAsleep() => Run(1, () => { ThreadPool.QueueUserWorkItem(_ => SleepInPool()); Thread.Sleep(10); });

    // ---- locks ------------------------------------------------------------------------------------
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Transfer(object from, object to)
    {
        lock (from)
        {
            Thread.Sleep(200);
            Interlocked.Increment(ref atSecondLock);
            lock (to)
                Count();
        }
    }

    static int atSecondLock;

    // Where others have the CPUs, it takes a while until both threads have come that far.
    static void Deadlock()
    {
        Run(1, () => Transfer(first, second));
        Run(1, () => Transfer(second, first));
        while (Volatile.Read(ref atSecondLock) < 2)
            Thread.Sleep(10);
        Thread.Sleep(600);
        Run(3, () => { lock (first) Count(); });
    }

    static void DeadlockLater() => new Thread(() =>
    {
        Thread.Sleep(2500);
        Deadlock();
    }) { IsBackground = true }.Start();

    static readonly Dictionary<int, int> stock = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Reserve()
    {
        long from = Stopwatch.GetTimestamp();
        Waits.Begin();
        lock (stock)
        {
            Waits.End();
            Count(Since(from));
            Thread.Sleep(2);
            stock[1] = 1;
        }
    }

    static readonly SemaphoreSlim seats = new(1);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task ReserveSeat()
    {
        await seats.WaitAsync();
        try
        {
            await Task.Delay(10);
        }
        finally
        {
            seats.Release();
        }
        Count();
    }

    static void ReserveSeats()
    {
        for (int i = 0; i < 20; i++)
            _ = Task.Run(async () => { while (!isOver) await ReserveSeat(); });
    }

    static StreamWriter log;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WriteLog()
    {
        lock (log)
            log.WriteLine("one order more");
        Count();
    }

    static void FillPipe()
    {
        var pipe = new AnonymousPipeServerStream(PipeDirection.Out);
        GC.KeepAlive(pipe.GetClientHandleAsString()); // which nobody reads
        log = new StreamWriter(pipe) { AutoFlush = true };
        Run(4, WriteLog);
    }

    // ---- exceptions -------------------------------------------------------------------------------
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int ParsePrice(string text)
    {
        try { return int.Parse(text); }
        catch (FormatException) { Count(); return 0; }
    }

    // ---- memory -----------------------------------------------------------------------------------
    static byte[] sink;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void RenderPage()
    {
        sink = new byte[1 << 20];
        Count();
    }

    static List<byte[]> cache;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Remember()
    {
        for (int i = 0; i < 40; i++)
        {
            cache.Add(new byte[1000]);
            Count(1024);
        }
        Thread.Sleep(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static unsafe void MapImage()
    {
        const int bytes = 400_000;
        byte* image = (byte*)NativeMemory.Alloc(bytes);
        for (int i = 0; i < bytes; i += 4096)
            image[i] = 1;
        Count(bytes);
        Thread.Sleep(20);
    }

    sealed class Held
    {
        readonly byte[] bytes = new byte[2000];
        ~Held()
        {
            GC.KeepAlive(bytes);
            Count();
            Thread.Sleep(100);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void DropHeld()
    {
        for (int i = 0; i < 200; i++)
            GC.KeepAlive(new Held());
        Thread.Sleep(2);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CleanUp()
    {
        GC.Collect();
        Count();
        Thread.Sleep(20);
    }

    // ---- CPU --------------------------------------------------------------------------------------
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CompileRule(int i)
    {
        var x = Expression.Parameter(typeof(int));
        Expression body = x;
        for (int k = 0; k < 60; k++)
            body = Expression.Add(Expression.Multiply(body, x), Expression.Constant(i + k));
        Expression.Lambda<Func<int, int>>(body, x).Compile()(3);
        Count();
    }

    static readonly Regex mail = new("^([a-z]+)+@$");

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CheckMail()
    {
        mail.IsMatch("aaaaaaaaaaaaaaaaaaaaaa!");
        Count();
    }

    static readonly List<Timer> timers = new();

    static int sum;

    // What each of thousands of connections does to see whether it is still there.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void OnTick(object state)
    {
        long from = ThreadCpuNanoseconds();
        int seen = 0;
        for (int i = 0; i < 2000; i++)
            seen = seen * 31 + i;
        Volatile.Write(ref sum, seen);
        Count(ThreadCpuNanoseconds() - from);
    }

    static void Tick()
    {
        for (int i = 0; i < 3000; i++)
            timers.Add(new Timer(OnTick, null, i % 10, 10));
    }

    // ---- waits of requests ------------------------------------------------------------------------
    [EventSource(Name = "Shop-Orders")]
    sealed class Orders : EventSource
    {
        public static readonly Orders Log = new();
        [Event(1)] public void OrderStart(int id) => WriteEvent(1, id);
        [Event(2)] public void OrderStop(int id) => WriteEvent(2, id);
    }

    static async Task Serve(int id, int milliseconds)
    {
        long from = Stopwatch.GetTimestamp();
        Orders.Log.OrderStart(id);
        await Task.Delay(milliseconds);
        Orders.Log.OrderStop(id);
        Count(Since(from));
    }

    static void ServeOrders()
    {
        int id = 0;
        for (int i = 0; i < 4; i++)
            _ = Task.Run(async () => { while (!isOver) { int n = Interlocked.Increment(ref id); await Serve(n, n % 25 == 0 ? 400 : 40); } });
    }

    // ---- orders whose work waits for a thread of the pool ------------------------------------------
    static void Spin(int milliseconds)
    {
        for (long from = Stopwatch.GetTimestamp(); Since(from) < milliseconds * 1_000_000L;)
            ;
    }

    static async Task Crowd(int id)
    {
        Orders.Log.OrderStart(id);
        Spin(2);
        long from = Stopwatch.GetTimestamp();
        await Task.Yield();
        Count(Since(from));
        Orders.Log.OrderStop(id);
    }

    static void ServeCrowd()
    {
        ThreadPool.SetMinThreads(2, 1);
        ThreadPool.SetMaxThreads(2, 1);
        for (int i = 0; i < 6; i++)
            _ = Task.Run(async () => { for (int id = 0; !isOver; id++) { await Crowd(id); await Task.Delay(20); } });
        Run(1, () => { if (ThreadPool.PendingWorkItemCount < 8) ThreadPool.QueueUserWorkItem(_ => Spin(5)); Thread.Sleep(2); });
    }

    static int port;

    static async Task SlowServer()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        port = ((IPEndPoint)listener.LocalEndpoint).Port;
        while (!isOver)
        {
            var client = await listener.AcceptTcpClientAsync();
            _ = Task.Run(async () =>
            {
                using var stream = client.GetStream();
                var bytes = new byte[1];
                while (await stream.ReadAsync(bytes) == 1)
                {
                    await Task.Delay(300);
                    await stream.WriteAsync(bytes);
                }
            });
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AskDatabase(Socket socket)
    {
        var bytes = new byte[1];
        long from = Stopwatch.GetTimestamp();
        socket.Send(bytes);
        Waits.Begin();
        socket.Receive(bytes);
        Waits.End();
        Count(Since(from));
    }

    static void AskSlowly()
    {
        _ = SlowServer();
        while (port == 0)
            Thread.Sleep(1);
        for (int i = 0; i < 4; i++)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            socket.Connect(IPAddress.Loopback, port);
            Run(1, () => AskDatabase(socket));
        }
    }

    // ---- what is made anew for each call ------------------------------------------------------------
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ConvertImage()
    {
        using var converter = Process.Start(new ProcessStartInfo("/bin/true"));
        Count();
        converter.WaitForExit();
    }

    public sealed class Order
    {
        public int Id { get; set; }
        public DayOfWeek Day { get; set; }
        public List<int> Lines { get; set; } = new() { 1, 2, 3 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WriteOrder()
    {
        JsonSerializer.Serialize(new Order(), new JsonSerializerOptions { Converters = { new JsonStringEnumConverter() } });
        Count();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task FetchPrice()
    {
        using var client = new HttpClient();
        await client.GetStringAsync($"http://127.0.0.1:{port}/price");
        Count();
    }

    static void FetchPrices()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        port = ((IPEndPoint)listener.LocalEndpoint).Port;
        byte[] question = new byte[4096], answer = Encoding.ASCII.GetBytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        Run(1, () =>
        {
            using var socket = listener.AcceptSocket();
            socket.Receive(question);
            socket.Send(answer);
        });
        for (int i = 0; i < 4; i++)
            _ = Task.Run(async () => { while (!isOver) await FetchPrice(); });
    }

    static FileStream journal;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WriteJournal()
    {
        journal.Write(new byte[200]);
        Waits.Begin();
        journal.Flush(true);
        Waits.End();
        Count();
    }

    static void KeepJournal()
    {
        journal = new FileStream(Path.GetTempFileName(), FileMode.Create, FileAccess.Write, FileShare.None, 4096, FileOptions.DeleteOnClose);
        Run(1, WriteJournal);
    }

    // ---- nothing is wrong --------------------------------------------------------------------------
    static readonly BlockingCollection<int> work = new(100);

    static void Answer()
    {
        Run(4, () => { work.Take(); Thread.Sleep(2); Count(); });
        Run(1, () => { work.Add(1); Thread.Sleep(10); });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Compute()
    {
        int seen = 0;
        for (int i = 0; i < 1_000_000; i++)
            seen = seen * 31 + i;
        Volatile.Write(ref sum, seen);
        Count();
    }

    static int rule;

    static readonly Dictionary<string, Action> modes = new()
    {
        ["starvation"] = Starve,
        ["sleepers"] = StarveAsleep,
        ["deadlock"] = Deadlock,
        ["deadlock-later"] = DeadlockLater,
        ["convoy"] = () => Run(6, Reserve),
        ["seats"] = ReserveSeats,
        ["full-pipe"] = FillPipe,
        ["exceptions"] = () => Run(1, () => { ParsePrice("x"); Thread.Sleep(0); }),
        ["loh"] = () => Run(1, RenderPage),
        ["leak"] = () =>
        {
            cache = new(1 << 22); // it does not grow itself, by arrays that nobody counts
            Run(2, Remember);
        },
        ["native"] = () => Run(1, MapImage),
        ["jit"] = () => Run(1, () => CompileRule(Interlocked.Increment(ref rule))),
        ["slow"] = AskSlowly,
        ["orders"] = ServeOrders,
        ["crowd"] = ServeCrowd,
        ["regex"] = () => Run(1, CheckMail),
        ["induced"] = () => Run(1, CleanUp),
        ["timers"] = Tick,
        ["finalizer"] = () => Run(1, DropHeld),
        ["processes"] = () => Run(1, ConvertImage),
        ["serializer"] = () => Run(1, WriteOrder),
        ["connections"] = FetchPrices,
        ["journal"] = KeepJournal,
        ["balanced"] = Answer,
        ["computing"] = () => Run(1, Compute),
        ["idle"] = () => samplePause = 250, // 20 samples a second use 3 % of a CPU
    };

    // Threads of a server's collector: one a heap.
    static int Collectors() => Directory.GetDirectories("/proc/self/task").Count(IsCollector);

    static bool IsCollector(string task)
    {
        try
        {
            return File.ReadAllText(task + "/comm") == ".NET Server GC\n";
        }
        catch (IOException) // it has ended
        {
            return false;
        }
    }

    static void Main(string[] args)
    {
        foreach (string mode in args)
            modes[mode]();
        new Thread(KeepSampling) { IsBackground = true }.Start();
        Console.WriteLine("ready " + Environment.ProcessId);
        Console.ReadLine();
        var process = Process.GetCurrentProcess();
        long before = count, cpu = process.TotalProcessorTime.Ticks, from = Stopwatch.GetTimestamp(), ns = nanoseconds;
        int[] collections = { GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2) };
        var pause = GC.GetTotalPauseDuration();
        long allocated = GC.GetTotalAllocatedBytes();
        worst = 0;
        Console.WriteLine("counting");
        Console.ReadLine();
        process.Refresh();
        Sample();
        double seconds = Stopwatch.GetElapsedTime(from).TotalSeconds;
        Console.WriteLine(FormattableString.Invariant($$"""{"witness": true, "seconds": {{seconds}}, "count": {{count - before}}, "ns": {{nanoseconds - ns}}, "worst_ns": {{worst}}, "cpu_seconds": {{(process.TotalProcessorTime.Ticks - cpu) / 1e7}}, "gen0": {{GC.CollectionCount(0) - collections[0]}}, "gen1": {{GC.CollectionCount(1) - collections[1]}}, "gen2": {{GC.CollectionCount(2) - collections[2]}}, "allocated": {{GC.GetTotalAllocatedBytes() - allocated}}, "pause_ms": {{(GC.GetTotalPauseDuration() - pause).TotalMilliseconds}}, "is_server": {{(GCSettings.IsServerGC ? "true" : "false")}}, "collectors": {{Collectors()}}, "pool": {{ThreadPool.ThreadCount}}, "queued": {{ThreadPool.PendingWorkItemCount}}, "sums": {{Sums()}}}"""));
        isOver = true;
        Environment.Exit(0);
    }
}
