// The module: the one file that knows libucx. It links nothing else of Muster.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "muster/comm/driver/ucx/port.h"

namespace muster::comm {
namespace {

constexpr unsigned kMessageId = 0;
constexpr std::size_t kMaxHeader = 160;
// Progress looks at every interface once; a burst should not take a call for each message.
constexpr unsigned kProgressRounds = 16;

template <class... Args>
void explain(char* why, std::size_t bytes, const char* format, Args... args) {
  std::snprintf(why, bytes, format, args...);
}

// UCX before 1.17 wants the settings of one transport without the name of the transport.
const char* as_this_version_says(const char* name) {
  constexpr const char* kTcp = "TCP_";
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  const bool bare = major == 1 && minor < 17 && std::strncmp(name, kTcp, std::strlen(kTcp)) == 0;
  return bare ? name + std::strlen(kTcp) : name;
}

class UcpPort;

// A message on its way: what UCX refers to until it has sent it.
struct Sending {
  UcpPort* port = nullptr;
  void* parcel = nullptr;  // null: nobody waits for `on_sent`
  std::size_t header_bytes = 0;
  unsigned char header[kMaxHeader];
  ucp_dt_iov_t pieces[kUcxMaxPieces];
};

struct Way {
  UcpPort* port = nullptr;
  std::uint32_t number = 0;
  ucp_ep_h endpoint = nullptr;
};

class UcpPort final : public UcxPort {
 public:
  explicit UcpPort(UcxPortListener& listener) : listener_(listener) {}
  UcpPort(const UcpPort&) = delete;
  UcpPort& operator=(const UcpPort&) = delete;
  virtual ~UcpPort() { release(); }

  bool open(const UcxSetting* settings, std::size_t count, char* why, std::size_t why_bytes);

  UcxPiece address() const override { return {address_, address_bytes_}; }
  UcxPiece network_address() const override { return {network_address_, network_address_bytes_}; }
  int fd() const override { return fd_; }
  std::size_t max_message_bytes() const override { return max_message_; }

  bool connect(std::uint32_t number, UcxPiece address, char* why, std::size_t why_bytes) override;
  void disconnect(std::uint32_t number) override;
  UcxSent send(std::uint32_t number, UcxPiece header, const UcxPiece* pieces, std::size_t count,
               void* parcel) override;
  bool ask(std::uint32_t number, UcxPiece header) override;
  bool reply(void* to, UcxPiece header) override;
  unsigned progress() override;
  UcxArmed arm() override;
  void describe(std::uint32_t number, char* text, std::size_t text_bytes) override;
  void close() override { const std::unique_ptr<UcpPort> self(this); }

 private:
  bool make_context(const UcxSetting* settings, std::size_t count, char* why,
                    std::size_t why_bytes);
  bool make_worker(char* why, std::size_t why_bytes);
  void release();
  static void close_endpoint(ucp_ep_h endpoint);

  Sending& take_sending(UcxPiece header);
  UcxSent post(ucp_ep_h endpoint, Sending& sending, std::size_t count, unsigned flags);
  bool post_header(ucp_ep_h endpoint, UcxPiece header, unsigned flags);

  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* sending);
  static void on_error(void* way, ucp_ep_h endpoint, ucs_status_t status);

  UcxPortListener& listener_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_address_t* address_ = nullptr;
  std::size_t address_bytes_ = 0;
  ucp_address_t* network_address_ = nullptr;
  std::size_t network_address_bytes_ = 0;
  std::size_t max_message_ = 0;
  int fd_ = -1;
  bool silent_ = false;  // the listener is not to hear any more
  std::unordered_map<std::uint32_t, std::unique_ptr<Way>> ways_;
  std::vector<std::unique_ptr<Sending>> sendings_;  // all, also those that never ended
  std::vector<Sending*> spare_;                     // of those
};

bool UcpPort::open(const UcxSetting* settings, std::size_t count, char* why,
                   std::size_t why_bytes) {
  return make_context(settings, count, why, why_bytes) && make_worker(why, why_bytes);
}

bool UcpPort::make_context(const UcxSetting* settings, std::size_t count, char* why,
                           std::size_t why_bytes) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) {
    explain(why, why_bytes, "cannot read the configuration of UCX: %s", ucs_status_string(status));
    return false;
  }
  const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> owner(config,
                                                                           ucp_config_release);
  for (std::size_t i = 0; i < count; ++i) {
    status = ucp_config_modify(config, as_this_version_says(settings[i].name), settings[i].value);
    if (status != UCS_OK) {
      explain(why, why_bytes, "UCX does not take UCX_%s=%s: %s", settings[i].name,
              settings[i].value, ucs_status_string(status));
      return false;
    }
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "muster";
  status = ucp_init(&params, config, &context_);
  if (status == UCS_OK) return true;
  explain(why, why_bytes, "UCX finds nothing to use: %s; `ucx_info -d` shows what there is",
          ucs_status_string(status));
  return false;
}

