// The smoke test: every request of contract.json gets the answer that is expected there.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const { read, respond, child, value } = require('./server.js')

function matches (expected, got) { // a struct may have more members than are expected
  if (Array.isArray(expected)) {
    return Array.isArray(got) && got.length === expected.length &&
      expected.every((inner, place) => matches(inner, got[place]))
  }
  if (typeof expected === 'object') {
    return typeof got === 'object' &&
      Object.entries(expected).every(([name, inner]) => matches(inner, got[name]))
  }
  if (typeof expected === 'number') return Math.abs(expected - got) < 1e-9
  return expected === got
}

async function right (one) {
  const body = Buffer.from(one.base64 ?? one.request, one.base64 ? 'base64' : 'utf-8')
  const answer = read(Buffer.from(await respond(body)))
  if (one.faults) {
    const { faultCode } = value(child(child(answer, 'fault'), 'value'))
    return one.faults.includes(faultCode)
  }
  return matches(one.result, value(child(child(child(answer, 'params'), 'param'), 'value')))
}

async function main () {
  const { cases } = JSON.parse(fs.readFileSync(path.join(__dirname, 'contract.json'), 'utf-8'))
  for (const one of cases) {
    const good = await right(one).catch(() => false)
    console.log(`${good ? 'ok' : 'not ok'} - ${one.name}`)
    if (!good) process.exitCode = 1
  }
}

main()
