// llama.cpp's own measurement beside weft's: the llama-bench of a build of llama.cpp or ik_llama.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::cli {

struct LlamaBenchTests {
  std::string model;  // a GGUF file
  std::vector<int64_t> prompts, generated;
  int64_t depth = 0;
  int repetitions = 5, threads = 1;
};

struct LlamaBenchFigure {
  std::string program;             // "llama.cpp 1234 (abcdef0)"
  std::string test;                // "pp512", "tg128"
  double mean = 0, deviation = 0;  // tokens per second
};

// The program in the directory, its bin or its build/bin. ValueError where there is none; RuntimeError with
// what it said where it fails or prints no figures. On processors alone, whatever it was built for.
std::vector<LlamaBenchFigure> run_llama_bench(const std::string& directory, const LlamaBenchTests& tests);

}  // namespace weft::cli
