#include "script/zip_io.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::jit::zip {

namespace {

voidpf open_stream(voidpf opaque, const void*, int) { return opaque; }
int no_close(voidpf, voidpf) { return 0; }
int no_error(voidpf, voidpf) { return 0; }

uLong read_source(voidpf opaque, voidpf, void* buffer, uLong size) {
  Source& source = *static_cast<Source*>(opaque);
  const size_t count = std::min<uint64_t>(size, source.bytes.size() - source.position);
  std::memcpy(buffer, source.bytes.data() + source.position, count);
  source.position += count;
  return count;
}

uLong no_write(voidpf, voidpf, const void*, uLong) { return 0; }

ZPOS64_T tell_source(voidpf opaque, voidpf) { return static_cast<Source*>(opaque)->position; }

// Moves `position`; -1, as fseek does, for a place outside [0, size].
long seek(uint64_t& position, uint64_t size, ZPOS64_T offset, int origin) {
  const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_END ? size : origin == ZLIB_FILEFUNC_SEEK_CUR ? position : 0;
  if (offset > size - base) return -1;
  position = base + offset;
  return 0;
}

long seek_source(voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
  Source& source = *static_cast<Source*>(opaque);
  return seek(source.position, source.bytes.size(), offset, origin);
}

uLong no_read(voidpf, voidpf, void*, uLong) { return 0; }

uLong write_sink(voidpf opaque, voidpf, const void* buffer, uLong size) {
  Sink& sink = *static_cast<Sink*>(opaque);
  if (sink.file) {
    const size_t written = std::fwrite(buffer, 1, size, sink.file);
    if (written != size && !sink.error) sink.error = errno;
    return written;
  }
  const size_t overwritten = std::min<uint64_t>(size, sink.bytes.size() - sink.position);
  sink.bytes.replace(sink.position, overwritten, static_cast<const char*>(buffer), size);
  sink.position += size;
  return size;
}

ZPOS64_T tell_sink(voidpf opaque, voidpf) {
  Sink& sink = *static_cast<Sink*>(opaque);
  return sink.file ? static_cast<ZPOS64_T>(ftello(sink.file)) : sink.position;
}

long seek_sink(voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
  Sink& sink = *static_cast<Sink*>(opaque);
  if (!sink.file) return seek(sink.position, sink.bytes.size(), offset, origin);
  const int whence = origin == ZLIB_FILEFUNC_SEEK_END ? SEEK_END : origin == ZLIB_FILEFUNC_SEEK_CUR ? SEEK_CUR : SEEK_SET;
  const int result = fseeko(sink.file, static_cast<off_t>(offset), whence);
  if (result != 0 && !sink.error) sink.error = errno;  // pending bytes that could not be written
  return result;
}

int sink_error(voidpf opaque, voidpf) { return static_cast<Sink*>(opaque)->error != 0; }

}  // namespace

zlib_filefunc64_def functions(Source& source) {
  return {open_stream, read_source, no_write, tell_source, seek_source, no_close, no_error, &source};
}

zlib_filefunc64_def functions(Sink& sink) {
  return {open_stream, no_read, write_sink, tell_sink, seek_sink, no_close, sink_error, &sink};
}

std::string_view bad_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameLength) return "is longer than 1024 bytes";
  if (name.find('\0') != name.npos) return "has a zero byte in it";
  if (name.find('\\') != name.npos) return "has a backslash in it";
  if (name.front() == '/') return "is absolute";
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == ".." || part == ".") return "leaves its folder ('.' or '..' in it)";
    begin = end + 1;
  }
  return {};
}

}  // namespace weft::jit::zip
