// The index is made once, by minizip over the mapped bytes; afterwards nothing is shared, so that entries may be
// read from several threads. Stored tensors are handed out as parts of the mapping.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "runtime/files.h"
#include "script/archive.h"
#include "script/zip_io.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

constexpr uint64_t kMaxEntries = uint64_t{1} << 20;
// A deflated entry may have this size, or this multiple of its compressed size, whichever is more.
constexpr uint64_t kFreeExpansion = uint64_t{16} << 20, kMaxExpansion = 200;
constexpr int64_t kMinVersion = 3, kMaxVersion = 10;
constexpr uintptr_t kAlignment = 16;  // of every element type

// The archive's bytes: a private mapping of the file, or memory. Lives as long as any storage in it.
class Bytes {
 public:
  explicit Bytes(std::string bytes)
      : owned_(std::move(bytes)), span_(reinterpret_cast<std::byte*>(owned_.data()), owned_.size()) {}
  explicit Bytes(std::span<std::byte> mapping) : mapped_(true), span_(mapping) {}
  ~Bytes() {
    if (mapped_) munmap(span_.data(), span_.size());
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<std::byte> span() const { return span_; }

 private:
  std::string owned_;
  bool mapped_ = false;
  std::span<std::byte> span_;
};

std::shared_ptr<Bytes> map_file(const std::string& path) {
  const auto fail = [&](const std::string& why) {
    throw_error(ErrorKind::Runtime, fmt::format("archive '{}': {}", path, why));
  };
  const runtime::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) fail(fmt::format("cannot open: {}", std::strerror(errno)));
  struct stat status{};
  if (fstat(file.get(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("not a regular file");
  const size_t size = static_cast<size_t>(status.st_size);
  WEFT_CHECK(size > 0, fmt::format("archive '{}': the file is empty", path));
  // Private: tensors may be written to, and the file does not see it.
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) fail(fmt::format("cannot map {} bytes: {}", size, std::strerror(errno)));
  return std::make_shared<Bytes>(std::span(static_cast<std::byte*>(data), size));
}

// An entry that reads, or does not, through a minizip handle of its own.
class Unzip {
 public:
  explicit Unzip(std::span<const std::byte> bytes) : source_{bytes} {
    zlib_filefunc64_def functions = zip::functions(source_);
    handle_ = unzOpen2_64("", &functions);
  }
  ~Unzip() {
    if (handle_) unzClose(handle_);
  }
  Unzip(const Unzip&) = delete;
  Unzip& operator=(const Unzip&) = delete;
  unzFile get() const { return handle_; }
  bool valid() const { return handle_ != nullptr; }

 private:
  zip::Source source_;
  unzFile handle_ = nullptr;
};

struct Entry {
  uint64_t payload = 0;  // offset in the file
  uint64_t compressed_size = 0, size = 0;
  bool stored = false;
  unz64_file_pos position{};  // of its record in the central directory
};

uint32_t little_endian(std::span<const std::byte> bytes, size_t offset, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value |= std::to_integer<uint32_t>(bytes[offset + i]) << (8 * i);
  return value;
}

// Why minizip found no central directory.
std::string no_directory(std::span<const std::byte> bytes) {
  constexpr size_t kEndRecord = 22, kMaxComment = 0xffff;
  const size_t lowest = bytes.size() > kEndRecord + kMaxComment ? bytes.size() - kEndRecord - kMaxComment : 0;
  for (size_t at = bytes.size() >= kEndRecord ? bytes.size() - kEndRecord + 1 : 0; at-- > lowest;) {
    if (little_endian(bytes, at, 4) != 0x06054b50) continue;
    const uint32_t disk = little_endian(bytes, at + 4, 2), directory_disk = little_endian(bytes, at + 6, 2);
    if ((disk != 0 || directory_disk != 0) && disk != 0xffff) return "is split over several disks";
    return "is damaged: its central directory lies outside the file";
  }
  return "is truncated: there is no central directory at its end";
}

}  // namespace

struct ArchiveReader::Impl {
  std::shared_ptr<Bytes> bytes;
  std::string name, top_folder;
  std::map<std::string, Entry, std::less<>> entries;
  int64_t version = 0;

  [[noreturn]] void fail(std::string_view why) const {
    throw_error(ErrorKind::Value, fmt::format("archive '{}' {}", name, why));
  }
  [[noreturn]] void fail(std::string_view entry, std::string_view why) const {
    throw_error(ErrorKind::Value, fmt::format("archive '{}': entry '{}' {}", name, entry, why));
  }

