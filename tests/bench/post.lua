-- wrk -s post.lua URL -- FILE
-- Requests as `load-http` has put them into FILE, by turns, each with an id of its own, of seven
-- digits. Prints how many there were, and how many failed.
function init(args)
  requests, id = {}, 1000000
  for request in (io.open(args[1]):read("*a") .. "\n\n\n"):gmatch("(.-)\n\n\n") do
    local before, after = request:match("(.*)@@@@@@@(.*)")
    requests[#requests + 1] = { before, after }
  end
end

function request()
  id = id + 1
  local next = requests[id % #requests + 1]
  return next[1] .. id .. next[2]
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print("requests=" .. summary.requests)
  print("errors=" .. failed)
end
