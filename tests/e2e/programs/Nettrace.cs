// SPDX-License-Identifier: GPL-2.0-or-later
// What TraceEvent reads out of a .nettrace file, as one JSON document: as a stream of events, and
// after its conversion to a TraceLog, which knows processes, threads and stacks. Its judgement is
// its own: nothing here knows how the file was made.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.Encodings.Web;
using System.Text.Json;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Analysis;
using Microsoft.Diagnostics.Tracing.AutomatedAnalysis;
using Microsoft.Diagnostics.Tracing.Etlx;
using TraceLog = Microsoft.Diagnostics.Tracing.Etlx.TraceLog;

[assembly: AnalyzerProvider(typeof(Analyzers))]

// An analyzer as users of TraceEvent's AutomatedAnalysis write them: how long the threads of a process waited, and the method of
// the program in which they waited for most of it. It has no CPU stacks of a file that was not recorded on Windows.
public class LongestWait : ProcessAnalyzer
{
    protected override AnalyzerExecutionResult Execute(AnalyzerExecutionContext context, ProcessContext process)
    {
        var tree = process.BlockedTimeStacks?.CallTree;
        if (tree == null || tree.Root.InclusiveCount == 0)
            return AnalyzerExecutionResult.Skip;
        var longest = tree.ByID.Where(node => node.Name.Contains("!Defects::")).OrderByDescending(node => node.InclusiveMetric).FirstOrDefault();
        var said = FormattableString.Invariant($"{tree.Root.InclusiveMetric:f3} ms in {tree.Root.InclusiveCount}");
        process.AddIssue(new AnalyzerIssue(Guid.Empty, longest?.Name ?? "", said, ""));
        return AnalyzerExecutionResult.Success;
    }
}

public class Analyzers : IAnalyzerProvider
{
    public IEnumerable<Analyzer> GetAnalyzers() => new Analyzer[] { new LongestWait() };
}

class Tally
{
    public Dictionary<string, int> Counts = new();
    public Dictionary<string, Dictionary<string, string>> First = new(); // event -> payload of its first

    public void Add(TraceEvent e)
    {
        string name = e.ProviderName + ":" + e.EventName;
        Counts[name] = Counts.GetValueOrDefault(name) + 1;
        if (First.ContainsKey(name))
            return;
        var values = First[name] = new() {
            ["#pid"] = e.ProcessID.ToString(), ["#tid"] = e.ThreadID.ToString(), ["#id"] = ((int)e.ID).ToString(),
            ["#version"] = e.Version.ToString(), ["#level"] = ((int)e.Level).ToString(),
            ["#keywords"] = ((ulong)e.Keywords).ToString(), ["#activity"] = e.ActivityID.ToString(),
            ["#related"] = e.RelatedActivityID.ToString(), ["#cpu"] = e.ProcessorNumber.ToString(),
            ["#ms"] = e.TimeStampRelativeMSec.ToString("f6"), ["#utc"] = e.TimeStamp.ToUniversalTime().ToString("o"),
        };
        for (int i = 0; i < e.PayloadNames.Length; i++)
        {
            object value = e.PayloadValue(i);
            values[e.PayloadNames[i]] = value is Array array ? string.Join(",", array.Cast<object>())
                                                             : Convert.ToString(value) ?? "";
        }
    }
}

static class Program
{
    // Innermost first: "module!method", or the address where nothing is known.
    static List<string> Frames(TraceCallStack stack)
    {
        var frames = new List<string>();
        for (; stack != null; stack = stack.Caller)
        {
            var at = stack.CodeAddress;
            string name = at.FullMethodName;
            frames.Add((at.ModuleFile != null ? at.ModuleFile.Name : "?") + "!" + (name.Length > 0 ? name : "?"));
        }
        return frames;
    }

    static object Stream(string path)
    {
        var tally = new Tally();
        var threads = new HashSet<(int, int)>();
        using var source = new EventPipeEventSource(path);
        source.Dynamic.All += _ => { }; // AllEvents has only what a parser has asked for
        source.Clr.All += _ => { };
        double last = double.MinValue;
        int back = 0;
        source.AllEvents += e => {
            tally.Add(e);
            threads.Add((e.ProcessID, e.ThreadID));
            if (e.TimeStampRelativeMSec < last)
                back++;
            last = e.TimeStampRelativeMSec;
        };
        source.Process();
        return new { lost = source.EventsLost, counts = tally.Counts, first = tally.First, threads = threads.Count, back };
    }

    // The objects of a heap by type, as TraceEvent's own classes for these events have them.
    static object Heap(string path)
    {
        var names = new Dictionary<ulong, string>();
        var objects = new Dictionary<ulong, (long Count, long Bytes)>();
        var statics = new List<string>();
        long promised = 0, edges = 0, roots = 0;
        using var source = new EventPipeEventSource(path);
        source.Clr.TypeBulkType += e => {
            for (int i = 0; i < e.Count; i++)
                names[e.Values(i).TypeID] = e.Values(i).TypeName;
        };
        source.Clr.GCBulkNode += e => {
            for (int i = 0; i < e.Count; i++)
            {
                var node = e.Values(i);
                var old = objects.GetValueOrDefault(node.TypeID);
                objects[node.TypeID] = (old.Count + 1, old.Bytes + (long)node.Size);
                promised += (long)node.EdgeCount;
            }
        };
        source.Clr.GCBulkEdge += e => edges += e.Count;
        source.Clr.GCBulkRootEdge += e => roots += e.Count;
        source.Clr.GCBulkRootStaticVar += e => {
            for (int i = 0; i < e.Count; i++)
                statics.Add(e.Values(i).FieldName);
        };
        source.Process();
        var types = objects.Where(o => names.ContainsKey(o.Key)).GroupBy(o => names[o.Key]).ToDictionary(
            g => g.Key, g => new[] { g.Sum(o => o.Value.Count), g.Sum(o => o.Value.Bytes) });
        return new { lost = source.EventsLost, types, promised, edges, roots, statics,
                     objects = objects.Sum(o => o.Value.Count), bytes = objects.Sum(o => o.Value.Bytes) };
    }

