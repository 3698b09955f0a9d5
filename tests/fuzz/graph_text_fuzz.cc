// Any bytes given to the graph parser are refused with a ValueError, or give a graph that verifies and prints
// as text which parses to the same text again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "weft/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::unique_ptr<weft::ir::Graph> graph;
  try {
    graph = weft::ir::parse_graph(text);
  } catch (const weft::Error& error) {
    if (error.kind() == weft::ErrorKind::Internal) throw;
    return 0;
  }
  weft::ir::verify(*graph);
  const std::string printed = graph->str();
  const std::string again = weft::ir::parse_graph(printed)->str();
  if (again != printed) {
    std::fprintf(stderr, "printed:\n%s\nparsed and printed again:\n%s\n", printed.c_str(), again.c_str());
    std::abort();
  }
  return 0;
}
