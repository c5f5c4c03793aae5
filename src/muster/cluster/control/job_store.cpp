#include "muster/cluster/control/job_store.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/base/log.h"
#include "muster/cluster/control/job_state_json.h"
#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

// KEYS: jobs, tickets, schedules. ARGV: schedule, its JSON, and for each job name, id, JSON,
// ticket. A job of the same id is ours: the call came twice.
constexpr std::string_view kSubmit = R"(
for i = 3, #ARGV, 4 do
  local old = redis.call('HGET', KEYS[1], ARGV[i])
  if old and not string.find(old, ARGV[i + 1], 1, true) then return ARGV[i] end
  if old then return '' end
end
if ARGV[1] ~= '' then redis.call('HSET', KEYS[3], ARGV[1], ARGV[2]) end
for i = 3, #ARGV, 4 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
  redis.call('RPUSH', KEYS[2], ARGV[i + 3])
end
return '')";

// KEYS: tickets, taken. ARGV: how many.
constexpr std::string_view kTake = R"(
local left = tonumber(ARGV[1]) - redis.call('LLEN', KEYS[2])
while left > 0 do
  if not redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') then break end
  left = left - 1
end
return redis.call('LRANGE', KEYS[2], 0, -1))";

// KEYS: jobs, instances, taken, channel. ARGV: five lists, each behind its length.
constexpr std::string_view kSave = R"(
local at = 0
local function word() at = at + 1; return ARGV[at] end
for _ = 1, tonumber(word()) do
  local name = word()
  redis.call('HSET', KEYS[1], name, word())
  redis.call('PUBLISH', KEYS[4], name)
end
for _ = 1, tonumber(word()) do
  local field = word()
  redis.call('HSET', KEYS[2], field, word())
end
for _ = 1, tonumber(word()) do
  local name = word()
  redis.call('HDEL', KEYS[1], name)
  redis.call('PUBLISH', KEYS[4], name)
end
for _ = 1, tonumber(word()) do redis.call('HDEL', KEYS[2], word()) end
for _ = 1, tonumber(word()) do redis.call('LREM', KEYS[3], 1, word()) end
return 1)";

// KEYS: jobs, instances. Both as they are at one moment.
constexpr std::string_view kReadAll = R"(
return {redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2])})";

// KEYS: jobs, instances. ARGV: the job, and the fields of its instances. The job, and those of its
// instances that are stored, as they are at one moment.
constexpr std::string_view kReadOne = R"(
local found = {redis.call('HGET', KEYS[1], ARGV[1])}
for i = 2, #ARGV do
  local instance = redis.call('HGET', KEYS[2], ARGV[i])
  if instance then found[#found + 1] = instance end
end
return found)";

std::vector<std::string> texts(const net::RedisReply& reply) {
  std::vector<std::string> list;
  for (const auto& element : reply.elements) list.push_back(element.text);
  return list;
}

std::map<std::string, std::string> fields_of(const net::RedisReply& hash) {
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i + 1 < hash.elements.size(); i += 2)
    fields[hash.elements[i].text] = hash.elements[i + 1].text;
  return fields;
}

void add(std::vector<std::string>& words,
         const std::vector<std::pair<std::string, std::string>>& pairs) {
  words.push_back(std::to_string(pairs.size()));
  for (const auto& [first, second] : pairs) {
    words.push_back(first);
    words.push_back(second);
  }
}

void add(std::vector<std::string>& words, const std::vector<std::string>& list) {
  words.push_back(std::to_string(list.size()));
  words.insert(words.end(), list.begin(), list.end());
}

// Puts stored instances into a job that was just read.
void set_instance(JobState& job, const std::string& text) {
  auto instance = instance_state_from_json(text);
  if (!instance) return log(LogLevel::warning, "cluster", "{}", instance.error().message());
  if (InstanceState* const place = job.instance(instance->name())) *place = std::move(*instance);
}

}  // namespace

JobStore::JobStore(net::RedisAddress address, const std::string& cluster_id, Duration timeout)
    : prefix_(fmt::format("muster:process:{}:", cluster_id)),
      client_(std::move(address), timeout) {}

std::string JobStore::instance_field(std::string_view job_id, std::string_view instance) {
  return fmt::format("{}/{}", job_id, instance);
}

Result<void> JobStore::submit(const std::vector<JobState>& jobs, const std::string& schedule) {
  nlohmann::json names = nlohmann::json::array();
  for (const auto& job : jobs) names.push_back(job.name());
  std::vector<std::string> words{schedule, names.dump()};
  for (const auto& job : jobs) {
    words.insert(words.end(), {job.name(), job.id, to_json(job),
                               Ticket::make(Ticket::Kind::start, job.name()).text()});
  }
  const std::vector<std::string> keys{key("jobs"), key("tickets"), key("schedules")};
  const auto reply = client_.eval(kSubmit, keys, words);
  if (!reply) return fail(reply.error());
  if (reply->text.empty()) return {};
  return fail(Errc::already_exists,
              fmt::format("there is a job '{}' already; 'muster process job delete {}' forgets it",
                          reply->text, reply->text));
}