bool UcpPort::make_worker(char* why, std::size_t why_bytes) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  params.events = UCP_WAKEUP_RX;  // for pending sends the caller has a timer
  ucs_status_t status = ucp_worker_create(context_, &params, &worker_);
  if (status == UCS_OK) status = ucp_worker_get_efd(worker_, &fd_);
  if (status == UCS_OK) status = ucp_worker_get_address(worker_, &address_, &address_bytes_);
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER | UCP_WORKER_ATTR_FIELD_ADDRESS |
                          UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
  if (status == UCS_OK) status = ucp_worker_query(worker_, &attributes);
  network_address_ = attributes.address;
  network_address_bytes_ = attributes.address_length;
  // What fits into a header fits into one fragment of every transport, together with what UCX adds.
  max_message_ = attributes.max_am_header;
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.cb = on_message;
  handler.arg = this;
  if (status == UCS_OK) status = ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status == UCS_OK) return true;
  explain(why, why_bytes, "cannot make a UCX worker: %s", ucs_status_string(status));
  return false;
}

void UcpPort::release() {
  silent_ = true;
  for (const auto& [number, way] : std::exchange(ways_, {})) close_endpoint(way->endpoint);
  for (ucp_address_t* const address : {address_, network_address_}) {
    if (address != nullptr) ucp_worker_release_address(worker_, address);
  }
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

bool UcpPort::connect(std::uint32_t number, UcxPiece address, char* why, std::size_t why_bytes) {
  auto way = std::make_unique<Way>();
  way->port = this;
  way->number = number;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = static_cast<const ucp_address_t*>(address.data);
  // The only mode in which an endpoint can be given up while its peer does not answer.
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_error;
  params.err_handler.arg = way.get();
  const ucs_status_t status = ucp_ep_create(worker_, &params, &way->endpoint);
  if (status != UCS_OK) {
    explain(why, why_bytes, "%s", ucs_status_string(status));
    return false;
  }
  ways_[number] = std::move(way);
  return true;
}

void UcpPort::disconnect(std::uint32_t number) {
  const auto found = ways_.find(number);
  if (found == ways_.end()) return;
  const std::unique_ptr<Way> way = std::move(found->second);
  ways_.erase(found);
  close_endpoint(way->endpoint);
}

void UcpPort::close_endpoint(ucp_ep_h endpoint) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  param.cb.send = [](void* request, ucs_status_t, void*) { ucp_request_free(request); };
  // What is still pending then ends during the next progress, or with the worker.
  static_cast<void>(ucp_ep_close_nbx(endpoint, &param));
}

Sending& UcpPort::take_sending(UcxPiece header) {
  if (spare_.empty()) {
    sendings_.push_back(std::make_unique<Sending>());
    spare_.push_back(sendings_.back().get());
  }
  Sending& sending = *spare_.back();
  spare_.pop_back();
  sending.port = this;
  sending.parcel = nullptr;
  sending.header_bytes = header.bytes;
  std::memcpy(sending.header, header.data, header.bytes);
  return sending;
}

UcxSent UcpPort::send(std::uint32_t number, UcxPiece header, const UcxPiece* pieces,
                      std::size_t count, void* parcel) {
  const auto found = ways_.find(number);
  if (found == ways_.end() || header.bytes > kMaxHeader || count > kUcxMaxPieces)
    return UcxSent::failed;
  Sending& sending = take_sending(header);
  sending.parcel = parcel;
  for (std::size_t i = 0; i < count; ++i) {
    sending.pieces[i].buffer = const_cast<void*>(pieces[i].data);  // UCX only reads it
    sending.pieces[i].length = pieces[i].bytes;
  }
  return post(found->second->endpoint, sending, count, UCP_AM_SEND_FLAG_EAGER);
}

