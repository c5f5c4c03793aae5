#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "muster/comm/collective/wire.h"
#include "muster/comm/errc.h"

namespace muster::comm::collective {

/// The wires of a group in one thread. A message moves some time after both sides have begun, at a
/// moment that the seed decides: whoever changes what is being sent, reads what has not come, or
/// relies on a message that is in nobody's hands, is found out.
class TestNetwork {
 public:
  TestNetwork(int size, std::uint64_t seed) : random_(seed) {
    for (int rank = 0; rank < size; ++rank)
      wires_.push_back(std::make_unique<RankWire>(*this, rank));
  }

  [[nodiscard]] Wire& wire(int rank) { return *wires_[static_cast<std::size_t>(rank)]; }

  /// Moves some of the messages that both sides wait for. False when there are none.
  bool move_some() {
    bool any = false;
    for (Transfer& send : transfers_) {
      if (!send.is_send || send.over) continue;
      for (Transfer& receive : transfers_) {
        if (receive.is_send || receive.over || receive.slot != send.slot ||
            receive.self != send.peer || receive.peer != send.self)
          continue;
        any = true;
        if (random_() % 3 != 0) move(send, receive);
        break;
      }
    }
    std::erase_if(transfers_, [](const Transfer& transfer) { return transfer.forgotten; });
    return any;
  }

  /// Every transfer to or from this rank fails from now on.
  void kill(int rank) { dead_.push_back(rank); }
  [[nodiscard]] std::size_t open_transfers() const {
    std::size_t open = 0;
    for (const Transfer& transfer : transfers_) open += transfer.forgotten ? 0 : 1;
    return open;
  }
  std::uint64_t bytes_moved = 0;

 private:
  struct Transfer {
    Wire::Token token;
    bool is_send;
    int self;
    int peer;
    std::uint64_t slot;
    Signature signature;
    const std::byte* from;
    std::byte* into;
    std::size_t bytes;
    bool over = false;
    bool forgotten = false;
    std::string error = {};
  };

  class RankWire final : public Wire {
   public:
    RankWire(TestNetwork& network, int rank) : network_(network), rank_(rank) {}
    Token send(int to, Slot slot, const Signature& signature, ByteSpan data) override {
      return network_.begin(
          {0, true, rank_, to, slot.packed(), signature, data.data(), nullptr, data.size()});
    }
    Token receive(int from, Slot slot, const Signature& signature,
                  std::span<std::byte> into) override {
      std::memset(into.data(), 0xa5, into.size());
      return network_.begin(
          {0, false, rank_, from, slot.packed(), signature, nullptr, into.data(), into.size()});
    }
    void progress() override { network_.move_some(); }
    Result<bool> finished(Token token) override { return network_.finished(token); }
    void cancel(Token token) override { network_.find(token).forgotten = true; }

   private:
    TestNetwork& network_;
    int rank_;
  };

  Wire::Token begin(Transfer transfer) {
    transfer.token = ++last_token_;
    transfers_.push_back(transfer);
    return last_token_;
  }

  Transfer& find(Wire::Token token) {
    for (Transfer& transfer : transfers_)
      if (transfer.token == token) return transfer;
    throw std::logic_error("a token that the wire does not know");
  }

  Result<bool> finished(Wire::Token token) {
    Transfer& transfer = find(token);
    for (const int rank : dead_)
      if (rank == transfer.peer && !transfer.over)
        transfer.error = fmt::format("rank {} is lost", rank);
    if (!transfer.error.empty()) {
      transfer.forgotten = true;
      return fail(Errc::peer_connection, transfer.error);
    }
    transfer.forgotten = transfer.over;
    return transfer.over;
  }

  void move(Transfer& send, Transfer& receive) {
    if (send.forgotten || receive.forgotten) return;
    if (send.bytes != receive.bytes || !(send.signature == receive.signature)) {
      receive.error = fmt::format(
          "rank {} calls {} and sends {} bytes; this rank calls {} and expects {}", send.self,
          describe(send.signature), send.bytes, describe(receive.signature), receive.bytes);
    } else {
      std::memcpy(receive.into, send.from, send.bytes);
    }
    bytes_moved += send.bytes;
    send.over = true;
    receive.over = true;
  }

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<RankWire>> wires_;
  std::vector<Transfer> transfers_;
  std::vector<int> dead_;
  Wire::Token last_token_ = 0;
};

}  // namespace muster::comm::collective
