// SPDX-License-Identifier: MIT
/* npucc: from an ONNX model to a model binary. */
#include <stdio.h>

#include "compile.h"
#include "npu/npu_binary.h"

int main(int argc, char **argv)
{
	struct options options;

	if (options_parse(&options, argc, argv))
		return 2;
	switch (options.command) {
	case COMMAND_HELP:
		options_help(stdout);
		return 0;
	case COMMAND_VERSION:
		printf("npucc %s (binary ABI %d.%d)\n", NPU_VERSION, NPU_BINARY_ABI_MAJOR,
		       NPU_BINARY_ABI_MINOR);
		return 0;
	case COMMAND_SCAN:
		return command_scan(&options);
	default:
		return command_compile(&options);
	}
}
