# The smoke test: every request of contract.json gets the answer that is expected there.
use strict;
use warnings;
use Encode qw(encode_utf8);
use FindBin;
use JSON::PP;
use MIME::Base64;
use RPC::XML::ParserFactory;
use Test::More;

require "$FindBin::Bin/server.pl";

sub matches {    # a struct may have more members than are expected
    my ($expected, $got) = @_;
    if (ref $expected eq 'HASH') {
        return ref $got eq 'HASH'
            && !grep { !exists $got->{$_} || !matches($expected->{$_}, $got->{$_}) } keys %$expected;
    }
    if (ref $expected eq 'ARRAY') {
        return ref $got eq 'ARRAY' && @$got == @$expected
            && !grep { !matches($expected->[$_], $got->[$_]) } 0 .. $#$expected;
    }
    return 0 if ref $got;
    return abs($expected - $got) < 1e-9 if "$expected$got" =~ /\A[0-9.]+\z/;
    return $expected eq $got;
}

open my $file, '<:raw', "$FindBin::Bin/contract.json" or die "contract.json: $!";
my $contract = decode_json(do { local $/; <$file> });
for my $case (@{$contract->{cases}}) {
    my $body = $case->{base64} ? decode_base64($case->{base64}) : encode_utf8($case->{request});
    my $result = RPC::XML::ParserFactory->new->parse(respond($body))->value;
    if ($case->{faults}) {
        ok($result->is_fault && grep({ $_ == $result->code } @{$case->{faults}}), $case->{name});
    } else {
        ok(!$result->is_fault && matches($case->{result}, $result->value), $case->{name});
    }
}
done_testing();
