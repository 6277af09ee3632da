# An annotation server. Replace the body of annotate with your method.
use strict;
use warnings;
use utf8;
use Encode qw(decode encode_utf8);
use HTTP::Daemon;
use HTTP::Response;
use POSIX qw(WNOHANG);
use RPC::XML;
use RPC::XML::ParserFactory;

$RPC::XML::ENCODING = 'utf-8';    # or letters beyond ASCII are lost

my $MAX_BYTES = 16 * 2**20;       # of a request
my $MAX_TAGS = 1000;              # a hub's request has about 40
my $WORKERS = 4;                  # articles annotated at once, each in a process
my %NAMES = (
    MDM2 => 'Q00987', p53 => 'P04637', TP53 => 'P04637', BRCA1 => 'P38398', EGFR => 'P00533',
);

sub annotate {
    my ($text, $context) = @_;    # the first line of $text is the title
    my %count;
    for my $word ($text =~ /[A-Za-z0-9]+/g) {
        $count{$NAMES{$word}}++ if $NAMES{$word};
    }
    my @hits;
    for my $dbid (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count) {
        push @hits, {
            dbid => RPC::XML::string->new($dbid),
            rank => RPC::XML::int->new(@hits + 1),
            confidence => RPC::XML::double->new($count{$dbid} / ($count{$dbid} + 1)),
        };
    }
    return {normalizations => \@hits};
}

sub fault { return RPC::XML::fault->new(@_) }

sub respond {    # the bytes of a methodCall to those of a methodResponse
    my ($body) = @_;
    my $result = eval { called($body) } // (ref $@ ? $@ : failed($@));
    return encode_utf8(RPC::XML::response->new($result)->as_string);
}

sub failed {
    my ($reason) = @_;
    warn $reason;
    return fault(-32603, 'annotate failed; see the log of this server');
}

sub called {
    my ($body) = @_;
    die fault(-32700, 'not UTF-8')    # a NUL is of UTF-16, which would hide what is looked for
        if $body =~ /\0/ || !defined eval { decode('UTF-8', my $copy = $body, 1) };
    die fault(-32700, 'another encoding than UTF-8 is declared')
        if $body =~ /\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*encoding\s*=\s*["'](?!utf-8["'])/i;
    die fault(-32700, 'a document type declaration is not allowed') if $body =~ /<!(?:DOCTYPE|ENTITY)/;
    die fault(-32700, "more than $MAX_TAGS tags") if ($body =~ tr/<//) > $MAX_TAGS;
    my $call = eval { RPC::XML::ParserFactory->new->parse($body) };
    die fault(-32700, 'not XML-RPC') if !ref $call;
    die fault(-32600, 'expected a methodCall') if !$call->isa('RPC::XML::request');
    my @params = @{$call->args};
    if ($call->name eq 'Annotator.getAnnotation') {
        die fault(-32602, 'expected (string) or (string, struct)')
            if @params < 1 || @params > 2 || !$params[0]->isa('RPC::XML::string')
            || (@params == 2 && !$params[1]->isa('RPC::XML::struct'));
        return annotate(map { $_->value } @params);
    }
    return {state => 'Running', version => RPC::XML::string->new('1'), max_concurrent => $WORKERS}
        if $call->name eq 'Annotator.getState';
    return ['Annotator.getAnnotation', 'Annotator.getState', 'system.listMethods']
        if $call->name eq 'system.listMethods';
    die fault(-32601, 'no such method; see system.listMethods');
}

sub serve_one {    # one request a connection, so that an idle one holds no process
    my ($client) = @_;
    alarm 60;      # a request that does not arrive by then ends its process
    my $request = $client->get_request(1) or return;
    $client->force_last_request;
    my $length = $request->header('Content-Length') // '';
    return $client->send_error(405) if $request->method ne 'POST';
    return $client->send_error(411) if $length !~ /\A[0-9]{1,15}\z/;
    return $client->send_error(413) if $length > $MAX_BYTES;
    $client->send_continue if ($request->header('Expect') // '') =~ /100-continue/i;
    my $body = $client->read_buffer;
    while (length $body < $length) {
        sysread $client, $body, $length - length $body, length $body or return;
    }
    alarm 0;
    my @headers = ('Content-Type' => 'text/xml; charset=utf-8', Connection => 'close');
    $client->send_response(HTTP::Response->new(200, 'OK', \@headers, respond($body)));
    return;
}

sub main {
    my ($host, $port) = ($ENV{HOST} // '127.0.0.1', $ENV{PORT} // 8100);
    my $daemon = Listener->new(
        LocalAddr => $host, LocalPort => $port, ReuseAddr => 1, Listen => 64,
    ) or die "$host:$port cannot be listened on: $!\n";
    local $| = 1;
    print "listening on http://$host:$port/\n";
    my $busy = 0;
    while (1) {
        $busy-- while $busy && waitpid(-1, $busy < $WORKERS ? WNOHANG : 0) > 0;
        my $client = $daemon->accept or next;
        my $child = fork;
        if (defined $child && $child == 0) {
            $daemon->close;
            serve_one($client);
            exit 0;
        }
        $busy++ if $child;
        $client->close;
    }
}

package Listener {
    use parent -norequire, 'HTTP::Daemon';
    sub url { return 'http://127.0.0.1/' }    # asked for in a child, where the socket is closed
}

main() if !caller;
1;
