// The .pt archive: a zip file of stored or deflated entries under one top folder. Other zip files of arrays
// (.npz) are read and written by the same code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/jit/module.h"

namespace weft::jit {

// Pt: all entries lie in one folder, which their names leave out, and one tells the archive's version. Flat:
// entries have their whole names, and none need be there.
enum class ArchiveLayout { Pt, Flat };

// Reads through a memory map (or bytes in memory). Every size, offset and name is checked before it is used.
class ArchiveReader {
 public:
  static std::shared_ptr<ArchiveReader> open(const std::string& path,
                                             ArchiveLayout layout = ArchiveLayout::Pt);
  static std::shared_ptr<ArchiveReader> from_bytes(std::string bytes, std::string name = "<bytes>",
                                                   ArchiveLayout layout = ArchiveLayout::Pt);
  // The storage's bytes, which live as long as any entry of them.
  static std::shared_ptr<ArchiveReader> from_storage(std::shared_ptr<Storage> bytes,
                                                     std::string name = "<bytes>",
                                                     ArchiveLayout layout = ArchiveLayout::Pt);
  ~ArchiveReader();

  // Names below the top folder: "data.pkl", "data/0", "code/__torch__.py".
  std::vector<std::string> entries() const;
  bool has(std::string_view entry) const;
  size_t size(std::string_view entry) const;       // uncompressed
  std::string read(std::string_view entry) const;  // checked against its CRC
  // The entry's bytes as storage: mapped copy-on-write where it is stored in the file, and then not checked
  // against its CRC, which would read every page of it; read otherwise. The file must not be changed in place
  // while it is mapped (weft's own writer moves a new file into its place).
  std::shared_ptr<Storage> map(std::string_view entry) const;
  // The entry's first `nbytes` bytes in memory of their own; checked against its CRC where it is compressed.
  std::shared_ptr<Storage> copy(std::string_view entry, size_t nbytes) const;
  // The entries, of all that the file has, whose bytes are not what their CRC says. Reads every page.
  std::vector<std::string> damaged() const;
  [[noreturn]] void fail_damaged(const std::vector<std::string>& entries) const;  // ValueError naming them
  void verify() const;              // fail_damaged() where there are any
  const std::string& name() const;  // for messages: the path
  int64_t version() const;          // 3 … 10; 0 of a flat one

 private:
  struct Impl;
  ArchiveReader(std::unique_ptr<Impl> impl, ArchiveLayout layout);
  std::unique_ptr<Impl> impl_;
};

// Payloads start at multiples of 64 bytes; equal contents give equal bytes. finish() returns the whole, or
// moves a temporary file into place; nothing is left of one that could not be written.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(std::string top_folder);  // "": a flat archive
  ~ArchiveWriter();
  void add(std::string_view entry, std::span<const std::byte> bytes, bool compress = false);
  // Keeps the storage, and reads it when the archive is finished.
  void add(std::string_view entry, std::shared_ptr<Storage> storage);
  std::string finish();
  void finish_to_file(const std::string& path);  // temporary file, fsync, rename

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::jit
