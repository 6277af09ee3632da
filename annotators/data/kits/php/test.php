<?php
// The smoke test: every request of contract.json gets the answer that is expected there.
require __DIR__ . '/server.php';

function matches($expected, $got): bool // a struct may have more members than are expected
{
    if (is_array($expected)) {
        $same = is_array($got) && (!array_is_list($expected) || count($got) === count($expected));
        foreach ($expected as $key => $value) {
            $same = $same && array_key_exists($key, $got) && matches($value, $got[$key]);
        }
        return $same;
    }
    return is_float($expected) ? is_float($got) && abs($expected - $got) < 1e-9 : $expected === $got;
}

$failed = 0;
foreach (json_decode(file_get_contents(__DIR__ . '/contract.json'), true)['cases'] as $case) {
    $body = isset($case['base64']) ? base64_decode($case['base64']) : $case['request'];
    $got = xmlrpc_decode(respond($body), 'UTF-8');
    $right = isset($case['faults'])
        ? is_array($got) && in_array($got['faultCode'] ?? null, $case['faults'], true)
        : matches($case['result'], $got);
    $failed += !$right;
    echo $right ? 'ok' : 'not ok', " - {$case['name']}\n";
}
exit($failed ? 1 : 0);
