// The program `parallel_info`: how many threads weft uses here, and why.
#include <cstdio>
#include <cstring>

#include "weft/parallel.h"

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool help = std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0;
    std::fputs(help ? "Usage: parallel_info\nPrints weft's numbers of threads, threading library and their "
                      "settings.\n"
                    : "parallel_info: it takes no arguments (parallel_info --help)\n",
               help ? stdout : stderr);
    return help ? 0 : 2;
  }
  std::fputs(weft::parallel_info().c_str(), stdout);
  return 0;
}
