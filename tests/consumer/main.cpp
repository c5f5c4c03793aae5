// What a user's program sees of an installed Muster.

#include <iostream>
#include <string>
#include <vector>

#include "muster/base/suggest.h"
#include "muster/version.h"

int main() {
  const std::vector<std::string> names = {"muster", "cluster"};
  std::cout << muster::nearest("mustr", names) << ' ' << muster::kVersion << '\n';
}
