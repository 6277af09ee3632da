# An annotation server. Replace the body of annotate with your method.
require "webrick"
require "xmlrpc/marshal"

MAX_BYTES = 16 * 2**20 # of a request
MAX_TAGS = 1000 # a hub's request has about 40
WORKERS = 4 # requests that are read and answered at once, each in a thread
NAMES = {
  "MDM2" => "Q00987", "p53" => "P04637", "TP53" => "P04637", "BRCA1" => "P38398",
  "EGFR" => "P00533"
}.freeze

def annotate(text, context) # the first line of text is the title
  counts = text.scan(/[A-Za-z0-9]+/).map { |word| NAMES[word] }.compact.tally
  ordered = counts.sort_by { |dbid, count| [-count, dbid] }
  hits = ordered.each_with_index.map do |(dbid, count), place|
    {dbid: dbid, rank: place + 1, confidence: count.to_f / (count + 1)}
  end
  {normalizations: hits}
end

def fault(code, message)
  XMLRPC::FaultException.new(code, message)
end

def respond(body) # the bytes of a methodCall to those of a methodResponse
  XMLRPC::Marshal.dump_response(called(body))
rescue XMLRPC::FaultException => e
  XMLRPC::Marshal.dump_response(e)
rescue StandardError => e
  warn e.full_message
  XMLRPC::Marshal.dump_response(fault(-32603, "annotate failed; see the log of this server"))
end

def called(body)
  method, params = read(body.dup.force_encoding(Encoding::UTF_8))
  case method
  when "Annotator.getAnnotation"
    text, context = params
    unless text.is_a?(String) && params.size <= 2 && (params.size == 1 || context.is_a?(Hash))
      raise fault(-32602, "expected (string) or (string, struct)")
    end
    annotate(text, context || {})
  when "Annotator.getState" then {state: "Running", version: "1", max_concurrent: WORKERS}
  when "system.listMethods" then %w[Annotator.getAnnotation Annotator.getState system.listMethods]
  else raise fault(-32601, "no such method; see system.listMethods")
  end
end

def read(xml)
  # A NUL is of UTF-16, which would hide what is looked for below.
  raise fault(-32700, "not UTF-8") if xml.include?("\0") || !xml.valid_encoding?
  if xml.match?(/\A\uFEFF?\s*<\?xml[^>]*encoding\s*=\s*["'](?!utf-8["'])/i)
    raise fault(-32700, "another encoding than UTF-8 is declared")
  end
  if xml.match?(/<!(?:DOCTYPE|ENTITY)/)
    raise fault(-32700, "a document type declaration is not allowed")
  end
  raise fault(-32700, "more than #{MAX_TAGS} tags") if xml.count("<") > MAX_TAGS

  method, params = XMLRPC::Marshal.load_call(xml)
  raise fault(-32600, "expected a methodCall") unless method.is_a?(String) && params

  [method, params]
rescue XMLRPC::FaultException
  raise
rescue StandardError, SystemStackError
  raise fault(-32700, "not XML-RPC")
end

# The part of the server that speaks HTTP.
class Annotator < WEBrick::HTTPServlet::AbstractServlet
  def do_POST(request, response)
    response["Content-Type"] = "text/xml; charset=utf-8"
    response.body = respond(bounded(request, response))
  end

  def do_GET(_request, _response)
    raise WEBrick::HTTPStatus::MethodNotAllowed, "XML-RPC by POST"
  end

  def bounded(request, response)
    response.keep_alive = false # unless all of the body was read
    raise WEBrick::HTTPStatus::LengthRequired unless request["Content-Length"]
    raise WEBrick::HTTPStatus::RequestEntityTooLarge if request.content_length > MAX_BYTES

    body = request.body || ""
    response.keep_alive = true
    body
  end
end

if $PROGRAM_NAME == __FILE__
  server = WEBrick::HTTPServer.new(
    BindAddress: ENV.fetch("HOST", "127.0.0.1"), Port: ENV.fetch("PORT", "8100").to_i,
    Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN), AccessLog: []
  )
  server.mount("/", Annotator)
  %w[INT TERM].each { |signal| trap(signal) { server.shutdown } }
  puts "listening on http://#{server.config[:BindAddress]}:#{server.config[:Port]}/"
  $stdout.flush
  server.start
end
