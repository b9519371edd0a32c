/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "report.h"

double report_utilization(const struct report *report, uint64_t macs, uint64_t cycles)
{
	double peak = (double)session_peak_macs(report->session) * (double)cycles;

	return peak > 0 ? (double)macs / peak : 0;
}

const char *report_bound(const struct report *report, const struct npurt_layer_info *layer,
			 uint64_t cycles)
{
	uint64_t peak = session_peak_macs(report->session);
	uint64_t bandwidth = report->session->device_info.dram_bytes_per_cycle;
	uint64_t mac = peak ? layer->macs / peak : 0;
	uint64_t dram = bandwidth ? layer->dram_bytes / bandwidth : 0;

	if (mac >= dram)
		return mac > cycles / 2 ? "mac" : "other";
	return dram > cycles / 2 ? "dram" : "other";
}

static void print_engines(const struct npurt_task_report *task)
{
	double all = (double)task->cycles * (task->clusters ? task->clusters : 1);

	if (!task->cycles)
		return;
	printf("engines    MAC %.1f %%, output stage %.1f %%, vector %.1f %% of the clusters' time; "
	       "DMA %.1f %% of a channel's\n",
	       100 * (double)task->mac_cycles / all, 100 * (double)task->output_cycles / all,
	       100 * (double)task->vector_cycles / all, 100 * (double)task->dma_cycles / (2 * all));
}

int report_text(const struct report *report)
{
	const struct measurement *m = report->measurement;
	const struct npurt_model_info *model = &report->session->info;
	const struct npurt_task_report *task = &m->reports[0];
	double mhz = (double)report->session->device_info.clock_hz / 1e6;

	printf("model      %s (%s), %u layers, %.1f MMAC\n", model->name, model->target, model->layers,
	       (double)model->macs / 1e6);
	printf("device     %s\n", report->session->device_info.name);
	printf("cycles     %" PRIu64 " (%.3f ms at %.0f MHz), first run %" PRIu64 ", predicted %" PRIu64
	       ", roofline %" PRIu64 ", floor %" PRIu64 "\n", m->cycles, (double)m->cycles / mhz / 1e3,
	       mhz, m->cycles_first, model->predicted_cycles, model->roofline_cycles,
	       model->floor_cycles);
	printf("MAC use    %.1f %%\n", 100 * report_utilization(report, model->macs, m->cycles));
	print_engines(task);
	printf("DRAM       %" PRIu64 " bytes read, %" PRIu64 " written\n", task->dram_read_bytes,
	       task->dram_write_bytes);
	printf("latency    min %.3f, median %.3f, p99 %.3f, max %.3f ms over %u runs\n",
	       (double)m->latency_min / 1e6, (double)m->latency_median / 1e6,
	       (double)m->latency_p99 / 1e6, (double)m->latency_max / 1e6, m->runs);
	for (uint32_t i = 0; i < report->options->comparison_count; i++) {
		const struct comparison_result *c = &report->comparisons[i];

		printf("compare    %s: %s, largest error %g, %" PRIu64 " of %" PRIu64
		       " elements beyond the tolerance\n", c->name, c->ok ? "ok" : "DIFFERENT",
		       c->max_abs_error, c->different, c->elements);
	}
	return 0;
}
