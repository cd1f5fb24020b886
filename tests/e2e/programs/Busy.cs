// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;

/// <summary>
/// Busy SECONDS [make]: a thread in Leaf, one in the libraries' ReadyToRun code and, with "make", one
/// that makes new methods as it goes. Prints "pid N", "tick 0", "tick 1" ... each 100 ms, "over". Each
/// thread rests for most of the time, so that several of these leave a machine of two CPUs to others.
/// </summary>
static class Busy
{
    static volatile bool over;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Leaf(int n)
    {
        long sum = n;
        for (int i = 0; i < 200_000; i++)
            sum = sum * 31 + (sum >> 7) + i;
        return sum;
    }

    static void Burn()
    {
        long sink = 0;
        for (int n = 0; !over; n++)
        {
            sink += Leaf(n);
            if (n % 64 == 63)
                Thread.Sleep(20);
        }
        GC.KeepAlive(sink);
    }

    static void Library()
    {
        var random = new Random(1);
        for (int n = 0; !over; n++)
        {
            if (n % 64 == 63)
                Thread.Sleep(20);
            var words = Enumerable.Range(0, 300).Select(i => random.Next().ToString("x8")).ToList();
            words.Sort(StringComparer.Ordinal);
            var text = new StringBuilder();
            foreach (var group in words.GroupBy(w => w[0]).OrderBy(g => g.Key))
                text.AppendJoin(',', group.Select(w => w.ToUpperInvariant()));
            GC.KeepAlive(text.ToString().Split(',').ToHashSet());
        }
    }

    // The library's own loop, called once, stays the ReadyToRun code it was at first.
    static void InLibrary() => new List<string> { "once" }.ForEach(_ => Library());

    delegate long Made(long n);

    static void Make()
    {
        for (int id = 0; !over; id++)
        {
            var method = new DynamicMethod("Made" + id, typeof(long), [typeof(long)]);
            var il = method.GetILGenerator();
            var loop = il.DefineLabel();
            var i = il.DeclareLocal(typeof(int));
            il.MarkLabel(loop);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I8, 31L + id);
            il.Emit(OpCodes.Mul);
            il.Emit(OpCodes.Starg, 0);
            il.Emit(OpCodes.Ldloc, i);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Add);
            il.Emit(OpCodes.Dup);
            il.Emit(OpCodes.Stloc, i);
            il.Emit(OpCodes.Ldc_I4, 2_000_000);
            il.Emit(OpCodes.Blt, loop);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ret);
            var made = method.CreateDelegate<Made>();
            for (int n = 0; n < 20 && !over; n++)
            {
                GC.KeepAlive(made(n));
                Thread.Sleep(5);
            }
        }
    }

    static void Main(string[] args)
    {
        double seconds = double.Parse(args[0], System.Globalization.CultureInfo.InvariantCulture);
        var watch = Stopwatch.StartNew();
        var threads = new List<Thread> { new(Burn) { Name = "burner" }, new(InLibrary) { Name = "library" } };

        if (args.Length > 1)
            threads.Add(new(Make) { Name = "maker" });
        Console.WriteLine("pid " + Environment.ProcessId);
        threads.ForEach(t => t.Start());
        for (int n = 0; watch.Elapsed.TotalSeconds < seconds; n++)
        {
            Thread.Sleep(100);
            Console.WriteLine("tick " + n);
        }
        over = true;
        threads.ForEach(t => t.Join());
        Console.WriteLine("over");
    }
}
