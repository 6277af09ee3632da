package main

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

type contract struct {
	Cases []struct {
		Name    string
		Request string
		Base64  []byte
		Result  any
		Faults  []float64
	}
}

// matches compares an answer with what is expected; a struct may have more members.
func matches(expected, got any) bool {
	switch expected := expected.(type) {
	case members:
		given, same := got.(members)
		for name, inner := range expected {
			same = same && given[name] != nil && matches(inner, given[name])
		}
		return same
	case array:
		given, same := got.(array)
		same = same && len(given) == len(expected)
		for place, inner := range expected {
			same = same && matches(inner, given[place])
		}
		return same
	case float64:
		given, same := got.(float64)
		return same && math.Abs(given-expected) < 1e-5
	}
	return expected == got
}

// Every request of contract.json gets the answer that is expected there.
func TestContract(t *testing.T) {
	content, err := os.ReadFile("contract.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected contract
	if err := json.Unmarshal(content, &expected); err != nil {
		t.Fatal(err)
	}
	for _, one := range expected.Cases {
		t.Run(one.Name, func(t *testing.T) {
			body := []byte(one.Request)
			if one.Base64 != nil {
				body = one.Base64
			}
			answer, err := read(respond(body))
			if err != nil {
				t.Fatal(err)
			}
			if one.Faults != nil {
				refused, _ := answer.child("fault").child("value").value()
				for _, code := range one.Faults {
					if matches(members{"faultCode": code}, refused) {
						return
					}
				}
				t.Fatalf("got %v", refused)
			}
			got, _ := answer.child("params").child("param").child("value").value()
			if !matches(one.Result, got) {
				t.Fatalf("got %v", got)
			}
		})
	}
}
