#include "serve/image_file.h"

#include <fmt/format.h>

#include <csetjmp>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/error.h"
#ifdef WEFT_HAS_PNG
#include <png.h>
#endif
#ifdef WEFT_HAS_JPEG
#include <turbojpeg.h>
#endif

namespace weft::serve {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 26;

[[noreturn]] void fail(const std::string& why) {
  throw_error(ErrorKind::Value, fmt::format("the image {}", why));
}

Tensor empty_pixels(int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kMostPixels / width)
    fail(fmt::format("has {} x {} pixels: more than {}", width, height, kMostPixels));
  return Tensor::empty({height, width, 3}, DType::U8);
}

#ifdef WEFT_HAS_PNG
// libpng leaves by longjmp: what has a destructor lives here, outside of the function that it leaves.
struct PngReading {
  std::string_view rest;
  std::string error;
  Tensor pixels;
  std::vector<png_bytep> rows;
};

void read_png_bytes(png_structp png, png_bytep to, size_t size) {
  auto& reading = *static_cast<PngReading*>(png_get_io_ptr(png));
  if (size > reading.rest.size()) png_error(png, "its bytes end early");
  std::memcpy(to, reading.rest.data(), size);
  reading.rest.remove_prefix(size);
}
void note_png_error(png_structp png, png_const_charp message) {
  static_cast<PngReading*>(png_get_error_ptr(png))->error = message;
  png_longjmp(png, 1);
}

// The header's size; then the rows, where there is a place for them.
bool read_png_parts(png_structp png, png_infop info, PngReading& reading, png_uint_32& width,
                    png_uint_32& height) {
  if (setjmp(png_jmpbuf(png))) return false;
  if (reading.rows.empty()) {
    png_read_info(png, info);
    width = png_get_image_width(png, info);
    height = png_get_image_height(png, info);
    png_set_palette_to_rgb(png);
    if (png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != size_t{3} * width) png_error(png, "its rows are no RGB");
    return true;
  }
  png_read_image(png, reading.rows.data());
  png_read_end(png, nullptr);
  return true;
}

Tensor read_png(std::string_view bytes) {
  PngReading reading{.rest = bytes, .error = {}, .pixels = {}, .rows = {}};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, note_png_error,
                                           [](png_structp, png_const_charp) {});
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  const auto release = [](png_structp* held) { png_destroy_read_struct(held, nullptr, nullptr); };
  const std::unique_ptr<png_structp, decltype(release)> owner(&png, release);
  if (info == nullptr) throw_error(ErrorKind::Memory, "out of memory");
  const auto release_info = [&](png_infop* held) { png_destroy_info_struct(png, held); };
  const std::unique_ptr<png_infop, decltype(release_info)> info_owner(&info, release_info);
  png_set_read_fn(png, &reading, read_png_bytes);
  png_uint_32 width = 0, height = 0;
  if (!read_png_parts(png, info, reading, width, height)) fail("is a damaged PNG: " + reading.error);
  reading.pixels = empty_pixels(height, width);
  for (png_uint_32 y = 0; y < height; ++y)
    reading.rows.push_back(reading.pixels.data_as<png_byte>() + size_t{3} * width * y);
  if (!read_png_parts(png, info, reading, width, height)) fail("is a damaged PNG: " + reading.error);
  return reading.pixels;
}
#endif

#ifdef WEFT_HAS_JPEG
// 1 to 8, as EXIF has it in the first directory; 1 where there is none.
int orientation_of(std::string_view jpeg) {
  const auto byte = [&](size_t at) -> size_t {
    return at < jpeg.size() ? static_cast<unsigned char>(jpeg[at]) : 0;
  };
  for (size_t at = 2; at + 4 <= jpeg.size() && byte(at) == 0xff;) {
    const size_t kind = byte(at + 1), length = byte(at + 2) << 8 | byte(at + 3);
    if (kind == 0xda || length < 2) return 1;  // the picture begins
    const size_t tiff = at + 10, end = at + 2 + length;
    if (kind != 0xe1 || end > jpeg.size() || tiff + 8 > end ||
        jpeg.substr(at + 4, 6) != std::string_view("Exif\0\0", 6)) {
      at = end;
      continue;
    }
    const bool is_big = byte(tiff) == 'M';
    const auto number = [&](size_t from, int size) {
      size_t value = 0;
      for (int i = 0; i < size; ++i)
        value |= byte(from + static_cast<size_t>(i)) << 8 * (is_big ? size - 1 - i : i);
      return value;
    };
    const size_t directory = tiff + number(tiff + 4, 4);
    const size_t entries = directory + 2 <= end ? number(directory, 2) : 0;
    for (size_t i = 0; i < entries && directory + 2 + 12 * (i + 1) <= end; ++i)
      if (const size_t entry = directory + 2 + 12 * i; number(entry, 2) == 0x112) {
        const size_t value = number(entry + 8, 2);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
      }
    return 1;
  }
  return 1;
}

Tensor turned(const Tensor& pixels, int orientation) {
  if (orientation == 1) return pixels;
  const int64_t height = pixels.size(0), width = pixels.size(1);
  const bool swaps = orientation >= 5;
  const Tensor result = empty_pixels(swaps ? width : height, swaps ? height : width);
  const auto* from = pixels.data_as<uint8_t>();
  auto* to = result.data_as<uint8_t>();
  for (int64_t y = 0; y < result.size(0); ++y)
    for (int64_t x = 0; x < result.size(1); ++x) {
      int64_t source_y = swaps ? x : y, source_x = swaps ? y : x;
      if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        source_x = width - 1 - source_x;
      if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        source_y = height - 1 - source_y;
      std::memcpy(to, from + 3 * (source_y * width + source_x), 3);
      to += 3;
    }
  return result;
}

Tensor read_jpeg(std::string_view bytes) {
  const auto release = [](void* handle) { tjDestroy(handle); };
  const std::unique_ptr<void, decltype(release)> handle(tjInitDecompress(), release);
  if (!handle) throw_error(ErrorKind::Memory, "out of memory");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, colors = 0;
  const auto check = [&](int status) {
    if (status != 0) fail(fmt::format("is a damaged JPEG: {}", tjGetErrorStr2(handle.get())));
  };
  check(tjDecompressHeader3(handle.get(), data, bytes.size(), &width, &height, &sampling, &colors));
  if (colors == TJCS_CMYK || colors == TJCS_YCCK) fail("is a JPEG of CMYK colors: send RGB");
  const Tensor pixels = empty_pixels(height, width);
  check(tjDecompress2(handle.get(), data, bytes.size(), pixels.data_as<unsigned char>(), width, 0, height,
                      TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS));
  return turned(pixels, orientation_of(bytes));
}
#endif

}  // namespace

Tensor read_image(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG")) {
#ifdef WEFT_HAS_PNG
    return read_png(bytes);
#else
    fail("is a PNG, which this build does not read: send pixels as an array");
#endif
  }
  if (bytes.starts_with("\xff\xd8")) {
#ifdef WEFT_HAS_JPEG
    return read_jpeg(bytes);
#else
    fail("is a JPEG, which this build does not read: send pixels as an array");
#endif
  }
  fail("is no PNG or JPEG");
}

}  // namespace weft::serve
