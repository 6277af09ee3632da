# The smoke test: every request of contract.json gets the answer that is expected there.
require "base64"
require "json"
require_relative "server"

def matches?(expected, got) # a struct may have more members than are expected
  case expected
  when Hash
    got.is_a?(Hash) && expected.all? { |key, value| got.key?(key) && matches?(value, got[key]) }
  when Array
    got.is_a?(Array) && got.size == expected.size &&
      expected.zip(got).all? { |one, other| matches?(one, other) }
  when Float then got.is_a?(Float) && (got - expected).abs < 1e-9
  else expected == got
  end
end

contract = JSON.parse(File.read(File.join(__dir__, "contract.json"), encoding: "UTF-8"))
failed = contract["cases"].reject do |one|
  body = one["base64"] ? Base64.decode64(one["base64"]) : one["request"]
  result = XMLRPC::Marshal.load_response(respond(body))
  right =
    if result.is_a?(XMLRPC::FaultException)
      (one["faults"] || []).include?(result.faultCode)
    else
      !one["faults"] && matches?(one["result"], result)
    end
  puts "#{right ? "ok" : "not ok"} - #{one["name"]}"
  right
end
exit failed.empty?
