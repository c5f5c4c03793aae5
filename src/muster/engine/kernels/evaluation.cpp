#include "muster/engine/kernels/evaluation.h"

#include <algorithm>
#include <cstring>

#include "muster/base/assert.h"

namespace muster::engine {

namespace {

constexpr std::size_t kAlignment = 64;
/// Copying shorter rows together costs less than a block for each.
constexpr Index kShortRow = 128;

/// Copies what is there again and again, twice as much each time.
void fill_block(const std::byte* item, std::size_t size, std::size_t count, std::byte* into) {
  std::memcpy(into, item, size);
  for (std::size_t done = 1; done < count;) {
    const std::size_t more = std::min(done, count - done);
    std::memcpy(into + done * size, into, more * size);
    done += more;
  }
}

/// The user's arrays may lie anywhere, but items are read only where their type may lie.
bool is_aligned(const Array& array) {
  const std::size_t alignment = std::min<std::size_t>(array.item_size(), 8);
  return reinterpret_cast<std::uintptr_t>(array.data()) % alignment == 0 &&
         std::all_of(array.strides().begin(), array.strides().end(),
                     [&](Index stride) { return stride % static_cast<Index>(alignment) == 0; });
}

/// Where item `number` in C order is.
const std::byte* item_at(const Array& array, Index number) {
  const std::byte* at = array.data();
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    at += number % array.shape()[axis] * array.strides()[axis];
    number /= array.shape()[axis];
  }
  return at;
}

template <std::size_t Size>
void gather_run(std::byte* to, const std::byte* from, Index step, Index count) {
  for (Index i = 0; i < count; ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * Size, from + i * step, Size);
}

void gather_run(std::byte* to, const std::byte* from, Index step, Index count, std::size_t size) {
  if (step == static_cast<Index>(size)) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * size);
    return;
  }
  switch (size) {
    case 1: return gather_run<1>(to, from, step, count);
    case 2: return gather_run<2>(to, from, step, count);
    case 4: return gather_run<4>(to, from, step, count);
    case 8: return gather_run<8>(to, from, step, count);
    default: return gather_run<16>(to, from, step, count);
  }
}

/// Items `begin` to `begin + count` in C order, one after the other.
void gather(const Array& array, Index begin, Index count, std::byte* to) {
  const std::size_t ndim = array.ndim();
  Shape position(ndim);
  Index rest = begin;
  const std::byte* at = array.data();
  for (std::size_t axis = ndim; axis-- > 0;) {
    position[axis] = rest % array.shape()[axis];
    rest /= array.shape()[axis];
    at += position[axis] * array.strides()[axis];
  }
  const std::size_t last = ndim - 1;
  while (count > 0) {
    const Index run = std::min(count, array.shape()[last] - position[last]);
    gather_run(to, at, array.strides()[last], run, array.item_size());
    to += static_cast<std::size_t>(run) * array.item_size();
    count -= run;
    if (count == 0) return;
    at += run * array.strides()[last];
    position[last] += run;
    for (std::size_t axis = last; axis > 0 && position[axis] == array.shape()[axis]; --axis) {
      at += array.strides()[axis - 1] - array.strides()[axis] * array.shape()[axis];
      position[axis] = 0;
      ++position[axis - 1];
    }
  }
}

}  // namespace

