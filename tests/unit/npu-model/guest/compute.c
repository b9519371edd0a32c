// SPDX-License-Identifier: MIT
/*
 * Compiled twice, for the control core and for the host: both must put out the same words.
 */
#include "compute.h"

#define SORT_COUNT	200
#define MATRIX_SIZE	9

struct record {
	uint8_t kind;
	int16_t weight;
	uint32_t value;
	uint64_t wide;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 3;
}

static uint32_t crc32(const uint8_t *bytes, uint32_t size)
{
	uint32_t crc = 0xffffffffu;

	for (uint32_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void sort(int32_t *values, int first, int last)
{
	int low = first;
	int high = last;
	int32_t pivot = values[(first + last) / 2];

	while (low <= high) {
		while (values[low] < pivot)
			low++;
		while (values[high] > pivot)
			high--;
		if (low <= high) {
			int32_t swapped = values[low];

			values[low++] = values[high];
			values[high--] = swapped;
		}
	}
	if (first < high)
		sort(values, first, high);
	if (low < last)
		sort(values, low, last);
}

static void compute_sort(uint32_t seed)
{
	static int32_t values[SORT_COUNT];

	for (int i = 0; i < SORT_COUNT; i++)
		values[i] = (int32_t)next_random(&seed) * (i % 2 ? 3 : -3);
	sort(values, 0, SORT_COUNT - 1);
	for (int i = 0; i < SORT_COUNT; i++)
		emit((uint32_t)values[i]);
}

static void compute_matrix(uint32_t seed)
{
	int64_t a[MATRIX_SIZE][MATRIX_SIZE], b[MATRIX_SIZE][MATRIX_SIZE];

	for (int i = 0; i < MATRIX_SIZE; i++) {
		for (int j = 0; j < MATRIX_SIZE; j++) {
			a[i][j] = (int32_t)(next_random(&seed) << 3);
			b[i][j] = (int16_t)next_random(&seed);
		}
	}
	for (int i = 0; i < MATRIX_SIZE; i++) {
		for (int j = 0; j < MATRIX_SIZE; j++) {
			int64_t sum = 0;

			for (int k = 0; k < MATRIX_SIZE; k++)
				sum += a[i][k] * b[k][j];
			emit((uint32_t)sum);
			emit((uint32_t)(sum >> 32));
		}
	}
}

static void compute_division(uint32_t seed)
{
	for (int i = 0; i < 100; i++) {
		uint64_t a = (uint64_t)next_random(&seed) << 32 | next_random(&seed);
		uint32_t b = next_random(&seed) >> (i % 27) | 1;
		int32_t c = (int32_t)(a >> (i % 30)) | 1;

		emit((uint32_t)(a / b));
		emit((uint32_t)(a % b));
		emit((uint32_t)((int64_t)a / c));
		emit((uint32_t)a / b);
		emit((uint32_t)a % b);
		emit((uint32_t)((int32_t)b / c));
		emit((uint32_t)((int32_t)b % c));
	}
}

static uint32_t step_kind(struct record *record, uint32_t value)
{
	switch (record->kind % 8) {
	case 0:
		return value + record->value;
	case 1:
		return value ^ (uint32_t)record->weight;
	case 2:
		return value << (record->weight & 31);
	case 3:
		return value >> (record->weight & 31);
	case 4:
		return (uint32_t)(record->wide >> 17) + value;
	case 5:
		record->weight = (int16_t)(record->weight - 12345);
		return value;
	case 6:
		record->wide *= value;
		return (uint32_t)record->wide;
	}
	return ~value;
}

static void compute_records(uint32_t seed)
{
	static struct record records[40];
	uint32_t value = seed;

	for (int i = 0; i < 40; i++) {
		records[i].kind = (uint8_t)next_random(&seed);
		records[i].weight = (int16_t)next_random(&seed);
		records[i].value = next_random(&seed);
		records[i].wide = (uint64_t)next_random(&seed) << 30 | 1;
	}
	for (int i = 0; i < 400; i++) {
		value = step_kind(&records[next_random(&seed) % 40], value);
		emit(value);
	}
}

static uint32_t ackermann(uint32_t m, uint32_t n)
{
	if (m == 0)
		return n + 1;
	return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

void compute(uint32_t seed)
{
	static uint8_t bytes[1000];
	uint32_t (*const functions[2])(const uint8_t *, uint32_t) = { crc32, crc32 };
	uint32_t state = seed;

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)next_random(&state);
	emit(functions[seed & 1](bytes, sizeof(bytes)));
	emit(crc32(bytes + 1, 333));
	compute_sort(seed);
	compute_matrix(seed);
	compute_division(seed);
	compute_records(seed);
	emit(ackermann(2, 7));
}
