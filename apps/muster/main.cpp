#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <signal.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "muster/cli/cli.h"

namespace {

bool wants_colour() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return ::isatty(STDOUT_FILENO) == 1 && !dumb && std::getenv("NO_COLOR") == nullptr;
}

std::size_t terminal_rows() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

// What is opened later must not get the number of a standard stream that is closed: that would be
// written to.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);  // writing fails
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  // Whoever started us may have had it ignored: then nobody is told how our children ended.
  ::signal(SIGCHLD, SIG_DFL);
  return muster::cli::run(argc, argv,
                          {.out = std::cout,
                           .err = std::cerr,
                           .colour = wants_colour(),
                           .rows = terminal_rows,
                           .out_fd = STDOUT_FILENO,
                           .err_fd = STDERR_FILENO});
}
