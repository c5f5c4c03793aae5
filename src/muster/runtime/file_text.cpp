#include "muster/runtime/file_text.h"

#include <fcntl.h>
#include <unistd.h>

#include "muster/runtime/fd.h"

namespace muster {

std::string file_text(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[4096];
  while (file) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count <= 0) break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace muster
