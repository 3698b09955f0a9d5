// The index of entries is made once and not changed: entries may be read from several threads. Stored tensors
// are handed out as parts of the mapping.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/printable.h"
#include "io/archive.h"
#include "io/zip_format.h"
#include "runtime/mapped_file.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

constexpr uint64_t kMaxEntries = uint64_t{1} << 20;
// A deflated entry may have this size, or this multiple of its compressed size, whichever is more.
constexpr uint64_t kFreeExpansion = uint64_t{16} << 20, kMaxExpansion = 200;
constexpr int64_t kMinVersion = 3, kMaxVersion = 10;
constexpr uintptr_t kElementAlignment = 16;  // of every element type

struct Entry {
  uint64_t header = 0;   // offset of its local header in the file
  uint64_t payload = 0;  // and of its bytes
  uint64_t compressed_size = 0, size = 0;
  uint32_t crc = 0;
  uint16_t method = 0, flags = 0, disk = 0;
  bool stored() const { return method == zip::kStored; }
};

// Where the central directory lies, and how long it is.
struct Directory {
  uint64_t num_entries = 0, size = 0, offset = 0;
  uint32_t disk = 0, num_disks = 1;
};

// Fields of a record, one after the other. The caller has checked that they lie in the file.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, uint64_t position) : bytes_(bytes), position_(position) {}
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  Fields& skip(uint64_t count) {
    position_ += count;
    return *this;
  }

 private:
  uint64_t number(int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i)
      value |= std::to_integer<uint64_t>(bytes_[position_ + static_cast<uint64_t>(i)]) << (8 * i);
    position_ += static_cast<uint64_t>(count);
    return value;
  }
  std::span<const std::byte> bytes_;
  uint64_t position_;
};

}  // namespace

struct ArchiveReader::Impl {
  std::shared_ptr<Storage> file;  // lives as long as any storage in it
  ArchiveLayout layout = ArchiveLayout::Pt;
  std::string name, top_folder;
  std::map<std::string, Entry, std::less<>> entries;
  int64_t version = 0;

  [[noreturn]] void fail(std::string_view why) const {
    throw_error(ErrorKind::Value, fmt::format("archive '{}' {}", printable(name), why));
  }
  [[noreturn]] void fail(std::string_view entry, std::string_view why) const {
    throw_error(ErrorKind::Value,
                fmt::format("archive '{}': entry '{}' {}", printable(name), printable(entry), why));
  }

  std::span<std::byte> span() const { return {static_cast<std::byte*>(file->data()), file->nbytes()}; }
  // Does [offset, offset + size) lie in the first `end` bytes?
  static bool fits(uint64_t offset, uint64_t size, uint64_t end) {
    return offset <= end && size <= end - offset;
  }
  bool is_record(uint64_t offset, uint64_t size, uint64_t end, uint32_t signature) const {
    return fits(offset, size, end) && Fields(span(), offset).u32() == signature;
  }
  std::string_view text(uint64_t offset, uint64_t size) const {
    return {reinterpret_cast<const char*>(span().data()) + offset, size};
  }

  void index();
  uint64_t find_end_record() const;
  Directory find_directory() const;
  void read_zip64_end(uint64_t end, Directory& directory) const;
  uint64_t add_entry(uint64_t position, uint64_t end);
  void read_zip64_sizes(std::string_view name, uint64_t extra, uint64_t length, Entry& entry) const;
  void check_entry(const std::string& name, const Entry& entry) const;
  void locate(const std::string& name, Entry& entry) const;
  void check_overlap(uint64_t directory) const;
  std::string relative_name(const std::string& entry);
  const Entry& find(std::string_view entry) const;
  void read(std::string_view entry, const Entry& record, std::span<std::byte> out) const;
  bool is_damaged(std::string_view entry, const Entry& record) const;
  void read_version();
};

