#include "capture/loops/memory.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "capture/objects/numpy_api.h"
#include "kernels/cpu/blas.h"
#include "weft/parallel.h"

namespace weft::capture {

namespace {

constexpr int64_t kSmallest = 64;     // elements of a block
constexpr int64_t kSmallestList = 4;  // items

thread_local LoopMemory* current = nullptr;

bool points_into(const Tensor& block, const void* address) {
  const auto* begin = static_cast<const char*>(block.data());
  const auto* at = static_cast<const char*>(address);
  return at >= begin && at < begin + block.numel() * itemsize(block.dtype());
}

bool new_array(int64_t index, int64_t dtype, int64_t dim, const int64_t* sizes, bool is_zero,
               int64_t* words) {
  return current->new_array(index, static_cast<DType>(dtype), dim, sizes, is_zero, words);
}

void* allocate(int64_t count, int64_t dtype, const void* const* live, int64_t num_live) {
  return current->allocate(count, static_cast<DType>(dtype), live, num_live);
}

ResizedList* new_list(int64_t site, const void* const* live, int64_t num_live) {
  return current->new_list(site, live, num_live);
}
bool keep_list(const void* list) { return current->keep_list(list); }
int64_t* append(int64_t what, int64_t num_words) { return current->append(what, num_words); }
bool keep(const void* address) { return current->keep(address); }

bool grow_list(ResizedList* list, int64_t width, bool tagged) {
  const auto capacity = static_cast<size_t>(std::max(2 * list->capacity, kSmallestList));
  void* items = std::realloc(list->items, capacity * static_cast<size_t>(width) * sizeof(int64_t));
  if (!items) return false;
  list->items = static_cast<int64_t*>(items);
  if (tagged) {
    void* tags = std::realloc(list->tags, capacity);
    if (!tags) return false;
    list->tags = static_cast<uint8_t*>(tags);
  }
  list->capacity = static_cast<int64_t>(capacity);
  return true;
}

// c[m, n] = a[m, k] @ b[k, n], strides in elements. False where it could not be computed.
template <class T>
bool matrix_product(const int64_t* sizes, const T* a, const int64_t* a_strides, const T* b,
                    const int64_t* b_strides, T* c) {
  try {
    kernels::matrix_product<T>(sizes[0], sizes[1], sizes[2], {a, a_strides[0], a_strides[1]},
                               {b, b_strides[0], b_strides[1]}, c);
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

ResizedList::~ResizedList() {
  std::free(items);
  std::free(tags);
}

LoopMemory::LoopMemory() : outer_(current) { current = this; }

LoopMemory::~LoopMemory() { current = outer_; }

void* LoopMemory::allocate(int64_t count, DType dtype, const void* const* live, int64_t num_live) {
  for (const Block& block : blocks_) {
    if (block.dtype != dtype || block.numel < count) continue;
    if (std::none_of(live, live + num_live, [&](const void* view) { return block.holds(view); }))
      return const_cast<char*>(block.begin);
  }
  try {
    // Of a size that arrays a little larger fit as well.
    const auto wanted = static_cast<uint64_t>(std::max(count, kSmallest));
    const uint64_t step = std::bit_floor(wanted) / 8;
    const auto size = static_cast<int64_t>((wanted + step - 1) / step * step);
    Tensor tensor = Tensor::empty({size}, dtype);
    auto* const begin = static_cast<char*>(tensor.data());
    blocks_.push_back({begin, begin + size * itemsize(dtype), dtype, size, std::move(tensor)});
    return begin;
  } catch (...) {
    return nullptr;
  }
}

bool LoopMemory::new_array(int64_t index, DType dtype, int64_t dim, const int64_t* sizes, bool is_zero,
                           int64_t* words) {
  constexpr int64_t kSmall = 2048;  // bytes; larger ones are aligned as vectors are
  try {
    int64_t count = 1;
    for (int64_t d = dim; d-- > 0; count *= sizes[d]) {
      words[1 + d] = sizes[d];
      words[1 + dim + d] = count;
    }
    Ref& array = (*arrays_)[static_cast<size_t>(index)];
    if (count * itemsize(dtype) <= kSmall) {
      const auto rank = static_cast<int>(dim);
      array = Ref::steal(is_zero ? PyArray_ZEROS(rank, sizes, type_number(dtype), 0)
                                 : PyArray_EMPTY(rank, sizes, type_number(dtype), 0));
      if (!array) return PyErr_Clear(), false;
    } else {
      const Tensor tensor = Tensor::empty(Shape(sizes, sizes + dim), dtype);
      if (is_zero) std::memset(tensor.data(), 0, static_cast<size_t>(count * itemsize(dtype)));
      array = make_array(tensor, nullptr, false);
    }
    words[0] = reinterpret_cast<int64_t>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.get())));
    return true;
  } catch (...) {
    PyErr_Clear();
    return false;
  }
}

bool LoopMemory::keep(const void* address) {
  const auto found =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.holds(address); });
  if (found == blocks_.end()) return true;  // it is kept already
  try {
    kept_.emplace(found->begin, found->tensor);
  } catch (...) {
    return false;
  }
  blocks_.erase(found);
  return true;
}

