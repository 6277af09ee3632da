// An annotation server without a library. Replace the body of annotate with your method.
package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	maxBytes = 16 << 20 // of a request
	maxTags  = 1000     // a hub's request has about 40
)

var (
	names = map[string]string{
		"MDM2": "Q00987", "p53": "P04637", "TP53": "P04637", "BRCA1": "P38398", "EGFR": "P00533",
	}
	word     = regexp.MustCompile(`[A-Za-z0-9]+`)
	workers  = runtime.NumCPU() // articles annotated at once
	annotate = wordList
	declared = regexp.MustCompile(`(?i)^(?:\x{feff})?\s*<\?xml[^>]*encoding\s*=\s*["']([^"']*)`)
)

type (
	array   = []any
	members = map[string]any
)

// The first line of text is the title; context is empty for a server registered with text only.
func wordList(text string, context members) members {
	counts := map[string]int{}
	for _, found := range word.FindAllString(text, -1) {
		if dbid, known := names[found]; known {
			counts[dbid]++
		}
	}
	var dbids []string
	for dbid := range counts {
		dbids = append(dbids, dbid)
	}
	sort.Slice(dbids, func(i, j int) bool {
		a, b := dbids[i], dbids[j]
		return counts[a] > counts[b] || counts[a] == counts[b] && a < b
	})
	hits := array{}
	for place, dbid := range dbids {
		count := float64(counts[dbid])
		hits = append(hits, members{"dbid": dbid, "rank": place + 1, "confidence": count / (count + 1)})
	}
	return members{"normalizations": hits}
}

type fault struct {
	code    int
	message string
}

func (f fault) Error() string { return f.message }

// respond makes the bytes of a methodResponse out of those of a methodCall.
func respond(body []byte) []byte {
	out := bytes.NewBufferString(`<?xml version="1.0" encoding="utf-8"?><methodResponse>`)
	if result, err := called(body); err == nil {
		out.WriteString("<params><param>")
		write(out, result)
		out.WriteString("</param></params>")
	} else {
		refused := fault{-32603, "annotate failed; see the log of this server"}
		if !errors.As(err, &refused) {
			log.Print(err)
		}
		out.WriteString("<fault>")
		write(out, members{"faultCode": refused.code, "faultString": refused.message})
		out.WriteString("</fault>")
	}
	out.WriteString("</methodResponse>")
	return out.Bytes()
}

func called(body []byte) (result any, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("%v", failure)
		}
	}()
	call, err := read(body)
	if err != nil {
		return nil, err
	}
	if call.XMLName.Local != "methodCall" {
		return nil, fault{-32600, "expected a methodCall"}
	}
	var params array
	for _, param := range call.child("params").Nodes {
		given, err := param.child("value").value()
		if err != nil {
			return nil, err
		}
		params = append(params, given)
	}
	switch strings.TrimSpace(call.child("methodName").Text) {
	case "Annotator.getAnnotation":
		text, context, good := article(params)
		if !good {
			return nil, fault{-32602, "expected (string) or (string, struct)"}
		}
		return annotate(text, context), nil
	case "Annotator.getState":
		return members{"state": "Running", "version": "1", "max_concurrent": workers}, nil
	case "system.listMethods":
		return array{"Annotator.getAnnotation", "Annotator.getState", "system.listMethods"}, nil
	}
	return nil, fault{-32601, "no such method; see system.listMethods"}
}

func article(params array) (text string, context members, good bool) {
	if len(params) < 1 || len(params) > 2 {
		return "", nil, false
	}
	text, good = params[0].(string)
	if good && len(params) == 2 {
		context, good = params[1].(members)
	}
	return text, context, good
}

type node struct {
	XMLName xml.Name
	Nodes   []node `xml:",any"`
	Text    string `xml:",chardata"`
}

