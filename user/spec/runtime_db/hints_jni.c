// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hotspot_jni provider of OpenJDK: entry and return of each JNI function. An entry probe has
 * the function's arguments, except those after "..." and floating-point values; a return probe has
 * the result unless that is floating-point. Source of the facts: the JNI specification; checked
 * against JDK 17 and 25. Strings are NUL-terminated modified UTF-8.
 */
#include "spec/runtime_db/hint_table.h"

#define NUM				TAPIR_HINT_NUM
#define BOOL				TAPIR_HINT_BOOL
#define PTR				TAPIR_HINT_PTR
#define STR				TAPIR_HINT_STR

/* Nearly all functions have the thread's environment first. */
#define ENTRY(function, ...)		TAPIR_HINT("hotspot_jni", function "__entry", __VA_ARGS__)
#define ENV_ENTRY(function, ...)	ENTRY(function, PTR("env"), __VA_ARGS__)
#define RETURN(function, ...)		TAPIR_HINT("hotspot_jni", function "__return", __VA_ARGS__)
#define ENV_CALL(function, result, ...) ENV_ENTRY(function, __VA_ARGS__), RETURN(function, result)

/* ---- families: a function a Java type ---------------------------------------------------- */

#define CALL_ENTRY(function, ...)                                                                  \
	ENV_ENTRY(function, __VA_ARGS__), ENV_ENTRY(function "A", __VA_ARGS__),                    \
		ENV_ENTRY(function "V", __VA_ARGS__)
#define CALL_RETURN(function, ...)                                                                 \
	RETURN(function, __VA_ARGS__), RETURN(function "A", __VA_ARGS__),                          \
		RETURN(function "V", __VA_ARGS__)

#define CALL_ENTRIES(type)                                                                         \
	CALL_ENTRY("Call" type "Method", PTR("object"), PTR("method")),                            \
		CALL_ENTRY("CallNonvirtual" type "Method", PTR("object"), PTR("class"),            \
			   PTR("method")),                                                         \
		CALL_ENTRY("CallStatic" type "Method", PTR("class"), PTR("method"))
#define CALL_RETURNS(type, ...)                                                                    \
	CALL_RETURN("Call" type "Method", __VA_ARGS__),                                            \
		CALL_RETURN("CallNonvirtual" type "Method", __VA_ARGS__),                          \
		CALL_RETURN("CallStatic" type "Method", __VA_ARGS__)

#define FIELD_ENTRIES(type)                                                                        \
	ENV_ENTRY("Get" type "Field", PTR("object"), PTR("field")),                                \
		ENV_ENTRY("GetStatic" type "Field", PTR("class"), PTR("field"))
#define FIELD_VALUES(type, ...)                                                                    \
	RETURN("Get" type "Field", __VA_ARGS__), RETURN("GetStatic" type "Field", __VA_ARGS__),    \
		ENV_ENTRY("Set" type "Field", PTR("object"), PTR("field"), __VA_ARGS__),           \
		ENV_ENTRY("SetStatic" type "Field", PTR("class"), PTR("field"), __VA_ARGS__)
/* a floating-point value is passed to no probe */
#define FIELD_NO_VALUES(type)                                                                      \
	ENV_ENTRY("Set" type "Field", PTR("object"), PTR("field")),                                \
		ENV_ENTRY("SetStatic" type "Field", PTR("class"), PTR("field"))

#define ARRAYS(type)                                                                               \
	ENV_CALL("New" type "Array", PTR("array"), NUM("length")),                                 \
		ENV_CALL("Get" type "ArrayElements", PTR("elements"), PTR("array"),                \
			 PTR("is_copy_at")),                                                       \
		ENV_ENTRY("Release" type "ArrayElements", PTR("array"), PTR("elements"),           \
			  NUM("mode")),                                                            \
		ENV_ENTRY("Get" type "ArrayRegion", PTR("array"), NUM("start"), NUM("length"),     \
			  PTR("buffer")),                                                          \
		ENV_ENTRY("Set" type "ArrayRegion", PTR("array"), NUM("start"), NUM("length"),     \
			  PTR("buffer"))

#define INTEGER_TYPE(type, ...)                                                                    \
	CALL_ENTRIES(type), CALL_RETURNS(type, __VA_ARGS__), FIELD_ENTRIES(type),                  \
		FIELD_VALUES(type, __VA_ARGS__), ARRAYS(type)
