package gateway_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// What an upstream says beside its replies: in headers, trailers and informational
// responses, in errors, and around the replies in a file of results.

// fullErrors are bodies of errors with every member that providers and servers write.
var fullErrors = []string{
	`{"error":{"message":"busy","type":"server_error","code":"c","param":"p","status":"s","metadata":{"raw":"x","provider_name":"P"},"failed_generation":"x"},"request_id":"req_1"}`,
	`{"type":"error","error":{"type":"overloaded_error","message":"busy","details":{"error_visibility":"user_facing"}},"request_id":"req_1"}`,
	`{"error":{"code":429,"message":"busy","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"q"}]}]}}`,
	`[{"error":{"code":429,"message":"busy","status":"RESOURCE_EXHAUSTED"}}]`,
	`{"error":"busy"}`, `{"message":"busy","id":"i","data":"x"}`, `{"Message":"busy","__type":"ThrottlingException"}`,
	`{"object":"error","message":"busy","type":"BadRequestError","param":"p","code":"c","detail":"x"}`,
	`{"detail":[{"loc":["body","x"],"msg":"bad","input":"x","ctx":{"error":"x"}}]}`,
	`{"error":{"code":400,"message":"busy","type":"exceed_context_size_error","n_prompt_tokens":9},"content":"x"}`,
}

// readErrors puts texts into the places of errors, over every API, and returns those that
// pass.
func readErrors(t *testing.T) (passing []string) {
	var status int
	var body string
	g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(func(*http.Request) *http.Response {
		r := response("application/json", strings.NewReader(body))
		r.StatusCode = status
		return r
	}))
	each(t, func(t *testing.T, s speaker) {
		chosen := effort.OneIn(10, s.name())
		for _, form := range fullErrors {
			for _, text := range []string{secret, secret + "x", "canary"} {
				leaves(form, text, func(place, data string) {
					for _, status = range []int{400, 429, 503, 200} {
						if body = data; !chosen() {
							continue
						}
						w := ask(g, s.path, `{"model":"m","messages":[],"prompt":"a"}`)
						switch got := w.Body.String(); {
						case w.Code < 400 && status >= 400:
							t.Errorf("%s: %d became %d", form, status, w.Code)
						case strings.Contains(got, "ALPH0A"), strings.Contains(got, "BET0A"):
							t.Errorf("%d%s: a thought came out:\n%s", status, place, got)
						case strings.Contains(got, "canary"):
							passing = append(passing, "error"+place)
						}
					}
				})
			}
		}
	})
	return passing
}

// fullLines are lines of files of results, each with the reply at its place.
func fullLines() (lines []fullLine) {
	for _, r := range fullReplies {
		switch r.path {
		case "/v1/chat/completions", "/v1/completions", "/v1/responses":
			lines = append(lines, fullLine{r, ".response.body", `{"id":"b1","custom_id":"c1","response":{"status_code":200,"request_id":"r1","body":` + r.body + `},"error":null}`})
		case "/v1/messages":
			lines = append(lines, fullLine{r, ".result.message", `{"custom_id":"c1","result":{"type":"succeeded","message":` + r.body + `}}`})
		case geminiPath:
			lines = append(lines, fullLine{r, ".response", `{"key":"k1","response":` + r.body + `}`})
		}
	}
	for _, body := range fullErrors {
		lines = append(
			lines,
			fullLine{line: `{"id":"b1","custom_id":"c1","response":{"status_code":500,"request_id":"r1","body":` + body + `},"error":null}`},
			fullLine{line: `{"custom_id":"c1","result":{"type":"errored","error":` + body + `}}`}, fullLine{line: `{"key":"k1","response":` + body + `}`},
			fullLine{line: `{"id":"b1","custom_id":"c1","response":null,"error":` + body + `}`}, fullLine{line: `{"key":"k1","error":` + body + `}`},
		)
	}
	for _, body := range []string{
		`{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPg=="}],"model":"m","usage":{"prompt_tokens":3}}`,
		`{"id":"m1","model":"m","results":[{"flagged":true,"categories":{"hate":true},"category_applied_input_types":{"hate":["text"]}}]}`,
	} {
		lines = append(lines, fullLine{line: `{"id":"b1","custom_id":"c1","response":{"status_code":200,"request_id":"r1","body":` + body + `}}`})
	}
	return lines
}

// A fullLine is a line of results, and where the reply stands in it, if one does.
type fullLine struct {
	reply fullReply
	at    string
	line  string
}

// readResults puts texts into the places of lines of results, and returns those that pass. A
// place of a reply is named as if it had come alone.
func readResults(t *testing.T) (passing []string) {
	hide := gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}
	for _, file := range resultFiles {
		chosen := effort.OneIn(10, file.path)
		var in []string
		var check []func(got string)
		for _, l := range fullLines() {
			for _, text := range []string{secret, secret + "x", "canary"} {
				leaves(l.line, text, func(place, data string) {
					if !chosen() {
						return
					}
					name := "results" + place
					if l.at != "" && strings.HasPrefix(place, l.at) {
						name = l.reply.path + " whole" + strings.TrimPrefix(place, l.at)
					}
					in, check = append(in, data), append(check, func(got string) {
						switch {
						case (strings.Contains(got, "ALPH0A") || strings.Contains(got, "BET0A")) && !l.reply.forTools(place):
							t.Errorf("%s: a thought came out:\n%.600s", name, got)
						case strings.Contains(got, "canary"):
							passing = append(passing, name)
						}
					})
				})
			}
		}
		out := strings.Split(strings.TrimSpace(fetchResults(t, hide, file.path, strings.Join(in, "\n")+"\n")), "\n")
		if len(out) != len(in) {
			t.Fatalf("%s: %d lines of %d", file.path, len(out), len(in))
		}
		for i, got := range out {
			check[i](got)
		}
	}
	return passing
}

