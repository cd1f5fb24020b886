// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.IO;
using System.Threading;

/// <summary>
/// Sources THREADS STOP: each thread creates, fires and disposes EventSources, of 64 names, until the file STOP
/// appears; prints how many as one line of JSON.
/// </summary>
static class Sources
{
    static long made, wrong;

    static void Make(int thread, string stop)
    {
        for (int n = 0; n % 256 != 0 || !File.Exists(stop); n++)
            try
            {
                using var source = new EventSource("Tapir-Made-" + thread + "-" + n % 64);
                source.Write("Made", new { n, text = "sixteen chars..." });
                Interlocked.Increment(ref made);
            }
            catch (Exception e)
            {
                Console.WriteLine(e);
                Interlocked.Increment(ref wrong);
            }
    }

    static void Main(string[] args)
    {
        Console.WriteLine("pid " + Environment.ProcessId);
        var threads = new List<Thread>();
        for (int i = 0; i < int.Parse(args[0]); i++)
        {
            int id = i;
            threads.Add(new(() => Make(id, args[1])));
        }
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
        Console.WriteLine($"{{\"wrong\": {wrong}, \"made\": {made}}}");
    }
}
