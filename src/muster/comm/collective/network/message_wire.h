#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/collective/wire.h"
#include "muster/comm/message/message.h"

namespace muster::comm::collective {

class Crew;

/// The wire of a group: each transfer is one message of the crew's proxy. What arrives before
/// anybody asked for it is kept. Only with the crew's lock held.
class MessageWire final : public Wire {
 public:
  /// Steps of sends and receives that belong to no collective.
  static constexpr std::uint16_t kPointToPoint = 0xffff;

  /// `crew` outlives the wire. `members` by rank.
  MessageWire(Crew& crew, std::uint64_t group, std::string name, int rank,
              std::vector<std::string> members)
      : crew_(crew),
        group_(group),
        name_(std::move(name)),
        rank_(rank),
        members_(std::move(members)) {}

  Token send(int to, Slot slot, const Signature& signature, ByteSpan data) override;
  Token receive(int from, Slot slot, const Signature& signature,
                std::span<std::byte> into) override;
  void progress() override;
  [[nodiscard]] Result<bool> finished(Token token) override;
  void cancel(Token token) override;

  void on_message(int from, const Message& message);
  /// A rank has left, and with that had all that it needed: receiving from it ends with this error,
  /// unless the message is there, and so does what could not be sent to it.
  void leave(int rank, const Error& error);
  /// All transfers end with this error from now on.
  void end(Error error);
  /// Bytes that came and that nobody asked for yet.
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }
  [[nodiscard]] bool idle() const { return transfers_.empty(); }

 private:
  using Key = std::pair<int, std::uint64_t>;  // rank, packed slot
  struct Transfer {
    int peer;
    Slot slot;
    Signature signature;
    ByteSpan data;                   // to send
    std::span<std::byte> into = {};  // or to receive
    bool receives = false;
    bool over = false;
    std::optional<Error> error = {};
  };
  struct Arrived {
    Signature signature;
    Buffer data;
  };

  bool try_send(Transfer& transfer);
  void take(Transfer& transfer, const Signature& signature, ByteSpan data);
  void differ(Transfer& transfer, const std::string& how) const;

  Crew& crew_;
  std::uint64_t group_;
  std::string name_;
  int rank_;
  std::vector<std::string> members_;
  Token last_ = 0;
  std::unordered_map<Token, Transfer> transfers_;
  std::deque<Token> unsent_;
  std::map<Key, Token> awaited_;
  std::map<Key, Arrived> arrived_;
  std::size_t kept_bytes_ = 0;
  std::map<int, Error> left_;  // by rank
  std::optional<Error> end_;
};

}  // namespace muster::comm::collective