// besideValues are thoughts that an upstream could put into a header, whole or within a
// value of the form that the header has.
func besideValues(sample string) (values []string) {
	for _, text := range []string{
		secret, "[THINK]ALPH0A.BET0A[/THINK]", "<|channel|>analysis<|message|>ALPH0A.BET0A<|end|>", "`<think>`ALPH0A", `{"thinking":"ALPH0A"}`,
		"the ALPH0A is what it thought", "the%20ALPH0A%20is%20what%20it%20thought", "the+ALPH0A+is+what+it+thought&x=the%09ALPH0A", url.QueryEscape(secret), "/" + url.PathEscape(secret),
	} {
		for _, form := range []string{"%[2]s", "%[1]s; x=%[2]s", "%[1]s; x=%[2]q", "%[1]s, %[2]s", "%[1]s=%[2]s", "%[2]s=1", "/a?x=%[2]s", "https://%[2]s/", "https://a/#%[2]s"} {
			values = append(values, fmt.Sprintf(form, sample, text))
		}
	}
	return values
}

// besideNames are the headers in which texts are put, with a value of the form of each.
func besideNames() map[string]string {
	names := map[string]string{"Set-Cookie": "a=b"}
	for _, name := range unlisted {
		names[name] = "1"
	}
	for _, group := range gateway.ListedHeaderGroups() {
		for _, name := range listedNames(group) {
			switch name {
			case "Content-Type", "Content-Length", "Content-Encoding", "Connection", "Upgrade": // a server or a client of HTTP reads them
			default:
				names[name] = sampleOf(group)
			}
		}
	}
	return names
}

// TestDeliveredBesideWasRead: where reasoning is hidden, no thought reaches a client in a
// header, a trailer or an informational response, with markers or without, alone or within
// a value of the form that the header has.
func TestDeliveredBesideWasRead(t *testing.T) {
	names := besideNames()
	all := slices.Sorted(maps.Keys(names))
	places := []string{"header", "trailer", "late trailer", "status 102", "status 103"}
	var place, kind, body string
	var status, value int
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h := w.Header()
		put := func(prefix string, some []string) {
			for _, name := range some {
				h[prefix+name] = []string{besideValues(names[name])[value]}
			}
		}
		few := make([]string, 10) // net/http reads no more than 4 KiB of trailers
		for i := range few {
			few[i] = all[(value*len(few)+i)%len(all)]
		}
		switch place {
		case "header":
			put("", all)
		case "trailer":
			for _, name := range few {
				h.Add("Trailer", name)
			}
		case "status 102", "status 103":
			put("", all)
			w.WriteHeader(map[string]int{"status 102": 102, "status 103": 103}[place])
			clear(h)
		}
		h.Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
		switch place {
		case "trailer":
			put("", few)
		case "late trailer":
			put(http.TrailerPrefix, few)
		}
	}), gateway.Config{Default: routing.Route{Display: routing.DisplayHide}, Limits: gateway.Limits{Header: 1 << 20}})
	n, step := 0, 11
	switch {
	case effort.Brief():
		step = 61
	case effort.Times() > 1:
		step = 1
	}
	for _, s := range []speaker{speakers[0], speakerOf(t, "anthropic.messages"), speakerOf(t, "ollama.chat")} {
		for _, way := range []struct {
			method, path string
			status       int
			stream       bool
			body         string
		}{
			{"POST", s.path, 200, false, s.whole("<think>a</think>Hi", sotto.EndStopped)},
			{"POST", s.path, 200, true, s.stream([]string{"<think>a</think>Hi"}, sotto.EndStopped)},
			{"POST", s.path, 429, false, `{"error":{"message":"busy"}}`},
			{"POST", "/v1/embeddings", 200, false, `{"data":[]}`},
			{"GET", resultFiles[0].path, 200, false, resultFiles[0].more},
		} {
			kind, body, status = s.kind(way.stream), way.body, way.status
			for _, place = range places {
				for value = range besideValues("") {
					if n++; n%step != 0 {
						continue
					}
					got := everything(t, way.method, base+way.path, (&conversation{s: s}).request("m", way.stream, ""))
					if at := strings.Index(got, "ALPH0A"); at >= 0 {
						t.Errorf("%s %d, %s %q: a thought came out: …%s", way.path, way.status, place, besideValues("SAMPLE")[value], got[max(0, at-80):min(len(got), at+40)])
					}
				}
			}
		}
	}
}

// everything asks a server, and returns all that reached the client.
func everything(t *testing.T, method, address, body string) string {
	t.Helper()
	var all strings.Builder
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
		fmt.Fprintln(&all, status, h)
		return nil
	}})
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("TE", "trailers")
	resp, err := http.DefaultTransport.RoundTrip(r) // no redirect is followed
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Fprintln(&all, resp.Status, resp.Header, readAll(t, resp.Body), resp.Trailer)
	if !slices.Contains([]int{200, 429}, resp.StatusCode) {
		t.Errorf("%s: %s", address, all.String())
	}
	return all.String()
}
