#include "muster/engine/wire/values.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/graph/python_function.h"
#include "muster/engine/value/memory.h"
#include "muster/engine/wire/programs.h"

namespace muster::engine {

namespace {

constexpr int kDeepest = 16;

/// The numbers of README.md, in the order of Attribute::Value.
enum class Kind : std::uint8_t {
  nothing,
  truth,
  whole,
  real,
  text,
  ints,
  doubles,
  dtype,
  scalar,
  array,
  list,
  program,
  function
};

void write_dtype(ByteWriter& out, DType dtype) {
  out.number(static_cast<std::uint8_t>(dtype.type));
  out.number(static_cast<std::uint8_t>(dtype.unit));
}

DType read_dtype(ByteReader& in) {
  const auto type = in.number<std::uint8_t>();
  const auto unit = in.number<std::uint8_t>();
  if (type >= kTypes) in.refuse(fmt::format("there is no type {}", type));
  if (unit > static_cast<std::uint8_t>(TimeUnit::as) ||
      (unit != 0 && !is_time(static_cast<Type>(type))))
    in.refuse(fmt::format("type {} has no unit {}", type, unit));
  return {static_cast<Type>(type), static_cast<TimeUnit>(unit)};
}

struct WriteValue {
  ByteWriter& out;

  void operator()(std::monostate) const {}
  void operator()(bool value) const { out.number(static_cast<std::uint8_t>(value)); }
  void operator()(std::int64_t value) const { out.number(value); }
  void operator()(double value) const { out.number(value); }
  void operator()(const std::string& value) const { out.text(value); }
  void operator()(const Ints& value) const { numbers(value); }
  void operator()(const Doubles& value) const { numbers(value); }
  void operator()(DType value) const { write_dtype(out, value); }
  void operator()(const Scalar& value) const {
    write_dtype(out, value.dtype());
    out.raw({static_cast<const std::byte*>(value.data()), item_size(value.dtype())});
  }
  void operator()(const Array& value) const { write_array(out, value); }
  void operator()(const List& value) const {
    out.count(value.size());
    for (const Attribute& each : value) write(each.value);
  }
  void operator()(const std::shared_ptr<const Program>& value) const { write_program(out, *value); }
  void operator()(const std::shared_ptr<const PythonFunction>& value) const {
    out.text(value->name());
    const Buffer pickled = value->pickled();
    out.number(static_cast<std::uint64_t>(pickled.size()));
    out.raw(pickled.bytes());
  }

  void write(const Attribute::Value& value) const {
    out.number(static_cast<std::uint8_t>(value.index()));
    std::visit(*this, value);
  }

