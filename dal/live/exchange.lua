-- Publishes a process's changes and its heartbeat in one step. Begins a new epoch if changes may be
-- lost.
-- KEYS: the stream; a hash with each process's last heartbeat and the run id of Redis.
-- ARGV: id of the process; run id of Redis; '1' if changes may be missing; the newest epoch that
-- the process knows; microseconds without a heartbeat after which a process is dead; the id of the
-- first entry to keep; then for each change the epoch in which it was made, and the change.
local stream, processes = KEYS[1], KEYS[2]
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
redis.call('HSET', processes, 'run', run, id, string.format('%.0f', now))

local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
local epoch, number = 0, 0
if newest then
  epoch, number = string.match(newest[1], '(%d+)-(%d+)')
end
if begins or not newest then
  epoch, number = math.max(now, epoch + 1, known + 1), 0
  redis.call('XADD', stream, string.format('%.0f-0', epoch), 'begin', run)
end
epoch = string.format('%.0f', epoch)
for place = 7, #ARGV, 2 do
  number = number + 1
  -- A change from an earlier epoch is late: a later change of the same comment may be lost, so this
  -- change can be out of date.
  local kind = ARGV[place] == epoch and 'change' or 'late'
  redis.call('XADD', stream, string.format('%s-%.0f', epoch, number), kind, ARGV[place + 1])
end
redis.call('XTRIM', stream, 'MINID', '~', kept)
