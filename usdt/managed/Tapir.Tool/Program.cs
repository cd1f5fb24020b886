// SPDX-License-Identifier: MIT
// The command "tapir" of a .NET tool: becomes the program in the package by execve(2), so that process id, signals,
// terminal and exit status are the program's. The .NET runtime is gone from then on.
using System;
using System.Collections;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;

namespace Tapir;

internal static unsafe class Program
{
    private const int SigPipe = 13, Executable = 1;

    [DllImport("libc", SetLastError = true)]
    private static extern int execve(byte* path, byte** arguments, byte** environment);

    [DllImport("libc", SetLastError = true)]
    private static extern int access(byte* path, int mode);

    [DllImport("libc")]
    private static extern nint signal(int number, nint handler);

    private static int Main(string[] arguments)
    {
        string program = Path.Combine(AppContext.BaseDirectory, "tapir-static");

        if (!OperatingSystem.IsLinux())
            return Fail("requires Linux", 3);
        if (!File.Exists(program))
            return Fail($"{program} is missing: install the package again", 1);
        fixed (byte* path = Text(program))
            if (access(path, Executable) == 0)
                Become(program, arguments);
        // Its mode was lost on the way: a copy in memory that nobody else can open.
        using Stream content = File.OpenRead(program);
        using PrivateProgram? copy = PrivateProgram.Create(content, out string why);

        if (copy == null)
            return Fail($"{program} is not executable, and {why} (chmod +x it)", 1);
        Become(copy.Path, arguments);
        return Fail($"cannot execute {program}: error {Marshal.GetLastPInvokeError()}", 1);
    }

    /// <summary>Returns where it fails. What the .NET runtime ignores, the program would ignore from then on.</summary>
    private static void Become(string program, string[] arguments)
    {
        using var words = new Words(["tapir", .. arguments]);
        using var variables = new Words(Environment());

        signal(SigPipe, 0);
        fixed (byte* path = Text(program))
            _ = execve(path, words.Start, variables.Start);
    }

    private static string[] Environment()
    {
        IDictionary all = System.Environment.GetEnvironmentVariables();
        var list = new string[all.Count];
        int at = 0;

        foreach (DictionaryEntry one in all)
            list[at++] = $"{one.Key}={one.Value}";
        return list;
    }

    private static byte[] Text(string text) => Encoding.UTF8.GetBytes(text + "\0");

    private static int Fail(string what, int exitCode)
    {
        Console.Error.WriteLine($"tapir: {what}");
        return exitCode;
    }

    /// <summary>char *[] ended by NULL.</summary>
    private sealed class Words : IDisposable
    {
        private readonly nint[] texts;
        private GCHandle pinned;

        public Words(string[] words)
        {
            texts = new nint[words.Length + 1];
            for (int i = 0; i < words.Length; i++)
                texts[i] = Marshal.StringToCoTaskMemUTF8(words[i]);
            pinned = GCHandle.Alloc(texts, GCHandleType.Pinned);
        }

        public byte** Start => (byte**)pinned.AddrOfPinnedObject();

        public void Dispose()
        {
            pinned.Free();
            foreach (nint text in texts)
                Marshal.FreeCoTaskMem(text);
        }
    }
}
