// SPDX-License-Identifier: GPL-2.0-or-later
// Hidden N - threads that block N times, 50 ms each, in methods of the runtime's own assembly that keep no frame pointer:
// GetResult of the awaiter of a Task<bool>, <int> and <string>, of a Task, of a ConfiguredTaskAwaitable<bool>, and Result, each called
// by a method of its own. Prints "pid N", and at the end as JSON how many milliseconds each of those took.
using System;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

static class Program
{
    const MethodImplOptions Apart = MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization;
    static volatile int sink;

    static Task<T> After<T>(T value)
    {
        var done = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        new Thread(() => { Thread.Sleep(50); done.SetResult(value); }).Start();
        return done.Task;
    }

    [MethodImpl(Apart)] static void ForBool() { After(true).GetAwaiter().GetResult(); sink++; }
    [MethodImpl(Apart)] static void ForInt() { After(1).GetAwaiter().GetResult(); sink++; }
    [MethodImpl(Apart)] static void ForString() { After("").GetAwaiter().GetResult(); sink++; }
    [MethodImpl(Apart)] static void ForTask() { ((Task)After(1)).GetAwaiter().GetResult(); sink++; }
    [MethodImpl(Apart)] static void ForConfigured() { After(true).ConfigureAwait(false).GetAwaiter().GetResult(); sink++; }
    [MethodImpl(Apart)] static void ForResult() { sink += After(1).Result; }

    [MethodImpl(Apart)]
    static double Measure(Action block, int cnt)
    {
        double ms = 0;
        for (int i = 0; i < cnt; i++)
        {
            long from = Stopwatch.GetTimestamp();
            block();
            ms += Stopwatch.GetElapsedTime(from).TotalMilliseconds;
        }
        return ms;
    }

    static void Main(string[] args)
    {
        var blocks = new Action[] { ForBool, ForInt, ForString, ForTask, ForConfigured, ForResult };
        var took = new double[blocks.Length];
        Console.WriteLine($"pid {Environment.ProcessId}");
        var threads = blocks.Select((block, i) => new Thread(() => took[i] = Measure(block, int.Parse(args[0])))).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Console.WriteLine("{" + string.Join(", ", blocks.Select((block, i) => $"\"{block.Method.Name}\": {(int)took[i]}")) + "}");
    }
}
