#include "runtime/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/files.h"

namespace weft::runtime {
namespace {

bool is_program(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Messages in English whatever the user's locale, so that they can be searched for.
std::vector<char*> c_locale_environment(std::string& storage) {
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "LC_ALL=", 7) != 0) environment.push_back(*entry);
  }
  storage = "LC_ALL=C";
  environment.push_back(storage.data());
  environment.push_back(nullptr);
  return environment;
}

}  // namespace

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return is_program(program) ? program : "";
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t start = 0; start <= folders.size();) {
    size_t stop = folders.find(':', start);
    if (stop == std::string::npos) stop = folders.size();
    const std::string candidate = folders.substr(start, stop - start) + "/" + program;
    if (stop > start && is_program(candidate)) return candidate;
    start = stop + 1;
  }
  return "";
}

ProcessResult run_process(const std::vector<std::string>& arguments, Errors errors) {
  ProcessResult result;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    result.output = std::strerror(errno);
    return result;
  }
  const FileDescriptor reader(ends[0]);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string locale;
  std::vector<char*> environment = c_locale_environment(locale);

  pid_t child = 0;
  int error = 0;
  {
    const FileDescriptor writer(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
    if (errors == Errors::Taken) posix_spawn_file_actions_adddup2(&actions, writer.get(), 2);
    error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
  }
  if (error != 0) {
    result.output = std::strerror(error);
    return result;
  }
  result.output = read_all(reader.get()).value_or("");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    // Someone else reaped it (SIGCHLD ignored): what it wrote decides.
    result.started = true;
    return result;
  }
  result.started = true;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace weft::runtime
