# An annotation server on Tcl's xmlrpc package. Usage: tclsh FILE PORT
# The package neither reads nor writes references to characters, so this does. It compares the number
# of characters of a request with Content-Length: a request in UTF-8 is never complete for it. A fault,
# as for a method that is not there, is a byte shorter than its Content-Length.
package require xmlrpc

proc plain {text} {
    set text [string map {&lt; < &gt; > &quot; \" &apos; ' &amp; &} \
        [regsub -all {&#([0-9]+);} [string map {\\ \\\\ [ \\[ ] \\] $ \\$} $text] {[format %c \1]}]]
    return [subst -novariables $text]
}

proc written {text} {
    set out ""
    foreach letter [split [string map {& &amp; < &lt; > &gt;} $text] ""] {
        scan $letter %c number
        append out [expr {$number < 128 ? $letter : "&#$number;"}]
    }
    return $out
}

# Structs are returned by the names of arrays.
array set second [list dbid {string P38398} rank {int 2} confidence {double 1.0} \
    evidence [list string [written "\u00c5ngstr\u00f6m \u4e2d <&> \""]]]
array set pair {dbid_a {string P38398} dbid_b {string P04637} rank {int 1} confidence {double 0.00001}}
array set answer {
    interaction {array {{boolean 1} {double 0.75}}}
    normalizations {array {{struct first} {struct second}}}
    pairs {array {{struct pair}}}
}

proc Annotator.getAnnotation {text args} {
    set text [plain $text]
    if {[string match fault* $text]} { error "no model" }
    set crc [zlib crc32 [encoding convertto utf-8 $text]]
    array set ::first [list dbid {string P04637} rank {int 1} confidence {double 0.9} \
        evidence [list string [format "%d %08x" [string length $text] $crc]]]
    return {struct answer}
}

array set state {state {string Running} version {string 1} max_concurrent {int 1}}
proc Annotator.getState {} { return {struct state} }

xmlrpc::serve [lindex $argv 0]
vwait forever
