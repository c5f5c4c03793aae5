#include "muster/comm/collective/network/message_wire.h"

#include <cstring>

#include <fmt/format.h>

#include "muster/comm/collective/crew.h"
#include "muster/comm/errc.h"

namespace muster::comm::collective {
namespace {

struct Header {
  std::uint64_t group;
  std::uint64_t slot;
  Signature signature;
};
static_assert(sizeof(Header) == 32);

std::string describe(Slot slot, const Signature& signature) {
  if (slot.step == MessageWire::kPointToPoint)
    return fmt::format("a message of {} {} with tag {}", std::uint64_t{signature.count},
                       name(signature.element), slot.tag);
  return collective::describe(signature);
}

std::string difference(Slot slot, int from, const Signature& theirs, int rank,
                       const Signature& mine) {
  if (slot.step == MessageWire::kPointToPoint)
    return fmt::format("rank {} sends {}, rank {} receives {}", from, describe(slot, theirs), rank,
                       describe(slot, mine));
  return collective::difference(from, theirs, rank, mine);
}

}  // namespace

Wire::Token MessageWire::send(int to, Slot slot, const Signature& signature, ByteSpan data) {
  const Token token = ++last_;
  Transfer& transfer = transfers_.emplace(token, Transfer{to, slot, signature, data}).first->second;
  transfer.error = end_;
  // One after the other, so that a rank's messages stay in order.
  if (!unsent_.empty() || !try_send(transfer)) unsent_.push_back(token);
  return token;
}

bool MessageWire::try_send(Transfer& transfer) {
  if (transfer.error) return true;
  if (crew_.options().at_step) crew_.options().at_step();
  const Header header{group_, transfer.slot.packed(), transfer.signature};
  const auto sent = crew_.send_data(members_[static_cast<std::size_t>(transfer.peer)],
                                    std::as_bytes(std::span(&header, 1)), transfer.data);
  if (!sent && sent.error().is(Errc::would_block)) return false;
  transfer.over = sent.has_value();
  // That the rank is gone the crew tells, with its reason; or it has, if the rank left.
  if (const auto left = left_.find(transfer.peer); !transfer.over && left != left_.end())
    transfer.error = left->second;
  return true;
}

Wire::Token MessageWire::receive(int from, Slot slot, const Signature& signature,
                                 std::span<std::byte> into) {
  const Token token = ++last_;
  Transfer& transfer =
      transfers_.emplace(token, Transfer{from, slot, signature, {}, into, true}).first->second;
  transfer.error = end_;
  const Key key{from, slot.packed()};
  const auto there = arrived_.find(key);
  if (there == arrived_.end()) {
    awaited_[key] = token;
    if (const auto left = left_.find(from); left != left_.end() && !end_)
      transfer.error = left->second;
    return token;
  }
  take(transfer, there->second.signature, there->second.data.bytes());
  kept_bytes_ -= there->second.data.size();
  arrived_.erase(there);
  return token;
}

void MessageWire::take(Transfer& transfer, const Signature& signature, ByteSpan data) {
  if (signature != transfer.signature) {
    differ(transfer,
           difference(transfer.slot, transfer.peer, signature, rank_, transfer.signature));
  } else if (data.size() != transfer.into.size()) {
    differ(transfer, fmt::format("rank {} sends {} bytes in {}, rank {} expects {}", transfer.peer,
                                 data.size(), describe(transfer.slot, signature), rank_,
                                 transfer.into.size()));
  } else {
    if (!data.empty()) std::memcpy(transfer.into.data(), data.data(), data.size());
    transfer.over = true;
  }
}

void MessageWire::differ(Transfer& transfer, const std::string& how) const {
  transfer.error = Error(make_error_code(Errc::mismatch),
                         fmt::format("the ranks of group '{}' differ: {}", name_, how));
}

void MessageWire::on_message(int from, const Message& message) {
  Header header{};
  const ByteSpan bytes = message.body.buffer().bytes();
  if (bytes.size() != sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  const Key key{from, header.slot};
  const auto awaited = awaited_.find(key);
  if (awaited != awaited_.end()) {
    take(transfers_.at(awaited->second), header.signature, message.body.buffer(1).bytes());
    awaited_.erase(awaited);
    return;
  }
  kept_bytes_ += message.body.buffer(1).size();
  arrived_[key] = {header.signature, message.body.buffer(1)};
}

void MessageWire::progress() {
  while (!unsent_.empty()) {
    const auto it = transfers_.find(unsent_.front());
    if (it != transfers_.end() && !try_send(it->second)) return;
    unsent_.pop_front();
  }
}

Result<bool> MessageWire::finished(Token token) {
  const auto it = transfers_.find(token);
  if (it == transfers_.end()) return true;
  Transfer& transfer = it->second;
  if (transfer.error) {
    Error error = *transfer.error;
    cancel(token);
    return fail(std::move(error));
  }
  if (!transfer.over) return false;
  transfers_.erase(it);
  return true;
}

void MessageWire::cancel(Token token) {
  const auto it = transfers_.find(token);
  if (it == transfers_.end()) return;
  const Key key{it->second.peer, it->second.slot.packed()};
  const auto awaited = awaited_.find(key);
  if (awaited != awaited_.end() && awaited->second == token) awaited_.erase(awaited);
  transfers_.erase(it);
}

void MessageWire::leave(int rank, const Error& error) {
  left_.emplace(rank, error);
  for (auto& [token, transfer] : transfers_)
    if (!transfer.over && transfer.peer == rank && !transfer.error) transfer.error = error;
}

void MessageWire::end(Error error) {
  end_ = error;
  for (auto& [token, transfer] : transfers_)
    if (!transfer.over) transfer.error = error;
}

}  // namespace muster::comm::collective
