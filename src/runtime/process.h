// Running another program without a shell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

struct ProcessResult {
  bool started = false;
  int status = 0;      // exit status, or 128 + signal
  std::string output;  // stdout, with stderr where it is taken; when not started: why
};
// What becomes of a program's stderr: it is taken with its stdout, or goes where this process's goes.
enum class Errors : uint8_t { Taken, Shown };

// arguments[0] is looked up in PATH. stdin is empty.
ProcessResult run_process(const std::vector<std::string>& arguments, Errors errors = Errors::Taken);
// The file that running `program` would run; "" when there is none.
std::string find_program(const std::string& program);

}  // namespace weft::runtime
