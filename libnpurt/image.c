// SPDX-License-Identifier: MIT
/* The ELF frame of a compiled model: headers, sections, segments, note, program header. */
#include "image.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

#define SECTIONS_MAX 64
#define SEGMENTS_MAX 16
#define SMALL_PART_MAX (64u << 20) /* tables and strings */
#define BSS_MAX ((uint64_t)1 << 37)
#define PROGRAM_ALIGN 64
#define WEIGHTS_ALIGN 4096

#define SAVE_BYTES_MAX                                                                             \
	(sizeof(struct npu_save_state) + NPU_POINT_BYTES_MAX + NPU_POINT_RANGES_MAX * NPU_SAVE_ALIGN)

#define COMPILE_AGAIN "the file is damaged, compile the model again"

enum known_section {
	SECTION_TEXT,
	SECTION_RODATA,
	SECTION_BSS,
	SECTION_NOTE,
	SECTION_META,
	SECTION_SYMTAB,
	SECTION_STRTAB,
	SECTION_COUNT
};

static const struct {
	const char *name;
	uint32_t type;
	uint64_t flags;
	bool required;
} known_sections[SECTION_COUNT] = {
	[SECTION_TEXT] = { ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, true },
	[SECTION_RODATA] = { ".rodata", SHT_PROGBITS, SHF_ALLOC, false },
	[SECTION_BSS] = { ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, false },
	[SECTION_NOTE] = { ".note.npu", SHT_NOTE, 0, true },
	[SECTION_META] = { ".npu.meta", SHT_PROGBITS, 0, true },
	[SECTION_SYMTAB] = { ".symtab", SHT_SYMTAB, 0, false },
	[SECTION_STRTAB] = { ".strtab", SHT_STRTAB, 0, false },
};

/* The file's frame while it is being read. Numbers in host order. */
struct frame {
	const struct npurt_source *source;
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS_MAX];
	Elf64_Phdr segments[SEGMENTS_MAX];
	unsigned int section_count, segment_count;
	int known[SECTION_COUNT]; /* index of the section, -1: absent */
};

static int damaged(const char *what, uint64_t offset, const char *why)
{
	return npurt_fail(-ENOEXEC, "model: %s at offset 0x%" PRIx64 ": %s: " COMPILE_AGAIN, what,
			  offset, why);
}

void *npurt_image_load_part(const struct npurt_source *source, const struct npurt_image_part *part,
			    const char *what, int *error)
{
	char *data;

	if (part->bytes > SMALL_PART_MAX) {
		*error = npurt_fail(-ENOEXEC,
				    "model: %s at offset 0x%" PRIx64 " is %" PRIu64
				    " bytes long, more than the %u a loader takes: " COMPILE_AGAIN,
				    what, part->offset, part->bytes, SMALL_PART_MAX);
		return NULL;
	}
	/* Looked at before memory is taken for it: a lie about the size must not cost any. */
	if (part->offset > source->bytes || part->bytes > source->bytes - part->offset) {
		*error = damaged(what, part->offset, "it reaches over the end of the file");
		return NULL;
	}
	data = malloc((size_t)part->bytes + 1);
	if (!data) {
		*error = npurt_fail(-ENOMEM, "model: no memory for %" PRIu64 " bytes of %s",
				    part->bytes, what);
		return NULL;
	}
	*error = source->read(source, part->offset, data, (size_t)part->bytes);
	if (*error) {
		free(data);
		return NULL;
	}
	data[part->bytes] = 0;
	return data;
}

/* ------------------------------------------------------------------ headers */

