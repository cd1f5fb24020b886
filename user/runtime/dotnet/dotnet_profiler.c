// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libtapir-coreclr.so as the build made it, byte for byte, inside of tapir: one file is enough to
 * install, and the library always has the version of the program that loads it.
 */
#include "runtime/dotnet/dotnet_profiler.h"

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"tapir_dotnet_profiler_image:\n"
	".incbin \"" TAPIR_BUILD "/libtapir-coreclr.so\"\n"
	"tapir_dotnet_profiler_image_end:\n"
	".byte 0\n"
	".popsection\n");

extern const char tapir_dotnet_profiler_image[], tapir_dotnet_profiler_image_end[];

const void *tapir_dotnet_profiler__image(size_t *len)
{
	*len = (size_t)(tapir_dotnet_profiler_image_end - tapir_dotnet_profiler_image);
	return tapir_dotnet_profiler_image;
}
