# An annotation server on RPC::XML (CPAN), Perl's usual XML-RPC library. Usage: perl FILE PORT
use strict;
use warnings;
use utf8;
use Compress::Zlib qw(crc32);
use Encode qw(encode_utf8);
use RPC::XML;
use RPC::XML::Server;

$RPC::XML::ENCODING = 'utf-8';    # its default is us-ascii

sub get_annotation {
    my ($server, $text, $context) = @_;
    return RPC::XML::fault->new(42, 'no model for Ä & <b>') if $text =~ /^fault/;
    die "out of memory\n" if $text =~ /^crash/;
    my $seen = sprintf '%d %08x', length $text, crc32(encode_utf8($text));
    $seen .= " $context->{article_id}" if $context;
    $seen .= '.' x 2_000_000 if $text =~ /^large/;    # above 1 MiB: a length, and chunks as well
    return {    # plain scalars: RPC::XML guesses int, double or string from how they look
        interaction => [RPC::XML::boolean->new(1), 0.75],
        normalizations => [
            {dbid => 'P04637', dbname => 'UniProt', taxid => 9606, rank => 1, confidence => 0.9,
             evidence => $seen},
            {dbid => 'P38398', rank => 2, confidence => 1, evidence => 'Ångström 中 𝔸 <&> "'},
        ],
        pairs => [{dbid_a => 'P38398', dbid_b => 'P04637', rank => 1, confidence => 1e-05}],
    };
}

my $server = RPC::XML::Server->new(host => '127.0.0.1', port => $ARGV[0]);
die "$server\n" if !ref $server;
$server->add_method({
    name => 'Annotator.getAnnotation',
    signature => ['struct string', 'struct string struct'],
    code => \&get_annotation,
});
$server->server_loop;
