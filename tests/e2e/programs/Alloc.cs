// SPDX-License-Identifier: GPL-2.0-or-later
// A program that is mostly in CoreCLR's allocation helpers, and knows who called them: Work calls each of
// the Make methods, Run calls Work. Prints its pid; SECONDS.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

static class Alloc
{
	class Node { public Node Next; public long A, B, C; }

	static readonly object[] kept = new object[256];

	// With loops: the JIT gives a method that calls next to nothing no frame, and hides its caller.
	[MethodImpl(MethodImplOptions.NoInlining)]
	static Node MakeNode(int count)
	{
		Node node = null;
		for (int i = 0; i < count; i++)
			node = new Node { Next = node };
		return node;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static byte[] MakeBytes(int count)
	{
		byte[] bytes = null;
		for (int i = 0; i < count; i++)
			bytes = new byte[100 + i];
		return bytes;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static object MakeBox(int count)
	{
		object box = null;
		for (int i = 0; i < count; i++)
			box = i;
		return box;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Work(int i)
	{
		kept[i & 255] = MakeNode(4);
		kept[(i + 1) & 255] = MakeBytes(1 + (i & 3));
		kept[(i + 2) & 255] = MakeBox(1 + (i & 3));
	}

	static void Run()
	{
		Thread.CurrentThread.Name = "allocator";
		for (int i = 0; ; i++)
			Work(i);
	}

	static void Main(string[] args)
	{
		Console.WriteLine("pid " + Environment.ProcessId);
		new Thread(Run) { IsBackground = true }.Start();
		Thread.Sleep(int.Parse(args[0]) * 1000);
		Console.WriteLine("over");
	}
}
