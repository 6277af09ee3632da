<?php
// An annotation server on PHP's xmlrpc extension (xmlrpc-epi). Usage: php -S 127.0.0.1:PORT FILE

function get_annotation(string $method, array $params): array
{
    [$text, $context] = [$params[0], $params[1] ?? null];
    if (str_starts_with($text, 'fault')) {
        return ['faultCode' => 42, 'faultString' => 'no model for Ä & <b>'];  // becomes a fault
    }
    if (str_starts_with($text, 'crash')) {
        throw new RuntimeException('out of memory');
    }
    $seen = sprintf('%d %08x', iconv_strlen($text, 'UTF-8'), crc32($text));
    if ($context !== null) {
        $seen .= ' ' . $context['article_id'];
    }
    return [
        'interaction' => [true, 0.75],
        'normalizations' => [
            ['dbid' => 'P04637', 'dbname' => 'UniProt', 'taxid' => 9606, 'rank' => 1,
             'confidence' => 0.9, 'evidence' => $seen],
            ['dbid' => 'P38398', 'rank' => 2, 'confidence' => 1,
             'evidence' => 'Ångström 中 𝔸 <&> "'],
        ],
        'pairs' => [['dbid_a' => 'P38398', 'dbid_b' => 'P04637', 'rank' => 1,
                     'confidence' => 1e-05]],
    ];
}

$server = xmlrpc_server_create();
xmlrpc_server_register_method($server, 'Annotator.getAnnotation', 'get_annotation');
header('Content-Type: text/xml');
echo xmlrpc_server_call_method($server, file_get_contents('php://input'), null, [
    'encoding' => 'UTF-8', 'escaping' => 'markup', 'version' => 'xmlrpc',
]);