Evaluation::Evaluation(const Program& program, std::span<const Array> inputs, const Shape& shape,
                       std::span<const std::unique_ptr<const Source>> sources)
    : program_(program), shape_(shape), sources_(sources) {
  const std::size_t all_inputs = inputs.size() + sources.size();
  MUSTER_ASSERT(all_inputs == program.inputs().size(), "a program gets all its inputs");
  const std::size_t first_step = all_inputs + program.constants().size();
  const std::size_t values = first_step + program.steps().size();

  // A step's block is given to a later step once nobody reads it any more.
  std::vector<std::size_t> last_use(values, 0);
  for (std::size_t s = 0; s < program.steps().size(); ++s)
    for (std::size_t i = 0; i < program.steps()[s].count; ++i)
      last_use[program.steps()[s].inputs[i]] = s;
  last_use[program.result()] = program.steps().size();

  std::vector<std::size_t> slot(values, SIZE_MAX);
  std::size_t slots = 0;
  for (const Array& array : inputs) {
    Array seen = array.broadcast_to(shape);
    const bool constant =
        std::all_of(seen.strides().begin(), seen.strides().end(), [](Index s) { return s == 0; }) ||
        array.size() == 1;
    const bool contiguous = !constant && seen.is_c_contiguous() && is_aligned(seen);
    const bool has_rows = !constant && !contiguous && is_aligned(seen) &&
                          seen.strides().back() == static_cast<Index>(seen.item_size());
    if (has_rows && shape.back() >= kShortRow) {
      const Index parts = (shape.back() + kBlock - 1) / kBlock;
      row_part_ = (shape.back() + parts - 1) / parts;
    }
    if (!contiguous) slot[inputs_.size()] = slots++;
    inputs_.push_back({std::move(seen), contiguous, constant, has_rows});
  }
  for (std::size_t value = inputs.size(); value < first_step; ++value) slot[value] = slots++;
  std::vector<std::size_t> free;
  for (std::size_t s = 0; s < program.steps().size(); ++s) {
    if (free.empty()) free.push_back(slots++);
    slot[first_step + s] = free.back();
    free.pop_back();
    const auto& step = program.steps()[s];
    for (std::size_t i = 0; i < step.count; ++i) {
      const std::size_t value = step.inputs[i];
      const bool again =
          std::find(step.inputs.begin(), step.inputs.begin() + i, value) != step.inputs.begin() + i;
      if (value >= first_step && last_use[value] == s && !again) free.push_back(slot[value]);
    }
  }

  std::size_t widest = 1;
  for (std::size_t value = 0; value < values; ++value)
    widest = std::max(widest, item_size(program.type_of(static_cast<std::uint16_t>(value))));
  const auto block = static_cast<std::size_t>(std::min(kBlock, std::max<Index>(volume(shape), 1)));
  const std::size_t slot_bytes = (block * widest + kAlignment - 1) / kAlignment * kAlignment;
  scratch_ = std::make_unique_for_overwrite<std::byte[]>(slots * slot_bytes + kAlignment);
  auto base = reinterpret_cast<std::uintptr_t>(scratch_.get());
  base = (base + kAlignment - 1) / kAlignment * kAlignment;
  slots_.resize(values, nullptr);
  at_.resize(values, nullptr);
  for (std::size_t value = 0; value < values; ++value) {
    if (slot[value] == SIZE_MAX) continue;
    slots_[value] = reinterpret_cast<std::byte*>(base + slot[value] * slot_bytes);
    at_[value] = slots_[value];
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].constant && inputs_[i].array.size() > 0)
      fill_block(inputs_[i].array.data(), inputs_[i].array.item_size(), block, slots_[i]);
  for (std::size_t c = 0; c < program.constants().size(); ++c) {
    const Scalar& scalar = program.constants()[c];
    fill_block(static_cast<const std::byte*>(scalar.data()), item_size(scalar.dtype()), block,
               slots_[all_inputs + c]);
  }
}

const std::byte* Evaluation::load(std::size_t input, Index begin, Index count) {
  const Input& from = inputs_[input];
  if (from.constant) return slots_[input];
  if (from.contiguous)
    return from.array.data() + begin * static_cast<Index>(from.array.item_size());
  if (from.has_rows && begin % shape_.back() + count <= shape_.back())
    return item_at(from.array, begin);
  gather(from.array, begin, count, slots_[input]);
  return slots_[input];
}

std::optional<Rows> Evaluation::rows() const {
  if (!program_.steps().empty() || inputs_.size() != 1 || program_.inputs().size() != 1 ||
      program_.result() != 0)
    return std::nullopt;
  const Input& from = inputs_.front();
  const Array& array = from.array;
  const auto size = static_cast<Index>(array.item_size());
  if (from.contiguous) return Rows{array.data(), 1, array.size(), array.size() * size};
  if (!from.has_rows) return std::nullopt;
  Index count = 1;
  Index step = 0;
  for (std::size_t axis = array.ndim() - 1; axis-- > 0;) {
    const Index extent = array.shape()[axis];
    if (extent == 1) continue;
    if (step == 0) step = array.strides()[axis];
    if (step <= 0 || array.strides()[axis] != step * count) return std::nullopt;
    count *= extent;
  }
  return Rows{array.data(), count, array.shape().back(), step};
}

Index Evaluation::next(Index begin, Index left) const {
  if (row_part_ == 0) return std::min(kBlock, left);
  const Index at = begin % shape_.back();
  return std::min({left, row_part_ - at % row_part_, shape_.back() - at});
}

const std::byte* Evaluation::block(Index begin, Index count, std::byte* into) {
  MUSTER_ASSERT(count <= kBlock, "a block has at most kBlock items");
  for (std::size_t i = 0; i < inputs_.size(); ++i) at_[i] = load(i, begin, count);
  for (std::size_t i = 0; i < sources_.size(); ++i)
    sources_[i]->fill(begin, count, slots_[inputs_.size() + i]);
  const std::size_t first_step = program_.inputs().size() + program_.constants().size();
  const std::byte* where = nullptr;
  for (std::size_t s = 0; s < program_.steps().size(); ++s) {
    const Program::Step& step = program_.steps()[s];
    const std::array<const std::byte*, 3> from = {at_[step.inputs[0]],
                                                  step.count > 1 ? at_[step.inputs[1]] : nullptr,
                                                  step.count > 2 ? at_[step.inputs[2]] : nullptr};
    const bool last = into != nullptr && first_step + s == program_.result();
    std::byte* const out = last ? into : slots_[first_step + s];
    step.loop(from.data(), out, static_cast<std::size_t>(count));
    if (last) where = out;
  }
  if (where != nullptr) return where;
  where = at_[program_.result()];
  if (into == nullptr || into == where) return where;
  std::memcpy(into, where,
              static_cast<std::size_t>(count) * item_size(program_.type_of(program_.result())));
  return into;
}

}  // namespace muster::engine
