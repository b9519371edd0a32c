// SPDX-License-Identifier: MIT
/*
 * MODEL.npu by way of libelf. The layout of the file is ours (ELF_F_LAYOUT), so that
 * it does not depend on the library's version.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npu/npu_binary.h"
#include "program.h"
#include "sha256.h"

#define PAGE 4096u
#define NOTE_BYTES (12 + 4 + sizeof(struct npu_note))

enum section {
	SECTION_NULL,
	SECTION_TEXT,
	SECTION_RODATA,
	SECTION_BSS,
	SECTION_NOTE,
	SECTION_META,
	SECTION_SYMTAB,
	SECTION_STRTAB,
	SECTION_SHSTRTAB,
	SECTION_COUNT
};

struct section_plan {
	const char *name;
	Elf64_Word type;
	Elf64_Xword flags;
	void *bytes;
	size_t size;
	size_t align, entry_size;
	Elf_Type elf_type;
	uint64_t offset, address; /* set by place_sections() */
};

struct writer {
	const struct program *program;
	struct diag *diag;
	const char *path;
	struct section_plan sections[SECTION_COUNT];
	uint8_t note[NOTE_BYTES];
	Elf64_Sym *symbols;
	size_t symbol_count;
	char *strings;
	size_t string_bytes;
	char section_names[128];
	uint64_t headers_offset;
	Elf *elf;
	int fd;
};

static int elf_problem(struct writer *writer, const char *what)
{
	return diag_error(writer->diag, "'%s': libelf cannot %s: %s", writer->path, what,
			  elf_errmsg(-1));
}

static void add_symbol(struct writer *writer, size_t *used, size_t capacity, uint64_t value,
		       const char *name, const char *suffix)
{
	Elf64_Sym *symbol = &writer->symbols[writer->symbol_count++];

	symbol->st_name = (Elf64_Word)*used;
	symbol->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	symbol->st_shndx = SECTION_TEXT;
	/* relative to .text; place_sections() adds the address */
	symbol->st_value = value;
	*used += (size_t)snprintf(writer->strings + *used, capacity - *used, "%s%s", name, suffix) +
		 1;
}

/* Symbol NAME.clusterN at each layer's first instruction, and one for the points' tables. */
static int make_symbols(struct writer *writer)
{
	const struct program *program = writer->program;
	size_t capacity = 1 + sizeof(NPU_POINTS_SYMBOL), used = 1, i;
	char suffix[sizeof(".cluster00")];
	uint32_t cluster;

	for (i = 0; i < program->layer_count; i++)
		capacity +=
			program->clusters * (strlen(program->layers[i].name) + sizeof(".clusterN"));
	writer->symbols = calloc(2 + (size_t)program->layer_count * program->clusters,
				 sizeof(*writer->symbols));
	writer->strings = calloc(1, capacity);
	if (!writer->symbols || !writer->strings)
		return diag_error(writer->diag, "'%s': the symbol table does not fit into memory",
				  writer->path);
	writer->symbol_count = 1;
	for (i = 0; i < program->layer_count; i++) {
		const struct program_layer *layer = &program->layers[i];

		for (cluster = 0; cluster < program->clusters; cluster++) {
			snprintf(suffix, sizeof(suffix), ".cluster%u", cluster % 100);
			add_symbol(writer, &used, capacity,
				   program->entry[cluster] + layer->start[cluster], layer->name,
				   suffix);
		}
	}
	if (program->points_offset < program->text_bytes)
		add_symbol(writer, &used, capacity, program->points_offset,
			   NPU_POINTS_SYMBOL, "");
	writer->string_bytes = used;
	return 0;
}

static void make_note(struct writer *writer)
{
	const struct program *program = writer->program;
	Elf64_Nhdr header = {
		.n_namesz = htole32(sizeof(NPU_NOTE_NAME)),
		.n_descsz = htole32(sizeof(struct npu_note)),
		.n_type = htole32(NPU_NOTE_TYPE_ABI),
	};
	struct npu_note note = {
		.abi_major = htole16(NPU_BINARY_ABI_MAJOR),
		.abi_minor = htole16(NPU_BINARY_ABI_MINOR),
	};
	struct sha256 hash;

	snprintf(note.target, sizeof(note.target), "%s", program->target);
	sha256_init(&hash);
	sha256_update(&hash, program->text, program->text_bytes);
	sha256_update(&hash, program->rodata, program->rodata_bytes);
	sha256_update(&hash, program->meta, program->meta_bytes);
	sha256_final(&hash, note.build_id);
	memcpy(writer->note, &header, sizeof(header));
	memcpy(writer->note + sizeof(header), NPU_NOTE_NAME, sizeof(NPU_NOTE_NAME));
	memcpy(writer->note + sizeof(header) + 4, &note, sizeof(note));
}

