# SPDX-License-Identifier: GPL-2.0-or-later
"""Protobuf messages as protoc decodes them by tapir's .proto, and what is in OpenTelemetry's profiles."""
import ast
import collections
import os
import subprocess

PROTO = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "user", "output", "render"))


def decoded(t, data, message, proto="otlp.proto"):
    """The message as a tree of dicts; every field is a list. A field that the .proto does not have is a failure."""
    run = subprocess.run([t.need("protoc"), f"--decode={message}", f"--proto_path={PROTO}", proto], input=data,
                         capture_output=True, timeout=120)
    t.eq((run.returncode, run.stderr), (0, b""), f"protoc decodes {message}")
    root = collections.defaultdict(list)
    nested = [root]
    for line in run.stdout.decode("ascii").splitlines():
        line = line.strip()
        if line == "}":
            nested.pop()
        elif line.endswith(" {"):
            nested[-1][line[:-2]].append(collections.defaultdict(list))
            nested.append(nested[-1][line[:-2]][-1])
        else:
            name, value = line.split(": ", 1)
            t.ok(not name.isdigit(), f"field {name} of {message} is in {proto}")
            nested[-1][name].append(ast.literal_eval("b" + value).decode("utf-8", "surrogateescape") if value[0] == '"'
                                    else value == "true" if value in ("true", "false")
                                    else float(value) if "." in value or "e" in value or "n" in value else int(value))
    t.eq(len(nested), 1, "blocks are closed")
    return root


def one(message, name, default=0):
    """A field that is not repeated; protobuf leaves out what is 0."""
    return message[name][0] if message[name] else default


def value_of(attribute):
    return next(iter(one(attribute, "value").values()), [None])[0]


def attributes(message):
    """{key: value} of a Resource or a data point."""
    return {one(a, "key", ""): value_of(a) for a in message["attributes"]}


class Profile:
    """One profile of one resource. rows: (stack, outermost first; (trace id, span id) or None; values; times). What has
    times and no values counts 1 at each of them."""

    def __init__(self, t, data, resource, scope, profile):
        tables, texts = one(data, "dictionary"), one(data, "dictionary")["string_table"]
        self.resource = attributes(resource)
        t.eq(attributes(scope), {}, "attributes of the scope, which readers take for labels of a series")
        referred = [tables["attribute_table"][i] for i in profile["attribute_indices"]]
        self.attributes = {texts[one(a, "key_strindex")]: value_of(a) for a in referred}
        self.type, self.period_type = [(texts[one(of, "type_strindex")], texts[one(of, "unit_strindex")])
                                       for of in (one(profile, name, collections.defaultdict(list)) for name in ("sample_type", "period_type"))]
        self.begin = one(profile, "time_unix_nano")
        self.end = self.begin + one(profile, "duration_nano")
        self.period = one(profile, "period")
        self.rows = []
        for sample in profile["samples"]:
            names = []
            for location in tables["stack_table"][one(sample, "stack_index")]["location_indices"]:
                lines = tables["location_table"][location]["lines"]
                names += [texts[one(tables["function_table"][one(line, "function_index")], "name_strindex")]
                          for line in lines]
                t.ok(lines, "a location of a stack has a function")
            link = tables["link_table"][one(sample, "link_index")]
            ids = tuple(link[name][0].encode("utf-8", "surrogateescape").hex() for name in ("trace_id", "span_id"))
            t.eq([len(text) for text in ids], [32, 16], "bytes of a link")
            values, times = sample["values"], sample["timestamps_unix_nano"]
            t.ok(values or times, "a sample has values or times")
            # What refuses the others, by its sources: Grafana Pyroscope.
            t.ok(not self.period or len(values) <= 1, f"samples of a profile with a period have one value at most: {values}")
            self.rows.append((tuple(reversed(names)), ids if one(sample, "link_index") else None, values or [1] * len(times), times))

    def folded(self, what=len):
        """As --format folded has it: {stack: what of the values}."""
        stacks = collections.Counter()
        for stack, _, values, _ in self.rows:
            if stack:
                line = ";".join((self.resource.get("process.title", "?"), *stack))
                stacks[line] += what(values)
        return stacks


def profiles_of(t, raw):
    """All profiles of a ProfilesData, after what must hold of its tables does."""
    data = decoded(t, raw, "tapir.otlp.ProfilesData")
    tables = one(data, "dictionary")
    t.eq(len({repr(entry) for entry in tables["attribute_table"]}), len(tables["attribute_table"]), "no attribute stands twice")
    for name in ("mapping", "location", "function", "attribute", "stack"):
        t.eq(dict(tables[f"{name}_table"][0]), {}, f"first entry of the table of {name}s")
    t.eq(tables["string_table"][0], "", "first text")
    t.eq([one(tables["link_table"][0], name) for name in ("trace_id", "span_id")], ["\0" * 16, "\0" * 8], "first link")
    for name in ("string", "function", "stack"):
        entries = [repr(entry) for entry in tables[f"{name}_table"]]
        t.ok(name == "string" or len(set(entries)) == len(entries), f"no {name} stands twice")
    return [Profile(t, data, one(of, "resource"), one(scope, "scope"), profile) for of in data["resource_profiles"]
            for scope in of["scope_profiles"] for profile in scope["profiles"]]
