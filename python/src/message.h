#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "muster/comm/message/message.h"

namespace muster::python {

namespace nb = nanobind;

/// A message in Python: the library's message, with the body as Python knows it. A received body is
/// decoded when somebody first looks at it, so that passing a message on costs nothing.
class MessageObject {
 public:
  MessageObject() = default;
  explicit MessageObject(comm::Message received) : native_(std::move(received)) {}

  [[nodiscard]] const comm::Message& native() const { return native_; }
  [[nodiscard]] comm::Message& native() { return native_; }

  [[nodiscard]] nb::object tag() const;
  void set_tag(nb::handle tag);
  [[nodiscard]] nb::object body();
  void set_body(nb::object body);
  /// The body, decoded so that arrays stand on the received memory.
  [[nodiscard]] nb::object view() const;
  [[nodiscard]] const comm::SessionId& session_id();
  [[nodiscard]] const comm::MessageId& message_id();

  /// Turns the message into the answer to itself. The body is replaced; a tag of None is kept.
  void reply(nb::handle tag, nb::object body);
  /// Addresses the message to another peer. A tag or body of None is kept.
  void forward(Name destination, nb::handle tag, nb::object body);
  /// True after `reply`: what is sent is an answer in the session, not a request.
  [[nodiscard]] bool is_reply() const { return is_reply_; }

  /// What is to be sent. A request that was sent before becomes a new one, with a session of its
  /// own.
  [[nodiscard]] comm::Message outgoing();
  /// The body as it travels.
  [[nodiscard]] comm::Body encoded_body() const;
  void set_sent() { was_sent_ = true; }

  int traverse(visitproc visit, void* argument);
  void clear() { body_.reset(); }

 private:
  comm::Message native_;  // its body counts while body_ is empty
  nb::object body_;
  bool is_reply_ = false;
  bool was_sent_ = false;
};

/// A message whose session type and stage Python can see: what every received message is.
class SessionMessageObject : public MessageObject {
 public:
  using MessageObject::MessageObject;
};

[[nodiscard]] nb::object to_python(comm::Message&& message);

void bind_message(nb::module_& module);

}  // namespace muster::python