void ArchiveReader::Impl::index() {
  if (span().size() >= 4 && Fields(span(), 0).u16() == 0x0280 && Fields(span(), 2).u16() == 0x0a8a)
    fail("was written by PyTorch before 1.6: load and save it with a newer PyTorch first");
  const bool may_be_empty = layout == ArchiveLayout::Flat && is_record(0, 4, span().size(), zip::kEndRecord);
  if (!may_be_empty && !is_record(0, 4, span().size(), zip::kLocalHeader)) fail("is no zip archive");
  const Directory directory = find_directory();
  const uint64_t end = directory.offset + directory.size;
  uint64_t position = directory.offset;
  for (uint64_t count = 0; count < directory.num_entries; ++count) {
    if (!is_record(position, zip::kCentralHeaderSize, end, zip::kCentralHeader))
      fail(fmt::format("is damaged: record {} of its central directory cannot be read", count));
    position = add_entry(position, end);
  }
  if (position != end) fail("is damaged: its central directory is longer than its entries");
  check_overlap(directory.offset);
  if (layout == ArchiveLayout::Pt) read_version();
}

// The last end record must end where the file does: readers that differ in where they look see the same
// entries.
uint64_t ArchiveReader::Impl::find_end_record() const {
  const uint64_t size = span().size();
  constexpr uint64_t kMaxComment = 0xffff;
  if (size >= zip::kEndRecordSize) {
    const uint64_t last = size - zip::kEndRecordSize, lowest = last > kMaxComment ? last - kMaxComment : 0;
    for (uint64_t at = last + 1; at-- > lowest;) {
      if (Fields(span(), at).u32() != zip::kEndRecord) continue;
      const uint64_t comment = Fields(span(), at + 20).u16();
      if (at + zip::kEndRecordSize + comment == size) return at;
      break;
    }
  }
  fail("is truncated: there is no central directory at its end");
}

void ArchiveReader::Impl::read_zip64_end(uint64_t end, Directory& directory) const {
  Fields locator = Fields(span(), end - zip::kZip64LocatorSize).skip(4);
  const uint32_t locator_disk = locator.u32();
  const uint64_t record = locator.u64();
  const uint32_t num_disks = locator.u32();
  if (!is_record(record, zip::kZip64EndRecordSize, end - zip::kZip64LocatorSize, zip::kZip64EndRecord))
    fail("is damaged: its zip64 end record is not where it says");
  Fields fields = Fields(span(), record).skip(16);
  Directory wide;
  wide.disk = fields.u32() | fields.u32() | locator_disk;
  wide.num_disks = num_disks;
  const uint64_t on_this_disk = fields.u64();
  wide.num_entries = fields.u64();
  wide.size = fields.u64();
  wide.offset = fields.u64();
  const auto agree = [](uint64_t narrow, uint64_t value, uint64_t saturated) {
    return narrow == saturated || narrow == value;
  };
  if (on_this_disk != wide.num_entries ||
      !agree(directory.num_entries, wide.num_entries, zip::kSaturated16) ||
      !agree(directory.size, wide.size, zip::kSaturated32) ||
      !agree(directory.offset, wide.offset, zip::kSaturated32))
    fail("is damaged: its two end records differ");
  directory = wide;
}

Directory ArchiveReader::Impl::find_directory() const {
  const uint64_t end = find_end_record();
  Fields fields = Fields(span(), end).skip(4);
  Directory directory;
  directory.disk = fields.u16() | fields.u16();
  const uint64_t on_this_disk = fields.u16();
  directory.num_entries = fields.u16();
  directory.size = fields.u32();
  directory.offset = fields.u32();
  uint64_t limit = end;
  if (end >= zip::kZip64LocatorSize &&
      is_record(end - zip::kZip64LocatorSize, zip::kZip64LocatorSize, end, zip::kZip64Locator)) {
    if (directory.disk == zip::kSaturated16) directory.disk = 0;
    read_zip64_end(end, directory);
    limit = end - zip::kZip64LocatorSize;
  } else if (on_this_disk != directory.num_entries) {
    directory.num_disks = 2;
  }
  if (directory.disk != 0 || directory.num_disks != 1) fail("is split over several disks");
  if (directory.num_entries == 0 && layout == ArchiveLayout::Pt) fail("is empty: it has no entries");
  if (directory.num_entries > kMaxEntries)
    fail(fmt::format("is refused: it declares {} entries, more than {}", directory.num_entries, kMaxEntries));
  if (!fits(directory.offset, directory.size, limit))
    fail("is damaged: its central directory lies outside the file");
  return directory;
}

