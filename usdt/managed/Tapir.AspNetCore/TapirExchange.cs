// SPDX-License-Identifier: MIT
using System;
using System.Buffers;
using System.Buffers.Binary;
using System.Collections.Generic;
using System.IO;
using System.Threading.Channels;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;

namespace Tapir.AspNetCore;

/// <summary>One request on its way to the agent, and its answer on the way back.</summary>
internal sealed class TapirExchange(HttpContext context, Func<FrameType, ReadOnlyMemory<byte>, Task> send)
{
    private const int MaxBodyBytes = 65536;
    public static readonly string[] PassedOn = ["Host", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Content-Type", "X-Csrf-Token"];

    // Not more than the credit: the agent waits for that.
    private readonly Channel<(FrameType Type, byte[] Data)> frames =
        Channel.CreateUnbounded<(FrameType, byte[])>(new UnboundedChannelOptions { SingleReader = true });

    public static Task RefuseAsync(HttpContext context, int status, string why)
    {
        context.Response.StatusCode = status;
        context.Response.Headers.CacheControl = "no-store";
        context.Response.ContentType = "application/json";
        return context.Response.WriteAsJsonAsync(new Dictionary<string, string> { ["error"] = why });
    }

    /// <summary>From the thread that reads what the agent says.</summary>
    public void Take(FrameType type, byte[] data) => frames.Writer.TryWrite((type, data));

    /// <summary>The agent has ended.</summary>
    public void Break() => frames.Writer.TryWrite((FrameType.Broken, []));

    public async Task RunAsync(string root, string path, byte[] body)
    {
        ReadOnlyMemory<byte> request = Encode(root, path, body);

        if (request.IsEmpty)
        {
            await RefuseAsync(context, StatusCodes.Status400BadRequest, "the request is too long, or has a NUL in it");
            return;
        }
        await send(FrameType.Request, request);
        try
        {
            await PassOnAsync();
        }
        catch (Exception e) when (e is OperationCanceledException or IOException)
        {
            await send(FrameType.Cancel, default); // the client has gone
        }
    }

    /// <summary>Null: it is too long.</summary>
    public static async Task<byte[]?> ReadBodyAsync(HttpContext context)
    {
        var body = new MemoryStream();
        var part = new byte[4096];

        for (int n; (n = await context.Request.Body.ReadAsync(part, context.RequestAborted)) > 0;)
        {
            if (body.Length + n > MaxBodyBytes)
                return null;
            body.Write(part, 0, n);
        }
        return body.ToArray();
    }

    /// <summary>Empty: the agent would not take it.</summary>
    private ReadOnlyMemory<byte> Encode(string root, string path, byte[] body)
    {
        var to = new ArrayBufferWriter<byte>();
        int pairs = 1;
        bool isWhole = !path.Contains('\0');

        Frames.AddText(to, FieldKind.Method, context.Request.Method);
        Frames.AddText(to, FieldKind.Path, path);
        Frames.AddPair(to, FieldKind.Header, "Tapir-Root", root);
        foreach (string name in PassedOn)
            if (context.Request.Headers.TryGetValue(name, out StringValues value))
                Add(FieldKind.Header, name, value.ToString());
        foreach ((string name, StringValues values) in context.Request.Query)
            foreach (string? value in values)
                Add(FieldKind.Query, name, value ?? "");
        if (body.Length > 0)
            Frames.AddField(to, FieldKind.Body, body);
        return isWhole && pairs <= Frames.MaxPairs && to.WrittenCount <= Frames.MaxBytes ? to.WrittenMemory : default;

        void Add(FieldKind kind, string name, string value)
        {
            isWhole &= !name.Contains('\0') && !value.Contains('\0');
            if (isWhole && ++pairs <= Frames.MaxPairs)
                Frames.AddPair(to, kind, name, value);
        }
    }

    private async Task PassOnAsync()
    {
        var credit = new byte[4];

        for (;;)
        {
            (FrameType type, byte[] data) = await frames.Reader.ReadAsync(context.RequestAborted);

            switch (type)
            {
            case FrameType.Head:
                TakeHead(data);
                await context.Response.StartAsync(context.RequestAborted);
                break;
            case FrameType.Data:
                await context.Response.Body.WriteAsync(data, context.RequestAborted);
                await context.Response.Body.FlushAsync(context.RequestAborted);
                BinaryPrimitives.WriteInt32LittleEndian(credit, data.Length);
                await send(FrameType.Credit, credit);
                break;
            case FrameType.End:
                return;
            default:
                if (!context.Response.HasStarted)
                    await RefuseAsync(context, StatusCodes.Status502BadGateway, "the agent gave no answer");
                else
                    context.Abort(); // what the client has is not whole
                return;
            }
        }
    }

    private void TakeHead(byte[] data)
    {
        context.Response.StatusCode = BinaryPrimitives.ReadInt32LittleEndian(data);
        foreach ((string name, string value) in Frames.Headers(data))
            context.Response.Headers[name] = value;
    }
}
