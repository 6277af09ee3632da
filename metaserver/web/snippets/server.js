// An annotation server. Replace the body of annotate with your method.
'use strict'
const xmlrpc = require('xmlrpc')

function annotate (text, context) { // the first line of text is the title
  const answer = { interaction: [/interact/i.test(text), 0.6] }
  if (text.includes('p53')) {
    answer.normalizations = [{ dbid: 'P04637', rank: 1, confidence: 0.9 }]
    if (text.includes('MDM2')) {
      answer.pairs = [{ dbid_a: 'P04637', dbid_b: 'Q00987', rank: 1, confidence: 0.8 }]
    }
  }
  return answer
}

const server = xmlrpc.createServer({ host: '0.0.0.0', port: 8100 })
server.on('Annotator.getAnnotation', (error, params, answer) => {
  try {
    answer(null, annotate(...params))
  } catch (failure) {
    answer({ faultCode: 1, faultString: String(failure) })
  }
})
