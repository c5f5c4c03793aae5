#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/mapping.h"
#include "muster/service/scheduler/records.h"

namespace muster::service {

/// The file from which the next scheduler of the same version goes on: entries of records.h behind
/// a line that says what it is and who wrote it. Only one process has it open. What was written is
/// there when the process dies; a machine that loses its power may lose the last seconds. Not
/// thread-safe.
class JournalFile {
 public:
  /// Makes the folder if there is none (0700). `Errc::refused` where another scheduler has it.
  [[nodiscard]] static Result<std::unique_ptr<JournalFile>> open(const std::string& folder);

  /// Calls `each` for every entry, and cuts off what is torn after the last. What `each` throws, an
  /// entry that is not ours, and a file of another version, is the error.
  template <class Each>
  [[nodiscard]] Result<std::size_t> replay(Each&& each) {
    auto bytes = contents();
    if (!bytes) return fail(bytes.error());
    EntryReader reader(*bytes);
    std::size_t entries = 0;
    try {
      while (auto entry = reader.next()) {
        each(std::move(*entry));
        ++entries;
      }
    } catch (const std::exception& error) {
      return fail(not_ours(reader.good(), error.what()));
    }
    if (auto cut = cut_off(reader.good()); !cut) return fail(cut.error());
    return entries;
  }

  template <class Record>
  void append(const Record& record) {
    const std::vector<std::byte> bytes = encode_entry(record);
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  }
  /// Writes what was appended, in one piece. After a failure nothing is written any more.
  [[nodiscard]] Result<void> flush();
  /// Begins the file anew with what was appended since.
  [[nodiscard]] Result<void> start_over();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Bytes that `replay` cut off.
  [[nodiscard]] std::size_t cut() const { return cut_; }
  /// Why nothing is written any more; empty while all is well.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  JournalFile(std::string folder, FileDescriptor lock, FileDescriptor file, std::size_t size);
  [[nodiscard]] Result<ByteSpan> contents();
  [[nodiscard]] Result<void> write_anew();
  [[nodiscard]] Result<void> cut_off(std::size_t good);
  [[nodiscard]] Error not_ours(std::size_t at, const std::string& why) const;
  [[nodiscard]] Error of_another_version(const std::string& line) const;

  std::string path_;
  FileDescriptor lock_;
  FileDescriptor file_;
  Mapping mapping_;
  std::size_t size_ = 0;
  std::size_t cut_ = 0;
  std::vector<std::byte> pending_;
  std::string failure_;
};

}  // namespace muster::service