static void plan_sections(struct writer *writer)
{
	const struct program *program = writer->program;
	struct section_plan *sections = writer->sections;
	static char nothing;
	unsigned int i;
	char *name = writer->section_names + 1;

	sections[SECTION_TEXT] = (struct section_plan){ ".text",
							SHT_PROGBITS,
							SHF_ALLOC | SHF_EXECINSTR,
							program->text,
							program->text_bytes,
							PAGE,
							0,
							ELF_T_BYTE,
							0,
							0 };
	sections[SECTION_RODATA] = (struct section_plan){ ".rodata",
							  SHT_PROGBITS,
							  SHF_ALLOC,
							  program->rodata,
							  program->rodata_bytes,
							  PAGE,
							  0,
							  ELF_T_BYTE,
							  0,
							  0 };
	sections[SECTION_BSS] = (struct section_plan){ ".bss",
						       SHT_NOBITS,
						       SHF_ALLOC | SHF_WRITE,
						       NULL,
						       program->scratch_bytes,
						       PAGE,
						       0,
						       ELF_T_BYTE,
						       0,
						       0 };
	sections[SECTION_NOTE] = (struct section_plan){
		".note.npu", SHT_NOTE, 0, writer->note, sizeof(writer->note), 4, 0, ELF_T_BYTE, 0, 0
	};
	sections[SECTION_META] = (struct section_plan){ ".npu.meta",
							SHT_PROGBITS,
							0,
							program->meta,
							program->meta_bytes,
							8,
							0,
							ELF_T_BYTE,
							0,
							0 };
	sections[SECTION_SYMTAB] = (struct section_plan){ ".symtab",
							  SHT_SYMTAB,
							  0,
							  writer->symbols,
							  writer->symbol_count * sizeof(Elf64_Sym),
							  8,
							  sizeof(Elf64_Sym),
							  ELF_T_SYM,
							  0,
							  0 };
	sections[SECTION_STRTAB] = (struct section_plan){
		".strtab",  SHT_STRTAB, 0, writer->strings, writer->string_bytes, 1, 0,
		ELF_T_BYTE, 0,		0
	};
	sections[SECTION_SHSTRTAB] =
		(struct section_plan){ ".shstrtab", SHT_STRTAB, 0, writer->section_names, 1, 1, 0,
				       ELF_T_BYTE,  0,		0 };
	for (i = SECTION_TEXT; i < SECTION_COUNT; i++) {
		if (!sections[i].bytes)
			sections[i].bytes = &nothing;
		name = stpcpy(name, sections[i].name) + 1;
	}
	sections[SECTION_SHSTRTAB].size = (size_t)(name - writer->section_names);
}

static void place_sections(struct writer *writer)
{
	uint64_t offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr), address = PAGE;
	unsigned int i;

	for (i = SECTION_TEXT; i < SECTION_COUNT; i++) {
		struct section_plan *section = &writer->sections[i];

		offset = (offset + section->align - 1) / section->align * section->align;
		section->offset = offset;
		if (section->type != SHT_NOBITS)
			offset += section->size;
		if (section->flags & SHF_ALLOC) {
			section->address = address;
			address += (section->size + PAGE - 1) / PAGE * PAGE;
		}
	}
	writer->headers_offset = (offset + 7) & ~7ull;
	for (i = 1; i < writer->symbol_count; i++)
		writer->symbols[i].st_value += writer->sections[SECTION_TEXT].address;
}

static int write_section(struct writer *writer, unsigned int index, Elf64_Word name)
{
	const struct section_plan *plan = &writer->sections[index];
	Elf_Scn *section = elf_newscn(writer->elf);
	Elf_Data *data = section ? elf_newdata(section) : NULL;
	GElf_Shdr header;

	if (!data || !gelf_getshdr(section, &header))
		return elf_problem(writer, "make a section");
	data->d_buf = plan->type == SHT_NOBITS ? NULL : plan->bytes;
	data->d_size = plan->size;
	data->d_align = plan->align;
	data->d_type = plan->elf_type;
	data->d_version = EV_CURRENT;
	header.sh_name = name;
	header.sh_type = plan->type;
	header.sh_flags = plan->flags;
	header.sh_addr = plan->address;
	header.sh_offset = plan->offset;
	header.sh_size = plan->size;
	header.sh_addralign = plan->align;
	header.sh_entsize = plan->entry_size;
	if (index == SECTION_SYMTAB) {
		header.sh_link = SECTION_STRTAB;
		header.sh_info = (GElf_Word)writer->symbol_count; /* all of them are local */
	}
	if (!gelf_update_shdr(section, &header))
		return elf_problem(writer, "write a section header");
	return 0;
}