func read(body []byte) (root node, err error) {
	switch {
	case !utf8.Valid(body), bytes.IndexByte(body, 0) >= 0: // a NUL is of UTF-16
		return root, fault{-32700, "not UTF-8"}
	case !utf8Declared(body):
		return root, fault{-32700, "another encoding than UTF-8 is declared"}
	case bytes.Contains(body, []byte("<!DOCTYPE")), bytes.Contains(body, []byte("<!ENTITY")):
		return root, fault{-32700, "a document type declaration is not allowed"}
	case bytes.Count(body, []byte("<")) > maxTags:
		return root, fault{-32700, fmt.Sprintf("more than %d tags", maxTags)}
	}
	if err := xml.Unmarshal(body, &root); err != nil {
		return root, fault{-32700, "not XML-RPC: " + err.Error()}
	}
	return root, nil
}

func utf8Declared(body []byte) bool {
	found := declared.FindSubmatch(body)
	return found == nil || strings.EqualFold(string(found[1]), "utf-8")
}

// child returns the first element of a name, or an empty one.
func (n node) child(name string) node {
	for _, inner := range n.Nodes {
		if inner.XMLName.Local == name {
			return inner
		}
	}
	return node{}
}

func (n node) value() (any, error) {
	if len(n.Nodes) == 0 {
		return n.Text, nil
	}
	typed := n.Nodes[0]
	text := strings.TrimSpace(typed.Text)
	switch typed.XMLName.Local {
	case "string":
		return typed.Text, nil
	case "boolean":
		return text == "1", nil
	case "int", "i4", "i8", "double":
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fault{-32700, "not a number"}
		}
		return number, nil
	case "array":
		values := array{}
		for _, inner := range typed.child("data").Nodes {
			given, err := inner.value()
			if err != nil {
				return nil, err
			}
			values = append(values, given)
		}
		return values, nil
	case "struct":
		values := members{}
		for _, member := range typed.Nodes {
			given, err := member.child("value").value()
			if err != nil {
				return nil, err
			}
			values[member.child("name").Text] = given
		}
		return values, nil
	}
	return nil, fault{-32700, "not a type of XML-RPC: " + typed.XMLName.Local}
}

func write(out *bytes.Buffer, given any) {
	out.WriteString("<value>")
	switch given := given.(type) {
	case bool:
		fmt.Fprintf(out, "<boolean>%d</boolean>", map[bool]int{true: 1}[given])
	case int:
		fmt.Fprintf(out, "<int>%d</int>", given)
	case float64:
		fmt.Fprintf(out, "<double>%s</double>", strconv.FormatFloat(given, 'f', -1, 64))
	case string:
		out.WriteString("<string>")
		xml.EscapeText(out, []byte(given))
		out.WriteString("</string>")
	case array:
		out.WriteString("<array><data>")
		for _, inner := range given {
			write(out, inner)
		}
		out.WriteString("</data></array>")
	case members:
		out.WriteString("<struct>")
		for name, inner := range given {
			out.WriteString("<member><name>")
			xml.EscapeText(out, []byte(name))
			out.WriteString("</name>")
			write(out, inner)
			out.WriteString("</member>")
		}
		out.WriteString("</struct>")
	default:
		panic(fmt.Sprintf("%T is not a type of XML-RPC", given))
	}
	out.WriteString("</value>")
}

var places = make(chan struct{}, workers)

func handle(response http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		http.Error(response, "XML-RPC by POST", http.StatusMethodNotAllowed)
		return
	}
	if request.ContentLength > maxBytes {
		http.Error(response, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBytes))
	if err != nil {
		http.Error(response, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	places <- struct{}{}
	defer func() { <-places }()
	answer := respond(body)
	response.Header().Set("Content-Type", "text/xml; charset=utf-8")
	response.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	response.Write(answer)
}

func setting(name, otherwise string) string {
	if given := os.Getenv(name); given != "" {
		return given
	}
	return otherwise
}

func main() {
	address := net.JoinHostPort(setting("HOST", "127.0.0.1"), setting("PORT", "8100"))
	server := &http.Server{
		Addr: address, Handler: http.HandlerFunc(handle), ReadTimeout: time.Minute,
	}
	stop, done := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer done()
	go func() {
		fmt.Printf("listening on http://%s/\n", address)
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	<-stop.Done()
	grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	server.Shutdown(grace)
}
