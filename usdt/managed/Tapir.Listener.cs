// SPDX-License-Identifier: MIT
#nullable enable
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Tapir;

/// <summary>What an event is: one object for all its occurrences, for as long as the listener lives.</summary>
public sealed class EventKind
{
    public string Provider { get; }
    public string Name { get; }
    public ulong Keywords { get; }
    public ushort Id { get; }
    public byte Version { get; }
    public byte Level { get; }
    public byte Opcode { get; }

    /// <summary>Names of the fields, structures by their own name.</summary>
    public IReadOnlyList<string> Fields { get; }

    internal unsafe EventKind(Native.Kind* kind)
    {
        Native.About* about = kind->About;
        var fields = new string[about->FieldCount];

        for (int i = 0; i < fields.Length; i++)
            fields[i] = Native.Text(about->Fields[i].Name);
        Provider = Native.Text(kind->Provider);
        Name = Native.Text(about->Name);
        (Keywords, Id, Version, Level, Opcode) = (about->Keywords, about->Id, about->Version, about->Level, about->Opcode);
        Fields = fields;
    }
}

/// <summary>A field of a payload: a view of the native memory, valid during the callback.</summary>
public readonly ref struct EventField
{
    /// <summary>The bytes as packed; of a text with its NUL.</summary>
    public ReadOnlySpan<byte> Bytes { get; }

    /// <summary>Elements of an array; 1 for a field that is none.</summary>
    public int Count { get; }

    internal EventField(ReadOnlySpan<byte> bytes, int count)
    {
        Bytes = bytes;
        Count = count;
    }

    /// <summary>A number, a Guid, a structure without references: zero beyond what the payload has.</summary>
    public T As<T>() where T : unmanaged
    {
        T value = default;
        Span<byte> to = MemoryMarshal.AsBytes(new Span<T>(ref value));

        Bytes[..Math.Min(Bytes.Length, to.Length)].CopyTo(to);
        return value;
    }

    /// <summary>A text of UTF-8, without its NUL and not copied.</summary>
    public ReadOnlySpan<byte> Utf8 => Bytes.Length > 0 ? Bytes[..^1] : default;

    /// <summary>A text of UTF-16, without its NUL. Not aligned, so it is a copy.</summary>
    public string Utf16 => Bytes.Length < 2 ? "" : System.Text.Encoding.Unicode.GetString(Bytes[..^2]);
}

/// <summary>An occurrence: a view of native memory, valid during the callback.</summary>
public readonly unsafe ref struct EventRecord
{
    private readonly Native.Record* _record;
    private readonly Native.Part* _parts;
    private readonly int _partCount;

    public EventKind Kind { get; }

    /// <summary>Nanoseconds of CLOCK_MONOTONIC, the clock of System.Diagnostics.Stopwatch on Linux.</summary>
    public ulong TimeNs => _record->TimeNs;
    public uint ThreadId => _record->Tid;
    public ReadOnlySpan<byte> Payload => new(_record->Payload, (int)_record->PayloadBytes);
    public Guid Activity => _record->Activity == null ? Guid.Empty : Unsafe.ReadUnaligned<Guid>(_record->Activity);

    /// <summary>Fields that are there whole: fewer than Kind.Fields if the payload ends early.</summary>
    public int FieldCount => _partCount;

    public EventField this[int index] => (uint)index < (uint)_partCount
        ? new EventField(new ReadOnlySpan<byte>(_parts[index].At, (int)_parts[index].Bytes), (int)_parts[index].Count)
        : throw new ArgumentOutOfRangeException(nameof(index));

    internal EventRecord(EventKind kind, Native.Record* record, Native.Part* parts, int partCount)
    {
        Kind = kind;
        _record = record;
        _parts = parts;
        _partCount = partCount;
    }
}

/// <summary>Receives an event. What it throws ends the listener and is thrown by Dispose.</summary>
public delegate void EventHandler(in EventRecord record);

/// <summary>
/// Native events of this process in managed code: a session of libtapir's (tapir/listener.h), whose
/// buffers a thread of this class empties. The threads that fire run no managed code and never wait.
/// </summary>
public sealed unsafe class Listener : IDisposable
{
    private const int PartCount = 64; // fields of an event that are looked for

    private readonly Native _native;
    private readonly EventHandler _handler;
    private readonly Dictionary<nint, EventKind> _kinds = new();
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _end = new(false);
    private readonly int _intervalMs;
    private GCHandle _self;
    private void* _listener;
    private Exception? _failure;

