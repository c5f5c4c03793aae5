#include "muster/comm/discovery/redis/scripts.h"

namespace muster::comm::redis {
namespace {

// Times are microseconds by the server's clock; they stay exact in Lua's doubles until the year
// 2255.
constexpr const char* kPrelude = R"lua(
local entries, leases, version, begun = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function text(number) return string.format('%.0f', number) end

-- What nobody renews disappears as a whole, a minute after the last lease.
local function keep()
  local last = redis.call('ZREVRANGE', leases, 0, 0, 'WITHSCORES')[2] or now
  local ends = text(math.ceil(math.max(tonumber(last), now) / 1000) + 60000)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, ends) end
end

local function changed()
  redis.call('INCR', version)
  -- A version never comes back, not even after the server lost everything.
  if redis.call('GET', version) == '1' then
    redis.call('SET', version, text(now))
    redis.call('SET', begun, text(now))
  end
  keep()
  redis.call('PUBLISH', channel, '')
end

local function drop(name)
  redis.call('HDEL', entries, name)
  redis.call('ZREM', leases, name)
end

local function drop_expired()
  local gone = redis.call('ZRANGEBYSCORE', leases, '-inf', text(now))
  for _, name in ipairs(gone) do drop(name) end
  if #gone > 0 then changed() end
end

-- What cannot be read is older than everything.
local function split(value)
  local rank, instance, json = string.match(value, '^(%d+) (%x+) (.*)$')
  return tonumber(rank or 0), instance or '', json
end

drop_expired()
)lua";

constexpr const char* kPut = R"lua(
local name, instance, json, lease, rank = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local old = redis.call('HGET', entries, name)
local same = false
if old then
  local old_rank, old_instance, old_json = split(old)
  if old_instance == instance then
    rank = old_rank
    same = old_json == json
  elseif rank == 0 then
    rank = math.max(now, old_rank + 1)
  elseif rank < old_rank or (rank == old_rank and instance < old_instance) then
    return '!' .. (old_json or '')
  end
end
if rank == 0 then rank = now end
redis.call('ZADD', leases, text(now + lease), name)
if same then
  keep()
else
  redis.call('HSET', entries, name, text(rank) .. ' ' .. instance .. ' ' .. json)
  changed()
end
return text(rank)
)lua";

constexpr const char* kRemove = R"lua(
local name, instance = ARGV[2], ARGV[3]
local old = redis.call('HGET', entries, name)
if old then
  local _, old_instance = split(old)
  if old_instance == instance then
    drop(name)
    changed()
  end
end
return 'OK'
)lua";

constexpr const char* kVersion = R"lua(
return redis.call('GET', version) or ''
)lua";

constexpr const char* kList = R"lua(
local reply = redis.call('HVALS', entries)
table.insert(reply, 1, redis.call('GET', version) or '')
table.insert(reply, 2, redis.call('GET', begun) or '')
return reply
)lua";

}  // namespace

const std::string& put_script() {
  static const std::string script = std::string(kPrelude) + kPut;
  return script;
}

const std::string& remove_script() {
  static const std::string script = std::string(kPrelude) + kRemove;
  return script;
}

const std::string& list_script() {
  static const std::string script = std::string(kPrelude) + kList;
  return script;
}

const std::string& version_script() {
  static const std::string script = std::string(kPrelude) + kVersion;
  return script;
}

}  // namespace muster::comm::redis
