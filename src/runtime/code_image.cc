#include "runtime/code_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "runtime/code_memory.h"
#include "runtime/files.h"
#include "runtime/processor.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

using processor::Writes;

// A file's tables, each looked up once and checked against the file's length.
class ElfFile {
 public:
  explicit ElfFile(std::string_view bytes) : bytes_(bytes) {
    const auto header = table<Elf64_Ehdr>(0, 1);
    if (!header || std::memcmp((*header)[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    const Elf64_Ehdr& head = (*header)[0];
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != processor::elf_machine() ||
        head.e_type != ET_DYN)
      return;
    const auto program = table<Elf64_Phdr>(head.e_phoff, head.e_phnum);
    const auto parts = table<Elf64_Shdr>(head.e_shoff, head.e_shnum);
    if (!program || !parts || head.e_shstrndx >= parts->size()) return;
    segments = *program;
    sections = *parts;
    names_ = sections[head.e_shstrndx];
    is_valid = true;
  }

  // Copies: what they lie in need not be aligned.
  template <class T>
  std::optional<std::vector<T>> table(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return std::nullopt;
    std::vector<T> entries(count);
    if (count > 0) std::memcpy(entries.data(), bytes_.data() + offset, count * sizeof(T));
    return entries;
  }
  template <class T>
  std::optional<std::vector<T>> table(const Elf64_Shdr& section) const {
    return table<T>(section.sh_offset, section.sh_size / sizeof(T));
  }

  // Text of a table of strings; "" beyond its end.
  std::string_view text(const Elf64_Shdr& strings, uint64_t offset) const {
    if (strings.sh_offset > bytes_.size() || offset >= bytes_.size() - strings.sh_offset) return "";
    const std::string_view rest = bytes_.substr(strings.sh_offset + offset);
    return rest.substr(0, rest.find('\0'));
  }
  std::string_view name(const Elf64_Shdr& section) const { return text(names_, section.sh_name); }
  std::string_view bytes() const { return bytes_; }

  bool is_valid = false;
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Shdr> sections;

 private:
  std::string_view bytes_;
  Elf64_Shdr names_ = {};
};

// Sections that may be written to while addresses are filled in, and never after.
bool is_constant(std::string_view name) {
  return name == ".dynamic" || name == ".got" || name == ".got.plt" || name.starts_with(".data.rel.ro");
}

// What is in the file besides code, constants and addresses?
bool needs_loader(const ElfFile& file) {
  for (const Elf64_Shdr& section : file.sections) {
    if (section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY || section.sh_type == SHT_RELR)
      return true;
    const bool is_loaded = (section.sh_flags & SHF_ALLOC) != 0 && section.sh_size > 0;
    if (is_loaded && (section.sh_flags & SHF_TLS) != 0) return true;
    if (is_loaded && (section.sh_flags & SHF_WRITE) != 0 && !is_constant(file.name(section))) return true;
  }
  return false;
}

// Of the library that holds this function and of those that it needs, or of the whole program.
void* library_handle() {
  static void* const handle = [] {
    const std::string library = own_library_path();
    void* found = nullptr;
    if (library.find(".so") != std::string::npos)
      found = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    return found != nullptr ? found : RTLD_DEFAULT;
  }();
  return handle;
}

void* address_outside(const std::string& name) {
  void* const address = ::dlsym(library_handle(), name.c_str());
  return address != nullptr ? address : ::dlsym(RTLD_DEFAULT, name.c_str());
}

struct Symbol {
  std::string name;
  uint64_t value;
  bool is_defined;
};

// What the image consists of, before it has an address.
struct Layout {
  size_t size = 0;
  std::vector<Symbol> symbols;
  std::vector<Elf64_Rela> relocations;
  std::vector<void*> outside;  // per symbol: where it is, of those that the image does not define
};

bool read_symbols(const ElfFile& file, const Elf64_Shdr& section, Layout& layout) {
  const auto entries = file.table<Elf64_Sym>(section);
  if (!entries || section.sh_link >= file.sections.size()) return false;
  for (const Elf64_Sym& entry : *entries) {
    const int type = ELF64_ST_TYPE(entry.st_info);
    if (type == STT_GNU_IFUNC || type == STT_TLS) return false;
    layout.symbols.push_back({std::string(file.text(file.sections[section.sh_link], entry.st_name)),
                              entry.st_value, entry.st_shndx != SHN_UNDEF});
  }
  return true;
}

bool read_relocations(const ElfFile& file, const Elf64_Shdr& section, Layout& layout) {
  const auto entries = file.table<Elf64_Rela>(section);
  if (!entries) return false;
  layout.relocations.insert(layout.relocations.end(), entries->begin(), entries->end());
  return true;
}

// Every relocation is known, lies within the image, and its symbol is found.
bool resolve(Layout& layout) {
  layout.outside.resize(layout.symbols.size());
  for (const Elf64_Rela& relocation : layout.relocations) {
    const Writes kind = processor::written_by(ELF64_R_TYPE(relocation.r_info));
    if (kind == Writes::Unknown || relocation.r_offset > layout.size ||
        layout.size - relocation.r_offset < sizeof(uint64_t))
      return false;
    if (kind == Writes::Base) continue;
    const size_t index = ELF64_R_SYM(relocation.r_info);
    if (index >= layout.symbols.size()) return false;
    const Symbol& symbol = layout.symbols[index];
    if (symbol.is_defined || layout.outside[index] != nullptr) continue;
    layout.outside[index] = address_outside(symbol.name);
    if (layout.outside[index] == nullptr) return false;
  }
  return true;
}

std::optional<Layout> read_layout(const ElfFile& file) {
  Layout layout;
  for (const Elf64_Phdr& segment : file.segments) {
    if (segment.p_type != PT_LOAD) continue;
    const bool is_inside = segment.p_offset <= file.bytes().size() &&
                           segment.p_filesz <= file.bytes().size() - segment.p_offset &&
                           segment.p_filesz <= segment.p_memsz;
    constexpr uint64_t kLargest = uint64_t{1} << 30;
    if (!is_inside || segment.p_vaddr > kLargest || segment.p_memsz > kLargest) return std::nullopt;
    layout.size = std::max(layout.size, static_cast<size_t>(segment.p_vaddr + segment.p_memsz));
  }
  for (const Elf64_Shdr& section : file.sections) {
    if (section.sh_type == SHT_DYNSYM && !read_symbols(file, section, layout)) return std::nullopt;
    const bool is_applied = section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) != 0;
    if (is_applied && !read_relocations(file, section, layout)) return std::nullopt;
  }
  if (layout.size == 0 || !resolve(layout)) return std::nullopt;
  return layout;
}

void fill_in(const ElfFile& file, const Layout& layout, char* image) {
  for (const Elf64_Phdr& segment : file.segments)
    if (segment.p_type == PT_LOAD)
      std::memcpy(image + segment.p_vaddr, file.bytes().data() + segment.p_offset, segment.p_filesz);
  const auto base = reinterpret_cast<uint64_t>(image);
  for (const Elf64_Rela& relocation : layout.relocations) {
    uint64_t address = base;
    if (processor::written_by(ELF64_R_TYPE(relocation.r_info)) == Writes::Symbol) {
      const size_t index = ELF64_R_SYM(relocation.r_info);
      const Symbol& symbol = layout.symbols[index];
      address = symbol.is_defined ? base + symbol.value : reinterpret_cast<uint64_t>(layout.outside[index]);
    }
    address += static_cast<uint64_t>(relocation.r_addend);
    std::memcpy(image + relocation.r_offset, &address, sizeof address);
  }
}

class CodeImage final : public Module {
 public:
  CodeImage(std::unique_ptr<CodeBlock> block, std::vector<Symbol> symbols, std::string kernel)
      : block_(std::move(block)), symbols_(std::move(symbols)), kernel_(std::move(kernel)) {}

  void* symbol(std::string_view name) const override {
    const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const Symbol& symbol) {
      return symbol.is_defined && symbol.name == name;
    });
    WEFT_ASSERT(found != symbols_.end(), fmt::format("kernel '{}' has no symbol '{}'", kernel_, name));
    return block_->data() + found->value;
  }

 private:
  std::unique_ptr<CodeBlock> block_;
  std::vector<Symbol> symbols_;
  std::string kernel_;
};

}  // namespace

std::shared_ptr<const Module> load_image(std::string_view bytes, const std::string& kernel) {
  const ElfFile file(bytes);
  if (!file.is_valid || needs_loader(file)) return nullptr;
  std::optional<Layout> layout = read_layout(file);
  if (!layout) return nullptr;
  std::unique_ptr<CodeBlock> block =
      make_code(layout->size, [&](char* image) { fill_in(file, *layout, image); });
  if (block == nullptr) return nullptr;
  return std::make_shared<CodeImage>(std::move(block), std::move(layout->symbols), kernel);
}

}  // namespace weft::runtime
