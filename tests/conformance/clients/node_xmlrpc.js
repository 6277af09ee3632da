// A challenge by npm's xmlrpc. Usage: node FILE HUB TOKEN ORGANISER SERVER URL PHASE
'use strict'
const { isDeepStrictEqual } = require('util')
const xmlrpc = require('xmlrpc')

const [hubUrl, token, organiser, server, url, phase] = process.argv.slice(2)
const hub = xmlrpc.createClient(hubUrl)

const ask = (method, ...params) => new Promise((resolve, reject) => {
  hub.methodCall(method, params, (error, value) => error ? reject(error) : resolve(value))
})
// the fault code that a call gets
const code = (...call) => ask(...call).then(() => 0, error => error.faultCode)
const waitFor = async state => {
  while ((await ask('Servers.get', token, server)).phases[0].state !== state) {
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

async function main () {
  const saw = {}
  saw.methods = await ask('system.listMethods')
  saw.signature = await ask('system.methodSignature', 'Servers.start')
  saw.help = await ask('system.methodHelp', 'Servers.start')
  saw.title = (await ask('Teams.update', token, 'foreign', { title: 'Ångström 中 <&> "' })).title

  await ask('Phases.open', organiser, phase)
  const registered = await ask('Servers.register', token, { server, url, tasks: ['INT'] })
  saw.untested = await code('Servers.start', token, server)
  const { job } = await ask('Servers.test', token, server)
  saw.passed = (await ask('Jobs.get', token, job, { wait: 30 })).report.passed
  saw.tested = [registered.tested, (await ask('Servers.get', token, server)).tested]
  await ask('Servers.next', token, server, { phase })
  await waitFor('paused')
  await ask('Servers.start', token, server, {})
  await waitFor('finished')
  const attempts = await ask('Servers.attempts', token, server, { limit: 2 })
  saw.attempts = attempts.map(one => [one.article, one.outcome])
  const { raw } = await ask('Servers.answer', token, server, 19661423, 1)
  saw.raw = raw.toString('utf8').includes('Ångström')

  saw.faults = {
    'wrong token': await code('Servers.get', 'wrong', server),
    'not theirs': await code('Phases.freeze', token, phase),
    unknown: await code('Servers.get', token, 'nobody'),
    'wrong field': await code('Servers.update', token, server, { colour: 'blue' }),
    'wrong value': await code('Servers.update', token, server, { concurrency: 'many' }),
    'no method': await code('Servers.dance', token),
    'no token': await code('Servers.get')
  }
  const [first, second] = await ask('system.multicall', [
    { methodName: 'Servers.get', params: [token, server] },
    { methodName: 'Servers.get', params: [token, 'nobody'] }
  ])
  saw.multicall = [first[0].server, second.faultCode]
  const closes = new Date(2030, 0, 2, 3, 4, 5) // the library writes local time
  const moved = (await ask('Phases.update', organiser, phase, { closes })).closes
  saw.closes = moved.toISOString()
  saw.large = (await ask('Phases.get', phase)).limits.answer_bytes
  const before = 8_589_934_592
  saw['large sent'] = (await ask('Audit.list', organiser, { before, limit: 1 })).length

  await ask('Phases.freeze', organiser, phase)
  await ask('Phases.close', organiser, phase)
  const annotations = await ask('Annotations.getAnnotations', 19661423)
  saw.annotations = annotations.map(one => [one.article, one.phase, one.server])
  const same = await ask('Annotations.getAnnotations', '19661423')
  saw['the same'] = isDeepStrictEqual(same, annotations)
  const { answer } = await ask('Annotations.getAnnotation', '19661423', server)
  saw.hits = answer.normalizations.map(hit => [hit.dbid, hit.confidence])
  saw.servers = await ask('Annotations.getAnnotationServerList', 19661423)
  const { rows } = await ask('Boards.get', phase, 'INT', { view: null })
  saw.board = rows.map(row => [row.run, row.place, row.values.precision])
  console.log(JSON.stringify(saw))
}

main().catch(error => {
  console.error(error)
  process.exitCode = 1
})
