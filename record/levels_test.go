package record_test

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// everything is what the files of a folder hold, with what stands in base64 in
// them decoded as well.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`base64:([A-Za-z0-9+/]+=*)`).FindAllStringSubmatch(all.String(), -1) {
		plain, _ := base64.StdEncoding.DecodeString(m[1])
		all.Write(plain)
	}
	return all.String()
}

// row is one of the table in the package's documentation.
type row struct{ field, kind, next string }

func table(t *testing.T) []row {
	t.Helper()
	f, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	form := regexp.MustCompile(`^//	([A-Z_]+\.[a-z_.]+)\s{2,}(\S+)\s{2,}(\S.*)$`)
	for in := bufio.NewScanner(f); in.Scan(); {
		if m := form.FindStringSubmatch(in.Text()); m != nil {
			rows = append(rows, row{m[1], m[2], m[3]})
		}
	}
	return rows
}

var payloads = []record.Payload{
	record.RunStart{}, record.CycleStart{}, record.Invocation{}, record.ToolCall{}, record.Extraction{},
	record.Memory{}, record.Consent{}, record.Advisory{}, record.Failure{}, record.CycleEnd{}, record.RunEnd{}, record.Exchange{},
}

var contentType = reflect.TypeFor[record.Content]()

// walk visits every field of type Content, making what holds it.
func walk(v reflect.Value, path string, visit func(path string, c reflect.Value)) {
	switch {
	case v.Type() == contentType:
		visit(path, v)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		walk(v.Index(0), path, visit)
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct:
		v.Set(reflect.New(v.Type().Elem()))
		walk(v.Elem(), path, visit)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && f.Type.PkgPath() != "time" {
				walk(v.Field(i), path+"."+name, visit)
			}
		}
	}
}

// filled is a payload whose every text is as say makes it, by its path.
func filled(p record.Payload, say func(path string) string) record.Payload {
	v := reflect.New(reflect.TypeOf(p)).Elem()
	walk(v, string(p.Type()), func(path string, c reflect.Value) {
		c.Set(reflect.ValueOf(record.Say(say(path))))
	})
	for _, name := range []string{"Replies", "Messages"} { // without it nothing is to be read
		if f := v.FieldByName(name); f.IsValid() && name == "Replies" {
			f.Index(0).FieldByName("Segments").SetZero()
			f.Index(0).FieldByName("Diagnostics").SetZero()
		}
	}
	return v.Interface().(record.Payload)
}

// The table of what is recorded where names every text of every payload, and the
// levels do to each what it says.
func TestTable(t *testing.T) {
	kinds := map[string]string{}
	for _, r := range table(t) {
		if kinds[r.field] != "" {
			t.Errorf("%s stands twice", r.field)
		}
		kinds[r.field] = r.kind
	}
	seen := 0
	for _, p := range payloads {
		walk(reflect.New(reflect.TypeOf(p)).Elem(), string(p.Type()), func(path string, _ reflect.Value) {
			if seen++; kinds[path] == "" {
				t.Errorf("%s is not in the table", path)
			}
		})
	}
	if seen != len(kinds) {
		t.Errorf("the table has %d fields, the payloads %d", len(kinds), seen)
	}
	for _, level := range []record.Level{record.Digests, record.Off} {
		holdsTo(t, kinds, record.Options{Reasoning: level}, "reasoning")
		holdsTo(t, kinds, record.Options{Answer: level}, "answer")
		holdsTo(t, kinds, record.Options{Reasoning: level, Answer: level}, "reasoning answer")
	}
	holdsTo(t, kinds, record.Options{}, "")
}

// holdsTo checks which texts are recorded. Those of kind reply hold both kinds.
func holdsTo(t *testing.T, kinds map[string]string, o record.Options, withheld string) {
	t.Helper()
	dir := t.TempDir()
	w := open(t, dir, o)
	for _, p := range payloads {
		put(t, w, "", 0, filled(p, func(path string) string {
			if kinds[path] == "reply" {
				return "<think>T(" + path + ")</think>S(" + path + ")"
			}
			return "C(" + path + ")"
		}))
	}
	shut(t, w)
	all := everything(t, dir)
	for path, kind := range kinds {
		parts := map[string]string{"C(" + path + ")": kind}
		if kind == "reply" {
			parts = map[string]string{"T(" + path + ")": "reasoning", "S(" + path + ")": "answer"}
		}
		for text, kind := range parts {
			if want := !strings.Contains(withheld, kind); strings.Contains(all, text) != want {
				t.Errorf("withholding %q: %s is recorded: %v", withheld, text, !want)
			}
		}
	}
}

