// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Runtime.InteropServices;
using System.Threading;

[EventSource(Name = "Many-Large")]
sealed class Large : EventSource
{
    [Event(1)]
    public void Text(string text) => WriteEvent(1, text);
}

/// <summary>
/// Many WHAT COUNT [PAUSE]: prints "pid N", waits for SIGUSR1, does it, prints how many events it fired as one line of
/// JSON, waits for SIGUSR1 again and ends. With a pause of 20 ms after each PAUSE events (0: none).
///   sources   COUNT EventSources named Many-Short, one after the other: made, fired once, disposed
///   names     the same, each with a name of its own: Many-Short-0, Many-Short-1, ...
///   living    COUNT EventSources, each with a name of its own, that live at once: those that somebody enables fire once
///   kinds     one EventSource, Many-Kinds, with COUNT events of different names, each fired once
///   large     one event of each size of payload around 32 and 64 KB, COUNT times
///   listener  COUNT events of the DiagnosticListener Many-Listener
/// </summary>
static class Many
{
    static int fired;
    static int pause;

    static void Fired()
    {
        if (++fired % Math.Max(pause, 1) == 0 && pause > 0)
            Thread.Sleep(20);
    }

    static void Sources(int count, bool areNamed)
    {
        for (int i = 0; i < count; i++)
        {
            using var source = new EventSource(areNamed ? "Many-Short-" + i : "Many-Short");
            if (areNamed)
                for (int look = 0; look < 200 && !source.IsEnabled(); look++)
                    Thread.Sleep(1);
            source.Write("Short", new { I = i });
            Fired();
        }
    }

    static void Living(int count)
    {
        var sources = new List<EventSource>();
        for (int i = 0; i < count; i++)
            sources.Add(new EventSource("Many-Living-" + i));
        for (int enabled = 0, still = 0; still < 10; Thread.Sleep(100))
        {
            int now = sources.FindAll(source => source.IsEnabled()).Count;
            still = now > 0 && now == enabled ? still + 1 : 0;
            enabled = now;
        }
        foreach (var source in sources.FindAll(source => source.IsEnabled()))
        {
            source.Write("Alive", new { I = 1 });
            Fired();
        }
    }

    static void Kinds(int count)
    {
        using var source = new EventSource("Many-Kinds");
        while (!source.IsEnabled())
            Thread.Sleep(1);
        for (int i = 0; i < count; i++)
        {
            source.Write("Kind" + i, new { I = i });
            Fired();
        }
    }

    static void Sizes(int count)
    {
        // The payload is the characters, two bytes each, and the end of the string.
        int[] bytes = { 100, 32_600, 32_768, 40_000, 65_000, 65_534, 65_536, 65_538, 70_000, 200_000 };
        using var source = new Large();
        while (!source.IsEnabled())
            Thread.Sleep(1);
        for (int round = 0; round < count; round++)
            foreach (int size in bytes)
            {
                source.Text(new string((char)('a' + round % 26), size / 2 - 1));
                Fired();
            }
    }

    static void Listen(int count)
    {
        using var listener = new DiagnosticListener("Many-Listener");
        for (int look = 0; look < 3000 && !listener.IsEnabled("Said"); look++)
            Thread.Sleep(1);
        for (int i = 0; i < count; i++)
        {
            listener.Write("Said", new { Number = i, Word = "word" + i });
            Fired();
        }
    }

    static int Main(string[] args)
    {
        using var go = new SemaphoreSlim(0);
        using var signal = PosixSignalRegistration.Create((PosixSignal)10, context => { context.Cancel = true; go.Release(); });
        int count = int.Parse(args[1]);

        pause = args.Length > 2 ? int.Parse(args[2]) : 0;
        Console.WriteLine($"pid {Environment.ProcessId}");
        go.Wait();
        switch (args[0])
        {
            case "sources": Sources(count, false); break;
            case "names": Sources(count, true); break;
            case "living": Living(count); break;
            case "kinds": Kinds(count); break;
            case "large": Sizes(count); break;
            case "listener": Listen(count); break;
        }
        Console.WriteLine($"{{\"fired\": {fired}}}");
        go.Wait();
        return 0;
    }
}
