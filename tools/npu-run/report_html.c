/* SPDX-License-Identifier: MIT */
/* One page without any reference to another file: figures, and a bar a layer. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

/* Names come from the model, so every character that HTML gives a meaning is written as a number. */
static void put_text(FILE *file, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || strchr("<>&\"'", c))
			fprintf(file, "&#%u;", c < 0x20 ? '?' : c);
		else
			fputc(c, file);
	}
}

static void put_head(FILE *file, const struct report *report)
{
	const struct measurement *m = report->measurement;
	const struct npurt_model_info *model = &report->session->info;

	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", file);
	put_text(file, model->name);
	fputs("</title><style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
	      "td,th{padding:2px 8px;text-align:right;border-bottom:1px solid #ddd}"
	      "td:first-child,td:nth-child(2),th:first-child{text-align:left}"
	      ".bar{background:#4a7ebb;height:10px}</style></head><body>\n<h1>", file);
	put_text(file, model->name);
	fputs("</h1>\n<p>", file);
	put_text(file, report->session->device_info.name);
	fprintf(file, ": %" PRIu64 " cycles, MAC use %.1f %%, predicted %" PRIu64 ", roofline %" PRIu64
		", floor %" PRIu64 ".<br>%" PRIu64 " bytes read from DRAM, %" PRIu64
		" written. Latency %.3f ms (median of %u).</p>\n", m->cycles,
		100 * report_utilization(report, model->macs, m->cycles), model->predicted_cycles,
		model->roofline_cycles, model->floor_cycles, m->reports[0].dram_read_bytes,
		m->reports[0].dram_write_bytes, (double)m->latency_median / 1e6, m->runs);
}

static void put_layer(FILE *file, const struct report *report, uint32_t index, uint64_t longest)
{
	struct npurt_layer_info layer = { .size = sizeof(layer) };
	uint64_t cycles = report->measurement->layers[index].cycles;

	if (npurt_model_get_layer(report->session->model, index, &layer))
		return;
	fputs("<tr><td>", file);
	put_text(file, layer.name);
	fputs("</td><td>", file);
	put_text(file, layer.op);
	fprintf(file, "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%.1f</td><td>%" PRIu64
		"</td><td>%s</td><td><div class=\"bar\" style=\"width:%" PRIu64 "px\"></div></td></tr>\n",
		cycles, layer.predicted_cycles, 100 * report_utilization(report, layer.macs, cycles),
		layer.dram_bytes, report_bound(report, &layer, cycles),
		longest ? cycles * 300 / longest : 0);
}

int report_html(const struct report *report, const char *path)
{
	FILE *file = fopen(path, "w");
	uint32_t layers = report->session->info.layers;
	uint64_t longest = 0;
	int failed;

	if (!file) {
		fprintf(stderr, "npu-run: %s: cannot be written: %s\n", path, strerror(errno));
		return -1;
	}
	put_head(file, report);
	fputs("<table><tr><th>layer</th><th>operator</th><th>cycles</th><th>predicted</th>"
	      "<th>MAC use %</th><th>DRAM bytes</th><th>bound</th><th></th></tr>\n", file);
	for (uint32_t i = 0; i < layers; i++)
		if (report->measurement->layers[i].cycles > longest)
			longest = report->measurement->layers[i].cycles;
	for (uint32_t i = 0; i < layers; i++)
		put_layer(file, report, i, longest);
	fputs("</table></body></html>\n", file);
	failed = ferror(file);
	failed |= fclose(file) != 0;
	if (failed)
		fprintf(stderr, "npu-run: %s: could not be written whole\n", path);
	return failed ? -1 : 0;
}