  void index();
  void add_entry(unzFile handle);
  void check_sizes(const std::string& entry, const unz_file_info64& info) const;
  uint64_t locate(unzFile handle, const std::string& entry, Entry& result) const;
  void check_overlap(std::vector<std::pair<uint64_t, std::string>> starts, uint64_t directory) const;
  std::string relative_name(const std::string& entry);
  const Entry& find(std::string_view entry) const;
  void read(std::string_view entry, const Entry& record, char* out) const;
  void read_version();
  std::vector<std::pair<uint64_t, std::string>> starts;  // of local headers, while the index is made
};

void ArchiveReader::Impl::index() {
  const std::span<const std::byte> span = bytes->span();
  if (span.size() >= 4 && little_endian(span, 0, 2) == 0x0280 && little_endian(span, 2, 2) == 0x0a8a)
    fail("was written by PyTorch before 1.6: load and save it with a newer PyTorch first");
  if (span.size() < 4 || little_endian(span, 0, 4) != 0x04034b50) fail("is no zip archive");
  const Unzip zip(span);
  unz_global_info64 global{};
  if (!zip.valid() || unzGetGlobalInfo64(zip.get(), &global) != UNZ_OK) fail(no_directory(span));
  if (global.number_entry == 0) fail("has no entries");
  if (global.number_entry > kMaxEntries)
    fail(fmt::format("declares {} entries, more than {}", global.number_entry, kMaxEntries));
  int status = unzGoToFirstFile(zip.get());
  const uint64_t directory = unzGetOffset64(zip.get());
  for (uint64_t count = 0; count < global.number_entry; ++count) {
    if (status != UNZ_OK) fail(fmt::format("is damaged: record {} of its central directory cannot be read", count));
    add_entry(zip.get());
    status = unzGoToNextFile(zip.get());
  }
  check_overlap(std::move(starts), directory);
  read_version();
}

// The name below the top folder, which the first entry decides.
std::string ArchiveReader::Impl::relative_name(const std::string& entry) {
  if (const std::string_view why = zip::bad_name(entry); !why.empty())
    fail(entry.substr(0, 100), fmt::format("is refused: its name {}", why));
  const size_t slash = entry.find('/');
  if (slash == entry.npos) fail(entry, "is not in the archive's folder");
  const std::string folder = entry.substr(0, slash);
  if (top_folder.empty()) top_folder = folder;
  if (folder != top_folder)
    fail(entry, fmt::format("is not in the archive's folder '{}'", top_folder));
  return entry.substr(slash + 1);
}

void ArchiveReader::Impl::check_sizes(const std::string& entry, const unz_file_info64& info) const {
  if (info.flag & 1) fail(entry, "is encrypted");
  if (info.disk_num_start != 0) fail(entry, "lies on another disk of a split archive");
  const bool stored = info.compression_method == 0;
  if (!stored && info.compression_method != Z_DEFLATED)
    fail(entry, fmt::format("is compressed by method {}: expected stored (0) or deflated (8)",
                            info.compression_method));
  if (info.compressed_size > bytes->span().size())
    fail(entry, fmt::format("declares {} bytes, the file has {}", info.compressed_size, bytes->span().size()));
  if (stored && info.compressed_size != info.uncompressed_size)
    fail(entry, fmt::format("is stored and declares two sizes: {} and {} bytes", info.compressed_size,
                            info.uncompressed_size));
  if (!stored && info.uncompressed_size > std::max<uint64_t>(kFreeExpansion, info.compressed_size * kMaxExpansion))
    fail(entry, fmt::format("is refused: it expands from {} to {} bytes, more than {}-fold", info.compressed_size,
                            info.uncompressed_size, kMaxExpansion));
}

// Finds the payload through the local header; returns where that header starts.
uint64_t ArchiveReader::Impl::locate(unzFile handle, const std::string& entry, Entry& result) const {
  int method = 0, level = 0;
  if (unzOpenCurrentFile2(handle, &method, &level, /*raw=*/1) != UNZ_OK)
    fail(entry, "is damaged: its local header is missing or differs from the central directory");
  result.payload = unzGetCurrentFileZStreamPos64(handle);
  const int extra = unzGetLocalExtrafield(handle, nullptr, 0);
  unzCloseCurrentFile(handle);
  if (result.payload > bytes->span().size() || result.compressed_size > bytes->span().size() - result.payload)
    fail(entry, fmt::format("reaches byte {} of a file of {}", result.payload + result.compressed_size,
                            bytes->span().size()));
  constexpr uint64_t kLocalHeader = 30;
  const uint64_t before = kLocalHeader + entry.size() + static_cast<uint64_t>(std::max(extra, 0));
  return result.payload - std::min(before, result.payload);
}

void ArchiveReader::Impl::add_entry(unzFile handle) {
  unz_file_info64 info{};
  std::string entry(zip::kMaxNameLength + 1, '\0');
  if (unzGetCurrentFileInfo64(handle, &info, entry.data(), entry.size(), nullptr, 0, nullptr, 0) != UNZ_OK)
    fail("is damaged: its central directory cannot be read");
  entry.resize(std::min<size_t>(info.size_filename, entry.size()));
  const std::string relative = relative_name(entry);
  Entry record;
  record.compressed_size = info.compressed_size;
  record.size = info.uncompressed_size;
  record.stored = info.compression_method == 0;
  check_sizes(entry, info);
  unzGetFilePos64(handle, &record.position);
  starts.emplace_back(locate(handle, entry, record), relative);
  if (relative.empty() || relative.back() == '/') {
    if (record.size != 0) fail(entry, "is a folder with contents");
    return;
  }
  if (!entries.emplace(relative, record).second) fail(entry, "is there twice");
}

void ArchiveReader::Impl::check_overlap(std::vector<std::pair<uint64_t, std::string>> starts,
                                        uint64_t directory) const {
  std::sort(starts.begin(), starts.end());
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto found = entries.find(starts[i].second);
    if (found == entries.end()) continue;  // a folder
    const uint64_t end = found->second.payload + found->second.compressed_size;
    const bool last = i + 1 == starts.size();
    if (end > (last ? directory : starts[i + 1].first))
      fail(starts[i].second,
           fmt::format("overlaps {}", last ? "the central directory" : fmt::format("'{}'", starts[i + 1].second)));
  }
}

