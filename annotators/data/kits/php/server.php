<?php
// An annotation server. Replace the body of annotate with your method.
const MAX_BYTES = 16 * 2 ** 20; // of a request
const MAX_HEAD = 16 * 2 ** 10; // of its headers
const MAX_TAGS = 1000; // a hub's request has about 40
const WORKERS = 4; // articles annotated at once, each in a process
const NAMES = [
    'MDM2' => 'Q00987', 'p53' => 'P04637', 'TP53' => 'P04637', 'BRCA1' => 'P38398',
    'EGFR' => 'P00533',
];

function annotate(string $text, array $context): array // the first line of $text is the title
{
    preg_match_all('/[A-Za-z0-9]+/', $text, $words);
    $counts = [];
    foreach ($words[0] as $word) {
        if (isset(NAMES[$word])) {
            $counts[NAMES[$word]] = ($counts[NAMES[$word]] ?? 0) + 1;
        }
    }
    ksort($counts);
    arsort($counts); // keeps the order of equal ones
    $hits = [];
    foreach ($counts as $dbid => $count) {
        $hits[] = ['dbid' => $dbid, 'rank' => count($hits) + 1, 'confidence' => $count / ($count + 1)];
    }
    return ['normalizations' => $hits];
}

function respond(string $body): string // the bytes of a methodCall to those of a methodResponse
{
    try {
        $result = called($body);
    } catch (DomainException $fault) {
        $result = ['faultCode' => $fault->getCode(), 'faultString' => $fault->getMessage()];
    } catch (Throwable $error) {
        file_put_contents('php://stderr', "$error\n");
        $message = 'annotate failed; see the log of this server';
        $result = ['faultCode' => -32603, 'faultString' => $message];
    }
    $written = isset($result['faultCode'])
        ? '<fault>' . written($result) . '</fault>'
        : '<params><param>' . written($result) . '</param></params>';
    return '<?xml version="1.0" encoding="utf-8"?><methodResponse>' . $written . '</methodResponse>';
}

function written($given): string // the extension writes doubles with six digits: 1e-7 would be 0
{
    if (is_array($given) && array_is_list($given)) {
        $xml = '<array><data>' . implode('', array_map('written', $given)) . '</data></array>';
    } elseif (is_array($given)) {
        $xml = '<struct>';
        foreach ($given as $name => $inner) {
            $xml .= '<member><name>' . escaped($name) . '</name>' . written($inner) . '</member>';
        }
        $xml .= '</struct>';
    } elseif (is_bool($given)) {
        $xml = '<boolean>' . (int) $given . '</boolean>';
    } elseif (is_int($given)) {
        $xml = "<int>$given</int>";
    } elseif (is_float($given)) {
        $xml = '<double>' . json_encode($given, JSON_THROW_ON_ERROR) . '</double>';
    } else {
        $xml = '<string>' . escaped($given) . '</string>';
    }
    return "<value>$xml</value>";
}

function escaped(string $text): string // XML has no place for most control characters
{
    $allowed = preg_replace('/[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]/u', "\u{fffd}", $text);
    return htmlspecialchars($allowed ?? '', ENT_NOQUOTES | ENT_SUBSTITUTE | ENT_XML1, 'UTF-8');
}

function fault(int $code, string $message): DomainException
{
    return new DomainException($message, $code);
}

function called(string $body): array
{
    if (!preg_match('/\A[^\0]*\z/u', $body)) { // a NUL is of UTF-16, which would hide what is looked for
        throw fault(-32700, 'not UTF-8');
    }
    if (preg_match('/\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*encoding\s*=\s*["\'](?!utf-8["\'])/i', $body)) {
        throw fault(-32700, 'another encoding than UTF-8 is declared');
    }
    if (preg_match('/<!(?:DOCTYPE|ENTITY)/', $body)) {
        throw fault(-32700, 'a document type declaration is not allowed');
    }
    if (substr_count($body, '<') > MAX_TAGS) {
        throw fault(-32700, 'more than ' . MAX_TAGS . ' tags');
    }
    $method = null;
    $params = xmlrpc_decode_request($body, $method, 'UTF-8');
    if ($params === null && $method === null) {
        throw fault(-32700, 'not XML-RPC');
    }
    switch ($method) {
        case 'Annotator.getAnnotation':
            [$text, $context] = [$params[0] ?? null, $params[1] ?? []];
            if (!is_string($text) || !is_array($context) || count($params) > 2) {
                throw fault(-32602, 'expected (string) or (string, struct)');
            }
            return annotate($text, $context);
        case 'Annotator.getState':
            return ['state' => 'Running', 'version' => '1', 'max_concurrent' => WORKERS];
        case 'system.listMethods':
            return ['Annotator.getAnnotation', 'Annotator.getState', 'system.listMethods'];
    }
    throw $method ? fault(-32601, 'no such method; see system.listMethods')
        : fault(-32600, 'expected a methodCall');
}

function serve($client): void // one request a connection, so that an idle one holds no process
{
    pcntl_alarm(60); // a request that does not arrive by then ends its process
    $read = '';
    while (($end = strpos($read, "\r\n\r\n")) === false) {
        $part = fread($client, 8192);
        if ($part === '' || $part === false || strlen($read) > MAX_HEAD) {
            return;
        }
        $read .= $part;
    }
    $head = substr($read, 0, $end);
    $body = substr($read, $end + 4);
    $length = preg_match('/^Content-Length:\s*([0-9]{1,15})\s*$/mi', $head, $found) ? $found[1] : null;
    if (!str_starts_with($head, 'POST ')) {
        reply($client, '405 Method Not Allowed', 'text/plain', "XML-RPC by POST\n");
    } elseif ($length === null) {
        reply($client, '411 Length Required', 'text/plain', "a Content-Length is expected\n");
    } elseif ($length > MAX_BYTES) {
        reply($client, '413 Content Too Large', 'text/plain', "more bytes than are allowed\n");
    } else {
        if (preg_match('/^Expect:\s*100-continue/mi', $head)) {
            fwrite($client, "HTTP/1.1 100 Continue\r\n\r\n");
        }
        while (strlen($body) < $length) {
            $part = fread($client, min(65536, $length - strlen($body)));
            if ($part === '' || $part === false) {
                return;
            }
            $body .= $part;
        }
        pcntl_alarm(0);
        reply($client, '200 OK', 'text/xml; charset=utf-8', respond($body));
    }
}

function reply($client, string $status, string $type, string $body): void
{
    $head = "HTTP/1.1 $status\r\nContent-Type: $type\r\nContent-Length: " . strlen($body);
    fwrite($client, "$head\r\nConnection: close\r\n\r\n$body");
    stream_socket_shutdown($client, STREAM_SHUT_WR);
}

function main(): void
{
    ini_set('memory_limit', '512M');
    ini_set('display_errors', 'stderr');
    $at = (getenv('HOST') ?: '127.0.0.1') . ':' . (getenv('PORT') ?: '8100');
    $server = stream_socket_server("tcp://$at", $code, $reason);
    if ($server === false) {
        exit(1);
    }
    echo "listening on http://$at/\n";
    $busy = 0;
    while (true) {
        while ($busy && pcntl_wait($status, $busy < WORKERS ? WNOHANG : 0) > 0) {
            $busy--;
        }
        $client = @stream_socket_accept($server, 1.0);
        if ($client === false) {
            continue;
        }
        $child = pcntl_fork();
        if ($child === 0) {
            fclose($server);
            serve($client);
            exit(0);
        }
        $busy += $child > 0;
        fclose($client);
    }
}

if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    main();
}