// The name below the top folder, which the first entry decides.
std::string ArchiveReader::Impl::relative_name(const std::string& entry) {
  if (const std::string_view why = zip::bad_name(entry); !why.empty())
    fail(entry, fmt::format("is refused: its name {}", why));
  if (layout == ArchiveLayout::Flat) return entry;
  const size_t slash = entry.find('/');
  if (slash == entry.npos) fail(entry, "is not in the archive's folder");
  const std::string folder = entry.substr(0, slash);
  if (top_folder.empty()) top_folder = folder;
  if (folder != top_folder) fail(entry, fmt::format("is not in the archive's folder '{}'", top_folder));
  return entry.substr(slash + 1);
}

void ArchiveReader::Impl::check_entry(const std::string& name, const Entry& entry) const {
  if (entry.flags & zip::kEncrypted) fail(name, "is encrypted");
  if (entry.disk != 0) fail(name, "lies on another disk of a split archive");
  if (entry.method != zip::kStored && entry.method != zip::kDeflated)
    fail(name, fmt::format("is compressed by method {}: expected stored (0) or deflated (8)", entry.method));
  if (entry.compressed_size > span().size())
    fail(name, fmt::format("declares {} bytes, the file has {}", entry.compressed_size, span().size()));
  if (entry.stored() && entry.compressed_size != entry.size)
    fail(name,
         fmt::format("is stored and declares two sizes: {} and {} bytes", entry.compressed_size, entry.size));
  if (!entry.stored() && entry.size > std::max(kFreeExpansion, entry.compressed_size * kMaxExpansion))
    fail(name, fmt::format("is refused: it expands from {} to {} bytes, more than {}-fold",
                           entry.compressed_size, entry.size, kMaxExpansion));
}

// Sizes and offset that do not fit 32 bits are in an extra field, those alone, in this order.
void ArchiveReader::Impl::read_zip64_sizes(std::string_view name, uint64_t extra, uint64_t length,
                                           Entry& entry) const {
  uint64_t* wanted[] = {&entry.size, &entry.compressed_size, &entry.header};
  if (std::none_of(std::begin(wanted), std::end(wanted),
                   [](const uint64_t* field) { return *field == zip::kSaturated32; }))
    return;
  for (const uint64_t end = extra + length; fits(extra, 4, end);) {
    Fields fields(span(), extra);
    const uint16_t id = fields.u16();
    uint64_t left = fields.u16();
    extra += 4;
    if (!fits(extra, left, end)) break;
    if (id != zip::kZip64Extra) {
      extra += left;
      continue;
    }
    for (uint64_t* field : wanted) {
      if (*field != zip::kSaturated32) continue;
      if (left < 8) fail(name, "is damaged: its 64-bit sizes are cut off");
      *field = fields.u64();
      left -= 8;
    }
    return;
  }
  fail(name, "is damaged: its 64-bit sizes are missing");
}

// Finds the payload through the local header, which must say the same.
void ArchiveReader::Impl::locate(const std::string& name, Entry& entry) const {
  const auto damaged = [&] {
    fail(name, "is damaged: its local header is missing or differs from the central directory");
  };
  if (!is_record(entry.header, zip::kLocalHeaderSize, span().size(), zip::kLocalHeader)) damaged();
  Fields fields = Fields(span(), entry.header).skip(6);
  const uint16_t flags = fields.u16(), method = fields.u16();
  const uint32_t crc = fields.skip(4).u32(), compressed_size = fields.u32(), size = fields.u32();
  const uint64_t name_length = fields.u16(), extra_length = fields.u16();
  const uint64_t name_start = entry.header + zip::kLocalHeaderSize;
  if (!fits(name_start, name_length + extra_length, span().size()) || text(name_start, name_length) != name ||
      method != entry.method || (flags & zip::kEncrypted))
    damaged();
  const auto agree = [](uint32_t local, uint64_t value) {
    return local == value || local == zip::kSaturated32;
  };
  if (!(flags & zip::kSizesFollow) &&
      (crc != entry.crc || !agree(compressed_size, entry.compressed_size) || !agree(size, entry.size)))
    damaged();
  entry.payload = name_start + name_length + extra_length;
  if (!fits(entry.payload, entry.compressed_size, span().size()))
    fail(name, fmt::format("reaches byte {} of a file of {}", entry.payload + entry.compressed_size,
                           span().size()));
}

