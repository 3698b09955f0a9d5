#include "distributed/launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/files.h"

namespace weft::distributed {
namespace {

constexpr std::array<std::string_view, 7> kLaunchers = {"mpirun", "mpiexec", "orterun",        "prterun",
                                                        "orted",  "prted",   "hydra_pmi_proxy"};
constexpr int kMostAncestors = 64;

struct Ancestor {
  std::string name;
  pid_t parent = 0;
};

// Of "17 (a name) S 16 …"; the name may hold anything.
Ancestor read_process(pid_t process) {
  const auto text = runtime::read_file("/proc/" + std::to_string(process) + "/stat");
  if (!text) return {};
  const size_t begin = text->find('('), end = text->rfind(')');
  Ancestor found;
  if (begin == std::string::npos || end == std::string::npos || end < begin) return found;
  found.name = text->substr(begin + 1, end - begin - 1);
  char state = 0;
  if (std::sscanf(text->c_str() + end + 1, " %c %d", &state, &found.parent) != 2) found.parent = 0;
  return found;
}

// 0: there is none.
pid_t find_launcher() {
  pid_t process = ::getppid();
  for (int i = 0; i < kMostAncestors && process > 1; ++i) {
    const Ancestor found = read_process(process);
    if (std::find(kLaunchers.begin(), kLaunchers.end(), found.name) != kLaunchers.end()) return process;
    process = found.parent;
  }
  return 0;
}

[[noreturn]] void wait_for_end(int launcher) {
  pollfd entry{.fd = launcher, .events = POLLIN, .revents = 0};
  while (::poll(&entry, 1, -1) < 0 && errno == EINTR) {
  }
  constexpr std::string_view kMessage =
      "weft: the program that started this rank has ended, and the rank with it\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(1);  // at once: handlers might wait for other ranks
}

void start_watching() {
  const pid_t launcher = find_launcher();
  if (launcher == 0) return;
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, launcher, 0));
  if (descriptor < 0) return;  // a kernel before 5.3
  // The program's signals are handled by its own threads.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([descriptor] { wait_for_end(descriptor); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void end_with_launcher() {
  static std::once_flag& once = *new std::once_flag;
  std::call_once(once, start_watching);
}

}  // namespace weft::distributed
