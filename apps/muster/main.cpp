#include <iostream>

#include "muster/cli/cli.h"

int main(int argc, char** argv) { return muster::cli::run(argc, argv, std::cout, std::cerr); }
