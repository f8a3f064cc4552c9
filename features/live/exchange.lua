-- Publishes a process's changes and its heartbeat in one step. Begins a new epoch if changes may be
-- lost.
-- KEYS: the stream; a hash with each process's last heartbeat and the run id of Redis; a hash with
-- the newest comments, by product, position and version; the id of the latest known erasure.
-- ARGV: id of the process; run id of Redis; '1' if changes may be missing; the newest epoch that
-- the process knows; microseconds without a heartbeat after which a process is dead; the id of the
-- first entry to keep; the id of a user's erasure or ''; then for each change the epoch in which it
-- was made, the change, and its comment.
local stream, processes, comments, erased = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, run, known, silence, kept = ARGV[1], ARGV[2], ARGV[4], ARGV[5], ARGV[6]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- A restarted Redis may have lost entries, and a dead process may have written comments without
-- publishing the changes. In both cases, a new epoch begins.
local begins = ARGV[3] == '1' or redis.call('HGET', processes, 'run') ~= run
local heartbeats = redis.call('HGETALL', processes)
for place = 1, #heartbeats, 2 do
  local process = heartbeats[place]
  if process ~= 'run' and process ~= id and now - heartbeats[place + 1] > tonumber(silence) then
    redis.call('HDEL', processes, process)
    begins = true
  end
end
-- Texts of an erased user leave Redis and all logs with the earlier epochs.
local erasure = ARGV[7]
if erasure ~= '' and redis.call('GET', erased) ~= erasure then
  redis.call('SET', erased, erasure)
  begins = true
end
redis.call('HSET', processes, 'run', run, id, string.format('%.0f', now))

local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
local epoch, number = 0, 0
if newest then
  epoch, number = string.match(newest[1], '(%d+)-(%d+)')
end
if begins or not newest then
  -- All processes drop the entries of earlier epochs.
  redis.call('DEL', stream, comments)
  epoch, number = math.max(now, epoch + 1, known + 1), 0
  redis.call('XADD', stream, string.format('%.0f-0', epoch), 'begin', run)
end
epoch = string.format('%.0f', epoch)

-- Returns the names in the hash of the comment before and after a change; nil if there is none.
local function names(change)
  local function name(state)
    if type(state) == 'table' then
      -- Entries of the last release have the version in the third place.
      local version = type(state[2]) == 'table' and state[1] or state[3]
      return change.product .. '\n' .. change.position .. '\n' .. version
    end
  end
  return name(change.was), name(change.became)
end

for place = 8, #ARGV, 3 do
  number = number + 1
  local line, comment = ARGV[place + 1], ARGV[place + 2]
  -- A change from an earlier epoch is late: a later change of the same comment may be lost, so this
  -- change can be out of date. Clients reload, so its comment is not stored, but the comment that it
  -- replaced is removed.
  local kind = ARGV[place] == epoch and 'change' or 'late'
  redis.call('XADD', stream, string.format('%s-%.0f', epoch, number), kind, line)
  local change = cjson.decode(line)
  if not change.position then
    -- A write with an unknown outcome may have removed each comment of the product.
    local product = change.product .. '\n'
    for _, name in ipairs(redis.call('HKEYS', comments)) do
      if string.sub(name, 1, #product) == product then
        redis.call('HDEL', comments, name)
      end
    end
  else
    -- An empty text marks a version that was replaced. If the change to this version arrives later,
    -- its comment is not stored.
    local was, became = names(change)
    if was then
      redis.call('HSET', comments, was, '')
    end
    if kind == 'change' and became
        and (became == was or redis.call('HGET', comments, became) ~= '') then
      redis.call('HSET', comments, became, comment)
    end
  end
end

if kept ~= '0-0' then
  for _, entry in ipairs(redis.call('XRANGE', stream, '-', '(' .. kept)) do
    -- An unreadable entry has no comments to remove.
    local readable, change = pcall(cjson.decode, entry[2][2])
    if readable and type(change) == 'table' then
      for _, name in pairs({names(change)}) do
        redis.call('HDEL', comments, name)
      end
    end
  end
  redis.call('XTRIM', stream, 'MINID', kept)
end