// At level digest the raw reply says where reasoning stood, how long it was, and
// proves it to who has the key; at level off only the first two.
func TestCuts(t *testing.T) {
	const raw = "<think>six by seven</think>\n42"
	mac := hmac.New(sha256.New, []byte("k"))
	mac.Write([]byte("six by seven"))
	for level, digest := range map[record.Level]string{record.Digests: hex.EncodeToString(mac.Sum(nil)), record.Off: ""} {
		dir := t.TempDir()
		w := open(t, dir, record.Options{Reasoning: level, DigestKey: []byte("k")})
		r := put(t, w, "", 0, said("m", raw))
		shut(t, w)
		p := read(t, dir, record.ReadOptions{}, record.Query{})[0].Payload.(record.Invocation).Replies[0]
		want := record.Content{Text: "<think></think>\n42", Cuts: []record.Cut{{Start: 7, End: 19, Why: "reasoning", HMAC: digest}}}
		if !reflect.DeepEqual(p.Raw, want) || p.Digest != record.DigestOf("<think></think>\n42") || r.Replies[0] != p.Digest {
			t.Errorf("%v: recorded %+v", level, p)
		}
		for _, c := range []struct {
			start, end int
			text       string
			ok         bool
		}{{28, 30, "42", true}, {0, 7, "<think>", true}, {8, 9, "", false}, {0, 30, "", false}, {29, 31, "", false}, {-1, 2, "", false}} {
			if text, ok := p.Raw.Span(c.start, c.end); text != c.text || ok != c.ok {
				t.Errorf("span %d to %d is %q, %v", c.start, c.end, text, ok)
			}
		}
	}
}

// Reasoning is withheld also from a reply that the caller did not read, read
// wrongly, or read in a dialect that is not known here.
func TestUnreadReplies(t *testing.T) {
	for _, r := range []record.Reply{
		{Raw: record.Say("<think>CANARY</think>a")},
		{Raw: record.Say("CANARY</think>a")},
		{Raw: record.Say("<think>CANARY")},
		{Raw: record.Say("[THINK]CANARY[/THINK]a"), Dialect: "mistral"},
		{Raw: record.Say("CANARY"), Dialect: "of my own"},
		{Raw: record.Say("CANARY"), Dialect: "default", Start: sotto.BeginInside("think")},
		{Raw: record.Say("<think>CANARY</think>a"), Segments: []record.Segment{{End: 3}}},
		{Raw: record.Say("<output>a</output>\nCANARY, set aside\n<output>b</output>")},
	} {
		dir := t.TempDir()
		w := open(t, dir, record.Options{Reasoning: record.Off})
		put(t, w, "", 0, record.Exchange{Replies: []record.Reply{r}, Messages: []record.Message{{Role: "assistant", Text: record.Say("<think>CANARY</think>b")}}})
		shut(t, w)
		if all := everything(t, dir); strings.Contains(all, "CANARY") {
			t.Errorf("%+v is recorded as %s", r, all)
		}
	}
}

// A candidate that was found in reasoning is reasoning.
func TestCandidateFromReasoning(t *testing.T) {
	for _, p := range []record.Extraction{{Method: "marker:answer_in_reasoning"}, {FromReasoning: true}} {
		p.Candidate, p.Written, p.Verdict = record.Say("CANARY"), record.Say("CANARY"), &record.Verdict{Detail: record.Say("CANARY")}
		dir := t.TempDir()
		w := open(t, dir, record.Options{Reasoning: record.Digests})
		put(t, w, "", 0, p)
		shut(t, w)
		if all := everything(t, dir); strings.Contains(all, "CANARY") {
			t.Errorf("recorded: %s", all)
		}
	}
}

// Patterns are cut at level redacted, where that level holds and nowhere else.
func TestPatterns(t *testing.T) {
	const raw = "<think>call 555-1234 or 555-9999</think>call 555-1234"
	for _, c := range []struct {
		o    record.Options
		want string
	}{
		{record.Options{Reasoning: record.Redacted}, "<think>call [redacted] or [redacted]</think>call 555-1234"},
		{record.Options{Answer: record.Redacted}, "<think>call 555-1234 or 555-9999</think>call [redacted]"},
		{record.Options{Answer: record.Redacted, Reasoning: record.Off}, "<think></think>call [redacted]"},
		{record.Options{}, raw},
	} {
		c.o.Patterns = []*regexp.Regexp{regexp.MustCompile(`\d{3}-\d{4}`), regexp.MustCompile(`5-\d+`)}
		dir := t.TempDir()
		w := open(t, dir, c.o)
		put(t, w, "", 0, said("m", raw))
		shut(t, w)
		r := read(t, dir, record.ReadOptions{}, record.Query{})[0].Payload.(record.Invocation).Replies[0]
		if string(r.Raw.Text) != c.want {
			t.Errorf("recorded %q, want %q", r.Raw.Text, c.want)
		}
	}
}