static int check_identity(const struct frame *frame)
{
	const unsigned char *ident = frame->header.e_ident;
	const Elf64_Ehdr *header = &frame->header;

	if (memcmp(ident, ELFMAG, SELFMAG))
		return npurt_fail(-ENOEXEC,
				  "model: the file does not start with an ELF header: it "
				  "is not a compiled model; compile one with `npucc compile`");
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
	    ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT)
		return damaged("ELF header", 0, "not a 64-bit little-endian ELF file of version 1");
	if (header->e_machine != NPU_ELF_MACHINE)
		return npurt_fail(-ENOEXEC,
				  "model: ELF header at offset 0x%zx: machine 0x%x is not "
				  "the NPU's 0x%x: this is a program for something else",
				  offsetof(Elf64_Ehdr, e_machine), header->e_machine,
				  NPU_ELF_MACHINE);
	if (header->e_type != ET_EXEC)
		return damaged("ELF header", offsetof(Elf64_Ehdr, e_type), "not of type EXEC");
	if (header->e_ehsize != sizeof(Elf64_Ehdr) || header->e_shentsize != sizeof(Elf64_Shdr) ||
	    header->e_phentsize != sizeof(Elf64_Phdr))
		return damaged("ELF header", offsetof(Elf64_Ehdr, e_ehsize),
			       "a header size is not that of ELF64");
	return 0;
}

static int read_header(struct frame *frame)
{
	Elf64_Ehdr *header = &frame->header;
	int ret;

	if (frame->source->bytes < sizeof(*header))
		return npurt_fail(-ENOEXEC,
				  "model: the file is %" PRIu64 " bytes long, shorter than "
				  "an ELF header: it is truncated, or not a compiled model",
				  frame->source->bytes);
	ret = frame->source->read(frame->source, 0, header, sizeof(*header));
	if (ret)
		return ret;
	header->e_type = le16toh(header->e_type);
	header->e_machine = le16toh(header->e_machine);
	header->e_version = le32toh(header->e_version);
	header->e_phoff = le64toh(header->e_phoff);
	header->e_shoff = le64toh(header->e_shoff);
	header->e_ehsize = le16toh(header->e_ehsize);
	header->e_phentsize = le16toh(header->e_phentsize);
	header->e_phnum = le16toh(header->e_phnum);
	header->e_shentsize = le16toh(header->e_shentsize);
	header->e_shnum = le16toh(header->e_shnum);
	header->e_shstrndx = le16toh(header->e_shstrndx);
	return check_identity(frame);
}

/* Reads a table of the ELF header: @count entries of @entry_bytes at @offset. */
static int read_table(struct frame *frame, const char *what, uint64_t offset, unsigned int count,
		      unsigned int most, size_t entry_bytes, void *to)
{
	uint64_t bytes = (uint64_t)count * entry_bytes;

	if (!count || count > most)
		return npurt_fail(-ENOEXEC,
				  "model: ELF header: %u %s, expected 1 to %u: " COMPILE_AGAIN,
				  count, what, most);
	if (offset & 7)
		return damaged(what, offset, "the table is not aligned to 8 bytes");
	if (offset < sizeof(Elf64_Ehdr) || offset > frame->source->bytes ||
	    bytes > frame->source->bytes - offset)
		return damaged(what, offset, "the table does not lie inside the file");
	return frame->source->read(frame->source, offset, to, (size_t)bytes);
}

static int read_sections(struct frame *frame)
{
	unsigned int i;
	int ret;

	ret = read_table(frame, "section headers", frame->header.e_shoff, frame->header.e_shnum,
			 SECTIONS_MAX, sizeof(Elf64_Shdr), frame->sections);
	if (ret)
		return ret;
	frame->section_count = frame->header.e_shnum;
	for (i = 0; i < frame->section_count; i++) {
		Elf64_Shdr *section = &frame->sections[i];

		section->sh_name = le32toh(section->sh_name);
		section->sh_type = le32toh(section->sh_type);
		section->sh_flags = le64toh(section->sh_flags);
		section->sh_addr = le64toh(section->sh_addr);
		section->sh_offset = le64toh(section->sh_offset);
		section->sh_size = le64toh(section->sh_size);
		section->sh_link = le32toh(section->sh_link);
		section->sh_addralign = le64toh(section->sh_addralign);
		section->sh_entsize = le64toh(section->sh_entsize);
	}
	return 0;
}

