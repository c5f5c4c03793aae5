#include "muster/service/worker/worker_metrics.h"

#include <string_view>

#include <fmt/format.h>

namespace muster::service {

namespace {

class Text {
 public:
  template <class Number>
  void counter(std::string_view name, std::string_view help, Number value) {
    add(name, help, "counter", value);
  }
  template <class Number>
  void gauge(std::string_view name, std::string_view help, Number value) {
    add(name, help, "gauge", value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  template <class Number>
  void add(std::string_view name, std::string_view help, std::string_view type, Number value) {
    text_ += fmt::format("# HELP muster_worker_{0} {1}\n# TYPE muster_worker_{0} {2}\n", name, help,
                         type);
    text_ += fmt::format("muster_worker_{} {}\n", name, value);
  }

  std::string text_;
};

}  // namespace

std::string metrics_text(const WorkerCounters& counters, const WorkerGauges& gauges,
                         const engine::StoreStats& store, std::size_t bytes_on_disk) {
  Text text;
  text.counter("tasks_finished_total", "Tasks that ended well.", counters.tasks_finished.load());
  text.counter("tasks_failed_total", "Tasks that failed.", counters.tasks_failed.load());
  text.counter("tasks_cancelled_total", "Tasks that were taken back.",
               counters.tasks_cancelled.load());
  text.counter("task_seconds_total", "Time that tasks took, waiting for memory included.",
               static_cast<double>(counters.task_nanoseconds.load()) * 1e-9);
  text.counter("output_bytes_total", "Bytes that tasks made.", counters.output_bytes.load());
  text.counter("outputs_copied_total", "Results that were not made where they stay.",
               counters.outputs_copied.load());
  text.counter("fetched_chunks_total", "Chunks from other workers.",
               counters.chunks_fetched.load());
  text.counter("fetched_bytes_total", "Bytes from other workers.", counters.bytes_fetched.load());
  text.counter("fetches_failed_total", "Chunks that others did not give.",
               counters.fetches_failed.load());
  text.counter("served_chunks_total", "Chunks for others.", counters.chunks_served.load());
  text.counter("served_bytes_total", "Bytes for others.", counters.bytes_served.load());
  text.counter("uploaded_chunks_total", "Chunks from clients.", counters.chunks_uploaded.load());
  text.counter("uploaded_bytes_total", "Bytes from clients.", counters.bytes_uploaded.load());
  text.counter("registrations_total", "Registrations with a scheduler.",
               counters.registrations.load());
  text.counter("spills_total", "Chunks written to disk.", store.spills);
  text.counter("spilled_bytes_total", "Bytes written to disk.", store.spilled_bytes);
  text.counter("failed_spills_total", "Chunks that no disk took.", store.failed_spills);
  text.counter("loads_total", "Chunks read back.", store.loads);
  text.counter("loaded_bytes_total", "Bytes read back.", store.loaded_bytes);
  text.gauge("memory_budget_bytes", "Bytes that chunks may take in memory.", store.capacity);
  text.gauge("memory_used_bytes", "Bytes that they take.", store.used);
  text.gauge("memory_pinned_bytes", "Bytes of those that cannot leave now.", store.pinned);
  text.gauge("heap_bytes", "Bytes of chunks beside these, that wait for room or found none.",
             counters.heap_bytes.load());
  text.gauge("disk_only_bytes", "Bytes of chunks that are only on disk.", bytes_on_disk);
  text.gauge("disk_bytes", "Length of all spill files.", store.disk_bytes);
  text.gauge("chunks", "Chunks, wherever they are.", store.chunks);
  text.gauge("threads", "Threads that run kernels.", gauges.threads);
  text.gauge("tasks", "Tasks that were ordered and have not ended.", gauges.tasks);
  text.gauge("tasks_waiting_for_memory", "Of these, those that wait for room.",
             gauges.waiting_for_room);
  text.gauge("fetching_chunks", "Chunks on their way.", gauges.fetching);
  text.gauge("registered", "1 while the scheduler knows it.", gauges.registered ? 1 : 0);
  const PythonPoolStats& python = gauges.python;
  text.gauge("python_processes", "Processes that run Python functions.", python.processes);
  text.gauge("python_processes_limit", "How many there may be.", python.most);
  text.gauge("python_busy", "Of these, those that run one now.", python.busy);
  text.gauge("python_memory_bytes", "Bytes that they have for themselves.", python.memory);
  text.counter("python_calls_total", "Calls of Python functions.", python.calls);
  text.counter("python_raised_total", "Calls that ended with an exception.", python.raised);
  text.counter("python_lost_total", "Processes that died during a call.", python.lost);
  text.counter("python_recycled_total", "Processes replaced because they grew or were old.",
               python.recycled);
  text.counter("python_retired_total", "Processes ended because they had nothing to do.",
               python.retired);
  return text.take();
}

}  // namespace muster::service
