// Running another program without a shell.
#pragma once

#include <string>
#include <vector>

namespace weft::runtime {

struct ProcessResult {
  bool started = false;
  int status = 0;      // exit status, or 128 + signal
  std::string output;  // stdout and stderr together; when not started: why
};

// arguments[0] is looked up in PATH. stdin is empty.
ProcessResult run_process(const std::vector<std::string>& arguments);
// The file that running `program` would run; "" when there is none.
std::string find_program(const std::string& program);

}  // namespace weft::runtime
