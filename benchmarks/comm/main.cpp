// How fast proxies pass messages, next to bare libzmq and to what the machine can do. Prints one
// JSON object per row for benchmarks/report.py; benchmarks/README.md says what is measured.

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "join.h"
#include "limits.h"
#include "muster/comm/driver/ucx/load.h"
#include "samples.h"
#include "trial.h"

namespace muster::bench {
namespace {

constexpr std::array<std::size_t, 5> kSizes{64, 1 << 10, 64 << 10, 1 << 20, kLargest};
constexpr std::size_t kSmall = 1 << 10;
constexpr std::size_t kHandedOver = 64 << 10;
constexpr std::size_t kUcxLarge = 1 << 20;

// A driver of ours against a transport of libzmq.
struct Duel {
  const char* ours;
  const char* theirs;  // "-push" or "-pair" follows
  const char* peer_name;
  double rate_budget;  // for small messages
};
constexpr std::array kDuels{
    Duel{"shm", "raw-ipc", "zmq-ipc", 2.0},   Duel{"zmq-tcp", "raw-tcp", "zmq", 0.8},
    Duel{"zmq-ipc", "raw-ipc", "zmq-ipc", 0}, Duel{"inproc", "raw-inproc", "zmq", 0},
    Duel{"ucx", "raw-ipc", "zmq-ipc", 0},     Duel{"ucx-tcp", "raw-tcp", "zmq", 0},
};

struct Settings {
  double seconds = 0.3;  // of each measurement
  int repetitions = 5;
  std::size_t fewest = 3;  // messages of each measurement
  bool quick = false;
  std::string only;  // cases that contain this
};

class Bench {
 public:
  explicit Bench(Settings settings) : settings_(std::move(settings)) {
    std::string folder = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
    folder_ = ::mkdtemp(folder.data());
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    trials_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void run() {
    for (const Duel& duel : kDuels) {
      for (const std::size_t size : kSizes) {
        if (wanted(fmt::format("{} rate {}", duel.ours, size), size)) rate(duel, size);
      }
      for (const std::size_t size : kSizes) {
        if (wanted(fmt::format("{} round trip {}", duel.ours, size), size)) round_trip(duel, size);
      }
      // Threads of others would wake up now and then and disturb the next.
      trials_.clear();
    }
    if (wanted("shm one-way spinning")) one_way_spinning();
    if (wanted("shm one-way sleeping")) one_way_sleeping();
    if (wanted("shm bandwidth")) bandwidth();
    if (wanted("shm hand-over")) hand_over();
    if (wanted("join")) join();
  }

 private:
  [[nodiscard]] bool wanted(const std::string& name, std::size_t size = kSizes[0]) const {
    if (name.starts_with("ucx") && !comm::ucx_built()) return false;
    // There is no budget for it: two sizes have to do.
    if (name.starts_with("ucx") && settings_.quick && size != kSizes[0] && size != kUcxLarge)
      return false;
    return name.find(settings_.only) != std::string::npos;
  }

  Trial& trial(const std::string& kind) {
    auto& slot = trials_[kind];
    if (!slot) slot = std::make_unique<Trial>(WireSpec{kind, new_folder()}, settings_.fewest);
    return *slot;
  }

  std::string new_folder() {
    const auto folder = folder_ / std::to_string(folders_++);
    // For this user only, as the file store demands.
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    return folder.string();
  }

  template <class Measure>
  void repeat(Measure measure) {
    for (int i = 0; i < settings_.repetitions; ++i) measure();
  }

  void rate(const Duel& duel, std::size_t size) {
    Samples ours;
    Samples peer;
    repeat([&] {
      ours.add(trial(duel.ours).rate(size, settings_.seconds));
      peer.add(trial(std::string(duel.theirs) + "-push").rate(size, settings_.seconds));
    });
    print({fmt::format("{} rate", duel.ours), size, &ours, &peer, duel.peer_name, "msg/s",
           Better::higher, size <= kSmall ? duel.rate_budget : 0});
  }

  void round_trip(const Duel& duel, std::size_t size) {
    Samples ours50;
    Samples ours99;
    Samples peer50;
    Samples peer99;
    repeat([&] {
      const auto ours = trial(duel.ours).round_trip(size, settings_.seconds);
      const auto peer =
          trial(std::string(duel.theirs) + "-pair").round_trip(size, settings_.seconds);
      ours50.add(ours.p50);
      ours99.add(ours.p99);
      peer50.add(peer.p50);
      peer99.add(peer.p99);
    });
    print({fmt::format("{} round trip p50", duel.ours), size, &ours50, &peer50, duel.peer_name,
           "us", Better::lower});
    print({fmt::format("{} round trip p99", duel.ours), size, &ours99, &peer99, duel.peer_name,
           "us", Better::lower});
  }

  void one_way_spinning() {
    Samples ours;
    Samples budget;
    budget.add(0.5);
    repeat([&] { ours.add(trial("shm").round_trip(64, settings_.seconds).p50 / 2); });
    print({"shm one-way spinning p50", 64, &ours, &budget, "budget", "us", Better::lower, 1});
  }

  void one_way_sleeping() {
    Samples ours;
    Samples budget;
    repeat([&] {
      ours.add(trial("shm-sleep").round_trip(64, settings_.seconds).p50 / 2);
      budget.add(1.2 * futex_wake_up(settings_.seconds));
    });
    print({"shm one-way sleeping p50", 64, &ours, &budget, "budget", "us", Better::lower, 1});
  }

  void bandwidth() {
    Samples ours;
    Samples budget;
    repeat([&] {
      ours.add(trial("shm").rate(kLargest, settings_.seconds) * kLargest / 1e9);
      budget.add(0.9 * memcpy_bandwidth(settings_.seconds) / 1e9);
    });
    print({"shm bandwidth", kLargest, &ours, &budget, "budget", "GB/s", Better::higher, 1});
  }

  // The budget is what the smallest one costs that is handed over; those below are copied, which
  // costs less.
  void hand_over() {
    std::map<std::size_t, Samples> costs;
    repeat([&] {
      for (const std::size_t size : kSizes)
        costs[size].add(trial("shm").hand_over(size, settings_.seconds).p50);
    });
    for (const std::size_t size : kSizes) {
      print({"shm hand-over round trip p50", size, &costs[size], &costs[kHandedOver], "budget",
             "us", Better::lower, size <= kHandedOver ? 0 : 0.8});
    }
  }

  void join() {
    Samples ours;
    Samples budget;
    budget.add(200);
    repeat([&] { ours.add(time_to_join(new_folder())); });
    print({"join after the last arrival", 0, &ours, &budget, "budget", "ms", Better::lower, 1});
  }

  Settings settings_;
  std::filesystem::path folder_;
  int folders_ = 0;
  std::map<std::string, std::unique_ptr<Trial>> trials_;
};

int main(std::span<const std::string> arguments) {
  Settings settings;
  std::vector<std::string> words;
  Control control{FileDescriptor()};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--quick") {
      settings = {.seconds = 0.04,
                  .repetitions = 3,
                  .fewest = 2,
                  .quick = true,
                  .only = std::move(settings.only)};
    } else if (arguments[i] == "--only" && i + 1 < arguments.size()) {
      settings.only = arguments[++i];
    } else if (arguments[i] == "--control" && i + 1 < arguments.size()) {
      control = Control(FileDescriptor(std::stoi(arguments[++i])));
    } else {
      words.push_back(arguments[i]);
    }
  }
  if (words.empty()) {
    Bench(settings).run();
  } else if (words.size() == 3 && words[0] == "--serve") {
    serve({words[1], words[2]}, std::move(control));
  } else if (words.size() == 3 && words[0] == "--join") {
    join_and_greet(words[1], words[2], std::move(control));
  } else {
    fmt::print(stderr, "Usage: bench_comm [--quick] [--only TEXT]\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  try {
    return muster::bench::main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_comm: {}\n", error.what());
    return 1;
  }
}
