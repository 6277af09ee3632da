# An annotation server on Ruby's xmlrpc and WEBrick. Usage: ruby FILE PORT
require "webrick"
require "xmlrpc/server"
require "zlib"

annotate = lambda do |text, context = nil|  # a lambda: the library asks for its arity
  raise XMLRPC::FaultException.new(42, "no model for Ä & <b>") if text.start_with?("fault")
  raise "out of memory" if text.start_with?("crash")

  seen = format("%d %08x", text.length, Zlib.crc32(text))
  seen += " #{context["article_id"]}" if context
  {
    interaction: [true, 0.75],
    normalizations: [
      {dbid: "P04637", dbname: "UniProt", taxid: 9606, rank: 1, confidence: 0.9, evidence: seen},
      {dbid: "P38398", rank: 2, confidence: 1, evidence: "Ångström 中 𝔸 <&> \""}
    ],
    pairs: [{dbid_a: "P38398", dbid_b: "P04637", rank: 1, confidence: 1e-05}]
  }
end

servlet = XMLRPC::WEBrickServlet.new
servlet.add_handler("Annotator.getAnnotation", &annotate)
log = WEBrick::Log.new($stderr, WEBrick::Log::WARN)
server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1", Port: ARGV[0].to_i, Logger: log, AccessLog: []
)
server.mount("/", servlet)
server.start