const Entry& ArchiveReader::Impl::find(std::string_view entry) const {
  const auto found = entries.find(entry);
  if (found == entries.end()) fail(fmt::format("has no entry '{}'", entry));
  return found->second;
}

void ArchiveReader::Impl::read(std::string_view entry, const Entry& record, char* out) const {
  const Unzip zip(bytes->span());
  const auto damaged = [&](std::string_view why) { fail(entry, fmt::format("is damaged: {}", why)); };
  if (!zip.valid() || unzGoToFilePos64(zip.get(), &record.position) != UNZ_OK ||
      unzOpenCurrentFile(zip.get()) != UNZ_OK)
    damaged("its header cannot be read");
  for (uint64_t done = 0; done < record.size;) {
    const auto wanted = static_cast<unsigned>(std::min<uint64_t>(record.size - done, uint64_t{1} << 30));
    const int count = unzReadCurrentFile(zip.get(), out + done, wanted);
    if (count <= 0) damaged(fmt::format("it ends after {} of {} bytes", done, record.size));
    done += static_cast<uint64_t>(count);
  }
  if (unzCloseCurrentFile(zip.get()) != UNZ_OK) damaged("its checksum (CRC-32) is wrong");
}

void ArchiveReader::Impl::read_version() {
  const auto text = [&](const char* entry) {
    const Entry& record = find(entry);
    if (record.size > 16) fail(entry, fmt::format("has {} bytes: expected a word", record.size));
    std::string result(record.size, '\0');
    read(entry, record, result.data());
    while (!result.empty() && (result.back() == '\n' || result.back() == '\r')) result.pop_back();
    return result;
  };
  // PyTorch 1.13 moved it for the versions that came then.
  const char* entry = entries.contains("version") || !entries.contains(".data/version") ? "version" : ".data/version";
  const std::string digits = text(entry);
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != digits.npos)
    fail(entry, fmt::format("holds '{}': expected a number", digits));
  version = std::stoll(digits);
  if (version < kMinVersion || version > kMaxVersion)
    fail(fmt::format("has version {}: expected {} to {}", version, kMinVersion, kMaxVersion));
  if (entries.contains("byteorder"))
    if (const std::string order = text("byteorder"); order != "little")
      fail("byteorder", fmt::format("holds '{}': only little-endian archives can be read", order));
}

ArchiveReader::ArchiveReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->index(); }
ArchiveReader::~ArchiveReader() = default;

std::shared_ptr<ArchiveReader> ArchiveReader::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->name = path;
  impl->bytes = map_file(path);
  return std::shared_ptr<ArchiveReader>(new ArchiveReader(std::move(impl)));
}

std::shared_ptr<ArchiveReader> ArchiveReader::from_bytes(std::string bytes, std::string name) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  impl->bytes = std::make_shared<Bytes>(std::move(bytes));
  return std::shared_ptr<ArchiveReader>(new ArchiveReader(std::move(impl)));
}

std::vector<std::string> ArchiveReader::entries() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : impl_->entries)
    if (!name.starts_with(".data/")) names.push_back(name);
  return names;
}

bool ArchiveReader::has(std::string_view entry) const { return impl_->entries.contains(entry); }
size_t ArchiveReader::size(std::string_view entry) const { return impl_->find(entry).size; }
const std::string& ArchiveReader::name() const { return impl_->name; }
int64_t ArchiveReader::version() const { return impl_->version; }

std::string ArchiveReader::read(std::string_view entry) const {
  const Entry& record = impl_->find(entry);
  std::string result(record.size, '\0');
  impl_->read(entry, record, result.data());
  return result;
}

std::shared_ptr<Storage> ArchiveReader::map(std::string_view entry) const {
  const Entry& record = impl_->find(entry);
  std::byte* payload = impl_->bytes->span().data() + record.payload;
  if (record.stored && reinterpret_cast<uintptr_t>(payload) % kAlignment == 0)
    return Storage::wrap(payload, record.size, [owner = impl_->bytes] {});
  std::shared_ptr<Storage> storage = Storage::allocate(record.size);
  impl_->read(entry, record, static_cast<char*>(storage->data()));
  return storage;
}

}  // namespace weft::jit
