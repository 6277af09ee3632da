// An annotation server without a library. Replace the body of annotate with your method.
'use strict'
const http = require('node:http')

const MAX_BYTES = 16 * 2 ** 20 // of a request
const MAX_TAGS = 1000 // a hub's request has about 40
const WORKERS = 4 // requests at once; one computes while the others wait, if annotate is async
const NAMES = new Map(Object.entries({
  MDM2: 'Q00987', p53: 'P04637', TP53: 'P04637', BRCA1: 'P38398', EGFR: 'P00533'
}))

async function annotate (text, context) { // the first line of text is the title
  const counts = new Map()
  for (const word of text.match(/[A-Za-z0-9]+/g) ?? []) {
    const dbid = NAMES.get(word)
    if (dbid) counts.set(dbid, (counts.get(dbid) ?? 0) + 1)
  }
  const ordered = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  const normalizations = ordered.map(([dbid, count], place) => (
    { dbid, rank: place + 1, confidence: new Double(count / (count + 1)) }
  ))
  return { normalizations }
}

// JavaScript has one type of number: a whole one is written as an int unless it is a Double.
class Double {
  constructor (number) { this.number = number }
}

class Fault extends Error {
  constructor (code, message) {
    super(message)
    this.code = code
  }
}

async function respond (body) { // the bytes of a methodCall to the text of a methodResponse
  let result
  try {
    result = `<params><param>${written(await called(body))}</param></params>`
  } catch (error) {
    if (!(error instanceof Fault)) {
      console.error(error)
      error = new Fault(-32603, 'annotate failed; see the log of this server')
    }
    result = `<fault>${written({ faultCode: error.code, faultString: error.message })}</fault>`
  }
  return `<?xml version="1.0" encoding="utf-8"?><methodResponse>${result}</methodResponse>`
}

async function called (body) {
  const call = read(body)
  if (call.name !== 'methodCall') throw new Fault(-32600, 'expected a methodCall')
  const method = child(call, 'methodName').text.trim()
  const params = call.nodes.some(node => node.name === 'params')
    ? child(call, 'params').nodes.map(param => value(child(param, 'value')))
    : []
  const [text, context] = params
  switch (method) {
    case 'Annotator.getAnnotation':
      if (typeof text !== 'string' || params.length > 2 ||
          (params.length === 2 && (typeof context !== 'object' || Array.isArray(context)))) {
        throw new Fault(-32602, 'expected (string) or (string, struct)')
      }
      return annotate(text, context ?? {})
    case 'Annotator.getState':
      return { state: 'Running', version: '1', max_concurrent: WORKERS }
    case 'system.listMethods':
      return ['Annotator.getAnnotation', 'Annotator.getState', 'system.listMethods']
  }
  throw new Fault(-32601, 'no such method; see system.listMethods')
}

function refuse (condition, message) {
  if (condition) throw new Fault(-32700, message)
}

