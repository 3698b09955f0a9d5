// `weft compile`, `weft torch`, `weft segment` and `weft convert`: run Python, which does the work (python/weft/script.py,
// python/weft/torch, python/weft/models/sam/command.py, python/weft/torch/export/command.py).
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "runtime/process.h"
#include "weft/error.h"

namespace weft::cli {

namespace fs = std::filesystem;

namespace {

// The Python of the environment that the command is called from, or the first in PATH.
std::string find_python(const std::string& command) {
  const fs::path called =
      command.find('/') != std::string::npos ? fs::path(command) : fs::path(runtime::find_program(command));
  const fs::path beside = called.parent_path() / "python";
  if (!called.empty() && fs::exists(beside)) return beside.string();
  for (const char* name : {"python3", "python"})
    if (std::string found = runtime::find_program(name); !found.empty()) return found;
  throw_error(ErrorKind::Runtime, "weft: no python beside this command and no python3 in PATH");
}

}  // namespace

int run_python(const std::string& command, const std::string& module,
               const std::vector<std::string>& arguments) {
  const std::string python = find_python(command);
  std::vector<std::string> all{python, "-m", module};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(python.c_str(), pointers.data());
  throw_error(ErrorKind::Runtime, fmt::format("weft: cannot start {}: {}", python, std::strerror(errno)));
}

}  // namespace weft::cli
