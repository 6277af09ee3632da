# An annotation server. Replace the body of annotate with your method.
require "webrick"
require "xmlrpc/server"

annotate = lambda do |text, context = nil|  # the first line of text is the title
  answer = {interaction: [text.match?(/interact/i), 0.6]}
  if text.include?("p53")
    answer[:normalizations] = [{dbid: "P04637", rank: 1, confidence: 0.9}]
    if text.include?("MDM2")
      answer[:pairs] = [{dbid_a: "P04637", dbid_b: "Q00987", rank: 1, confidence: 0.8}]
    end
  end
  answer
end

servlet = XMLRPC::WEBrickServlet.new
servlet.add_handler("Annotator.getAnnotation", &annotate)
server = WEBrick::HTTPServer.new(BindAddress: "0.0.0.0", Port: 8100)
server.mount("/", servlet)
trap("INT") { server.shutdown }
server.start
