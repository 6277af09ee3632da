# An annotation server. Replace the body of annotate with your method.
use strict;
use warnings;
use utf8;
use RPC::XML;
use RPC::XML::Server;

$RPC::XML::ENCODING = 'utf-8';    # or letters beyond ASCII are lost

sub annotate {
    my ($server, $text, $context) = @_;    # the first line of $text is the title
    my $relevant = $text =~ /interact/i ? 1 : 0;
    my %answer = (interaction => [RPC::XML::boolean->new($relevant), RPC::XML::double->new(0.6)]);
    if ($text =~ /p53/) {
        $answer{normalizations} = [
            {dbid => 'P04637', rank => 1, confidence => RPC::XML::double->new(0.9)},
        ];
    }
    if ($text =~ /p53/ && $text =~ /MDM2/) {
        $answer{pairs} = [
            {dbid_a => 'P04637', dbid_b => 'Q00987', rank => 1,
             confidence => RPC::XML::double->new(0.8)},
        ];
    }
    return \%answer;
}

my $server = RPC::XML::Server->new(host => '0.0.0.0', port => 8100);
die "$server\n" if !ref $server;
$server->add_method({
    name => 'Annotator.getAnnotation',
    signature => ['struct string', 'struct string struct'],
    code => \&annotate,
});
$server->server_loop;