 private:
  template <class T>
  void numbers(const std::vector<T>& values) const {
    out.count(values.size());
    for (const T value : values) out.number(value);
  }
};

template <class T>
std::vector<T> read_numbers(ByteReader& in) {
  std::vector<T> values(in.count(sizeof(T)));
  for (T& value : values) value = in.number<T>();
  return values;
}

Scalar read_scalar(ByteReader& in) {
  const DType dtype = read_dtype(in);
  return {dtype, in.raw(item_size(dtype)).data()};
}

bool read_truth(ByteReader& in) {
  const auto value = in.number<std::uint8_t>();
  if (value > 1) in.refuse(fmt::format("a truth value is 0 or 1, not {}", value));
  return value == 1;
}

Attribute::Value read_function(ByteReader& in, const MakeFunction& make_function) {
  std::string name(in.text());
  const auto length = in.number<std::uint64_t>();
  if (length > in.left()) in.refuse(fmt::format("a function of {} bytes", length));
  const ByteSpan pickled = in.raw(static_cast<std::size_t>(length));
  if (!make_function)
    wrong_value(
        fmt::format("the Python function '{}' is refused: functions are accepted in authenticated "
                    "sessions only",
                    name));
  return make_function(std::move(name), Buffer::copy_of(pickled));
}

Attribute::Value read_value(ByteReader& in, const MakeFunction& make_function, int depth) {
  if (depth > kDeepest) in.refuse("values are nested too deep");
  const auto kind = in.number<std::uint8_t>();
  switch (static_cast<Kind>(kind)) {
    case Kind::nothing: return std::monostate();
    case Kind::truth: return read_truth(in);
    case Kind::whole: return in.number<std::int64_t>();
    case Kind::real: return in.number<double>();
    case Kind::text: return std::string(in.text());
    case Kind::ints: return read_numbers<std::int64_t>(in);
    case Kind::doubles: return read_numbers<double>(in);
    case Kind::dtype: return read_dtype(in);
    case Kind::scalar: return read_scalar(in);
    case Kind::array: return read_array(in);
    case Kind::list: {
      List list(in.count_large());
      for (Attribute& each : list) each.value = read_value(in, make_function, depth + 1);
      return list;
    }
    case Kind::program: return read_program(in);
    case Kind::function: return read_function(in, make_function);
  }
  in.refuse(fmt::format("there is no kind of value {}", kind));
}

}  // namespace

void write_attributes(ByteWriter& out, const Attributes& attributes) {
  out.count(attributes.pairs().size());
  for (const auto& [name, value] : attributes.pairs()) {
    out.text(name);
    WriteValue{out}.write(value);
  }
}

Attributes read_attributes(ByteReader& in, const MakeFunction& make_function) {
  Attributes::Pairs pairs(in.count(5));
  for (auto& [name, value] : pairs) {
    name = std::string(in.text());
    value = read_value(in, make_function, 0);
  }
  for (std::size_t i = 1; i < pairs.size(); ++i)
    if (pairs[i - 1].first >= pairs[i].first)
      in.refuse(
          fmt::format("the parameter '{}' comes after '{}'", pairs[i].first, pairs[i - 1].first));
  return Attributes(std::move(pairs));
}

void write_meta(ByteWriter& out, const Meta& meta) {
  write_dtype(out, meta.dtype);
  out.count(meta.shape.size());
  for (const Index extent : meta.shape) out.number(extent);
}

Meta read_meta(ByteReader& in) {
  const DType dtype = read_dtype(in);
  Shape shape(in.count(sizeof(Index)));
  for (Index& extent : shape) {
    extent = in.number<Index>();
    if (extent < 0 && extent != kUnknown) in.refuse(fmt::format("an extent of {}", extent));
  }
  return {dtype, std::move(shape)};
}

void write_array(ByteWriter& out, const Array& array) {
  write_dtype(out, array.dtype());
  out.count(array.ndim());
  for (const Index extent : array.shape()) out.number(extent);
  out.number(static_cast<std::uint64_t>(array.nbytes()));
  const auto memory = Memory::make(array.nbytes());
  const Array whole = array.contiguous(*memory);
  out.raw({whole.data(), whole.nbytes()});
}

Array read_array(ByteReader& in) {
  const DType dtype = read_dtype(in);
  Shape shape(in.count(sizeof(Index)));
  for (Index& extent : shape) {
    extent = in.number<Index>();
    if (extent < 0) in.refuse(fmt::format("an extent of {}", extent));
  }
  const auto bytes = in.number<std::uint64_t>();
  const auto items = static_cast<std::uint64_t>(volume(shape));
  if (bytes > in.left() || items > bytes / item_size(dtype) || items * item_size(dtype) != bytes)
    in.refuse(
        fmt::format("{} bytes for an array of {} {}", bytes, name(dtype), engine::text(shape)));
  const ByteSpan items_read = in.raw(static_cast<std::size_t>(bytes));
  check_items(dtype, items_read);
  return Array::copy_of(dtype, std::move(shape), items_read.data());
}

void check_items(DType dtype, ByteSpan items) {
  if (dtype.type != Type::b1) return;
  const auto wrong =
      std::ranges::find_if(items, [](std::byte item) { return item > std::byte{1}; });
  if (wrong != items.end())
    wrong_value(fmt::format("item {} is no bool: its byte is {}, not 0 or 1", wrong - items.begin(),
                            std::to_integer<int>(*wrong)));
}

}  // namespace muster::engine
