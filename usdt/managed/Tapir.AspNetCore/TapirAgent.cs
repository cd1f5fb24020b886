// SPDX-License-Identifier: MIT
using System;
using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.ComponentModel;
using System.Diagnostics;
using System.IO;
using System.IO.Compression;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace Tapir.AspNetCore;

/// <summary>
/// The agent of this process: <c>tapir serve --stdio</c> from the package, started by the first request, and once more after it
/// has ended. It ends when its standard input does, which the kernel closes however this process ends.
/// </summary>
internal sealed class TapirAgent(ILogger log) : IDisposable
{
    private readonly object gate = new();
    private Connection? connection;
    private bool isDisposed;

    public async Task AnswerAsync(HttpContext context, string root, string path, byte[] body)
    {
        Connection? to = Connect(out string why);

        if (to == null)
        {
            log.LogWarning("{Why}", why);
            await TapirExchange.RefuseAsync(context, StatusCodes.Status501NotImplemented, why);
            return;
        }
        await to.AnswerAsync(context, root, path, body);
    }

    private Connection? Connect(out string why)
    {
        lock (gate)
        {
            why = isDisposed ? "the application is ending" : "";
            if (isDisposed || connection is { HasEnded: false })
                return connection;
            connection?.Dispose();
            return connection = Start(log, out why);
        }
    }

    private static Connection? Start(ILogger log, out string why)
    {
        string name = $"tapir-linux-{RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant()}.gz";
        using Stream? packed = OperatingSystem.IsLinux() ? typeof(TapirAgent).Assembly.GetManifestResourceStream(name) : null;

        if (packed == null)
        {
            why = $"tapir is not for {RuntimeInformation.RuntimeIdentifier}: the package has no {name}";
            return null;
        }
        using var content = new GZipStream(packed, CompressionMode.Decompress);
        using PrivateProgram? program = PrivateProgram.Create(content, out why);

        if (program == null)
            return null;
        try
        {
            return new Connection(Execute(program.Path), log);
        }
        catch (Win32Exception e)
        {
            why = $"cannot execute {program.Path}: {e.Message}";
            return null;
        }
    }

    private static Process Execute(string program)
    {
        var how = new ProcessStartInfo(program, ["serve", "--stdio"])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            WorkingDirectory = "/",
        };

        for (int attempt = 0; ; attempt++)
            try
            {
                return Process.Start(how)!;
            }
            catch (Win32Exception e) when (e.NativeErrorCode == 26 && attempt < 20)
            {
                Thread.Sleep(10); // ETXTBSY: a process that another thread is starting has the file open still
            }
    }

    public void Dispose()
    {
        lock (gate)
        {
            isDisposed = true;
            connection?.Dispose();
            connection = null;
        }
    }

    /// <summary>One agent that runs, and what it was asked.</summary>
    internal sealed class Connection : IDisposable
    {
        private readonly Process process;
        private readonly Stream input, output;
        private readonly SemaphoreSlim turn = new(1);
        private readonly ConcurrentDictionary<uint, TapirExchange> exchanges = new();
        private int lastId;
        private volatile bool hasEnded;

        public bool HasEnded => hasEnded;

        public Connection(Process process, ILogger log)
        {
            this.process = process;
            input = process.StandardInput.BaseStream;
            output = process.StandardOutput.BaseStream;
            process.ErrorDataReceived += (_, line) => Log(log, line.Data);
            process.BeginErrorReadLine();
            _ = Task.Run(ReadAsync);
        }

        private static void Log(ILogger log, string? line)
        {
            if (line != null)
                log.Log(line.Contains(" audit: ") ? LogLevel.Information : LogLevel.Warning, "{Line}", line);
        }

        public async Task AnswerAsync(HttpContext context, string root, string path, byte[] body)
        {
            uint id = (uint)Interlocked.Increment(ref lastId);
            var exchange = new TapirExchange(context, (type, data) => SendAsync(type, id, data));

            exchanges[id] = exchange;
            if (hasEnded)
                exchange.Break();
            try
            {
                await exchange.RunAsync(root, path, body);
            }
            finally
            {
                exchanges.TryRemove(id, out _);
            }
        }

        /// <summary>Frames are whole: whoever has begun one ends it, whatever becomes of its request.</summary>
        private async Task SendAsync(FrameType type, uint id, ReadOnlyMemory<byte> data)
        {
            var frame = new byte[Frames.HeaderBytes + data.Length];

            Frames.WriteHeader(frame, type, id, data.Length);
            data.CopyTo(frame.AsMemory(Frames.HeaderBytes));
            await turn.WaitAsync();
            try
            {
                await input.WriteAsync(frame);
                await input.FlushAsync();
            }
            catch (Exception e) when (e is IOException or ObjectDisposedException)
            {
                hasEnded = true; // the reader sees it, too
            }
            finally
            {
                turn.Release();
            }
        }

        private async Task ReadAsync()
        {
            var header = new byte[Frames.HeaderBytes];

            try
            {
                for (;;)
                {
                    await output.ReadExactlyAsync(header);
                    var data = new byte[Frames.LengthOf(header)];

                    await output.ReadExactlyAsync(data);
                    if (exchanges.TryGetValue(BinaryPrimitives.ReadUInt32LittleEndian(header.AsSpan(4)), out TapirExchange? exchange))
                        exchange.Take((FrameType)BinaryPrimitives.ReadUInt32LittleEndian(header), data);
                }
            }
            catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidDataException)
            {
                hasEnded = true;
            }
            foreach (TapirExchange exchange in exchanges.Values)
                exchange.Break();
        }

        public void Dispose()
        {
            hasEnded = true;
            try
            {
                process.StandardInput.Dispose(); // which ends it
            }
            catch (IOException)
            {
                // It has ended before.
            }
        }
    }
}