UcxSent UcpPort::post(ucp_ep_h endpoint, Sending& sending, std::size_t count, unsigned flags) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_DATATYPE;
  param.flags = flags;
  param.cb.send = on_sent;
  param.user_data = &sending;
  const void* buffer = nullptr;
  std::size_t length = 0;
  param.datatype = ucp_dt_make_contig(1);
  if (count == 1) {
    buffer = sending.pieces[0].buffer;
    length = sending.pieces[0].length;
  } else if (count > 1) {
    param.datatype = UCP_DATATYPE_IOV;
    buffer = sending.pieces;
    length = count;
  }
  const ucs_status_ptr_t request = ucp_am_send_nbx(endpoint, kMessageId, sending.header,
                                                   sending.header_bytes, buffer, length, &param);
  if (UCS_PTR_IS_PTR(request)) return UcxSent::pending;
  spare_.push_back(&sending);
  return UCS_PTR_IS_ERR(request) ? UcxSent::failed : UcxSent::done;
}

bool UcpPort::post_header(ucp_ep_h endpoint, UcxPiece header, unsigned flags) {
  if (header.bytes > kMaxHeader) return false;
  return post(endpoint, take_sending(header), 0, flags | UCP_AM_SEND_FLAG_EAGER) != UcxSent::failed;
}

bool UcpPort::ask(std::uint32_t number, UcxPiece header) {
  const auto found = ways_.find(number);
  return found != ways_.end() &&
         post_header(found->second->endpoint, header, UCP_AM_SEND_FLAG_REPLY);
}

bool UcpPort::reply(void* to, UcxPiece header) {
  return post_header(static_cast<ucp_ep_h>(to), header, 0);
}

unsigned UcpPort::progress() {
  unsigned moved = 0;
  for (unsigned i = 0; i < kProgressRounds; ++i) {
    const unsigned now = ucp_worker_progress(worker_);
    if (now == 0) break;
    moved += now;
  }
  return moved;
}

UcxArmed UcpPort::arm() {
  return ucp_worker_arm(worker_) == UCS_ERR_BUSY ? UcxArmed::busy : UcxArmed::yes;
}

void UcpPort::describe(std::uint32_t number, char* text, std::size_t text_bytes) {
  explain(text, text_bytes, "%s", "");
  const auto found = ways_.find(number);
  if (found == ways_.end()) return;
  char* printed = nullptr;
  std::size_t bytes = 0;
  std::FILE* const stream = ::open_memstream(&printed, &bytes);
  if (stream == nullptr) return;
  ucp_ep_print_info(found->second->endpoint, stream);
  std::fclose(stream);
  explain(text, text_bytes, "%s", printed);
  std::free(printed);
}

ucs_status_t UcpPort::on_message(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* param) {
  UcpPort& port = *static_cast<UcpPort*>(self);
  // Nobody of ours sends by rendezvous; then `data` would not be bytes.
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 || port.silent_) return UCS_OK;
  const bool replies = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
  port.listener_.on_arrival({header, header_bytes}, {data, bytes},
                            replies ? param->reply_ep : nullptr);
  return UCS_OK;
}

void UcpPort::on_sent(void* request, ucs_status_t /*status*/, void* user_data) {
  Sending& sending = *static_cast<Sending*>(user_data);
  UcpPort& port = *sending.port;
  ucp_request_free(request);
  port.spare_.push_back(&sending);
  if (sending.parcel != nullptr && !port.silent_) port.listener_.on_sent(sending.parcel);
}

void UcpPort::on_error(void* arg, ucp_ep_h /*endpoint*/, ucs_status_t status) {
  const Way& way = *static_cast<const Way*>(arg);
  if (!way.port->silent_) way.port->listener_.on_broken(way.number, ucs_status_string(status));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) UcxPort* muster_ucx_open(
    std::uint32_t version, const UcxSetting* settings, std::size_t count, UcxPortListener* listener,
    char* why, std::size_t why_bytes) {
  if (version != kUcxPortVersion) {
    explain(why, why_bytes,
            "it speaks version %08x and Muster %08x: they are from different builds",
            kUcxPortVersion, version);
    return nullptr;
  }
  auto port = std::make_unique<UcpPort>(*listener);
  if (!port->open(settings, count, why, why_bytes)) return nullptr;
  return port.release();
}

}  // namespace muster::comm