// Returns where the next record of the central directory starts.
uint64_t ArchiveReader::Impl::add_entry(uint64_t position, uint64_t end) {
  Entry entry;
  Fields fields = Fields(span(), position).skip(8);
  entry.flags = fields.u16();
  entry.method = fields.u16();
  entry.crc = fields.skip(4).u32();
  entry.compressed_size = fields.u32();
  entry.size = fields.u32();
  const uint64_t name_length = fields.u16(), extra_length = fields.u16(), comment_length = fields.u16();
  entry.disk = fields.u16();
  entry.header = fields.skip(6).u32();
  const uint64_t name_start = position + zip::kCentralHeaderSize;
  if (!fits(name_start, name_length + extra_length + comment_length, end))
    fail("is damaged: a record of its central directory is cut off");
  const std::string full_name(text(name_start, name_length));
  const std::string relative = relative_name(full_name);
  read_zip64_sizes(full_name, name_start + name_length, extra_length, entry);
  check_entry(full_name, entry);
  locate(full_name, entry);
  if ((relative.empty() || relative.back() == '/') && entry.size != 0)
    fail(full_name, "is a folder with contents");
  if (!entries.emplace(relative, entry).second) fail(full_name, "is there twice");
  return name_start + name_length + extra_length + comment_length;
}

void ArchiveReader::Impl::check_overlap(uint64_t directory) const {
  std::vector<std::pair<const Entry*, std::string_view>> sorted;
  for (const auto& [entry_name, entry] : entries) sorted.emplace_back(&entry, entry_name);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first->header < b.first->header; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    const bool last = i + 1 == sorted.size();
    if (sorted[i].first->payload + sorted[i].first->compressed_size >
        (last ? directory : sorted[i + 1].first->header))
      fail(sorted[i].second,
           fmt::format("overlaps {}", last ? "the central directory"
                                           : fmt::format("'{}'", printable(sorted[i + 1].second))));
  }
}

const Entry& ArchiveReader::Impl::find(std::string_view entry) const {
  const auto found = entries.find(entry);
  if (found == entries.end()) fail(fmt::format("has no entry '{}'", printable(entry)));
  return found->second;
}

void ArchiveReader::Impl::read(std::string_view entry, const Entry& record, std::span<std::byte> out) const {
  const std::span<const std::byte> payload = span().subspan(record.payload, record.compressed_size);
  if (record.stored()) {
    if (!out.empty()) std::memcpy(out.data(), payload.data(), out.size());
  } else if (uint64_t produced = 0; !zip::inflate(payload, out, produced)) {
    fail(entry, produced < record.size
                    ? fmt::format("is damaged: it ends after {} of {} bytes", produced, record.size)
                    : fmt::format("is damaged: it does not end after {} bytes", record.size));
  }
  if (zip::crc32(out) != record.crc) fail(entry, "is damaged: its checksum (CRC-32) is wrong");
}

bool ArchiveReader::Impl::is_damaged(std::string_view entry, const Entry& record) const {
  if (record.stored()) return zip::crc32(span().subspan(record.payload, record.size)) != record.crc;
  try {
    std::string contents(record.size, '\0');
    read(entry, record, std::as_writable_bytes(std::span(contents)));
    return false;
  } catch (const Error&) {
    return true;
  }
}

void ArchiveReader::Impl::read_version() {
  const auto word = [&](const char* entry) {
    const Entry& record = find(entry);
    if (record.size > 16) fail(entry, fmt::format("has {} bytes: expected a word", record.size));
    std::string result(record.size, '\0');
    read(entry, record, std::as_writable_bytes(std::span(result)));
    while (!result.empty() && (result.back() == '\n' || result.back() == '\r')) result.pop_back();
    return result;
  };
  // PyTorch 1.13 moved it for the versions that came then.
  const char* entry =
      entries.contains("version") || !entries.contains(".data/version") ? "version" : ".data/version";
  const std::string digits = word(entry);
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != digits.npos)
    fail(entry, fmt::format("holds '{}': expected a number", printable(digits)));
  version = std::stoll(digits);
  if (version < kMinVersion || version > kMaxVersion)
    fail(fmt::format("has version {}: expected {} to {}", version, kMinVersion, kMaxVersion));
  if (entries.contains("byteorder"))
    if (const std::string order = word("byteorder"); order != "little")
      fail("byteorder", fmt::format("holds '{}': only little-endian archives can be read", printable(order)));
}

