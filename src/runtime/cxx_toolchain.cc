// The spawned toolchain: $WEFT_CXX -shared -nostdlib.
#include "runtime/cxx_toolchain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "runtime/files.h"
#include "runtime/log.h"
#include "runtime/process.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

// WEFT_CXX may hold arguments: "ccache g++".
std::vector<std::string> compiler_command() {
  std::istringstream words(env::get("WEFT_CXX"));
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  if (command.empty()) command.push_back("c++");
  return command;
}

std::string shortened(const std::string& text) {
  constexpr size_t kLongest = 8000;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "\n… (shortened)";
}

class CxxToolchain final : public Toolchain {
 public:
  std::string_view name() const override { return "c++"; }

  std::string id() const override {
    std::string identity;
    for (const std::string& word : compiler_command()) {
      const std::string program = identity.empty() ? find_program(word) : "";
      if (identity.empty() && program.empty()) return "";
      identity += identity.empty() ? file_identity(program) : " " + word;
    }
    return identity;
  }

  bool available(std::string* why_not) const override {
    const std::string program = compiler_command().front();
    if (!find_program(program).empty()) return true;
    if (why_not != nullptr) *why_not = fmt::format("no program '{}' (WEFT_CXX names the compiler)", program);
    return false;
  }

  std::string compile(const CompileRequest& request) const override {
    const TemporaryFolder folder;
    const std::string source = folder.path() + "/" + request.name + ".cc";
    const std::string output = folder.path() + "/" + request.name + ".so";
    {
      const FileDescriptor file(::open(source.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!file.valid() || !write_all(file.get(), request.source)) {
        throw_error(ErrorKind::Runtime,
                    fmt::format("c++: cannot write {} (TMPDIR moves it): {}", source, std::strerror(errno)));
      }
    }
    std::vector<std::string> command = compiler_command();
    const std::string program = command.front();
    for (std::string& flag : kernel_flags()) command.push_back(std::move(flag));
    for (const char* flag : {"-shared", "-nostdlib", "-Wl,--build-id=none", "-x", "c++"})
      command.push_back(flag);
    command.push_back(source);
    const std::string library = own_library_path();
    if (library.find(".so") != std::string::npos) {
      command.insert(command.end(), {"-x", "none", "-Wl,--no-as-needed", library});
    }
    command.insert(command.end(), {"-o", output});
    if (log::dumping()) log::dump(request.name + ".command", fmt::format("{}\n", fmt::join(command, " ")));

    const ProcessResult result = run_process(command);
    if (!result.started) {
      throw_error(ErrorKind::Runtime,
                  fmt::format("c++: cannot run '{}' (WEFT_CXX): {}", program, result.output));
    }
    const std::optional<std::string> bytes = result.status == 0 ? read_file(output) : std::nullopt;
    if (!bytes || bytes->empty()) {
      throw_error(ErrorKind::Runtime,
                  fmt::format("c++: compiling kernel '{}' failed ({} ended with status {}):\n{}",
                              request.name, program, result.status, shortened(result.output)));
    }
    return *bytes;
  }
};

}  // namespace

const Toolchain& cxx_toolchain() {
  static const CxxToolchain& instance = *new CxxToolchain;
  return instance;
}

}  // namespace weft::runtime
