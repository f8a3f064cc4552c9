-- What a server says, in one step: that it lives, what it has written, and what it may have lost.
-- KEYS: the stream; a hash of when each server was last heard of, and of which run of Redis it was.
-- ARGV: the server; Redis's run; '1' where something may be missing; the newest epoch that the server
-- knows; microseconds of silence that a server is given; the first id to keep; then of each change the
-- epoch in which it was made, and itself.
local stream, servers = KEYS[1], KEYS[2]
local me, run, known, silence, kept = ARGV[1], ARGV[2], ARGV[4], ARGV[5], ARGV[6]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- A run that has ended may have taken entries with it, a server that is gone may have written what it
-- told nobody of.
local begins = ARGV[3] == '1' or redis.call('HGET', servers, 'run') ~= run
local heard = redis.call('HGETALL', servers)
for place = 1, #heard, 2 do
  local server = heard[place]
  if server ~= 'run' and server ~= me and now - heard[place + 1] > tonumber(silence) then
    redis.call('HDEL', servers, server)
    begins = true
  end
end
redis.call('HSET', servers, 'run', run, me, string.format('%.0f', now))

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
  -- A later change of the same comment may be lost with the epoch before: who listens would be told of
  -- what the comment is no more.
  local kind = ARGV[place] == epoch and 'change' or 'late'
  redis.call('XADD', stream, string.format('%s-%.0f', epoch, number), kind, ARGV[place + 1])
end
redis.call('XTRIM', stream, 'MINID', '~', kept)
