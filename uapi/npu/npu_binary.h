/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The compiled model, MODEL.npu: an ELF64 little-endian ET_EXEC file.
 * Authority: Documentation/binary-format.rst.
 *
 * Program headers (PT_LOAD): .text  R X  struct npu_program_header and the streams
 *                            .rodata R   weights                  -> argument 0
 *                            .bss    R W  scratch, NOBITS          -> argument 1
 * p_vaddr are file-relative choices of the writer and carry no meaning: the loader
 * places each segment where it likes (page aligned), code refers to them by
 * argument registers. Sections: .text .rodata .bss .note.npu .npu.meta .symtab
 * .strtab .shstrtab; symbols NAME.clusterN mark each layer's first instruction.
 */
#ifndef NPU_BINARY_H
#define NPU_BINARY_H

#include <linux/types.h>

#define NPU_ELF_MACHINE		0x4e50	/* "PN", until one is assigned */
#define NPU_BINARY_ABI_MAJOR	1
#define NPU_BINARY_ABI_MINOR	0

#define NPU_POINTS_SYMBOL	"points"	/* in .symtab: behind the streams, what belongs to points */

#define NPU_NOTE_NAME		"NPU"
#define NPU_NOTE_TYPE_ABI	1

/* Descriptor of the note in .note.npu */
struct npu_note {
	__le16 abi_major, abi_minor;
	__le32 reserved;
	char target[16];	/* "npu-v3", NUL padded */
	__u8 build_id[32];	/* SHA-256 over .text, .rodata and .npu.meta */
};

/*
 * .npu.meta: header, then tensors (inputs, then outputs), then layers, then the
 * string table. All offsets are from the start of the section.
 */
#define NPU_META_MAGIC		0x4154454du	/* "META" */
#define NPU_META_VERSION	2

struct npu_meta_header {
	__le32 magic;
	__le32 version;
	__le32 inputs, outputs;
	__le32 tensors_offset;	/* struct npu_meta_tensor[inputs + outputs] */
	__le32 layers;
	__le32 layers_offset;	/* struct npu_meta_layer[layers] */
	__le32 strings_offset;
	__le32 strings_bytes;	/* NUL terminated strings; names are offsets into it */
	__le32 model_name;
	__le64 macs;		/* useful MACs of one run */
	__le64 predicted_cycles;
	__le64 roofline_cycles;
	__le64 floor_cycles;
	__le32 clusters;
	__le32 precision;	/* enum npu_dtype of most MACs */
	__le64 point_cycles;	/* longest way between points where it can be preempted, predicted */
};

/* How the host sees an input or output (ONNX element type numbers). */
#define NPU_META_RANK_MAX	8

struct npu_meta_tensor {
	__le32 name;
	__le32 argument;	/* argument register, NPU_ARG_FIRST_IO + index */
	__le32 host_type;	/* ONNX TensorProto.DataType: 1 float, 7 int64, 6 int32, 10 float16, 3 int8, 2 uint8 */
	__le32 device_dtype;	/* enum npu_dtype; same element order as the host's, dense */
	__le32 rank;
	__le32 dims[NPU_META_RANK_MAX];
	__le32 scale;		/* fp32 bits; real = (q - zero_point) * scale; 1.0 for floats */
	__le32 zero_point;
	__le32 reserved;
	__le64 bytes;		/* device bytes */
};

struct npu_meta_layer {
	__le32 name;		/* node's name */
	__le32 op;		/* operator's name */
	__le32 mark;		/* MARK index written when the layer's last output is stored */
	__le32 reserved;
	__le64 macs;
	__le64 predicted_cycles;
	__le64 dram_bytes;	/* planned traffic */
};

#endif /* NPU_BINARY_H */