static int read_segments(struct frame *frame)
{
	unsigned int i;
	int ret;

	ret = read_table(frame, "program headers", frame->header.e_phoff, frame->header.e_phnum,
			 SEGMENTS_MAX, sizeof(Elf64_Phdr), frame->segments);
	if (ret)
		return ret;
	frame->segment_count = frame->header.e_phnum;
	for (i = 0; i < frame->segment_count; i++) {
		Elf64_Phdr *segment = &frame->segments[i];

		segment->p_type = le32toh(segment->p_type);
		segment->p_flags = le32toh(segment->p_flags);
		segment->p_offset = le64toh(segment->p_offset);
		segment->p_filesz = le64toh(segment->p_filesz);
		segment->p_memsz = le64toh(segment->p_memsz);
		segment->p_align = le64toh(segment->p_align);
	}
	return 0;
}

/* ----------------------------------------------------------------- sections */

static uint64_t section_header_offset(const struct frame *frame, unsigned int index)
{
	return frame->header.e_shoff + index * sizeof(Elf64_Shdr);
}

static int check_section(const struct frame *frame, unsigned int index, const char *name)
{
	const Elf64_Shdr *section = &frame->sections[index];
	uint64_t bytes = section->sh_type == SHT_NOBITS ? 0 : section->sh_size;

	if (section->sh_offset > frame->source->bytes ||
	    bytes > frame->source->bytes - section->sh_offset)
		return npurt_fail(-ENOEXEC,
				  "model: section %u (%s) at offset 0x%" PRIx64 ", %" PRIu64
				  " bytes, reaches over the file's end at 0x%" PRIx64
				  ": it is truncated or damaged, compile the model again",
				  index, name, section->sh_offset, bytes, frame->source->bytes);
	if (section->sh_addralign & (section->sh_addralign - 1))
		return damaged("section header", section_header_offset(frame, index),
			       "the alignment is not a power of two");
	if (section->sh_addralign > 1 && bytes && section->sh_offset % section->sh_addralign)
		return damaged("section", section->sh_offset, "it is not aligned as it claims");
	return 0;
}

static int note_section(struct frame *frame, unsigned int index, const char *name)
{
	const Elf64_Shdr *section = &frame->sections[index];
	uint64_t where = section_header_offset(frame, index);
	int i;

	for (i = 0; i < SECTION_COUNT && strcmp(known_sections[i].name, name); i++)
		;
	if (i == SECTION_COUNT) {
		if (section->sh_flags & SHF_ALLOC || section->sh_type == SHT_REL ||
		    section->sh_type == SHT_RELA)
			return damaged("section header", where,
				       "a section this loader does not know wants to be loaded");
		return 0;
	}
	if (frame->known[i] >= 0)
		return damaged("section header", where, "a second section of the same name");
	if (section->sh_type != known_sections[i].type)
		return npurt_fail(-ENOEXEC,
				  "model: section header at offset 0x%" PRIx64 ": type %u of "
				  "%s, expected %u: " COMPILE_AGAIN,
				  where, section->sh_type, name, known_sections[i].type);
	/* Notes and strings may be marked as loaded; that changes nothing for us. */
	if (known_sections[i].flags &&
	    known_sections[i].flags !=
		    (section->sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)))
		return damaged("section header", where, "the flags do not fit the section's name");
	frame->known[i] = (int)index;
	return 0;
}

static int name_sections(struct frame *frame)
{
	struct npurt_image_part part;
	unsigned int i, names_index = frame->header.e_shstrndx;
	char *names;
	int ret;

	for (i = 0; i < SECTION_COUNT; i++)
		frame->known[i] = -1;
	if (!names_index || names_index >= frame->section_count ||
	    frame->sections[names_index].sh_type != SHT_STRTAB)
		return damaged("ELF header", offsetof(Elf64_Ehdr, e_shstrndx),
			       "no table of section names");
	part.offset = frame->sections[names_index].sh_offset;
	part.bytes = frame->sections[names_index].sh_size;
	names = npurt_image_load_part(frame->source, &part, ".shstrtab", &ret);
	if (!names)
		return ret;
	for (i = 1; i < frame->section_count && !ret; i++) {
		uint64_t where = section_header_offset(frame, i);

		if (frame->sections[i].sh_type == SHT_NULL)
			continue;
		if (frame->sections[i].sh_name >= part.bytes) {
			ret = damaged("section header", where, "the name lies outside .shstrtab");
			break;
		}
		/* The loaded part ends with a NUL of our own. */
		ret = check_section(frame, i, names + frame->sections[i].sh_name);
		if (!ret)
			ret = note_section(frame, i, names + frame->sections[i].sh_name);
	}
	free(names);
	return ret;
}

