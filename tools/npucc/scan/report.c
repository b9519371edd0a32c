// SPDX-License-Identifier: MIT
/* The scan's report as a table and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "scan.h"

static const char *const where_names[SCAN_WHERE_COUNT] = { "none", "npu", "cpu" };

/* Names hold any bytes; the table is one line a node whatever they are. */
static void print_field(const char *text, int width, FILE *out)
{
	int written = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		fputc(c >= 0x20 && c != 0x7f ? c : '?', out);
		/* Continuation bytes of UTF-8 take no column. */
		written += (c & 0xc0) != 0x80;
	}
	while (written++ < width)
		fputc(' ', out);
}

void scan_print(const struct scan_report *report, FILE *out)
{
	uint32_t i;

	fprintf(out, "%-5s %-20s %-16s %10s %-32s %s\n", "where", "operator", "output", "cycles", "node",
		"reason; what to change");
	for (i = 0; i < report->row_count; i++) {
		const struct scan_row *row = &report->rows[i];

		fprintf(out, "%-5s ", where_names[row->where]);
		print_field(row->node->op_type, 20, out);
		fputc(' ', out);
		print_field(row->shape, 16, out);
		if (row->cycles)
			fprintf(out, " %10" PRIu64 " ", row->cycles);
		else
			fprintf(out, " %10s ", "-");
		print_field(row->node->name, row->reason[0] ? 32 : 0, out);
		if (row->reason[0]) {
			fputc(' ', out);
			print_field(row->reason, 0, out);
			if (row->suggestion[0])
				fprintf(out, "; %s", row->suggestion);
		}
		fputc('\n', out);
	}
	fprintf(out,
		"verdict: %s (%" PRIu32 " on the NPU, %" PRIu32 " on the CPU, %" PRIu32
		" unsupported)\n",
		scan_verdict(report), report->counts[SCAN_NPU], report->counts[SCAN_CPU],
		report->counts[SCAN_NONE]);
}

/* Bytes of the UTF-8 character at @text, 0 when it is none. */
static unsigned int utf8_length(const unsigned char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int length, i;
	uint32_t code;

	if (text[0] < 0x80)
		return 1;
	length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	code = text[0] & (0xffu >> (length + 1));
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

void scan_json_string(const char *text, FILE *out)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', out);
	while (*at) {
		unsigned int length = utf8_length(at);

		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f || !length)
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, 1, length, out);
		at += length ? length : 1;
	}
	fputc('"', out);
}

static void json_member(const char *name, const char *value, const char *separator, FILE *out)
{
	fprintf(out, "\"%s\": ", name);
	scan_json_string(value, out);
	fputs(separator, out);
}

/* The rule a node breaks: its name, the node's value and what is allowed. */
static void json_rule(const struct scan_row *row, FILE *out)
{
	char allowed[512], number[32];

	if (!row->limit)
		return;
	snprintf(number, sizeof(number), "%" PRId64, row->value);
	scan_limit_text(row->limit, allowed, sizeof(allowed));
	fputs(", ", out);
	json_member("rule", row->limit->name, ", ", out);
	json_member("value", row->limit->text ? row->limit->text(row->value) : number, ", ", out);
	json_member("limit", allowed, "", out);
}

void scan_print_json(const struct scan_report *report, FILE *out)
{
	uint32_t i;

	fputs("{\"schema\": 1, ", out);
	json_member("verdict", scan_verdict(report), ", \"operators\": [", out);
	for (i = 0; i < report->row_count; i++) {
		const struct scan_row *row = &report->rows[i];

		fputs(i ? ",\n  {" : "\n  {", out);
		json_member("name", row->node->name, ", ", out);
		json_member("op", row->node->op_type, ", ", out);
		json_member("shape", row->shape, ", ", out);
		json_member("where", where_names[row->where], ", ", out);
		if (row->cycles)
			fprintf(out, "\"cycles\": %" PRIu64 ", ", row->cycles);
		json_member("reason", row->reason, ", ", out);
		json_member("suggestion", row->suggestion, "", out);
		json_rule(row, out);
		fputc('}', out);
	}
	fputs("\n], \"counts\": {", out);
	for (i = 0; i < SCAN_WHERE_COUNT; i++)
		fprintf(out, "%s\"%s\": %" PRIu32, i ? ", " : "", where_names[i],
			report->counts[i]);
	fputs("}}\n", out);
}
