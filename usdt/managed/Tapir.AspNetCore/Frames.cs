// SPDX-License-Identifier: MIT
using System;
using System.Buffers;
using System.Buffers.Binary;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Tapir.AspNetCore;

/// <summary>Numbers of the protocol that user/agent/http/stdio_frame.h describes. Linux on x64 and arm64: low bytes first.</summary>
internal enum FrameType : uint
{
    Request = 1,
    Credit,
    Cancel,
    Head,
    Data,
    End,
    Broken,
}

internal enum FieldKind : uint
{
    Method = 1,
    Path,
    Body,
    Query,
    Header,
    Value,
}

internal static class Frames
{
    public const int HeaderBytes = 12, MaxBytes = 163840, MaxPairs = 96;
    private const int FieldBytes = 8, MaxAnswerBytes = 1 << 20;

    public static void WriteHeader(Span<byte> to, FrameType type, uint id, int length)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(to, (uint)type);
        BinaryPrimitives.WriteUInt32LittleEndian(to[4..], id);
        BinaryPrimitives.WriteInt32LittleEndian(to[8..], length);
    }

    public static int LengthOf(ReadOnlySpan<byte> header)
    {
        uint length = BinaryPrimitives.ReadUInt32LittleEndian(header[8..]);

        return length <= MaxAnswerBytes ? (int)length : throw new InvalidDataException("a frame is too long");
    }

    public static void AddField(ArrayBufferWriter<byte> to, FieldKind kind, ReadOnlySpan<byte> data)
    {
        Span<byte> field = to.GetSpan(FieldBytes + data.Length + 1);

        BinaryPrimitives.WriteUInt32LittleEndian(field, (uint)kind);
        BinaryPrimitives.WriteInt32LittleEndian(field[4..], data.Length + 1);
        data.CopyTo(field[FieldBytes..]);
        field[FieldBytes + data.Length] = 0;
        to.Advance(FieldBytes + data.Length + 1);
    }

    public static void AddText(ArrayBufferWriter<byte> to, FieldKind kind, string text) =>
        AddField(to, kind, Encoding.UTF8.GetBytes(text));

    public static void AddPair(ArrayBufferWriter<byte> to, FieldKind kind, string name, string value)
    {
        AddText(to, kind, name);
        AddText(to, FieldKind.Value, value);
    }

    /// <summary>Names and values of a HEAD, after its status.</summary>
    public static IEnumerable<(string Name, string Value)> Headers(byte[] data)
    {
        string name = "";

        for (int at = 4; data.Length - at >= FieldBytes;)
        {
            var kind = (FieldKind)BinaryPrimitives.ReadUInt32LittleEndian(data.AsSpan(at));
            int length = BinaryPrimitives.ReadInt32LittleEndian(data.AsSpan(at + 4));

            at += FieldBytes;
            if (length < 1 || length > data.Length - at)
                throw new InvalidDataException("a field is too long");
            string text = Encoding.UTF8.GetString(data, at, length - 1);

            at += length;
            if (kind == FieldKind.Value)
                yield return (name, text);
            else
                name = text;
        }
    }
}
