
<?php
// An annotation server on PHP's xmlrpc extension as it is easily written, for `php -S`. The empty line
// above comes before its answers; they are declared and written in ISO-8859-1, while PHP adds
// `charset=UTF-8` to the header; a date is none, and one member is written twice.
header('Content-Type: text/xml');
if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    exit;
}
$method = null;
$params = xmlrpc_decode_request(file_get_contents('php://input'), $method, 'utf-8');
$latin = ['encoding' => 'iso-8859-1', 'escaping' => 'markup'];
if (str_starts_with($params[0], 'nothing')) {
    echo xmlrpc_encode_request(null, [], $latin);
    exit;
}
$answer = xmlrpc_encode_request(null, [
    'normalizations' => [
        ['dbid' => 'P04637', 'rank' => 1, 'confidence' => 0.5, 'evidence' => "\xc5ngstr\xf6m"],
    ],
], $latin);
$odd = '<member><name>made</name><value><dateTime.iso8601>00000000T00:00:00</dateTime.iso8601></value>'
    . '</member>';
echo preg_replace('/<struct>/', "<struct>$odd$odd", $answer, 1);
