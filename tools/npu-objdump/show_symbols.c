// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "show.h"

void show_symbols(const struct model_file *model, FILE *file)
{
	const struct npurt_image *image = &model->image;

	fprintf(file, "%-10s %10s  %-7s  symbol\n", "offset", "bytes", "cluster");
	for (size_t i = 0; i < image->symbol_count; i++) {
		const struct npurt_image_symbol *symbol = &image->symbols[i];
		const struct stream *stream = symbol_stream(model, symbol->offset);
		char clusters[CLUSTER_LIST_BYTES];

		fprintf(file, "0x%08" PRIx64 " %10" PRIu64 "  %-7s  %s\n", symbol->offset,
			symbol_end(model, i) - symbol->offset,
			stream ? cluster_list(stream->clusters, clusters) : "-", symbol->name);
	}
	fprintf(file, "\n%-6s %14s %12s %12s  layer (operator)\n", "mark", "MACs", "predicted",
		"DRAM bytes");
	for (uint32_t i = 0; i < image->layer_count; i++) {
		const struct npurt_image_layer *layer = &image->layers[i];

		fprintf(file, "%-6u %14" PRIu64 " %12" PRIu64 " %12" PRIu64 "  %s (%s)\n",
			layer->mark, layer->macs, layer->predicted_cycles, layer->dram_bytes,
			layer->name, layer->op);
	}
}
