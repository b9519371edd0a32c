// SPDX-License-Identifier: MIT
#include <elf.h>
#include <endian.h>
#include <inttypes.h>

#include "show.h"

static void show_identity(const struct model_file *model, FILE *file)
{
	const struct npurt_image *image = &model->image;

	fprintf(file, "file        %s\n", model->path);
	fprintf(file, "model       %s\n", image->name);
	fprintf(file, "target      %s\n", image->target);
	fprintf(file, "format      %u.%u\n", image->abi >> 16, image->abi & 0xffff);
	fputs("build id    ", file);
	for (size_t i = 0; i < sizeof(image->build_id); i++)
		fprintf(file, "%02x", image->build_id[i]);
	fprintf(file, "\nprecision   %s\n", device_type_name(image->precision));
	fprintf(file, "MACs        %" PRIu64 "\n", image->macs);
	fprintf(file,
		"cycles      %" PRIu64 " predicted, %" PRIu64 " roofline, %" PRIu64 " floor\n",
		image->predicted_cycles, image->roofline_cycles, image->floor_cycles);
	fprintf(file, "layers      %u\n", image->layer_count);
}

static void show_sections(const struct model_file *model, FILE *file)
{
	fprintf(file, "\nsections    %10s %12s  align  device\n", "offset", "bytes");
	for (uint32_t i = 0; i < model->section_count; i++) {
		const struct section *section = &model->sections[i];
		const char *where = !(section->flags & SHF_ALLOC)  ? "-" :
				    section->flags & SHF_EXECINSTR ? "program" :
				    section->flags & SHF_WRITE	   ? "argument 1" :
								     "argument 0";

		fprintf(file, "  %-9s 0x%08" PRIx64 " %12" PRIu64 " %6" PRIu64 "  %s%s\n",
			section->name, section->offset, section->bytes, section->align, where,
			section->type == SHT_NOBITS ? ", not in the file" : "");
	}
}

static void show_program(const struct model_file *model, FILE *file)
{
	const struct npu_program_header *header = &model->image.program;
	char clusters[CLUSTER_LIST_BYTES];

	fprintf(file, "\nprogram     version %u, %" PRIu64 " bytes\n", le16toh(header->version),
		model->program_bytes);
	fprintf(file, "  clusters  %u, %u DMA channels each\n", header->clusters,
		header->dma_channels);
	fprintf(file, "  SRAM      %u bytes local a cluster, %u bytes global\n",
		le32toh(header->local_bytes), le32toh(header->global_bytes));
	if (header->save_bytes)
		fprintf(file,
			"  points    every %" PRIu64
			" cycles at most, as predicted; save area %u bytes a cluster\n",
			model->image.point_cycles, le32toh(header->save_bytes));
	for (uint32_t i = 0; i < model->stream_count; i++)
		fprintf(file, "  stream    0x%06" PRIx64 ", %" PRIu64 " bytes, cluster %s\n",
			model->streams[i].offset, model->streams[i].bytes,
			cluster_list(model->streams[i].clusters, clusters));
}

static void show_tensor(const struct npurt_image_tensor *tensor, uint32_t argument, FILE *file)
{
	fprintf(file, "  %-16s argument %u, ", tensor->name, argument);
	for (uint32_t i = 0; i < tensor->rank; i++)
		fprintf(file, "%s%u", i ? "x" : "", tensor->dims[i]);
	fprintf(file, "%s%s, %s on the device, %" PRIu64 " bytes", tensor->rank ? " " : "scalar ",
		host_type_name(tensor->host_type), device_type_name(tensor->device_type),
		tensor->device_bytes);
	if (tensor->scale != 1.0f || tensor->zero_point)
		fprintf(file, ", real = (q - %d) * %.9g", tensor->zero_point,
			(double)tensor->scale);
	fputc('\n', file);
}

void show_headers(const struct model_file *model, FILE *file)
{
	const struct npurt_image *image = &model->image;

	show_identity(model, file);
	show_sections(model, file);
	show_program(model, file);
	fputs("\ninputs\n", file);
	for (uint32_t i = 0; i < image->inputs; i++)
		show_tensor(&image->tensors[i], NPU_ARG_FIRST_IO + i, file);
	fputs("\noutputs\n", file);
	for (uint32_t i = image->inputs; i < image->inputs + image->outputs; i++)
		show_tensor(&image->tensors[i], NPU_ARG_FIRST_IO + i, file);
}
