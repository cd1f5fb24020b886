// SPDX-License-Identifier: MIT
#nullable enable
using System;
using System.IO;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Tapir;

/// <summary>
/// A program of a package as a file that can be executed: in memory, without a name, gone with its last process; where the
/// system forbids that, a file of mode 0700 in a directory of mode 0700 until it is disposed of. Linux.
/// </summary>
internal sealed class PrivateProgram : IDisposable
{
    private const uint CloseOnExec = 1, MayExecute = 16;
    private readonly SafeFileHandle? memory;
    private readonly string? directory;

    [DllImport("libc", SetLastError = true)]
    private static extern int memfd_create([MarshalAs(UnmanagedType.LPUTF8Str)] string name, uint flags);

    /// <summary>Valid in this process and in what it forks, until it is disposed of.</summary>
    public string Path { get; }

    private PrivateProgram(SafeFileHandle memory)
    {
        this.memory = memory;
        Path = $"/proc/self/fd/{memory.DangerousGetHandle()}";
    }

    private PrivateProgram(string directory)
    {
        this.directory = directory;
        Path = System.IO.Path.Combine(directory, "tapir");
    }

    /// <summary>Null: neither is possible; why says what failed.</summary>
    public static PrivateProgram? Create(Stream content, out string why)
    {
        why = "";
        // Linux before 6.3 knows no flag for it, and needs none.
        int fd = memfd_create("tapir", CloseOnExec | MayExecute);

        if (fd < 0 && Marshal.GetLastPInvokeError() == 22)
            fd = memfd_create("tapir", CloseOnExec);
        try
        {
            return fd >= 0 ? InMemory(new SafeFileHandle(fd, ownsHandle: true), content) : InDirectory(content);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            why = $"no private copy can be made: {e.Message}";
            return null;
        }
    }

    private static PrivateProgram InMemory(SafeFileHandle handle, Stream content)
    {
        var buffer = new byte[65536];
        long at = 0;

        for (int n; (n = content.Read(buffer)) > 0; at += n)
            RandomAccess.Write(handle, buffer.AsSpan(0, n), at);
        return new PrivateProgram(handle);
    }

    private static PrivateProgram InDirectory(Stream content)
    {
        if (!OperatingSystem.IsLinux())
            throw new IOException("requires Linux");
        var program = new PrivateProgram(Directory.CreateTempSubdirectory("tapir-").FullName);

        try
        {
            using var file = new FileStream(program.Path, new FileStreamOptions
            {
                Mode = FileMode.CreateNew,
                Access = FileAccess.Write,
                UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute,
            });
            content.CopyTo(file);
        }
        catch
        {
            program.Dispose();
            throw;
        }
        return program;
    }

    public void Dispose()
    {
        memory?.Dispose();
        if (directory != null)
            Directory.Delete(directory, recursive: true);
    }
}
