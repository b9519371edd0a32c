// SPDX-License-Identifier: MIT
// The graphs of bench-runtime.c, of empty bodies, in oneTBB's flow graph: nodes and edges made
// once; what is timed is try_put() to the first node until wait_for_all() returns. Same lines.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <tbb/flow_graph.h>

enum shape { CHAIN, FORK_JOIN, RANDOM };
static const char *const names[] = { "chain", "fork-join", "random" };
using node = tbb::flow::continue_node<tbb::flow::continue_msg>;

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void add_edges(std::vector<std::unique_ptr<node>> &nodes, shape kind)
{
	uint32_t seed = 1, count = (uint32_t)nodes.size();

	for (uint32_t i = 1; i < count; i++) {
		if (kind == CHAIN) {
			tbb::flow::make_edge(*nodes[i - 1], *nodes[i]);
		} else if (kind == RANDOM) {
			uint32_t first = draw(&seed) % i, second = draw(&seed) % i;

			tbb::flow::make_edge(*nodes[first], *nodes[i]);
			tbb::flow::make_edge(*nodes[second], *nodes[i]);
		} else if (i < count - 1) {
			tbb::flow::make_edge(*nodes[0], *nodes[i]);
			tbb::flow::make_edge(*nodes[i], *nodes[count - 1]);
		}
	}
}

static void make_nodes(tbb::flow::graph &graph, std::vector<std::unique_ptr<node>> &nodes,
		       shape kind, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		nodes.emplace_back(new node(graph, [](const tbb::flow::continue_msg &) {}));
	add_edges(nodes, kind);
}

static void replay_only(const char *name, uint32_t count, int rounds)
{
	tbb::flow::graph graph;
	std::vector<std::unique_ptr<node>> nodes;
	int kind = CHAIN;

	while (kind < RANDOM && strcmp(names[kind], name))
		kind++;
	make_nodes(graph, nodes, (shape)kind, count);
	while (rounds-- > 0) {
		nodes[0]->try_put(tbb::flow::continue_msg());
		graph.wait_for_all();
	}
}

static void replay(shape kind, uint32_t count)
{
	tbb::flow::graph graph;
	std::vector<std::unique_ptr<node>> nodes;
	std::vector<double> values;
	int rounds = count > 10000 ? 21 : 301;

	make_nodes(graph, nodes, kind, count);
	auto begin = std::chrono::steady_clock::now();
	for (int round = -2; round < rounds; round++) {
		if (round >= 5 &&
		    std::chrono::steady_clock::now() - begin > std::chrono::seconds(3))
			break;
		auto start = std::chrono::steady_clock::now();

		nodes[0]->try_put(tbb::flow::continue_msg());
		graph.wait_for_all();
		std::chrono::duration<double, std::nano> took =
			std::chrono::steady_clock::now() - start;
		if (round >= 0)
			values.push_back(took.count() / count);
	}
	std::sort(values.begin(), values.end());
	printf("%u empty host tasks, %s, a node, worker pool: submit to end of wait|ns|%.4g|%.4g\n",
	       count, names[kind], values[values.size() / 2], values[0]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "replays")) {
		replay_only(argv[2], (uint32_t)atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	for (shape kind : { CHAIN, FORK_JOIN, RANDOM })
		for (uint32_t count : { 10u, 1000u, 100000u })
			replay(kind, count);
	return 0;
}
