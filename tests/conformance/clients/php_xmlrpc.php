<?php
// A challenge by PHP's xmlrpc extension. Usage: php FILE HUB TOKEN ORGANISER SERVER URL PHASE

[, $hub, $token, $organiser, $server, $url, $phase] = $argv;
$saw = [];

function call(string $method, mixed ...$params): mixed
{
    global $hub;
    $how = ['encoding' => 'UTF-8', 'escaping' => 'markup'];  // or else it writes ISO 8859-1
    $answer = file_get_contents($hub, false, stream_context_create(['http' => [
        'method' => 'POST',
        'header' => 'Content-Type: text/xml',
        'content' => xmlrpc_encode_request($method, $params, $how),
    ]]));
    return xmlrpc_decode($answer, 'UTF-8');
}

function ask(string $method, mixed ...$params): mixed
{
    $answer = call($method, ...$params);
    if (is_array($answer) && xmlrpc_is_fault($answer)) {
        throw new RuntimeException("$method: {$answer['faultCode']} {$answer['faultString']}");
    }
    return $answer;
}

function code(string $method, mixed ...$params): int  // the fault code that a call gets
{
    return call($method, ...$params)['faultCode'] ?? 0;
}

function wait_for(string $state): void
{
    global $token, $server;
    while (ask('Servers.get', $token, $server)['phases'][0]['state'] !== $state) {
        usleep(100_000);
    }
}

$saw['methods'] = ask('system.listMethods');
$saw['signature'] = ask('system.methodSignature', 'Servers.start');
$saw['help'] = ask('system.methodHelp', 'Servers.start');
$saw['title'] = ask('Teams.update', $token, 'foreign', ['title' => 'Ångström 中 <&> "'])['title'];

ask('Phases.open', $organiser, $phase);
$new = ['server' => $server, 'url' => $url, 'tasks' => ['INT']];
$saw['tested'][] = ask('Servers.register', $token, $new)['tested'];
$saw['untested'] = code('Servers.start', $token, $server);
$saw['passed'] = ask('Jobs.get', $token, ask('Servers.test', $token, $server)['job'], ['wait' => 30.0])['report']['passed'];
$saw['tested'][] = ask('Servers.get', $token, $server)['tested'];
ask('Servers.next', $token, $server, ['phase' => $phase]);
wait_for('paused');
ask('Servers.start', $token, $server, []);
wait_for('finished');
foreach (ask('Servers.attempts', $token, $server, ['limit' => 2]) as $one) {
    $saw['attempts'][] = [$one['article'], $one['outcome']];
}
$raw = ask('Servers.answer', $token, $server, 19661423, 1)['raw'];
$saw['raw'] = str_contains($raw->scalar, 'Ångström');

$saw['faults'] = [
    'wrong token' => code('Servers.get', 'wrong', $server),
    'not theirs' => code('Phases.freeze', $token, $phase),
    'unknown' => code('Servers.get', $token, 'nobody'),
    'wrong field' => code('Servers.update', $token, $server, ['colour' => 'blue']),
    'wrong value' => code('Servers.update', $token, $server, ['concurrency' => 'many']),
    'no method' => code('Servers.dance', $token),
    'no token' => code('Servers.get'),
];
[$first, $second] = ask('system.multicall', [
    ['methodName' => 'Servers.get', 'params' => [$token, $server]],
    ['methodName' => 'Servers.get', 'params' => [$token, 'nobody']],
]);
$saw['multicall'] = [$first[0]['server'], $second['faultCode']];
$closes = '20300102T03:04:05';
xmlrpc_set_type($closes, 'datetime');
$saw['closes'] = ask('Phases.update', $organiser, $phase, ['closes' => $closes])['closes']->scalar;
$saw['large'] = ask('Phases.get', $phase)['limits']['answer_bytes'];
$saw['large sent'] = count(ask('Audit.list', $organiser, ['before' => 8_589_934_592, 'limit' => 1]));

ask('Phases.freeze', $organiser, $phase);
ask('Phases.close', $organiser, $phase);
$annotations = ask('Annotations.getAnnotations', 19661423);
foreach ($annotations as $one) {
    $saw['annotations'][] = [$one['article'], $one['phase'], $one['server']];
}
$saw['the same'] = ask('Annotations.getAnnotations', '19661423') === $annotations;
$answer = ask('Annotations.getAnnotation', '19661423', $server)['answer'];
foreach ($answer['normalizations'] as $hit) {
    $saw['hits'][] = [$hit['dbid'], $hit['confidence']];
}
$saw['servers'] = ask('Annotations.getAnnotationServerList', 19661423);
foreach (ask('Boards.get', $phase, 'INT')['rows'] as $row) {
    $saw['board'][] = [$row['run'], $row['place'], $row['values']['precision']];
}
echo json_encode($saw, JSON_THROW_ON_ERROR);
