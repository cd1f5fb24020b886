// SPDX-License-Identifier: GPL-2.0-or-later
// Allocates 64 KB outside the heap every 2 ms, and says how many blocks it has.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

public static class NativeLeak
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static IntPtr KeepOne()
    {
        return Marshal.AllocHGlobal(65536);
    }

    public static void Main()
    {
        for (int i = 1; ; i++)
        {
            if (KeepOne() == IntPtr.Zero) return;
            Console.WriteLine("kept " + i);
            Thread.Sleep(2);
        }
    }
}
