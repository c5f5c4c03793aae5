// What a user's program sees of an installed Muster.

#include <iostream>

#include "muster/muster.h"
#include "muster/version.h"

int main() {
  const muster::comm::Message message;
  std::cout << muster::kVersion << ' ' << to_string(message.session_type) << '\n';
}
