#include <fcntl.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/clang_plugin/compiler.h"
#include "runtime/clang_plugin/recovery.h"

LLD_HAS_DRIVER(elf)

namespace weft::clang_plugin {
namespace {

class OpenFile {
 public:
  explicit OpenFile(int fd = -1) : fd_(fd) {}
  ~OpenFile() { close(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  bool write(const std::string& bytes) const {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      done += static_cast<size_t>(count);
    }
    return true;
  }

  // To its end; empty where it cannot be read.
  std::string read() const {
    std::string bytes;
    char buffer[1 << 16];
    while (true) {
      const ssize_t count = ::read(fd_, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return count < 0 ? "" : bytes;
      bytes.append(buffer, static_cast<size_t>(count));
    }
  }

 private:
  int fd_;
};

// LLD reads and writes what has a path.
class LinkFiles {
 public:
  virtual ~LinkFiles() = default;
  virtual std::string input() const = 0;
  virtual std::string output() const = 0;
  // What the linker has written, once it is done.
  virtual std::string take() = 0;
};

// Memory for the input and a pipe for the output, which a thread reads: no disk that may be full.
class MemoryFiles final : public LinkFiles {
 public:
  // Null where the system gives such no path, or no thread.
  static std::unique_ptr<LinkFiles> make(const std::string& object) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
    std::unique_ptr<MemoryFiles> files(new MemoryFiles(ends));
    const bool is_readable = files->object_.is_open() && files->object_.write(object) &&
                             ::access(files->input().c_str(), R_OK) == 0;
    if (!is_readable || ::pthread_create(&files->reader_, nullptr, read_all, files.get()) != 0)
      return nullptr;
    files->has_reader_ = true;
    return files;
  }
  // A linker that was given up may have left its file open, for whose end the thread would wait.
  ~MemoryFiles() override {
    if (has_reader_) ::pthread_cancel(reader_);
    end();
  }
  std::string input() const override { return object_.path(); }
  std::string output() const override { return written_.path(); }
  std::string take() override {
    end();
    return std::move(bytes_);
  }

 private:
  explicit MemoryFiles(const int (&ends)[2])
      : object_(::memfd_create("kernel.o", MFD_CLOEXEC)), read_(ends[0]), written_(ends[1]) {}
  static void* read_all(void* files) {
    auto* const self = static_cast<MemoryFiles*>(files);
    self->bytes_ = self->read_.read();
    return nullptr;
  }
  // The linker has closed the file that it opened by the path: the thread comes to the end.
  void end() {
    written_.close();
    if (has_reader_) ::pthread_join(reader_, nullptr);
    has_reader_ = false;
  }

  OpenFile object_, read_, written_;
  pthread_t reader_ = {};
  bool has_reader_ = false;
  std::string bytes_;
};

class FolderFiles final : public LinkFiles {
 public:
  // Null with the reason in the message.
  static std::unique_ptr<LinkFiles> make(const std::string& object, std::string* message) {
    std::unique_ptr<FolderFiles> files(new FolderFiles);
    if (::mkdtemp(files->folder_.data()) == nullptr) {
      *message =
          "cannot make a temporary folder " + files->folder_ + " (TMPDIR moves it): " + std::strerror(errno);
      return nullptr;
    }
    const OpenFile file(::open(files->input().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.is_open() && file.write(object)) return files;
    *message = "cannot write " + files->input() + " (TMPDIR moves it): " + std::strerror(errno);
    return nullptr;
  }
  ~FolderFiles() override {
    for (const std::string& path : {input(), output(), folder_}) ::remove(path.c_str());
  }
  std::string input() const override { return folder_ + "/kernel.o"; }
  std::string output() const override { return folder_ + "/kernel.so"; }
  std::string take() override {
    const OpenFile file(::open(output().c_str(), O_RDONLY | O_CLOEXEC));
    return file.is_open() ? file.read() : "";
  }

 private:
  FolderFiles() {
    const char* temporary = std::getenv("TMPDIR");
    folder_ = std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") + "/weft-XXXXXX";
  }
  std::string folder_;
};

}  // namespace

std::string link_shared(ObjectCode& object, const char* library) {
  std::unique_ptr<LinkFiles> files = MemoryFiles::make(object.bytes);
  if (files == nullptr) files = FolderFiles::make(object.bytes, &object.message);
  if (files == nullptr) return "";
  const std::string input = files->input(), output = files->output();
  std::vector<const char*> arguments = {
      "ld.lld", "-shared",         "--threads=1", "--build-id=none", "--hash-style=gnu",
      "-z",     "noseparate-code", "-z",          "norelro",         "--no-mmap-output-file",
      "-o",     output.c_str(),    input.c_str()};
  if (library != nullptr) arguments.push_back(library);

  const KeepSignalHandlers keep;
  bool is_linked = false;
  object.has_given_up = !run_recoverable(
      [&] {
        llvm::raw_string_ostream messages(object.message);
        is_linked = lld::elf::link(arguments, messages, messages, false, false);
        lld::CommonLinkerContext::destroy();
      },
      &object.message);
  return is_linked && !object.has_given_up ? files->take() : "";
}

}  // namespace weft::clang_plugin