static int check_required(const struct frame *frame)
{
	int i;

	for (i = 0; i < SECTION_COUNT; i++) {
		if (known_sections[i].required && frame->known[i] < 0)
			return npurt_fail(-ENOEXEC,
					  "model: no section %s: the file was stripped or "
					  "is damaged, compile the model again",
					  known_sections[i].name);
	}
	return 0;
}

struct interval {
	uint64_t start, end;
};

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->end < right->end ? -1 : left->end > right->end;
}

/* No byte of the file means two things. */
static int check_overlap(const struct frame *frame)
{
	struct interval intervals[SECTIONS_MAX + 3];
	unsigned int count = 0, i;

	intervals[count++] = (struct interval){ 0, sizeof(Elf64_Ehdr) };
	intervals[count++] = (struct interval){
		frame->header.e_shoff,
		frame->header.e_shoff + frame->section_count * sizeof(Elf64_Shdr),
	};
	intervals[count++] = (struct interval){
		frame->header.e_phoff,
		frame->header.e_phoff + frame->segment_count * sizeof(Elf64_Phdr),
	};
	for (i = 1; i < frame->section_count; i++) {
		const Elf64_Shdr *section = &frame->sections[i];

		if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS ||
		    !section->sh_size)
			continue;
		intervals[count++] = (struct interval){
			section->sh_offset,
			section->sh_offset + section->sh_size,
		};
	}
	qsort(intervals, count, sizeof(intervals[0]), compare_intervals);
	for (i = 1; i < count; i++) {
		if (intervals[i].start < intervals[i - 1].end)
			return npurt_fail(-ENOEXEC,
					  "model: the parts of the file at offsets 0x%" PRIx64
					  " and 0x%" PRIx64 " overlap: " COMPILE_AGAIN,
					  intervals[i - 1].start, intervals[i].start);
	}
	return 0;
}

/* ----------------------------------------------------------------- segments */

static int check_segment(const struct frame *frame, unsigned int index, enum known_section which)
{
	const Elf64_Phdr *segment = &frame->segments[index];
	uint64_t where = frame->header.e_phoff + index * sizeof(*segment);
	const Elf64_Shdr *section;

	if (frame->known[which] < 0)
		return damaged("program header", where, "a segment without its section");
	section = &frame->sections[frame->known[which]];
	if (segment->p_align & (segment->p_align - 1))
		return damaged("program header", where, "the alignment is not a power of two");
	if (segment->p_memsz != section->sh_size)
		return damaged("program header", where, "its size is not that of its section");
	if (which == SECTION_BSS)
		return segment->p_filesz ? damaged("program header", where,
						   "scratch memory with bytes in the file") :
					   0;
	if (segment->p_offset != section->sh_offset || segment->p_filesz != section->sh_size)
		return damaged("program header", where, "it does not show what its section shows");
	return 0;
}

/* Each of .text, .rodata, .bss has one segment with the rights it needs; nothing else has one. */
static int check_segments(const struct frame *frame)
{
	bool seen[SECTION_COUNT] = { false };
	unsigned int i;
	int which;

	for (i = 0; i < frame->segment_count; i++) {
		uint64_t where = frame->header.e_phoff + i * sizeof(Elf64_Phdr);
		int ret;

		if (frame->segments[i].p_type != PT_LOAD)
			continue;
		switch (frame->segments[i].p_flags & (PF_R | PF_W | PF_X)) {
		case PF_R | PF_X:
			which = SECTION_TEXT;
			break;
		case PF_R:
			which = SECTION_RODATA;
			break;
		case PF_R | PF_W:
			which = SECTION_BSS;
			break;
		default:
			return damaged("program header", where,
				       "rights that neither code, weights nor scratch have");
		}
		if (seen[which])
			return damaged("program header", where, "a second segment of its kind");
		seen[which] = true;
		ret = check_segment(frame, i, which);
		if (ret)
			return ret;
	}
	for (which = SECTION_TEXT; which <= SECTION_BSS; which++) {
		if (frame->known[which] >= 0 && !seen[which] &&
		    frame->sections[frame->known[which]].sh_size)
			return npurt_fail(-ENOEXEC,
					  "model: section %s has no program header: " COMPILE_AGAIN,
					  known_sections[which].name);
	}
	return 0;
}