#define FLOAT_TYPE(type)                                                                           \
	CALL_ENTRIES(type), FIELD_ENTRIES(type), FIELD_NO_VALUES(type), ARRAYS(type)

/* ---- the table ----------------------------------------------------------------------------- */

static const struct tapir_hint hints[] = {
	INTEGER_TYPE("Boolean", BOOL("value")),
	INTEGER_TYPE("Byte", NUM("value")),
	INTEGER_TYPE("Char", NUM("value")),
	INTEGER_TYPE("Short", NUM("value")),
	INTEGER_TYPE("Int", NUM("value")),
	INTEGER_TYPE("Long", NUM("value")),
	FLOAT_TYPE("Float"),
	FLOAT_TYPE("Double"),
	CALL_ENTRIES("Void"),
	CALL_ENTRIES("Object"),
	CALL_RETURNS("Object", PTR("object")),
	FIELD_ENTRIES("Object"),
	FIELD_VALUES("Object", PTR("value")),
	ENV_CALL("NewObjectArray", PTR("array"), NUM("length"), PTR("class"), PTR("element")),
	ENV_CALL("GetObjectArrayElement", PTR("element"), PTR("array"), NUM("index")),
	ENV_ENTRY("SetObjectArrayElement", PTR("array"), NUM("index"), PTR("element")),
	ENV_CALL("GetArrayLength", NUM("length"), PTR("array")),
	ENV_CALL("GetPrimitiveArrayCritical", PTR("elements"), PTR("array"), PTR("is_copy_at")),
	ENV_ENTRY("ReleasePrimitiveArrayCritical", PTR("array"), PTR("elements"), NUM("mode")),

	/* the virtual machine and its threads */
	ENTRY("CreateJavaVM", PTR("vm_at"), PTR("env_at"), PTR("args")),
	RETURN("CreateJavaVM", NUM("status")),
	ENTRY("DestroyJavaVM", PTR("vm")),
	RETURN("DestroyJavaVM", NUM("status")),
	ENTRY("AttachCurrentThread", PTR("vm"), PTR("env_at"), PTR("args")),
	RETURN("AttachCurrentThread", NUM("status")),
	ENTRY("AttachCurrentThreadAsDaemon", PTR("vm"), PTR("env_at"), PTR("args")),
	RETURN("AttachCurrentThreadAsDaemon", NUM("status")),
	ENTRY("DetachCurrentThread", PTR("vm")),
	RETURN("DetachCurrentThread", NUM("status")),
	ENTRY("GetEnv", PTR("vm"), PTR("env_at"), NUM("version")),
	RETURN("GetEnv", NUM("status")),
	ENTRY("GetCreatedJavaVMs", PTR("vms_at"), NUM("capacity"), PTR("cnt_at")),
	RETURN("GetCreatedJavaVMs", NUM("status")),
	ENTRY("GetDefaultJavaVMInitArgs", PTR("args")),
	RETURN("GetDefaultJavaVMInitArgs", NUM("status")),
	ENV_CALL("GetJavaVM", NUM("status"), PTR("vm_at")),
	ENTRY("GetVersion", PTR("env")),
	RETURN("GetVersion", NUM("version")),

	/* classes, methods, fields */
	ENV_CALL("DefineClass", PTR("class"), STR("name"), PTR("loader"), PTR("bytes"),
		 NUM("length")),
	ENV_CALL("FindClass", PTR("class"), STR("name")),
	ENV_CALL("GetSuperclass", PTR("class"), PTR("class")),
	ENV_CALL("GetObjectClass", PTR("class"), PTR("object")),
	ENV_CALL("IsAssignableFrom", BOOL("result"), PTR("class"), PTR("super")),
	ENV_CALL("IsInstanceOf", BOOL("result"), PTR("object"), PTR("class")),
	ENV_CALL("GetMethodID", PTR("method"), PTR("class"), STR("name"), STR("signature")),
	ENV_CALL("GetStaticMethodID", PTR("method"), PTR("class"), STR("name"), STR("signature")),
	ENV_CALL("GetFieldID", PTR("field"), PTR("class"), STR("name"), STR("signature")),
	ENV_CALL("GetStaticFieldID", PTR("field"), PTR("class"), STR("name"), STR("signature")),
	ENV_CALL("FromReflectedMethod", PTR("method"), PTR("reflected")),
	ENV_CALL("FromReflectedField", PTR("field"), PTR("reflected")),
	ENV_CALL("ToReflectedMethod", PTR("reflected"), PTR("class"), PTR("method"),
		 BOOL("is_static")),
	ENV_CALL("ToReflectedField", PTR("reflected"), PTR("class"), PTR("field"),
		 BOOL("is_static")),
	ENV_CALL("RegisterNatives", NUM("status"), PTR("class"), PTR("methods"), NUM("cnt")),
	ENV_CALL("UnregisterNatives", NUM("status"), PTR("class")),

	/* objects and references */
	ENV_CALL("AllocObject", PTR("object"), PTR("class")),
	CALL_ENTRY("NewObject", PTR("class"), PTR("method")),
	CALL_RETURN("NewObject", PTR("object")),
	ENV_CALL("NewGlobalRef", PTR("reference"), PTR("object")),
	ENV_CALL("NewLocalRef", PTR("reference"), PTR("object")),
	ENV_CALL("NewWeakGlobalRef", PTR("reference"), PTR("object")),
	ENV_ENTRY("DeleteGlobalRef", PTR("reference")),
	ENV_ENTRY("DeleteLocalRef", PTR("reference")),
	ENV_ENTRY("DeleteWeakGlobalRef", PTR("reference")),
	ENV_CALL("GetObjectRefType", NUM("type"), PTR("object")),
	ENV_CALL("IsSameObject", BOOL("result"), PTR("object"), PTR("other")),
	ENV_CALL("EnsureLocalCapacity", NUM("status"), NUM("capacity")),
	ENV_CALL("PushLocalFrame", NUM("status"), NUM("capacity")),
	ENV_CALL("PopLocalFrame", PTR("reference"), PTR("result")),
	ENV_CALL("MonitorEnter", NUM("status"), PTR("object")),
	ENV_CALL("MonitorExit", NUM("status"), PTR("object")),
	ENV_CALL("NewDirectByteBuffer", PTR("buffer"), PTR("bytes"), NUM("capacity")),
	ENV_CALL("GetDirectBufferAddress", PTR("bytes"), PTR("buffer")),
	ENV_CALL("GetDirectBufferCapacity", NUM("capacity"), PTR("buffer")),

	/* exceptions */
	ENV_CALL("Throw", NUM("status"), PTR("throwable")),
	ENV_CALL("ThrowNew", NUM("status"), PTR("class"), STR("message")),
	ENV_ENTRY("FatalError", STR("message")),
	ENTRY("ExceptionCheck", PTR("env")),
	RETURN("ExceptionCheck", BOOL("result")),
	ENTRY("ExceptionClear", PTR("env")),
	ENTRY("ExceptionDescribe", PTR("env")),
	ENTRY("ExceptionOccurred", PTR("env")),
	RETURN("ExceptionOccurred", PTR("throwable")),

	/* strings; those without UTF in their name are UTF-16 */
	ENV_CALL("NewString", PTR("string"), PTR("chars"), NUM("length")),
	ENV_CALL("NewStringUTF", PTR("string"), STR("chars")),
	ENV_CALL("GetStringLength", NUM("length"), PTR("string")),
	ENV_CALL("GetStringUTFLength", NUM("length"), PTR("string")),
	ENV_CALL("GetStringUTFLengthAsLong", NUM("length"), PTR("string")),
	ENV_CALL("GetStringChars", PTR("chars"), PTR("string"), PTR("is_copy_at")),
	ENV_CALL("GetStringUTFChars", STR("chars"), PTR("string"), PTR("is_copy_at")),
	ENV_CALL("GetStringCritical", PTR("chars"), PTR("string"), PTR("is_copy_at")),
	ENV_ENTRY("ReleaseStringChars", PTR("string"), PTR("chars")),
	ENV_ENTRY("ReleaseStringUTFChars", PTR("string"), STR("chars")),
	ENV_ENTRY("ReleaseStringCritical", PTR("string"), PTR("chars")),
	ENV_ENTRY("GetStringRegion", PTR("string"), NUM("start"), NUM("length"), PTR("buffer")),
	ENV_ENTRY("GetStringUTFRegion", PTR("string"), NUM("start"), NUM("length"), PTR("buffer")),
};

const struct tapir_hint_table tapir_hints_jni = TAPIR_TABLE(hints);