Result<void> JobStore::push(const Ticket& ticket) {
  const auto reply = client_.command({"RPUSH", key("tickets"), ticket.text()});
  if (!reply) return fail(reply.error());
  return {};
}

Result<std::map<std::string, std::string>> JobStore::hash(const std::string& name) {
  const auto reply = client_.command({"HGETALL", key(name)});
  if (!reply) return fail(reply.error());
  return fields_of(*reply);
}

Result<std::vector<JobState>> JobStore::jobs() {
  const std::vector<std::string> keys{key("jobs"), key("instances")};
  const auto reply = client_.eval(kReadAll, keys, {});
  if (!reply) return fail(reply.error());
  if (reply->elements.size() != keys.size())
    return fail(Errc::corrupt_state, "Redis does not answer with jobs and instances");
  const auto instances = fields_of(reply->elements[1]);
  std::vector<JobState> jobs;
  for (const auto& [name, text] : fields_of(reply->elements[0])) {
    auto job = job_state_from_json(text);
    if (!job) {
      log(LogLevel::error, "cluster", "job '{}' is looked over: {}", name, job.error().message());
      continue;
    }
    job->instances = fresh_instances(job->spec);
    const std::string prefix = instance_field(job->id, "");
    for (auto place = instances.lower_bound(prefix);
         place != instances.end() && place->first.starts_with(prefix); ++place)
      set_instance(*job, place->second);
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

Result<std::optional<JobState>> JobStore::job(const std::string& name) {
  // What instances it has is in the job, so that is read before.
  const auto before = client_.command({"HGET", key("jobs"), name});
  if (!before) return fail(before.error());
  if (before->kind == net::RedisReply::Kind::nil) return std::optional<JobState>();
  const auto earlier = job_state_from_json(before->text);
  if (!earlier) return fail(earlier.error());
  std::vector<std::string> words{name};
  for (const auto& instance : fresh_instances(earlier->spec))
    words.push_back(instance_field(earlier->id, instance.name()));
  const std::vector<std::string> keys{key("jobs"), key("instances")};
  const auto reply = client_.eval(kReadOne, keys, words);
  if (!reply) return fail(reply.error());
  if (reply->elements.empty() || !reply->elements[0].as_text()) return std::optional<JobState>();
  auto job = job_state_from_json(reply->elements[0].text);
  if (!job) return fail(job.error());
  job->instances = fresh_instances(job->spec);
  if (job->id != earlier->id) return std::optional(std::move(*job));  // another of the same name
  for (std::size_t i = 1; i < reply->elements.size(); ++i)
    set_instance(*job, reply->elements[i].text);
  return std::optional(std::move(*job));
}

Result<std::vector<std::string>> JobStore::job_names() {
  const auto reply = client_.command({"HKEYS", key("jobs")});
  if (!reply) return fail(reply.error());
  return texts(*reply);
}

Result<std::map<std::string, std::vector<std::string>>> JobStore::schedules() {
  const auto stored = hash("schedules");
  if (!stored) return fail(stored.error());
  std::map<std::string, std::vector<std::string>> schedules;
  for (const auto& [name, text] : *stored) {
    const auto names = nlohmann::json::parse(text, nullptr, false);
    if (!names.is_array()) continue;
    for (const auto& job : names) {
      if (job.is_string()) schedules[name].push_back(job);
    }
  }
  return schedules;
}

Result<void> JobStore::remove_schedule(const std::string& name) {
  const auto reply = client_.command({"HDEL", key("schedules"), name});
  if (!reply) return fail(reply.error());
  return {};
}

Result<std::map<std::string, std::string>> JobStore::agent() { return hash("agent"); }

Result<void> JobStore::clear() {
  const auto reply = client_.command({"DEL", key("jobs"), key("instances"), key("schedules"),
                                      key("tickets"), key("taken"), key("agent")});
  if (!reply) return fail(reply.error());
  return {};
}

Result<std::vector<std::string>> JobStore::take_tickets(std::size_t most) {
  const std::vector<std::string> keys{key("tickets"), key("taken")};
  const std::vector<std::string> words{std::to_string(most)};
  const auto reply = client_.eval(kTake, keys, words);
  if (!reply) return fail(reply.error());
  return texts(*reply);
}

Result<void> JobStore::save(const StoreChanges& changes) {
  std::vector<std::string> words;
  add(words, changes.jobs);
  add(words, changes.instances);
  add(words, changes.removed_jobs);
  add(words, changes.removed_instances);
  add(words, changes.done_tickets);
  const std::vector<std::string> keys{key("jobs"), key("instances"), key("taken"), key("changed")};
  const auto reply = client_.eval(kSave, keys, words);
  if (!reply) return fail(reply.error());
  return {};
}

Result<void> JobStore::describe_agent(const std::map<std::string, std::string>& facts) {
  std::vector<std::string> words{"HSET", key("agent")};
  for (const auto& [name, value] : facts) words.insert(words.end(), {name, value});
  const std::vector<std::string_view> views(words.begin(), words.end());
  const auto reply = client_.command(views);
  if (!reply) return fail(reply.error());
  return {};
}

Result<void> JobStore::ping() {
  const auto reply = client_.command({"PING"});
  if (!reply) return fail(reply.error());
  return {};
}

}  // namespace muster::cluster
