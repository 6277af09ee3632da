// An annotation server on npm's xmlrpc. Usage: node FILE PORT (NODE_PATH leads to the library)
'use strict'
const xmlrpc = require('xmlrpc')
const zlib = require('zlib')

const server = xmlrpc.createServer({ host: '127.0.0.1', port: Number(process.argv[2]) })

server.on('Annotator.getAnnotation', (error, params, answer) => {
  const [text, context] = params
  if (text.startsWith('fault')) {
    return answer({ faultCode: 42, faultString: 'no model for Ä & <b>' })
  }
  if (text.startsWith('crash')) return answer(new Error('out of memory'))
  let seen = `${[...text].length} ${zlib.crc32(text).toString(16).padStart(8, '0')}`
  if (context) seen += ` ${context.article_id}`
  answer(null, {
    interaction: [true, 0.75],
    normalizations: [
      { dbid: 'P04637', dbname: 'UniProt', taxid: 9606, rank: 1, confidence: 0.9, evidence: seen },
      { dbid: 'P38398', rank: 2, confidence: 1.0, evidence: 'Ångström 中 𝔸 <&> "' } // an int on the wire
    ],
    pairs: [{ dbid_a: 'P38398', dbid_b: 'P04637', rank: 1, confidence: 1e-05 }]
  })
})