// Node has no reader of XML. This one reads elements, text, comments and CDATA, nothing else.
const TOKEN = new RegExp([
  /<!--[^]*?-->|<\?[^]*?\?>|<!\[CDATA\[([^]*?)\]\]>/,
  /<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?\/>/,
  /<(\/?)([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>|([^<]+)/
].map(part => part.source).join('|'), 'y')
const ENTITIES = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

function read (body) {
  let xml
  try {
    xml = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new Fault(-32700, 'not UTF-8')
  }
  refuse(body.includes(0), 'not UTF-8: a NUL')
  refuse(/^\s*<\?xml[^>]*encoding\s*=\s*["'](?!utf-8["'])/i.test(xml),
    'another encoding than UTF-8 is declared')
  refuse(/<!(?:DOCTYPE|ENTITY)/.test(xml), 'a document type declaration is not allowed')
  refuse(xml.split('<', MAX_TAGS + 2).length > MAX_TAGS + 1, `more than ${MAX_TAGS} tags`)
  const root = { name: '', nodes: [], text: '' }
  const open = [root]
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < xml.length) {
    const match = TOKEN.exec(xml)
    refuse(!match, 'not XML')
    const [, data, empty, end, name, text] = match
    const inner = open[open.length - 1]
    if (text !== undefined) inner.text += unescaped(text)
    else if (data !== undefined) inner.text += data
    else if (empty) inner.nodes.push({ name: empty, nodes: [], text: '' })
    else if (end) {
      refuse(open.length < 2 || inner.name !== name, 'not XML: an end without its beginning')
      open.pop()
    } else if (name) {
      const node = { name, nodes: [], text: '' }
      inner.nodes.push(node)
      open.push(node)
    }
  }
  refuse(open.length > 1 || root.nodes.length !== 1 || root.text.trim(), 'not one element of XML')
  return root.nodes[0]
}

function unescaped (text) {
  const reference = /&(?:#x([0-9a-f]{1,6});|#([0-9]{1,7});|(\w+);)?/gi
  return text.replace(/\r\n?/g, '\n').replace(reference, (_, hex, digits, name) => {
    const code = hex ? parseInt(hex, 16) : Number(digits)
    if (code <= 0x10ffff) return String.fromCodePoint(code)
    refuse(!Object.hasOwn(ENTITIES, name ?? ''), 'not XML: an unknown entity')
    return ENTITIES[name]
  })
}

function child (node, name) {
  const found = node.nodes.find(inner => inner.name === name)
  refuse(!found, `not XML-RPC: <${name}> is missing`)
  return found
}

function value (node) {
  const [typed] = node.nodes
  if (!typed) return node.text
  switch (typed.name) {
    case 'string': return typed.text
    case 'boolean': return typed.text.trim() === '1'
    case 'int': case 'i4': case 'i8': case 'double': return Number(typed.text)
    case 'array': return child(typed, 'data').nodes.map(value)
    case 'struct': return Object.fromEntries(typed.nodes.map(member => (
      [child(member, 'name').text, value(child(member, 'value'))]
    )))
  }
  throw new Fault(-32700, `not XML-RPC: <${typed.name}>`)
}

function written (given) {
  if (given instanceof Double) return `<value><double>${given.number}</double></value>`
  if (typeof given === 'boolean') return `<value><boolean>${Number(given)}</boolean></value>`
  if (typeof given === 'number') {
    const type = Number.isInteger(given) ? 'int' : 'double'
    return `<value><${type}>${given}</${type}></value>`
  }
  if (Array.isArray(given)) {
    return `<value><array><data>${given.map(written).join('')}</data></array></value>`
  }
  if (typeof given === 'object') {
    const members = Object.entries(given).map(([name, inner]) => (
      `<member><name>${escaped(name)}</name>${written(inner)}</member>`
    ))
    return `<value><struct>${members.join('')}</struct></value>`
  }
  return `<value><string>${escaped(String(given))}</string></value>`
}

function escaped (text) {
  // eslint-disable-next-line no-control-regex -- XML has no place for these
  return text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd')
    .replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}

async function handle (request, response) {
  const end = (status, text) => {
    response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' })
    response.end(`${text}\n`, () => request.destroy())
  }
  if (request.method !== 'POST') return end(405, 'XML-RPC by POST')
  const parts = []
  let size = 0
  if (request.headers['content-length'] > MAX_BYTES) return end(413, `more than ${MAX_BYTES} bytes`)
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    size += part.length
    if (size > MAX_BYTES) return end(413, `more than ${MAX_BYTES} bytes`)
    parts.push(part)
  }
  const body = Buffer.from(await respond(Buffer.concat(parts)))
  response.writeHead(200, { 'Content-Type': 'text/xml; charset=utf-8', 'Content-Length': body.length })
  response.end(body)
}

function main () {
  const host = process.env.HOST ?? '127.0.0.1'
  const port = Number(process.env.PORT ?? 8100)
  const server = http.createServer({ requestTimeout: 60_000 }, (request, response) => {
    handle(request, response).catch(() => response.destroy()) // the caller hung up
  })
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      server.close()
      server.closeIdleConnections()
      setTimeout(() => process.exit(0), 3000).unref()
    })
  }
  server.listen(port, host, () => console.log(`listening on http://${host}:${port}/`))
}

if (require.main === module) main()
module.exports = { read, respond, child, value }