ResizedList* LoopMemory::new_list(int64_t site, const void* const* live, int64_t num_live) {
  try {
    if (lists_.size() >= most_lists_) {
      const auto dead = std::partition(lists_.begin(), lists_.end(), [&](const MadeList& made) {
        return std::find(live, live + num_live, made.list.get()) != live + num_live;
      });
      spare_lists_.assign(std::move_iterator(dead), std::move_iterator(lists_.end()));
      lists_.erase(dead, lists_.end());
      most_lists_ = std::max(kFewLists, 2 * lists_.size());
    }
    // Only the code of one place agrees on how large items are.
    const auto spare = std::find_if(spare_lists_.begin(), spare_lists_.end(),
                                    [&](const MadeList& made) { return made.site == site; });
    if (spare == spare_lists_.end()) {
      lists_.push_back({site, std::make_unique<ResizedList>()});
    } else {
      lists_.push_back(std::move(*spare));
      spare_lists_.erase(spare);
      lists_.back().list->size = 0;
    }
    return lists_.back().list.get();
  } catch (...) {
    return nullptr;
  }
}

bool LoopMemory::keep_list(const void* list) {
  const auto found = std::find_if(lists_.begin(), lists_.end(),
                                  [&](const MadeList& made) { return made.list.get() == list; });
  if (found == lists_.end()) return true;  // it is kept already
  try {
    kept_lists_.push_back(std::move(*found));
  } catch (...) {
    return false;
  }
  lists_.erase(found);
  return true;
}

int64_t* LoopMemory::append(int64_t what, int64_t num_words) {
  const size_t at = appended_.size();
  try {
    appended_.resize(at + 1 + static_cast<size_t>(num_words));
  } catch (...) {
    return nullptr;
  }
  appended_[at] = what;
  return appended_.data() + at + 1;
}

Tensor LoopMemory::block(const void* address) const {
  for (const Block& block : blocks_)
    if (block.holds(address)) return block.tensor;
  const auto after = kept_.upper_bound(address);
  if (after != kept_.begin() && points_into(std::prev(after)->second, address))
    return std::prev(after)->second;
  return Tensor();
}

const void* loop_library_function(const std::string& name) {
  if (name == "new_array") return reinterpret_cast<const void*>(&new_array);
  if (name == "allocate") return reinterpret_cast<const void*>(&allocate);
  if (name == "matrix_product_f64") return reinterpret_cast<const void*>(&matrix_product<double>);
  if (name == "matrix_product_f32") return reinterpret_cast<const void*>(&matrix_product<float>);
  if (name == "matrix_product_c128")
    return reinterpret_cast<const void*>(&matrix_product<std::complex<double>>);
  if (name == "keep") return reinterpret_cast<const void*>(&keep);
  if (name == "grow_list") return reinterpret_cast<const void*>(&grow_list);
  if (name == "new_list") return reinterpret_cast<const void*>(&new_list);
  if (name == "keep_list") return reinterpret_cast<const void*>(&keep_list);
  if (name == "append") return reinterpret_cast<const void*>(&append);
  if (name == "parallel_for") return reinterpret_cast<const void*>(&parallel_for_raw);
  return nullptr;
}

}  // namespace weft::capture