// canaries are credentials as they come: in headers, cookies, the request's line
// and the configuration.
var canaries = map[string]string{
	"bearer": "sk-CANARY-bearer", "x-api-key": "CANARY/key+with=signs", "basic": `CANARY pass"word\`, "cookie": "CANARY-session-cookie",
	"query": "CANARY&query?<b>", "userinfo": "CANARY:user@info", "config": "CANARYconfigured\xff\xfe",
}

func request(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequest("POST", "http://host/v1/chat?model=m", nil)
	if err != nil {
		t.Fatal(err)
	}
	q := r.URL.Query()
	q.Set("api_key", canaries["query"])
	r.URL.RawQuery = q.Encode()
	r.Header.Set("Authorization", "Bearer "+canaries["bearer"])
	r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+canaries["basic"])))
	r.Header.Set("X-Api-Key", canaries["x-api-key"])
	r.AddCookie(&http.Cookie{Name: "sid", Value: canaries["cookie"]})
	return r
}

// fillStrings puts a text into every string of a value, of any type.
func fillStrings(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillStrings(v.Index(0), text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillStrings(v.Elem(), text)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a "+text), reflect.ValueOf("b "+text))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillStrings(v.Field(i), text)
			}
		}
	}
}

// No credential is ever recorded: whichever member of whichever payload quotes
// it, at whichever level, in whichever form.
func TestCanaries(t *testing.T) {
	secrets := record.RequestSecrets(request(t))
	config := record.NewSecrets(canaries["config"], canaries["userinfo"])
	for _, level := range []record.Level{record.Full, record.Redacted, record.Digests, record.Off} {
		dir := t.TempDir()
		w := open(t, dir, record.Options{Reasoning: level, Secrets: config, SegmentSize: 16 << 10})
		chosen := effort.OneIn(3, fmt.Sprint(level))
		for _, p := range payloads {
			for name, c := range canaries {
				for _, text := range []string{c, "x" + c + "y", "<think>" + c + "</think>" + c, "\xff" + c} {
					if !chosen() {
						continue
					}
					v := reflect.New(reflect.TypeOf(p)).Elem()
					fillStrings(v, text)
					if _, err := w.Append(t.Context(), record.Event{Payload: v.Interface().(record.Payload), Secrets: secrets}); err != nil {
						t.Fatalf("%s of %s: %v", name, p.Type(), err)
					}
				}
			}
		}
		if level == record.Full {
			quoted, _ := json.Marshal(map[string]any{"a": canaries, "b": []string{strings.Repeat(canaries["basic"], 2)}})
			put(t, w, "", 0, record.Unknown{Name: "MORE", JSON: []byte(`{"bearer":"sk-CANARY-\u0062earer"}`)})
			if _, err := w.Append(t.Context(), record.Event{Run: "sk-CANARY-bearer", Payload: record.Unknown{Name: "MORE", JSON: quoted}, Secrets: secrets}); err != nil {
				t.Fatal(err)
			}
		}
		shut(t, w)
		sound(t, dir, record.VerifyOptions{})
		silent(t, level, everything(t, dir))
	}
}

// A credential is not recorded either as others spell it: as it stood in the
// request's line or cookie, and in JSON within a text, where some escape the slash.
func TestSpelledCredentials(t *testing.T) {
	r := request(t)
	r.URL.RawQuery = "m=1&api%5fkey=CANARY/%61b%2bc&token=CANARY%zz&model=kept%2fname"
	r.Header.Set("Cookie", "sid=CANARY%2Fsession%3D")
	r.Header.Set("X-Api-Key", `CANARY/a"b\c`)
	secrets := record.RequestSecrets(r)
	for _, text := range []string{
		"CANARY/%61b%2bc", "CANARY/ab+c", "CANARY%2Fab%2Bc", "CANARY%zz", "CANARY%2Fsession%3D", "CANARY/session=",
		`{"k":"CANARY/a\"b\\c"}`, `{"k":"CANARY\/a\"b\\c","q":"CANARY\/session="}`,
	} {
		dir := t.TempDir()
		w := open(t, dir, record.Options{})
		p := record.ToolCall{Name: "kept%2fname", Arguments: record.Say(text)}
		if _, err := w.Append(t.Context(), record.Event{Payload: p, Secrets: secrets}); err != nil {
			t.Fatal(err)
		}
		shut(t, w)
		if all := everything(t, dir); strings.Contains(all, "CANARY") || !strings.Contains(all, "kept%2fname") {
			t.Errorf("of %q is recorded %s", text, all)
		}
	}
}

