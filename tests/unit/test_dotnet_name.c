// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of .NET 10.0.12's methods, as its jitdump has them, and how they are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dotnet_name.h"

struct pair {
	const char *raw, *shown, *tier;
};

static void check(const struct pair *pairs, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct tapir_str out = {};
		struct tapir_sv tier = {};

		if (!tapir_dotnet_name__add(&out, tapir_sv__of(pairs[i].raw), &tier))
			fail_msg("no name: %s", pairs[i].raw);
		assert_string_equal(out.data, pairs[i].shown);
		assert_int_equal(tapir_sv__compare(tier, tapir_sv__of(pairs[i].tier)), 0);
		tapir_str__fini(&out);
	}
}

#define CHECK(pairs) check(pairs, sizeof(pairs) / sizeof((pairs)[0]))

static void plain_methods_lose_module_and_return_type(void **state)
{
	static const struct pair pairs[] = {
		{"void [Shapes] My.App.Program::Spin()[OptimizedTier1]", "My.App.Program.Spin()",
		 "OptimizedTier1"},
		{"instance void [System.Private.CoreLib] System.Threading.Thread::StartCallback()"
		 "[PreJIT]",
		 "System.Threading.Thread.StartCallback()", "PreJIT"},
		{"bool [System.Private.CoreLib] Interop+Kernel32::ReleaseSemaphore(class "
		 "Microsoft.Win32.SafeHandles.SafeWaitHandle,int32,int32&)[QuickJitted]",
		 "Interop.Kernel32.ReleaseSemaphore(SafeWaitHandle, int, int&)", "QuickJitted"},
		{"valuetype [System.Runtime]System.Threading.Tasks.ValueTask [Shapes] "
		 "My.App.Program::Outer(!!0)[InstrumentedTier]",
		 "My.App.Program.Outer(!!0)", "InstrumentedTier"},
		{"instance void [System.Private.CoreLib] "
		 "System.Threading.Tasks.Task+DelayPromise::.ctor(uint32,class "
		 "System.TimeProvider)[OptimizedTier1]",
		 "System.Threading.Tasks.Task.DelayPromise..ctor(uint, TimeProvider)",
		 "OptimizedTier1"},
		{"int32 Busy::Main()[Optimized]", "Busy.Main()", "Optimized"}, /* no module known */
		{"void [a] Program::<Main>$(string[])[QuickJitted]", "Program.Main(string[])",
		 "QuickJitted"},
	};

	(void)state;
	CHECK(pairs);
}

static void generics_have_their_arguments(void **state)
{
	static const struct pair pairs[] = {
		{"instance !0 [Shapes] My.App.Box`1[System.Int32]::Get(!!0,class "
		 "[System.Collections]System.Collections.Generic.List`1<class "
		 "[System.Collections]System.Collections.Generic.Dictionary`2<string,!0[]>>)"
		 "[OptimizedTier1]",
		 "My.App.Box<int>.Get(!!0, List<Dictionary<string, int[]>>)", "OptimizedTier1"},
		{"instance void [Shapes] "
		 "My.App.Box`1+Inner`1[System.Int32,System.__Canon]::Go(!1,!0)[OptimizedTier1]",
		 "My.App.Box<int>.Inner<__Canon>.Go(__Canon, int)", "OptimizedTier1"},
		{"instance bool [System.Private.CoreLib] "
		 "System.Collections.Generic.List`1+Enumerator[System.__Canon]::MoveNext()"
		 "[OptimizedTier1]",
		 "System.Collections.Generic.List<__Canon>.Enumerator.MoveNext()",
		 "OptimizedTier1"},
		{"void [m] "
		 "A.B`2[System.Collections.Generic.List`1[System.Int32[]],System.Byte[,]]::"
		 "C(!1,!2)[Optimized]",
		 "A.B<List<int[]>, byte[,]>.C(byte[,], !2)", "Optimized"},
		{"class My.App.Box`1<!0> [Shapes] My.App.Box`1[System.Int32]::op_Addition(class "
		 "My.App.Box`1<!0>,class My.App.Box`1<!0>)[OptimizedTier1]",
		 "My.App.Box<int>.op_Addition(Box<int>, Box<int>)", "OptimizedTier1"},
	};

	(void)state;
	CHECK(pairs);
}

