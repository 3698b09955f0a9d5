#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "script/archive.h"
#include "script/zip_io.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

constexpr uint64_t kAlignment = 64;
constexpr size_t kLocalHeader = 30, kZip64Extra = 20, kExtraHeader = 4;
constexpr uint64_t kZip64Size = 0xffffffff - 0x10000;  // from here on sizes are written with 64 bits
constexpr uLong kUtf8Name = 1 << 11;
constexpr uLong kDate = (1 << 21) | (1 << 16);  // 1980-01-01: the same contents give the same bytes

struct Pending {
  std::string name, bytes;
  std::shared_ptr<Storage> storage;  // in place of `bytes`
  bool compress = false;
  std::string_view contents() const {
    return storage ? std::string_view(static_cast<const char*>(storage->data()), storage->nbytes()) : bytes;
  }
};

// The extra field 'FB', so long that what follows the local header starts at a multiple of 64.
std::string padding(uint64_t header_start, size_t name_length, bool zip64) {
  const uint64_t unpadded =
      header_start + kLocalHeader + name_length + kExtraHeader + (zip64 ? kZip64Extra : 0);
  const size_t length = static_cast<size_t>((kAlignment - unpadded % kAlignment) % kAlignment);
  std::string field = {'F', 'B', static_cast<char>(length), '\0'};
  return field.append(length, 'Z');
}

// Where minizip's functions fail the reason is in sink.error, or memory has run out.
void check(int status, const zip::Sink& sink) {
  if (status == ZIP_OK) return;
  throw_error(ErrorKind::Runtime, sink.error ? std::strerror(sink.error) : fmt::format("minizip error {}", status));
}

void write_entry(zipFile zip, const zip::Sink& sink, uint64_t position, const Pending& entry) {
  const std::string_view contents = entry.contents();
  const bool zip64 = contents.size() >= kZip64Size;
  const std::string extra = padding(position, entry.name.size(), zip64);
  zip_fileinfo info{};
  info.dosDate = kDate;
  check(zipOpenNewFileInZip4_64(zip, entry.name.c_str(), &info, extra.data(), static_cast<uInt>(extra.size()), nullptr, 0,
                                nullptr, entry.compress ? Z_DEFLATED : 0, Z_DEFAULT_COMPRESSION, 0, -MAX_WBITS,
                                8, Z_DEFAULT_STRATEGY, nullptr, 0, 0, kUtf8Name, zip64),
        sink);
  for (size_t done = 0; done < contents.size();) {
    const size_t count = std::min<size_t>(contents.size() - done, size_t{1} << 30);
    check(zipWriteInFileInZip(zip, contents.data() + done, static_cast<unsigned>(count)), sink);
    done += count;
  }
  check(zipCloseFileInZip(zip), sink);
}

void write_archive(const std::vector<Pending>& entries, zip::Sink& sink) {
  zlib_filefunc64_def functions = zip::functions(sink);
  std::unique_ptr<void, int (*)(void*)> zip(zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions),
                                            [](void* handle) { return zipClose(handle, nullptr); });
  if (!zip) throw_error(ErrorKind::Runtime, "minizip cannot start an archive");
  for (const Pending& entry : entries)
    write_entry(zip.get(), sink, functions.ztell64_file(&sink, &sink), entry);
  check(zipClose(zip.release(), nullptr), sink);
}

// A new file beside `path`, removed unless it is moved into place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path + ".XXXXXX") {
    const int fd = mkostemp(path_.data(), O_CLOEXEC);
    if (fd < 0) fail();
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    file_ = fdopen(fd, "wb");
    if (!file_) {
      const int error = errno;
      ::close(fd);
      ::unlink(path_.c_str());
      errno = error;
      fail();
    }
  }
  ~TemporaryFile() {
    if (file_) std::fclose(file_);
    if (!moved_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::FILE* get() const { return file_; }

  void move_to(const std::string& path) {
    if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail();
    const int status = std::fclose(file_);
    file_ = nullptr;
    if (status != 0 || std::rename(path_.c_str(), path.c_str()) != 0) fail();
    moved_ = true;
  }

 private:
  [[noreturn]] static void fail() { throw_error(ErrorKind::Runtime, std::strerror(errno)); }
  std::string path_;
  std::FILE* file_ = nullptr;
  bool moved_ = false;
};

// The file behind any links; what is there and is no file is never replaced.
std::string resolve(const std::string& path) {
  std::error_code error;
  std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) return path;
  if (!std::filesystem::is_regular_file(target)) throw_error(ErrorKind::Runtime, "it is there and not a regular file");
  return target.string();
}

}  // namespace

struct ArchiveWriter::Impl {
  std::string top_folder;
  std::vector<Pending> entries;
  std::set<std::string, std::less<>> names;

  Pending& add(std::string_view entry) {
    std::string name = fmt::format("{}/{}", top_folder, entry);
    const std::string_view why = zip::bad_name(name);
    WEFT_CHECK(why.empty(), fmt::format("archive: cannot write the entry '{}': its name {}", entry, why));
    WEFT_CHECK(names.insert(name).second, fmt::format("archive: the entry '{}' is written twice", entry));
    entries.emplace_back().name = std::move(name);
    return entries.back();
  }
};

ArchiveWriter::ArchiveWriter(std::string top_folder) : impl_(std::make_unique<Impl>()) {
  WEFT_CHECK(top_folder.find('/') == top_folder.npos && !top_folder.empty(),
             fmt::format("archive: expected the name of one folder, got '{}'", top_folder));
  impl_->top_folder = std::move(top_folder);
}
ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::add(std::string_view entry, std::span<const std::byte> bytes, bool compress) {
  Pending& added = impl_->add(entry);
  added.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  added.compress = compress;
}

void ArchiveWriter::add(std::string_view entry, std::shared_ptr<Storage> storage) {
  impl_->add(entry).storage = std::move(storage);
}

std::string ArchiveWriter::finish() {
  zip::Sink sink;
  write_archive(impl_->entries, sink);
  return std::move(sink.bytes);
}

void ArchiveWriter::finish_to_file(const std::string& path) {
  try {
    const std::string target = resolve(path);
    TemporaryFile temporary(target);
    zip::Sink sink;
    sink.file = temporary.get();
    write_archive(impl_->entries, sink);
    temporary.move_to(target);
  } catch (const Error& error) {
    throw_error(error.kind(), fmt::format("archive '{}': cannot write: {}", path, error.what()));
  }
}

}  // namespace weft::jit