/* --------------------------------------------------------- note and program */

static struct npurt_image_part part_of(const struct frame *frame, enum known_section which)
{
	struct npurt_image_part part = { 0, 0 };

	if (frame->known[which] >= 0) {
		part.offset = frame->sections[frame->known[which]].sh_offset;
		part.bytes = frame->sections[frame->known[which]].sh_size;
	}
	return part;
}

/* Text that may be printed: no control characters, ended inside its field. */
static bool is_plain(const char *text, size_t room)
{
	size_t i;

	for (i = 0; i < room && text[i]; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	}
	return i > 0 && i < room;
}

static int read_note(struct npurt_image *image, const struct frame *frame,
		     const struct npurt_image_limits *limits)
{
	struct npurt_image_part part = part_of(frame, SECTION_NOTE);
	struct {
		Elf64_Nhdr header;
		char name[4];
		struct npu_note note;
	} note;
	int ret;

	if (part.bytes != sizeof(note))
		return damaged(".note.npu", part.offset, "not of the size of one note");
	ret = frame->source->read(frame->source, part.offset, &note, sizeof(note));
	if (ret)
		return ret;
	if (le32toh(note.header.n_namesz) != sizeof(note.name) ||
	    le32toh(note.header.n_descsz) != sizeof(note.note) ||
	    le32toh(note.header.n_type) != NPU_NOTE_TYPE_ABI ||
	    memcmp(note.name, NPU_NOTE_NAME, sizeof(note.name)) || note.note.reserved)
		return damaged(".note.npu", part.offset, "not the NPU's note");
	image->abi = (uint32_t)le16toh(note.note.abi_major) << 16 | le16toh(note.note.abi_minor);
	if (image->abi >> 16 != NPU_BINARY_ABI_MAJOR ||
	    (image->abi & 0xffff) > NPU_BINARY_ABI_MINOR)
		return npurt_fail(
			-ENOTSUP,
			"model: .note.npu at offset 0x%" PRIx64 ": format %u.%u, this library "
			"reads up to %u.%u: compile the model with a compiler of the library's "
			"version, or install the library of the compiler's",
			part.offset, image->abi >> 16, image->abi & 0xffff, NPU_BINARY_ABI_MAJOR,
			NPU_BINARY_ABI_MINOR);
	if (!is_plain(note.note.target, sizeof(note.note.target)))
		return damaged(".note.npu", part.offset, "the target's name is not one");
	memcpy(image->target, note.note.target, sizeof(note.note.target));
	memcpy(image->build_id, note.note.build_id, sizeof(image->build_id));
	if (limits && strcmp(image->target, limits->config))
		return npurt_fail(-ENOTSUP,
				  "model: compiled for %s, the device is %s: compile it with "
				  "--target %s",
				  image->target, limits->config, limits->config);
	return 0;
}

static int check_streams(const struct npu_program_header *program, uint64_t offset)
{
	unsigned int i;

	for (i = 0; i < NPU_PROGRAM_CLUSTERS_MAX; i++) {
		uint32_t entry = le32toh(program->entry[i]);

		if (i >= program->clusters) {
			if (entry)
				return damaged("program", offset, "an entry beyond its clusters");
			continue;
		}
		if (entry % NPU_INSN_BYTES || entry < sizeof(*program) ||
		    entry > le32toh(program->bytes) - NPU_INSN_BYTES)
			return npurt_fail(-ENOEXEC,
					  "model: program at offset 0x%" PRIx64 ": entry 0x%x "
					  "of cluster %u is not an instruction of the program's %u "
					  "bytes: " COMPILE_AGAIN,
					  offset, entry, i, le32toh(program->bytes));
	}
	return 0;
}