static int write_segments(struct writer *writer)
{
	static const Elf64_Word flags[3] = { PF_R | PF_X, PF_R, PF_R | PF_W };
	unsigned int i;

	if (!gelf_newphdr(writer->elf, 3))
		return elf_problem(writer, "make program headers");
	for (i = 0; i < 3; i++) {
		const struct section_plan *plan = &writer->sections[SECTION_TEXT + i];
		GElf_Phdr header = {
			.p_type = PT_LOAD,
			.p_flags = flags[i],
			.p_offset = plan->offset,
			.p_vaddr = plan->address,
			.p_paddr = plan->address,
			.p_filesz = plan->type == SHT_NOBITS ? 0 : plan->size,
			.p_memsz = plan->size,
			.p_align = PAGE,
		};

		if (!gelf_update_phdr(writer->elf, (int)i, &header))
			return elf_problem(writer, "write a program header");
	}
	return 0;
}

static int write_file(struct writer *writer)
{
	Elf64_Word name = 1;
	GElf_Ehdr header;
	unsigned int i;

	if (!gelf_newehdr(writer->elf, ELFCLASS64) || !gelf_getehdr(writer->elf, &header))
		return elf_problem(writer, "make the header");
	elf_flagelf(writer->elf, ELF_C_SET, ELF_F_LAYOUT);
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	header.e_ehsize = sizeof(Elf64_Ehdr);
	header.e_phentsize = sizeof(Elf64_Phdr);
	header.e_shentsize = sizeof(Elf64_Shdr);
	header.e_phnum = 3;
	header.e_shnum = SECTION_COUNT;
	header.e_type = ET_EXEC;
	header.e_machine = NPU_ELF_MACHINE;
	header.e_version = EV_CURRENT;
	header.e_phoff = sizeof(Elf64_Ehdr);
	header.e_shoff = writer->headers_offset;
	header.e_shstrndx = SECTION_SHSTRTAB;
	header.e_entry = 0;
	if (write_segments(writer))
		return -1;
	if (!gelf_update_ehdr(writer->elf, &header))
		return elf_problem(writer, "write the header");
	for (i = SECTION_TEXT; i < SECTION_COUNT; i++) {
		if (write_section(writer, i, name))
			return -1;
		name += (Elf64_Word)strlen(writer->sections[i].name) + 1;
	}
	if (elf_update(writer->elf, ELF_C_WRITE) < 0)
		return elf_problem(writer, "write the file");
	return 0;
}

static int write_temporary(struct writer *writer, const char *temporary)
{
	int result = -1;

	writer->fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (writer->fd < 0)
		return diag_error(writer->diag, "'%s' cannot be created: %s", temporary,
				  strerror(errno));
	writer->elf = elf_begin(writer->fd, ELF_C_WRITE, NULL);
	if (!writer->elf)
		elf_problem(writer, "begin");
	else
		result = write_file(writer);
	elf_end(writer->elf);
	if (close(writer->fd) && !result)
		result = diag_error(writer->diag, "'%s' cannot be written: %s", temporary,
				    strerror(errno));
	return result;
}

/* A renamed file would take the place of a device or a socket, /dev/null for one. */
static int check_destination(const char *path, struct diag *diag)
{
	struct stat status;

	if (stat(path, &status) || S_ISREG(status.st_mode))
		return 0;
	return diag_error(diag, "'%s' is no regular file; name a file to write the binary to", path);
}

int elf_write(const struct program *program, const char *path, struct diag *diag)
{
	struct writer writer = { .program = program, .diag = diag, .path = path };
	char *temporary = NULL;
	int result = -1;

	if (check_destination(path, diag))
		goto out;
	if (elf_version(EV_CURRENT) == EV_NONE) {
		elf_problem(&writer, "work");
		goto out;
	}
	if (asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0) {
		temporary = NULL;
		diag_error(diag, "'%s': no memory for a file name", path);
		goto out;
	}
	if (make_symbols(&writer))
		goto out;
	make_note(&writer);
	plan_sections(&writer);
	place_sections(&writer);
	result = write_temporary(&writer, temporary);
	if (!result && rename(temporary, path))
		result = diag_error(diag, "'%s' cannot be renamed to '%s': %s", temporary, path,
				    strerror(errno));
	if (result)
		unlink(temporary);
out:
	free(temporary);
	free(writer.symbols);
	free(writer.strings);
	return result;
}
