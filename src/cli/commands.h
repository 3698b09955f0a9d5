// The subcommands of `weft`. Each prints to stdout and returns the exit status.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

int info(bool as_json);
int environment(bool as_json);
int cache_info(bool as_json);
int cache_clear();
// threads 0: on one and on all.
int ceilings(bool as_json, int threads);

struct RunOptions {
  std::string model, method = "forward", output, profile;
  std::vector<std::string> inputs;  // one .npz, or a .npy for each argument
  bool optimize = false, json = false;
  int threads = 0, interop_threads = 0;  // 0: the defaults
  int repeat = 1, warmup = -1;           // -1: three, when calls are repeated
};
int run(const RunOptions& options);

struct InspectOptions {
  std::string model;
  bool code = false, json = false, verify = false;
};
int inspect(const InspectOptions& options);

// Becomes `python -m MODULE ARGUMENTS`, with the Python beside `command` as it was called.
int run_python(const std::string& command, const std::string& module,
               const std::vector<std::string>& arguments);

}  // namespace weft::cli
