# A challenge by RPC::XML::Client. Usage: perl FILE HUB TOKEN ORGANISER SERVER URL PHASE
use strict;
use warnings;
use utf8;
use Encode qw(decode_utf8);
use JSON::PP;
use RPC::XML;
use RPC::XML::Client;

$RPC::XML::ENCODING = 'utf-8';    # its default is us-ascii
$RPC::XML::ALLOW_NIL = 1;
my ($hub_url, $token, $organiser, $server, $url, $phase) = @ARGV;
my $hub = RPC::XML::Client->new($hub_url, error_handler => sub { die "$_[0]\n" });
my %saw;

sub ask {
    my $answer = $hub->send_request(@_);
    die $answer->code . ': ' . $answer->string . "\n" if $answer->is_fault;
    return $answer->value;
}

sub code {    # the fault code that a call gets
    my $answer = $hub->send_request(@_);
    return $answer->is_fault ? 0 + $answer->code : 0;
}

sub wait_for {
    my $state = shift;
    select undef, undef, undef, 0.1
        while ask('Servers.get', $token, $server)->{phases}[0]{state} ne $state;
    return;
}

$saw{methods} = ask('system.listMethods');
$saw{signature} = ask('system.methodSignature', 'Servers.start');
$saw{help} = ask('system.methodHelp', 'Servers.start');
$saw{title} = ask('Teams.update', $token, 'foreign', {title => 'Ångström 中 <&> "'})->{title};

ask('Phases.open', $organiser, $phase);
push @{$saw{tested}},
    ask('Servers.register', $token, {server => $server, url => $url, tasks => ['INT']})->{tested};
$saw{untested} = code('Servers.start', $token, $server);
my $job = ask('Servers.test', $token, $server)->{job};
$saw{passed} = ask('Jobs.get', $token, $job, {wait => 30})->{report}{passed} ? \1 : \0;
push @{$saw{tested}}, ask('Servers.get', $token, $server)->{tested};
ask('Servers.next', $token, $server, {phase => $phase});
wait_for('paused');
ask('Servers.start', $token, $server, {});
wait_for('finished');
$saw{attempts} =
    [map { [$_->{article}, $_->{outcome}] } @{ask('Servers.attempts', $token, $server, {limit => 2})}];
my $raw = ask('Servers.answer', $token, $server, 19661423, 1)->{raw};
$saw{raw} = decode_utf8($raw) =~ /Ångström/ ? \1 : \0;

$saw{faults} = {
    'wrong token' => code('Servers.get', 'wrong', $server),
    'not theirs' => code('Phases.freeze', $token, $phase),
    'unknown' => code('Servers.get', $token, 'nobody'),
    'wrong field' => code('Servers.update', $token, $server, {colour => 'blue'}),
    'wrong value' => code('Servers.update', $token, $server, {concurrency => 'many'}),
    'no method' => code('Servers.dance', $token),
    'no token' => code('Servers.get'),
};
my ($first, $second) = @{ask('system.multicall', [
    {methodName => 'Servers.get', params => [$token, $server]},
    {methodName => 'Servers.get', params => [$token, 'nobody']},
])};
$saw{multicall} = [$first->[0]{server}, 0 + $second->{faultCode}];
my $closes = RPC::XML::datetime_iso8601->new('20300102T03:04:05');
$saw{closes} = ask('Phases.update', $organiser, $phase, {closes => $closes})->{closes};
$saw{large} = 0 + ask('Phases.get', $phase)->{limits}{answer_bytes};
my $large = RPC::XML::i8->new(8_589_934_592);
$saw{'large sent'} = scalar @{ask('Audit.list', $organiser, {before => $large, limit => 1})};

ask('Phases.freeze', $organiser, $phase);
ask('Phases.close', $organiser, $phase);
my $annotations = ask('Annotations.getAnnotations', 19661423);
$saw{annotations} = [map { [@$_{qw(article phase server)}] } @$annotations];
my $json = JSON::PP->new->canonical;
my $same = ask('Annotations.getAnnotations', RPC::XML::string->new('19661423'));
$saw{'the same'} = $json->encode($same) eq $json->encode($annotations) ? \1 : \0;
my $answer = ask('Annotations.getAnnotation', '19661423', $server)->{answer};
$saw{hits} = [map { [$_->{dbid}, 0 + $_->{confidence}] } @{$answer->{normalizations}}];
$saw{servers} = ask('Annotations.getAnnotationServerList', 19661423);
my $board = ask('Boards.get', $phase, 'INT', {view => RPC::XML::nil->new});
$saw{board} =
    [map { [$_->{run}, 0 + $_->{place}, 0 + $_->{values}{precision}] } @{$board->{rows}}];
print JSON::PP->new->ascii->encode(\%saw);
