-- For wrk: suggestions whose answers are compared with the right ones, see bench_serve.py.
-- A thread has texts of its own, and asks for as many labels as tell which of them is answered.
local threads = {}

function setup(thread)
   thread:set("place", #threads)
   threads[#threads + 1] = thread
end

function init(arguments)
   asked, expected, n, wrong, answers = {}, {}, 0, 0, 0
   local number, each = 0, tonumber(arguments[2])
   for line in io.lines(arguments[1]) do
      local body, answer = line:match("^(.*)\t(.*)$")
      if math.floor(number / each) == place then
         table.insert(asked, body)
         table.insert(expected, answer)
      end
      number = number + 1
   end
   wrk.headers["Content-Type"] = "application/json"
end

function request()
   n = n % #asked + 1
   return wrk.format("POST", "/v1/suggest", nil, asked[n])
end

function response(status, headers, body)
   local _, labels = body:gsub('"label":', "")
   answers = answers + 1
   if status == 200 and body ~= expected[labels] then wrong = wrong + 1 end
end

function done(summary, latency)
   local sum = { wrong = 0, answers = 0 }
   for _, thread in ipairs(threads) do
      for name in pairs(sum) do sum[name] = sum[name] + thread:get(name) end
   end
   local errors = summary.errors
   io.write(string.format(
      "FOUND %d %d %d %d %d %.2f %.2f\n", sum.answers, sum.wrong, errors.status, errors.timeout,
      errors.connect + errors.read + errors.write, latency:percentile(50) / 1000,
      latency:percentile(99) / 1000))
end
