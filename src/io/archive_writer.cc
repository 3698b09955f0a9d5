#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/archive.h"
#include "io/zip_format.h"
#include "runtime/mapped_file.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

constexpr uint64_t kRecordAlignment = 64;
constexpr uint16_t kVersionNeeded = 45;         // of readers: zip64
constexpr uint32_t kDate = (1 << 5 | 1) << 16;  // 1980-01-01: equal contents give equal bytes

struct Pending {
  std::string name, bytes;
  std::shared_ptr<Storage> storage;  // in place of `bytes`
  bool compress = false;
  std::span<const std::byte> contents() const {
    if (storage) return {static_cast<const std::byte*>(storage->data()), storage->nbytes()};
    return std::as_bytes(std::span(bytes));
  }
};

// Little-endian fields, one after the other.
class Record {
 public:
  Record& u16(uint64_t value) { return number(value, 2); }
  Record& u32(uint64_t value) { return number(value, 4); }
  Record& u64(uint64_t value) { return number(value, 8); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  // 0xffffffff, for a value that an extra field has in full.
  Record& narrow(uint64_t value) { return u32(std::min<uint64_t>(value, zip::kSaturated32)); }
  const std::string& str() const { return bytes_; }

 private:
  Record& number(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

bool is_wide(uint64_t value) { return value >= zip::kSaturated32; }

// To a file, or to bytes.
class Output {
 public:
  explicit Output(runtime::OutputFile* file = nullptr) : file_(file) {}
  void write(std::span<const std::byte> bytes) {
    position_ += bytes.size();
    if (file_) {
      file_->write(bytes.data(), bytes.size());
    } else {
      bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }
  void write(const std::string& bytes) { write(std::as_bytes(std::span(bytes))); }
  uint64_t position() const { return position_; }
  std::string take() { return std::move(bytes_); }

 private:
  runtime::OutputFile* file_;
  std::string bytes_;
  uint64_t position_ = 0;
};

// The extra field 'FB', so long that what follows it starts at a multiple of 64.
std::string padding(uint64_t position) {
  const uint64_t length = (kRecordAlignment - (position + 4) % kRecordAlignment) % kRecordAlignment;
  return Record().text("FB").u16(length).text(std::string(length, 'Z')).str();
}

// Writes the entry; returns its record for the central directory.
std::string write_entry(const Pending& entry, Output& output) {
  const std::span<const std::byte> contents = entry.contents();
  const std::string deflated = entry.compress ? zip::deflate(contents) : "";
  const std::span<const std::byte> payload = entry.compress ? std::as_bytes(std::span(deflated)) : contents;
  const uint64_t start = output.position(), size = contents.size(), compressed_size = payload.size();
  const bool wide = is_wide(size) || is_wide(compressed_size);

  const std::string common = Record()
                                 .u16(kVersionNeeded)
                                 .u16(zip::kUtf8Names)
                                 .u16(entry.compress ? zip::kDeflated : zip::kStored)
                                 .u32(kDate)
                                 .u32(zip::crc32(contents))
                                 .u32(wide ? zip::kSaturated32 : compressed_size)
                                 .u32(wide ? zip::kSaturated32 : size)
                                 .u16(entry.name.size())
                                 .str();
  Record sizes;
  if (wide) sizes.u16(zip::kZip64Extra).u16(16).u64(size).u64(compressed_size);
  const std::string extra =
      sizes.str() + padding(start + zip::kLocalHeaderSize + entry.name.size() + sizes.str().size());
  output.write(
      Record().u32(zip::kLocalHeader).text(common).u16(extra.size()).text(entry.name).text(extra).str());
  output.write(payload);

  Record wide_fields;
  if (wide) wide_fields.u64(size).u64(compressed_size);
  if (is_wide(start)) wide_fields.u64(start);
  const size_t length = wide_fields.str().size();
  Record central_extra;
  if (length > 0) central_extra.u16(zip::kZip64Extra).u16(length).text(wide_fields.str());
  Record central;
  central.u32(zip::kCentralHeader).u16(kVersionNeeded).text(common).u16(central_extra.str().size());
  central.u16(0).u16(0).u16(0).u32(0).narrow(start);  // comment, disk, attributes
  return central.text(entry.name).text(central_extra.str()).str();
}

void write_end(uint64_t num_entries, uint64_t offset, Output& output) {
  const uint64_t end = output.position(), size = end - offset;
  if (num_entries >= zip::kSaturated16 || is_wide(size) || is_wide(offset)) {
    Record wide;
    wide.u32(zip::kZip64EndRecord)
        .u64(zip::kZip64EndRecordSize - 12)
        .u16(kVersionNeeded)
        .u16(kVersionNeeded)
        .u32(0)
        .u32(0);
    wide.u64(num_entries).u64(num_entries).u64(size).u64(offset);
    wide.u32(zip::kZip64Locator).u32(0).u64(end).u32(1);
    output.write(wide.str());
  }
  const uint64_t count = std::min<uint64_t>(num_entries, zip::kSaturated16);
  output.write(Record()
                   .u32(zip::kEndRecord)
                   .u16(0)
                   .u16(0)
                   .u16(count)
                   .u16(count)
                   .narrow(size)
                   .narrow(offset)
                   .u16(0)
                   .str());
}

void write_archive(const std::vector<Pending>& entries, Output& output) {
  std::string directory;
  for (const Pending& entry : entries) directory += write_entry(entry, output);
  const uint64_t offset = output.position();
  output.write(directory);
  write_end(entries.size(), offset, output);
}

}  // namespace

struct ArchiveWriter::Impl {
  std::string top_folder;
  std::vector<Pending> entries;
  std::set<std::string, std::less<>> names;

  Pending& add(std::string_view entry) {
    std::string name = top_folder.empty() ? std::string(entry) : fmt::format("{}/{}", top_folder, entry);
    const std::string_view why = zip::bad_name(name);
    WEFT_CHECK(why.empty(), fmt::format("archive: cannot write the entry '{}': its name {}", entry, why));
    WEFT_CHECK(names.insert(name).second, fmt::format("archive: the entry '{}' is written twice", entry));
    entries.emplace_back().name = std::move(name);
    return entries.back();
  }
};

ArchiveWriter::ArchiveWriter(std::string top_folder) : impl_(std::make_unique<Impl>()) {
  WEFT_CHECK(top_folder.find('/') == top_folder.npos,
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
  Output output;
  write_archive(impl_->entries, output);
  return output.take();
}

void ArchiveWriter::finish_to_file(const std::string& path) {
  runtime::OutputFile file(path, "archive");
  Output output(&file);
  write_archive(impl_->entries, output);
  file.commit();
}

}  // namespace weft::jit