static void what_compilers_make_is_called_as_its_source(void **state)
{
	static const struct pair pairs[] = {
		{"instance void [Shapes] My.App.Program+<Download>d__2::MoveNext()[OptimizedTier1]",
		 "My.App.Program.Download (async)", "OptimizedTier1"},
		{"instance bool [Shapes] My.App.Program+<Items>d__4::MoveNext()[OptimizedTier1]",
		 "My.App.Program.Items (iterator)", "OptimizedTier1"},
		{"instance void [Shapes] "
		 "My.App.Program+<Outer>d__3`1[System.Int32]::MoveNext()[OptimizedTier1]",
		 "My.App.Program.Outer<int> (async)", "OptimizedTier1"},
		{"instance void [Shapes] "
		 "My.App.Program+<>c+<<Main>b__8_3>d::MoveNext()[OptimizedTier1]",
		 "My.App.Program.Main (lambda 8_3) (async)", "OptimizedTier1"},
		{"instance int32 [Shapes] My.App.Program+<>c::<Main>b__8_2(int32)[OptimizedTier1]",
		 "My.App.Program.Main (lambda 8_2)(int)", "OptimizedTier1"},
		{"instance int32 [Shapes] "
		 "My.App.Program+<>c__DisplayClass8_0::<Main>b__1(int32)[OptimizedTier1]",
		 "My.App.Program.Main (lambda 8_0.1)(int)", "OptimizedTier1"},
		{"instance void [m] A+<>c__DisplayClass1_0`1[System.String]::<B>b__0()[Optimized]",
		 "A.B (lambda 1_0.0)()", "Optimized"},
		{"int32 [Shapes] My.App.Program::<Local>g__StaticInner|6_1(int32)[QuickJitted]",
		 "My.App.Program.Local.StaticInner (local)(int)", "QuickJitted"},
		{"instance void [m] A+<<B>g__C|0_0>d::MoveNext()[Optimized]",
		 "A.B.C (local) (async)", "Optimized"},
		{"instance void [System.Private.CoreLib] "
		 "System.Threading.ThreadPool+<>c::<.cctor>b__48_0(object)[OptimizedTier1]",
		 "System.Threading.ThreadPool..cctor (lambda 48_0)(object)", "OptimizedTier1"},
		{"instance valuetype [System.Runtime]System.Threading.Tasks.ValueTask [Shapes] "
		 "My.App.Program+<Stream>d__5::System.IAsyncDisposable.DisposeAsync()"
		 "[OptimizedTier1]",
		 "My.App.Program.<Stream>d__5.System.IAsyncDisposable.DisposeAsync()",
		 "OptimizedTier1"},
	};

	(void)state;
	CHECK(pairs);
}

static void parameters_are_short(void **state)
{
	static const struct pair pairs[] = {
		{"void [Shapes] My.App.Program::Tup(valuetype "
		 "[System.Runtime]System.ValueTuple`2<int32,string>,valuetype "
		 "[System.Runtime]System.ValueTuple`2<int32,string>[],int32[0...,0...],int32[][])"
		 "[OptimizedTier1]",
		 "My.App.Program.Tup(ValueTuple<int, string>, ValueTuple<int, string>[], int[,], "
		 "int[][])",
		 "OptimizedTier1"},
		{"void [Shapes] My.App.Program::Ptr(int32*,method int32 *(int32))[OptimizedTier1]",
		 "My.App.Program.Ptr(int*, method int *(int))", "OptimizedTier1"},
		{"uint8& [System.Private.CoreLib] A.B::C(native int&,native uint,uint8,uint64,int8,"
		 "uint16,int16,float32,float64,char,object)[OptimizedTier1]",
		 "A.B.C(nint&, nuint, byte, ulong, sbyte, ushort, short, float, double, char, "
		 "object)",
		 "OptimizedTier1"},
		{"void [m] A::B(valuetype System.Threading.Monitor/LeaveHelperAction,object)"
		 "[InstrumentedTierOptimized]",
		 "A.B(Monitor.LeaveHelperAction, object)", "InstrumentedTierOptimized"},
		{"int32 [Anonymously Hosted DynamicMethods Assembly] "
		 "dynamicClass::lambda_method1(System.Runtime.CompilerServices.Closure /* MT: "
		 "0x7fee22753a78 */,int32)[Optimized]",
		 "dynamicClass.lambda_method1(Closure, int)", "Optimized"},
		{"int64 [Anonymously Hosted DynamicMethods Assembly] dynamicClass::Made it "
		 "/*x*/(int64)[Optimized]",
		 "dynamicClass.Made it /*x*/(long)", "Optimized"},
	};

	(void)state;
	CHECK(pairs);
}