ArchiveReader::ArchiveReader(std::unique_ptr<Impl> impl, ArchiveLayout layout) : impl_(std::move(impl)) {
  impl_->layout = layout;
  impl_->index();
}
ArchiveReader::~ArchiveReader() = default;

std::shared_ptr<ArchiveReader> ArchiveReader::open(const std::string& path, ArchiveLayout layout) {
  auto impl = std::make_unique<Impl>();
  impl->name = path;
  impl->file = runtime::map_file(path, "archive");
  return std::shared_ptr<ArchiveReader>(new ArchiveReader(std::move(impl), layout));
}

std::shared_ptr<ArchiveReader> ArchiveReader::from_bytes(std::string bytes, std::string name,
                                                         ArchiveLayout layout) {
  const auto owned = std::make_shared<std::string>(std::move(bytes));
  return from_storage(Storage::wrap(owned->data(), owned->size(), [owned] {}), std::move(name), layout);
}

std::shared_ptr<ArchiveReader> ArchiveReader::from_storage(std::shared_ptr<Storage> bytes, std::string name,
                                                           ArchiveLayout layout) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  impl->file = std::move(bytes);
  return std::shared_ptr<ArchiveReader>(new ArchiveReader(std::move(impl), layout));
}

std::vector<std::string> ArchiveReader::entries() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : impl_->entries)
    if (impl_->layout == ArchiveLayout::Flat ||
        (!name.empty() && !name.ends_with('/') && !name.starts_with(".data/")))
      names.push_back(name);
  return names;
}

bool ArchiveReader::has(std::string_view entry) const { return impl_->entries.contains(entry); }
size_t ArchiveReader::size(std::string_view entry) const { return impl_->find(entry).size; }
const std::string& ArchiveReader::name() const { return impl_->name; }
int64_t ArchiveReader::version() const { return impl_->version; }

std::vector<std::string> ArchiveReader::damaged() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : impl_->entries)
    if (impl_->is_damaged(name, record)) names.push_back(name);
  return names;
}

void ArchiveReader::fail_damaged(const std::vector<std::string>& names) const {
  constexpr size_t kMostNamed = 10;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    list += fmt::format("{}'{}'", i ? ", " : "", printable(names[i]));
  if (names.size() > kMostNamed) list += fmt::format(" and {} more", names.size() - kMostNamed);
  impl_->fail(fmt::format("is damaged: the checksum (CRC-32) of {} is wrong", list));
}

void ArchiveReader::verify() const {
  if (const std::vector<std::string> names = damaged(); !names.empty()) fail_damaged(names);
}

std::string ArchiveReader::read(std::string_view entry) const {
  const Entry& record = impl_->find(entry);
  std::string result(record.size, '\0');
  impl_->read(entry, record, std::as_writable_bytes(std::span(result)));
  return result;
}

std::shared_ptr<Storage> ArchiveReader::map(std::string_view entry) const {
  const Entry& record = impl_->find(entry);
  std::byte* payload = impl_->span().data() + record.payload;
  if (record.stored() && reinterpret_cast<uintptr_t>(payload) % kElementAlignment == 0)
    return Storage::wrap(payload, record.size, [owner = impl_->file] {});
  std::shared_ptr<Storage> storage = Storage::allocate(record.size);
  impl_->read(entry, record, {static_cast<std::byte*>(storage->data()), record.size});
  return storage;
}

std::shared_ptr<Storage> ArchiveReader::copy(std::string_view entry, size_t nbytes) const {
  const Entry& record = impl_->find(entry);
  if (nbytes > record.size)
    impl_->fail(entry, fmt::format("has wrong byte size: expected {} got {}", nbytes, record.size));
  std::shared_ptr<Storage> storage = Storage::allocate(record.stored() ? nbytes : record.size);
  std::byte* start = static_cast<std::byte*>(storage->data());
  if (!record.stored()) {
    impl_->read(entry, record, {start, record.size});
  } else if (nbytes > 0) {
    std::memcpy(start, impl_->span().data() + record.payload, nbytes);
  }
  return storage;
}

}  // namespace weft::jit
