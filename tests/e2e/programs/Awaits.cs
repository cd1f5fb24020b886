// SPDX-License-Identifier: GPL-2.0-or-later
// Awaits MS - two chains of async methods that end in one leaf: Serve <- Checkout <- PlaceOrder <- Pay, and
// Serve <- Browse <- Pay. In Pay a thread of the pool burns processor time after each of two awaits, MS milliseconds
// in all. At the end it prints how many turns of Burn's loop each chain had: "Checkout N" and "Browse N". Turns and not
// nanoseconds: a thread's clock runs on while the machine below a virtual one takes the processor away, and then nothing is
// sampled.
using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

static class Program
{
    static readonly long[] burnt = new long[2], turns = new long[2];
    static volatile int sink;

    [StructLayout(LayoutKind.Sequential)]
    struct Timespec { public long Seconds, Nanoseconds; }

    [DllImport("libc")]
    static extern int clock_gettime(int clock, out Timespec time);

    static long ThreadNs()
    {
        clock_gettime(3 /* CLOCK_THREAD_CPUTIME_ID */, out var now);
        return now.Seconds * 1_000_000_000 + now.Nanoseconds;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Burn(int chain, int us)
    {
        long from = ThreadNs(), now, turn = 0;
        do
        {
            for (int i = 0; i < 10_000; i++) sink++;
            turn++;
            now = ThreadNs();
        } while (now - from < us * 1000L);
        Interlocked.Add(ref burnt[chain], now - from);
        Interlocked.Add(ref turns[chain], turn);
    }

    static async Task Pay(int chain, int us)
    {
        await Task.Delay(1);
        Burn(chain, us);
        await Task.Yield();
        Burn(chain, us);
    }

    static async Task<int> PlaceOrder(int us) { await Pay(0, us).ConfigureAwait(false); return us; }

    static async ValueTask<int> Checkout(int us) => await PlaceOrder(us);

    static async ValueTask Browse(int us) => await Pay(1, us);

    static async Task Serve(long ns)
    {
        while (Volatile.Read(ref burnt[0]) + Volatile.Read(ref burnt[1]) < ns)
        {
            await Checkout(3000);
            await Browse(1000);
        }
    }

    static async Task<int> Main(string[] args)
    {
        await Task.WhenAll(Enumerable.Range(0, 3).Select(_ => Serve(long.Parse(args[0]) * 1_000_000)));
        Console.WriteLine($"Checkout {turns[0]}\nBrowse {turns[1]}");
        return 0;
    }
}