static void both_spellings_are_one_method(void **state)
{
	static const char by_event[] =
		"instance generic !0 My.Box`1[System.Guid]::Get(!!0,value class "
		"System.TimeSpan,class "
		"System.Collections.Generic.List`1<class System.String>,class System.Object)"
		"[Optimized]";
	static const char by_dump[] =
		"instance !0 [App] My.Box`1[System.Guid]::Get(!!0,valuetype "
		"[System.Runtime]System.TimeSpan,class [System.Collections]"
		"System.Collections.Generic.List`1<string>,object)[Optimized]";
	static const char numbers_by_event[] =
		"unsigned int8& A.B::C(int&,unsigned int,unsigned int8,unsigned int16*,"
		"unsigned int32,unsigned int64,value class System.Span`1<wchar>,int32)[Optimized]";
	static const char numbers_by_dump[] =
		"uint8& [m] A.B::C(native int&,native uint,uint8,uint16*,uint32,uint64,"
		"valuetype System.Span`1<char>,int32)[Optimized]";
	static const char other_tier[] = "instance void [App] A::B()[OptimizedTier1]";

	(void)state;
	assert_true(tapir_dotnet_name__are_one(tapir_sv__of(by_event), tapir_sv__of(by_dump)));
	assert_true(tapir_dotnet_name__are_one(tapir_sv__of(numbers_by_event),
					       tapir_sv__of(numbers_by_dump)));
	assert_false(tapir_dotnet_name__are_one(tapir_sv__of(by_event), tapir_sv__of(other_tier)));
	assert_true(tapir_dotnet_name__are_one(tapir_sv__of("void A::B()[OptimizedTier1]"),
					       tapir_sv__of(other_tier)));
	assert_false(tapir_dotnet_name__are_one(tapir_sv__of("void A::B()[QuickJitted]"),
						tapir_sv__of(other_tier)));
	assert_false(tapir_dotnet_name__are_one(tapir_sv__of("x"), tapir_sv__of("x")));
}

static void other_names_stay_as_they_are(void **state)
{
	static const char *const names[] = {
		"",
		"main",
		"operator new[]",
		"stub [CoreCLR]",
		"JS:*handle /app/server.js:12:3",
		"Ljava/lang/String;::hashCode",
		"int java.util.HashMap.hash(java.lang.Object)[C2]",
		"std::vector<int>::push_back(int const&) [clone .cold]",
		"A::B()[]",
		"A::B()[not a tier]",
		"::()[Optimized]",
		"A::()[Optimized]",
		"A::B)[Optimized]",
		"AB()[Optimized]",
		")[Optimized]",
		"[Optimized]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct tapir_str out = {};
		struct tapir_sv tier;

		assert_false(tapir_dotnet_name__add(&out, tapir_sv__of(names[i]), &tier));
		assert_int_equal(out.len, 0);
		tapir_str__fini(&out);
	}
}

/* Cut and turned around at every byte: whatever comes out, nothing is read outside. */
static void nothing_breaks_when_names_are_odd(void **state)
{
	static const char name[] =
		"instance void [S] A.B`1+<>c__DisplayClass8_0+<<Main>b__1>d`2[System.Int32,C.D`1["
		"System.String[,]]]::MoveNext(class [X]Y.Z`1<!0,!!1[0...,]>&,native int "
		"/*)*/)[Tier1]";

	(void)state;
	for (size_t from = 0; from < sizeof(name) - 1; from++) {
		for (size_t len = 0; len <= sizeof(name) - 1 - from; len++) {
			char *copy = malloc(len + 1);
			struct tapir_str out = {};
			struct tapir_sv tier;

			memcpy(copy, name + from, len);
			for (size_t at = 0; at < len; at += 7)
				copy[at] = name[(at * 31 + len) % (sizeof(name) - 1)];
			(void)tapir_dotnet_name__add(&out, (struct tapir_sv){copy, len}, &tier);
			memcpy(copy, name + from, len);
			(void)tapir_dotnet_name__add(&out, (struct tapir_sv){copy, len}, &tier);
			tapir_str__fini(&out);
			free(copy);
		}
	}
}

static void types_within_types_end_somewhere(void **state)
{
	struct tapir_str raw = {}, out = {};
	struct tapir_sv tier;

	(void)state;
	tapir_str__adds(&raw, "void [m] ");
	for (unsigned i = 0; i < 500; i++)
		tapir_str__adds(&raw, "A`1[");
	for (unsigned i = 0; i < 500; i++)
		tapir_str__addc(&raw, ']');
	tapir_str__adds(&raw, "::B()[Optimized]");
	assert_true(tapir_dotnet_name__add(&out, (struct tapir_sv){raw.data, raw.len}, &tier));
	assert_true(out.len < 2 * raw.len);
	tapir_str__fini(&raw);
	tapir_str__fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_methods_lose_module_and_return_type),
		cmocka_unit_test(generics_have_their_arguments),
		cmocka_unit_test(what_compilers_make_is_called_as_its_source),
		cmocka_unit_test(parameters_are_short),
		cmocka_unit_test(both_spellings_are_one_method),
		cmocka_unit_test(other_names_stay_as_they_are),
		cmocka_unit_test(nothing_breaks_when_names_are_odd),
		cmocka_unit_test(types_within_types_end_somewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