static int check_needs(const struct npu_program_header *program,
		       const struct npurt_image_limits *limits)
{
	const struct {
		const char *what;
		uint32_t need, have;
	} needs[] = {
		{ "clusters", program->clusters, limits->clusters },
		{ "DMA channels a cluster", program->dma_channels, limits->dma_channels },
		{ "bytes of local SRAM", le32toh(program->local_bytes), limits->local_bytes },
		{ "bytes of global SRAM", le32toh(program->global_bytes), limits->global_bytes },
	};
	size_t i;

	for (i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (needs[i].need > needs[i].have)
			return npurt_fail(-ENOTSUP,
					  "model: it needs %u %s, the device has %u: compile "
					  "it for this device",
					  needs[i].need, needs[i].what, needs[i].have);
	}
	return 0;
}

/* None, or as much as the device takes. */
static bool save_bytes_valid(uint32_t bytes)
{
	return !bytes || (bytes % NPU_SAVE_ALIGN == 0 && bytes >= sizeof(struct npu_save_state) &&
			  bytes <= SAVE_BYTES_MAX);
}

static int read_program(struct npurt_image *image, const struct frame *frame,
			const struct npurt_image_limits *limits)
{
	struct npu_program_header *program = &image->program;
	uint64_t offset = image->text.offset;
	int ret;

	if (image->text.bytes < sizeof(*program) + NPU_INSN_BYTES || image->text.bytes > UINT32_MAX)
		return damaged(".text", offset, "too short or too long for a program");
	ret = frame->source->read(frame->source, offset, program, sizeof(*program));
	if (ret)
		return ret;
	if (le32toh(program->magic) != NPU_PROGRAM_MAGIC)
		return damaged(".text", offset, "it does not start with a program header");
	if (le16toh(program->version) != NPU_PROGRAM_VERSION)
		return npurt_fail(
			-ENOTSUP,
			"model: program at offset 0x%" PRIx64 ": version %u, this "
			"library knows %u: compile the model with a compiler of the library's "
			"version",
			offset, le16toh(program->version), NPU_PROGRAM_VERSION);
	if (!program->clusters || program->clusters > NPU_PROGRAM_CLUSTERS_MAX ||
	    !program->dma_channels || program->dma_channels > 2)
		return damaged("program", offset, "no number of clusters or DMA channels");
	if (le32toh(program->bytes) < sizeof(*program) + NPU_INSN_BYTES ||
	    le32toh(program->bytes) > image->text.bytes || program->reserved2)
		return damaged("program", offset,
			       "its size is not that of .text, or a reserved field "
			       "is set");
	if (!save_bytes_valid(le32toh(program->save_bytes)))
		return damaged("program", offset, "no size of a save area that the device takes");
	ret = check_streams(program, offset);
	if (ret || !limits)
		return ret;
	return check_needs(program, limits);
}

/* ------------------------------------------------------------------ symbols */

