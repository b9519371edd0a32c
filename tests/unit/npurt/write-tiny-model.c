// SPDX-License-Identifier: MIT
/* write-tiny-model FILE [TRIPS]: the hand-made model, or a slow one, for programs that want a file. */
#include <stdio.h>
#include <stdlib.h>

#include "npurt/tiny_model.h"

int main(int argc, char **argv)
{
	struct tiny_options options = { 0 };
	struct tiny_model model;
	FILE *file;
	int failed;

	if (argc != 2 && argc != 3)
		return 2;
	if (argc == 3) {
		options.kind = TINY_SLOW;
		options.trips = (uint32_t)atoi(argv[2]);
	}
	file = fopen(argv[1], "wb");
	if (!file) {
		perror(argv[1]);
		return 1;
	}
	tiny_model_make(&model, &options);
	failed = fwrite(model.bytes, 1, model.size, file) != model.size;
	failed |= fclose(file) != 0;
	tiny_model_free(&model);
	return failed;
}
