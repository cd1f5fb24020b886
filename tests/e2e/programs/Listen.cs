// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using Tapir;

/// <summary>Listen LIBRARY COUNT THREADS: receives what managedplug fires, and says what it received as one line of JSON.</summary>
static unsafe class Program
{
    static readonly Guid Key = new("00112233-4455-6677-8899-aabbccddeeff");
    static readonly HashSet<ulong> Orders = [];
    static readonly HashSet<uint> Threads = [];
    static ulong wrong, unordered, last, details;

    static void See(in EventRecord e)
    {
        if (e.Kind.Name == "Detail")
        {
            details++;
            return;
        }
        ulong order = e[0].As<ulong>();
        bool right = e.Kind is { Name: "Sold", Id: 3, Version: 1, Level: 3, Keywords: 2, Provider: "Tapir-Test-Managed" } &&
            string.Join(' ', e.Kind.Fields) == "Order Customer Town Total Key IsPaid" && e.FieldCount == 6 &&
            e[1].Utf8.SequenceEqual(Encoding.UTF8.GetBytes("Caf\u00e9")) && e[2].Utf16 == "K\u00f6ln" &&
            e[3].As<double>() == order / 2.0 && e[4].As<Guid>() == Key && e[5].As<uint>() == order % 2;

        wrong += right ? 0u : 1u;
        unordered += e.TimeNs < last ? 1u : 0u;
        last = e.TimeNs;
        Orders.Add(order);
        Threads.Add(e.ThreadId);
    }

    static string Failed(nint library, delegate* unmanaged<uint, uint, void> fire)
    {
        var listener = new Listener(library, "Tapir-Test-*", (in EventRecord e) => throw new ArgumentException("on purpose"));

        fire(10, 1);
        try
        {
            listener.Dispose();
            return "nothing";
        }
        catch (InvalidOperationException e)
        {
            return e.InnerException!.Message;
        }
    }

    static int Main(string[] args)
    {
        nint library = NativeLibrary.Load(args[0]);
        var fire = (delegate* unmanaged<uint, uint, void>)NativeLibrary.GetExport(library, "managed_fire");
        ulong lost;

        if (((delegate* unmanaged<int>)NativeLibrary.GetExport(library, "managed_start"))() != 0)
            return 1;
        using (var listener = new Listener(library, "Tapir-Test-Managed", See, level: 3))
        {
            fire(uint.Parse(args[1]), uint.Parse(args[2]));
            GC.Collect();
            lost = listener.Lost;
        }
        string failure = Failed(library, fire);
        ((delegate* unmanaged<void>)NativeLibrary.GetExport(library, "managed_stop"))();
        Console.WriteLine($"{{\"orders\":{Orders.Count},\"threads\":{Threads.Count},\"wrong\":{wrong},\"unordered\":{unordered}," +
                          $"\"details\":{details},\"lost\":{lost},\"failure\":\"{failure}\"}}");
        return 0;
    }
}