static int compare_symbols(const void *a, const void *b)
{
	const struct npurt_image_symbol *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int take_symbols(struct npurt_image *image, const struct frame *frame,
			const Elf64_Sym *symbols, size_t count, uint64_t strings)
{
	size_t i;

	image->symbols = calloc(count + 1, sizeof(*image->symbols));
	if (!image->symbols)
		return npurt_fail(-ENOMEM, "model: no memory for %zu symbols", count);
	for (i = 1; i < count; i++) {
		uint64_t where = part_of(frame, SECTION_SYMTAB).offset + i * sizeof(*symbols);
		uint64_t value = le64toh(symbols[i].st_value);
		uint32_t name = le32toh(symbols[i].st_name);

		if (name >= strings)
			return damaged("symbol", where, "its name lies outside .strtab");
		if (le16toh(symbols[i].st_shndx) != frame->known[SECTION_TEXT] ||
		    !is_plain(image->symbol_strings + name, strings - name + 1))
			continue;
		if (value < image->text_address || value - image->text_address > image->text.bytes)
			return damaged("symbol", where, "its value lies outside .text");
		image->symbols[image->symbol_count++] = (struct npurt_image_symbol){
			value - image->text_address,
			image->symbol_strings + name,
		};
	}
	qsort(image->symbols, image->symbol_count, sizeof(*image->symbols), compare_symbols);
	return 0;
}

static int read_symbols(struct npurt_image *image, const struct frame *frame)
{
	struct npurt_image_part part = part_of(frame, SECTION_SYMTAB);
	struct npurt_image_part strings = part_of(frame, SECTION_STRTAB);
	const Elf64_Shdr *section;
	Elf64_Sym *symbols;
	int ret;

	if (frame->known[SECTION_SYMTAB] < 0)
		return 0;
	section = &frame->sections[frame->known[SECTION_SYMTAB]];
	if (section->sh_entsize != sizeof(Elf64_Sym) || part.bytes % sizeof(Elf64_Sym) ||
	    frame->known[SECTION_STRTAB] < 0 ||
	    section->sh_link != (uint32_t)frame->known[SECTION_STRTAB])
		return damaged(".symtab", part.offset,
			       "not a table of symbols with names in .strtab");
	image->symbol_strings = npurt_image_load_part(frame->source, &strings, ".strtab", &ret);
	if (!image->symbol_strings)
		return ret;
	symbols = npurt_image_load_part(frame->source, &part, ".symtab", &ret);
	if (!symbols)
		return ret;
	ret = take_symbols(image, frame, symbols, part.bytes / sizeof(Elf64_Sym), strings.bytes);
	free(symbols);
	return ret;
}

const char *npurt_image_symbol_at(const struct npurt_image *image, uint64_t offset)
{
	size_t low = 0, high = image->symbol_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->symbols[middle].offset > offset)
			high = middle;
		else
			low = middle + 1;
	}
	return low ? image->symbols[low - 1].name : NULL;
}

/* -------------------------------------------------------------------- whole */

static int check_loadable(struct npurt_image *image, const struct frame *frame)
{
	image->text = part_of(frame, SECTION_TEXT);
	image->rodata = part_of(frame, SECTION_RODATA);
	image->bss = part_of(frame, SECTION_BSS);
	image->text_address = frame->sections[frame->known[SECTION_TEXT]].sh_addr;
	if (image->text.offset % PROGRAM_ALIGN)
		return damaged(".text", image->text.offset, "not aligned to 64 bytes");
	if (image->rodata.bytes && image->rodata.offset % WEIGHTS_ALIGN)
		return damaged(".rodata", image->rodata.offset, "not aligned to a page");
	if (image->bss.bytes > BSS_MAX)
		return npurt_fail(-ENOEXEC,
				  "model: .bss asks for %" PRIu64 " bytes of scratch memory, "
				  "more than an address space can hold: " COMPILE_AGAIN,
				  image->bss.bytes);
	return 0;
}

int npurt_image_read(struct npurt_image *image, const struct npurt_source *source,
		     const struct npurt_image_limits *limits)
{
	struct npurt_image_part meta;
	struct frame *frame;
	int ret;

	memset(image, 0, sizeof(*image));
	frame = calloc(1, sizeof(*frame));
	if (!frame)
		return npurt_fail(-ENOMEM, "model: no memory to read its headers");
	frame->source = source;
	ret = read_header(frame);
	if (!ret)
		ret = read_sections(frame);
	if (!ret)
		ret = read_segments(frame);
	if (!ret)
		ret = name_sections(frame);
	if (!ret)
		ret = check_required(frame);
	if (!ret)
		ret = check_overlap(frame);
	if (!ret)
		ret = check_segments(frame);
	if (!ret)
		ret = check_loadable(image, frame);
	if (!ret)
		ret = read_note(image, frame, limits);
	if (!ret)
		ret = read_program(image, frame, limits);
	if (!ret) {
		meta = part_of(frame, SECTION_META);
		ret = npurt_image_meta(image, source, &meta);
	}
	if (!ret)
		ret = read_symbols(image, frame);
	free(frame);
	return ret;
}

void npurt_image_release(struct npurt_image *image)
{
	free(image->tensors);
	free(image->layers);
	free(image->symbols);
	free(image->meta_strings);
	free(image->symbol_strings);
	memset(image, 0, sizeof(*image));
}