// silent checks that no canary stands in what was recorded.
func silent(t *testing.T, level record.Level, all string) {
	t.Helper()
	all = strings.ReplaceAll(all, `{"bearer":"sk-CANARY-\u0062earer"}`, "") // of an event whose secrets were not said
	for name, c := range canaries {
		coded, _ := json.Marshal(c)
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(c)
		for _, form := range []string{c, string(coded[1 : len(coded)-1]), strings.Trim(plain.String(), "\"\n"), base64.StdEncoding.EncodeToString([]byte(c))} {
			if i := strings.Index(all, form); i >= 0 {
				t.Errorf("%v: %s stands in the record: %.200q", level, name, all[max(0, i-100):])
			}
		}
	}
	if i := strings.Index(all, "CANARY"); i >= 0 {
		t.Errorf("%v: a part of a credential stands in the record: %.200q", level, all[max(0, i-100):])
	}
}

// Credentials that nobody named are not recorded where they usually stand: in
// URLs, in the errors that quote them, and in settings.
func TestUnnamedCredentials(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	put(t, w, "", 0, record.Exchange{
		Path: "/v1/chat?key=CANARY1", Upstream: "https://me:CANARY2@host/v1?token=CANARY3#CANARY4",
		Error: `Post "https://me:CANARY5@host/v1?api_key=CANARY6&x=1": Authorization: Bearer CANARY7 refused, x-api-key: CANARY8`,
	})
	put(t, w, "", 0, record.Failure{Code: "upstream", Message: "Cookie: a=CANARY9; basic Q0FOQVJZMTA="})
	put(t, w, "", 0, record.RunStart{Config: map[string]string{"upstream-key": "CANARY10", "Password": "CANARY11", "upstream": "http://a:CANARY12@h/?sig=CANARY13", "model": "m"}})
	shut(t, w)
	all := everything(t, dir)
	if i := strings.Index(all, "CANARY"); i >= 0 || strings.Contains(all, "Q0FO") {
		t.Errorf("recorded: %s", all)
	}
	for _, kept := range []string{"/v1/chat", "https://host/v1", "x=1", `"model":"m"`} {
		if !strings.Contains(all, kept) {
			t.Errorf("%s is gone: %s", kept, all)
		}
	}
}

// Identifiers of clients are recorded as their level says in every payload that has them,
// and a credential among them is not recorded at any level.
func TestIDLevels(t *testing.T) {
	const id, credential, digestKey = "ann@example.org", "sk-8f3Kd92mXq", "a key of digests"
	digest := record.DigestID([]byte(digestKey), id)
	tried := 0
	for _, p := range payloads {
		v := reflect.New(reflect.TypeOf(p)).Elem()
		f := v.FieldByName("IDs")
		if !f.IsValid() {
			continue
		}
		tried++
		f.Set(reflect.ValueOf(map[string]string{"user": id, "authorization": credential}))
		for level, want := range map[record.Level][2]bool{record.Full: {true, false}, record.Digests: {false, true}, record.Off: {false, false}} {
			dir := t.TempDir()
			w := open(t, dir, record.Options{IDs: level, DigestKey: []byte(digestKey)})
			put(t, w, "", 0, v.Interface().(record.Payload))
			shut(t, w)
			all := everything(t, dir)
			if got := [2]bool{strings.Contains(all, id), strings.Contains(all, digest)}; got != want || strings.Contains(all, credential) {
				t.Errorf("%s, ids at level %s: recorded in full and as a digest %v, want %v; the credential %v",
					p.Type(), level, got, want, strings.Contains(all, credential))
			}
		}
	}
	if tried == 0 {
		t.Error("no payload has identifiers")
	}
}

// A level is read as it is written.
func TestLevelNames(t *testing.T) {
	for _, level := range []record.Level{record.Full, record.Redacted, record.Digests, record.Off} {
		text, err := level.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got := record.Level(99)
		if err := got.UnmarshalText(text); err != nil || got != level {
			t.Errorf("%s is read as %s, %v", text, got, err)
		}
	}
	got := record.Off
	if err := got.UnmarshalText([]byte("some")); err == nil || got != record.Off {
		t.Errorf("an unknown level is read as %s", got)
	}
}