    /// <param name="library">A handle of the library that has libtapir in it: NativeLibrary.Load.</param>
    /// <param name="provider">A glob; keywords 0 and level 0 are all.</param>
    public Listener(nint library, string provider, EventHandler handler, ulong keywords = 0, byte level = 0, int intervalMs = 10)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(intervalMs);
        _native = new Native(library);
        _handler = handler;
        _intervalMs = intervalMs;
        _self = GCHandle.Alloc(this);
        int err = Open(provider, keywords, level);
        if (err != 0)
        {
            _self.Free();
            throw new InvalidOperationException($"cannot open a listener of {provider}: error {-err}");
        }
        _thread = new Thread(Run) { IsBackground = true, Name = "Tapir.Listener" };
        _thread.Start();
    }

    /// <summary>Events that were selected and that no buffer had room for.</summary>
    public ulong Lost => _listener == null ? 0 : _native.Lost(_listener, null);

    /// <summary>Delivers what was fired before, then ends. Throws what the handler threw.</summary>
    public void Dispose()
    {
        if (_listener == null)
            return;
        if (Thread.CurrentThread == _thread)
            throw new InvalidOperationException("a handler cannot dispose of its listener");
        _end.Set();
        _thread.Join();
        _native.Close(_listener); // calls back on this thread
        _listener = null;
        _self.Free();
        _end.Dispose();
        if (_failure != null)
            throw new InvalidOperationException("the handler of a listener failed", _failure);
    }

    private int Open(string provider, ulong keywords, byte level)
    {
        var selection = new Native.Selection { Keywords = keywords, Level = level };
        var opts = new Native.Options { Size = (nuint)sizeof(Native.Options), Flags = Native.Polled };
        nint name = Marshal.StringToCoTaskMemUTF8(provider);
        void* listener;

        selection.Provider = (byte*)name;
        int err = _native.Open(&selection, 1, &Receive, (void*)GCHandle.ToIntPtr(_self), &opts, &listener);
        Marshal.FreeCoTaskMem(name);
        if (err == 0)
            _listener = listener;
        return err;
    }

    private void Run()
    {
        while (!_end.Wait(_intervalMs))
            _native.Poll(_listener);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void Receive(Native.Record* record, void* ctx)
    {
        var self = (Listener)GCHandle.FromIntPtr((nint)ctx).Target!;

        if (self._failure != null)
            return;
        try
        {
            self.Deliver(record);
        }
        catch (Exception e)
        {
            self._failure = e; // no exception may pass native frames
        }
    }

    private void Deliver(Native.Record* record)
    {
        Native.Part* parts = stackalloc Native.Part[PartCount];

        if (!_kinds.TryGetValue((nint)record->Kind, out EventKind? kind))
            _kinds[(nint)record->Kind] = kind = new EventKind(record->Kind);
        uint count = _native.Locate(record->Kind->About, record->Payload, record->PayloadBytes, parts, PartCount);
        _handler(new EventRecord(kind, record, parts, (int)count));
    }
}

/// <summary>The functions and structures of tapir/listener.h, provider.h and payload_parts.h.</summary>
internal sealed unsafe class Native
{
    internal const uint Polled = 1;

    internal readonly delegate* unmanaged[Cdecl]<Selection*, uint, delegate* unmanaged[Cdecl]<Record*, void*, void>, void*, Options*, void**, int> Open;
    internal readonly delegate* unmanaged[Cdecl]<void*, int> Poll;
    internal readonly delegate* unmanaged[Cdecl]<void*, int> Close;
    internal readonly delegate* unmanaged[Cdecl]<void*, byte*, ulong> Lost;
    internal readonly delegate* unmanaged[Cdecl]<About*, byte*, uint, Part*, uint, uint> Locate;

    internal Native(nint library)
    {
        Open = (delegate* unmanaged[Cdecl]<Selection*, uint, delegate* unmanaged[Cdecl]<Record*, void*, void>, void*, Options*, void**, int>)
            NativeLibrary.GetExport(library, "tapir_listener__open");
        Poll = (delegate* unmanaged[Cdecl]<void*, int>)NativeLibrary.GetExport(library, "tapir_listener__poll");
        Close = (delegate* unmanaged[Cdecl]<void*, int>)NativeLibrary.GetExport(library, "tapir_listener__close");
        Lost = (delegate* unmanaged[Cdecl]<void*, byte*, ulong>)NativeLibrary.GetExport(library, "tapir_listener__lost");
        Locate = (delegate* unmanaged[Cdecl]<About*, byte*, uint, Part*, uint, uint>)
            NativeLibrary.GetExport(library, "tapir_payload__locate");
    }

    internal static string Text(byte* text) => Marshal.PtrToStringUTF8((nint)text) ?? "";

    [StructLayout(LayoutKind.Sequential)]
    internal struct Selection
    {
        internal byte* Provider, Event, Filter;
        internal ulong Keywords;
        internal byte Level;
    }

    /// <summary>struct tapir_listener_opts</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct Options
    {
        internal nuint Size;
        internal uint BufferBytes, IntervalMs, Flags, Pad0;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct Field
    {
        internal byte* Name;
        internal Field* Members;
        internal ushort MemberCount, Count;
        internal byte Type, Repeat, Pad0, Pad1;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct About
    {
        internal byte* Provider, Name;
        internal Field* Fields;
        internal ulong Keywords;
        internal ushort Id;
        internal byte Version, Level;
        internal ushort FieldCount, Task;
        internal byte Opcode;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct Kind
    {
        internal byte* Provider;
        internal About* About;
    }

    /// <summary>The beginning of struct tapir_event_record.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct Record
    {
        internal Kind* Kind;
        internal byte* Payload;
        internal ulong TimeNs;
        internal uint PayloadBytes, Tid;
        internal byte* Activity, Related;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct Part
    {
        internal byte* At;
        internal uint Bytes, Count;
    }
}