    static object Log(string path)
    {
        string etlx = path + ".etlx";
        TraceLog.CreateFromEventPipeDataFile(path, etlx);
        using var log = new TraceLog(etlx);
        var source = log.Events.GetSource();
        source.NeedLoadedDotNetRuntimes();
        source.Process();
        var runtimes = source.Processes().Where(p => p.LoadedDotNetRuntime() != null)
                             .ToDictionary(p => p.ProcessID, RuntimeOf);
        var stacks = new Dictionary<string, Dictionary<string, int>>(); // event -> stack -> count
        var counts = new Dictionary<string, int>();
        foreach (var e in log.Events)
        {
            counts[e.ProviderName + ":" + e.EventName] = counts.GetValueOrDefault(e.ProviderName + ":" + e.EventName) + 1;
            var stack = e.CallStack();
            if (stack == null)
                continue;
            string name = e.ProviderName + ":" + e.EventName;
            if (!stacks.TryGetValue(name, out var of))
                stacks[name] = of = new();
            string text = string.Join(";", Frames(stack));
            of[text] = of.GetValueOrDefault(text) + 1;
        }
        var processes = log.Processes.Select(p => new {
            pid = p.ProcessID, name = p.Name, events = p.EventsInProcess.Count(), samples = p.CPUMSec,
            threads = p.Threads.ToDictionary(t => t.ThreadID.ToString() + "." + ((int)t.ThreadIndex), t => t.CPUMSec),
            modules = p.LoadedModules.Select(m => m.ModuleFile.FilePath).Distinct().ToArray() }).ToArray();
        return new { lost = log.EventsLost, counts, processes, stacks, runtimes };
    }

    static object RuntimeOf(Microsoft.Diagnostics.Tracing.Analysis.TraceProcess process)
    {
        var runtime = process.LoadedDotNetRuntime();
        return new { gcs = runtime.GC.GCs.Select(gc => new { number = gc.Number, generation = gc.Generation,
                                                             reason = gc.Reason.ToString(), type = gc.Type.ToString(),
                                                             pause_ms = Math.Round(gc.PauseDurationMSec, 6) }).ToArray(),
                     jitted = runtime.JIT.Methods.Count };
    }

    // What the analyzer above says of each process, and the report that AutomatedAnalysis makes of that.
    static object Analysis(string path)
    {
        string etlx = path + ".etlx";
        TraceLog.CreateFromEventPipeDataFile(path, etlx);
        using var log = new TraceLog(etlx);
        using var reader = new Microsoft.Diagnostics.Symbols.SymbolReader(TextWriter.Null, "");
        ITrace trace = new AutomatedAnalysisTraceLog(log, reader);
        var result = new TraceProcessor(new DirectoryAnalyzerResolver(AppContext.BaseDirectory)).ProcessTrace(trace);
        var html = new StringWriter();
        var report = new HtmlReportGenerator(html);
        var issues = new Dictionary<string, object>();
        foreach (var process in trace.Processes)
        {
            var found = result.Issues[process];
            if (found == null || found.Count == 0)
                continue;
            report.WriteIssuesForProcess(process, found);
            issues[process.DisplayID.ToString()] = found.Select(issue => new[] { issue.Title, issue.Description }).ToArray();
        }
        return new { executed = result.ExecutedAnalyzers.Count(), issues, html = html.ToString() };
    }

    // Code addresses after TraceEvent looked up those without a name: in a folder of symbol files, or in the ELF files.
    static object Elf(string path, string folder)
    {
        // The package does not bring this one along; what it needs of it is in the runtime's own library.
        AppDomain.CurrentDomain.AssemblyResolve +=
            (_, wanted) => wanted.Name.StartsWith("Microsoft.Bcl.HashCode,") ? typeof(HashCode).Assembly : null;
        string etlx = path + ".etlx";
        TraceLog.CreateFromEventPipeDataFile(path, etlx);
        using var log = new TraceLog(etlx);
        var said = new System.IO.StringWriter();
        using var reader = new Microsoft.Diagnostics.Symbols.SymbolReader(said, folder) { SecurityCheck = _ => true };
        foreach (var module in log.ModuleFiles)
            log.CodeAddresses.LookupSymbolsForModule(reader, module);
        var names = log.CodeAddresses.Where(at => at.FullMethodName.Length > 0)
                       .GroupBy(at => at.Address).ToDictionary(at => at.Key.ToString(), at => at.First().ModuleName + "!" + at.First().FullMethodName);
        return new { names, said = said.ToString() };
    }

    static int Main(string[] args)
    {
        var options = new JsonSerializerOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };
        var result = new Dictionary<string, object>();
        foreach (string arg in args.Skip(1))
        {
            string mode = arg.Split('=')[0]; // elf=FOLDER
            result[mode] = mode == "stream" ? Stream(args[0]) : mode == "heap" ? Heap(args[0]) : mode == "elf" ? Elf(args[0], arg.Substring(4))
                         : mode == "analysis" ? Analysis(args[0]) : Log(args[0]);
        }
        Console.OutputEncoding = System.Text.Encoding.UTF8;
        Console.WriteLine(JsonSerializer.Serialize(result, options));
        return 0;
    }
}
