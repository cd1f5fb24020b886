// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

/// <summary>Heap ORDERS NODES: a heap whose counts and sizes by type the program knows. ORDERS orders, each with a blob
/// of 100 bytes, are in a list that a static field holds; NODES nodes are one linked list. SIGWINCH adds ORDERS more.
/// With a third argument a thread makes arrays of the blobs' size and more of them, which do not stay: each lives as long
/// as 2,000 others; of its large arrays one of ten stays.
/// It prints "counts TYPE=COUNT:BYTES ...", by what the allocator says of the thread that made them.</summary>
namespace Shop
{
    sealed class Blob { public byte[] Bytes; public long Tag; }

    sealed class Order { public Blob Blob; public long Id, Cents, Day; }

    sealed class Node { public Node Next; public long Value; }

    sealed class Cache { public readonly List<Order> Orders = new(1 << 20); public Dictionary<string, Order> ByName = new(); }

    static class Program
    {
        static readonly Cache Kept = new();
        static Node chain;
        static readonly SortedDictionary<string, (long Count, long Bytes)> Counts = new(StringComparer.Ordinal);

        static T Counted<T>(Func<T> make)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            T made = make();
            long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
            Add(typeof(T).FullName, bytes);
            return made;
        }

        static void Add(string type, long bytes, long count = 1)
        {
            Counts.TryGetValue(type, out var old);
            Counts[type] = (old.Count + count, old.Bytes + bytes);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void PlaceOrders(int count)
        {
            for (int i = 0; i < count; i++)
            {
                Order order = Counted(() => new Order { Id = i, Cents = 100 * i });

                order.Blob = Counted(() => new Blob { Tag = i });
                order.Blob.Bytes = Counted(() => new byte[104]);
                Kept.Orders.Add(order);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void MakeNodes(int count)
        {
            if (count == 0)
                return;
            chain = Counted(() => new Node());
            for (int i = 1; i < count; i++)
                chain = new Node { Next = chain, Value = i };
            long size = Counts[typeof(Node).FullName].Bytes; // all have that of the first
            Add(typeof(Node).FullName, size * (count - 1), count - 1);
        }

        static readonly Queue<byte[]> Window = new();
        static readonly List<char[]> Large = new();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void KeepForAMoment()
        {
            Window.Enqueue(new byte[104]);
            if (Window.Count > 2000)
                Window.Dequeue();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void KeepLarge()
        {
            for (int i = 0; i < 10; i++)
                _ = new char[100000];
            lock (Counts)
            {
                char[] kept = Counted(() => new char[100000]);
                Large.Add(kept);
            }
        }

        static void Churn()
        {
            for (long round = 0; ; round++)
            {
                for (int i = 0; i < 2000; i++)
                    KeepForAMoment();
                if (round % 50 == 0)
                    KeepLarge();
                Thread.Sleep(1);
            }
        }

        static void Answer()
        {
            var words = new List<string> { "counts" };

            foreach (var (type, (count, bytes)) in Counts)
                words.Add(string.Create(CultureInfo.InvariantCulture, $"{type}={count}:{bytes}"));
            Console.WriteLine(string.Join(" ", words));
        }

        static void Main(string[] args)
        {
            int orders = int.Parse(args[0], CultureInfo.InvariantCulture);

            PlaceOrders(orders);
            MakeNodes(int.Parse(args[1], CultureInfo.InvariantCulture));
            using var more = PosixSignalRegistration.Create(PosixSignal.SIGWINCH, context =>
            {
                context.Cancel = true;
                lock (Counts)
                {
                    PlaceOrders(orders);
                    Answer();
                }
            });
            if (args.Length > 2)
                new Thread(Churn) { IsBackground = true }.Start();
            Console.WriteLine("pid " + Environment.ProcessId);
            lock (Counts)
                Answer();
            Thread.Sleep(Timeout.Infinite);
            GC.KeepAlive(chain);
        }
    }
}
