#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/clang_plugin/compiler.h"

LLD_HAS_DRIVER(elf)

namespace weft::clang_plugin {
namespace {

bool write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file.good();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// LLVM's file writer takes over the process's signal handlers the first time, to remove half-written files. A
// library has no business with the application's Ctrl-C: they are put back. Later calls leave them alone.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers() {
    for (int i = 1; i < NSIG; ++i) known_[i] = ::sigaction(i, nullptr, &saved_[i]) == 0;
  }
  ~KeepSignalHandlers() {
    for (int i = 1; i < NSIG; ++i) {
      struct sigaction now;
      if (!known_[i] || ::sigaction(i, nullptr, &now) != 0) continue;
      if (now.sa_sigaction != saved_[i].sa_sigaction) ::sigaction(i, &saved_[i], nullptr);
    }
  }
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;

 private:
  struct sigaction saved_[NSIG];
  bool known_[NSIG] = {};
};

}  // namespace

std::string link_shared(const std::string& object, const char* library, std::string* message) {
  // LLD reads and writes files.
  const char* temporary = std::getenv("TMPDIR");
  std::string folder =
      std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") + "/weft-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    *message = "cannot make a temporary folder " + folder + " (TMPDIR moves it): " + std::strerror(errno);
    return "";
  }
  const std::string input = folder + "/kernel.o", output = folder + "/kernel.so";
  std::vector<const char*> arguments = {
      "ld.lld", "-shared",         "--threads=1", "--build-id=none", "--hash-style=gnu",
      "-z",     "noseparate-code", "-z",          "norelro",         "--no-mmap-output-file",
      "-o",     output.c_str(),    input.c_str()};
  if (library != nullptr) arguments.push_back(library);

  std::string shared;
  if (write_file(input, object)) {
    const KeepSignalHandlers keep;
    llvm::raw_string_ostream messages(*message);
    if (lld::elf::link(arguments, messages, messages, false, false)) shared = read_file(output);
    lld::CommonLinkerContext::destroy();
  } else {
    *message = "cannot write " + input;
  }
  for (const std::string& path : {input, output, folder}) ::remove(path.c_str());
  return shared;
}

}  // namespace weft::clang_plugin
